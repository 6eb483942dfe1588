"""The interface of an engine, which runs the tasks of a run over shards and returns their results.

What ``submit`` and ``send`` return may be an argument of a later task. A task is a function of its arguments alone, so
that a task whose worker died can be run again elsewhere with the same result.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from .parcel import Parcel, wrap


class LostWorkers(RuntimeError):
    """The workers of a task died several times; the task itself may be the reason."""


class NoWorkers(RuntimeError):
    """There are no workers, so that sending a task again would not help."""


class Engine:
    """Runs tasks. In ``folder`` large models may be written for workers to read."""

    folder: Any = None

    def __init__(self) -> None:
        self._parcels: list[Parcel] = []

    def submit(self, function: Callable[..., Any], *args: Any, key: str, turn: int | None = None) -> Any:
        """Start a task and return its future. Tasks with different ``turn`` prefer different workers."""
        raise NotImplementedError

    def send(self, value: Any, key: str) -> Any:
        """Make a value available to many tasks; what is returned is given to them in its place."""
        return value

    def _as_parcel(self, value: Any, folder: Any, key: str) -> Parcel:
        """A large value as a file in a folder, until ``forget``."""
        self._parcels.append(wrap(value, folder, key))
        return self._parcels[-1]

    def result(self, future: Any) -> Any:
        """Wait for the result of a task, or raise its exception; `LostWorkers` if its workers died."""
        return future.result()

    def as_done(self, futures: Iterable[Any]) -> Iterator[Any]:
        """Yield the futures as they are done, successfully or not."""
        yield from futures

    def forget(self) -> None:
        """Release all that was submitted or sent so far."""
        while self._parcels:
            self._parcels.pop().discard()

    def everywhere(self, function: Callable[..., Any], *args: Any) -> dict[str, Any]:
        """Call a function on every worker; the results by the names of the workers."""
        raise NotImplementedError

    def close(self) -> None:
        """Close what this engine has started itself."""
