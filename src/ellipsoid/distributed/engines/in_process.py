"""The engine that runs tasks in this process, one after another, when their results are asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any


class LocalTask:
    """A task that is run once, when its result is first asked for."""

    def __init__(self, function: Callable[..., Any], args: tuple[Any, ...]) -> None:
        self.function, self.args, self.done = function, args, False

    def result(self) -> Any:
        """The result; the first call runs the task."""
        if not self.done:
            self.value = self.function(*(arg.result() if isinstance(arg, LocalTask) else arg for arg in self.args))
            # The arguments are no longer needed, and may be large.
            self.done, self.args = True, ()
        return self.value


class InProcess:
    """See `Engine`: tasks are run here, when their results are asked for."""

    folder: Any = None

    def submit(self, function: Callable[..., Any], *args: Any, key: str, turn: int | None = None) -> Any:
        """A task that has not been run yet."""
        return LocalTask(function, args)

    def send(self, value: Any, key: str) -> Any:
        """The value itself."""
        return value

    def result(self, future: Any) -> Any:
        """Run the task, unless it was run before."""
        return future.result()

    def as_done(self, futures: Iterable[Any]) -> Iterator[Any]:
        """The futures in their order, none of which has been run."""
        yield from futures

    def forget(self) -> None:
        """Nothing to release: results belong to the caller."""

    def everywhere(self, function: Callable[..., Any], *args: Any) -> dict[str, Any]:
        """Call the function in this process, the only worker."""
        return {"this process": function(*args)}

    def close(self) -> None:
        """Nothing to close."""
