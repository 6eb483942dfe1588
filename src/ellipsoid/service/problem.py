"""The errors of the service: those that answer a request, and damage of its store."""

from http import HTTPStatus


class CallProblem(Exception):
    """An error that is the answer to a request; ``line`` is that of a batch, from 1."""

    def __init__(self, status: int, detail: str, line: int | None = None, retry_after: int | None = None) -> None:
        super().__init__(detail)
        self.status, self.detail, self.line, self.retry_after = status, detail, line, retry_after

    @property
    def title(self) -> str:
        """The status in words."""
        return HTTPStatus(self.status).phrase


class DamagedStore(ValueError):
    """A store that has lost something on disk: the service does not go on unless it is told to."""
