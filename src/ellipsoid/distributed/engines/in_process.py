"""Tasks run in this process, one after another, when their results are wanted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any


class LocalTask:
    """A task of this process: run when somebody asks for its result, once."""

    def __init__(self, function: Callable[..., Any], args: tuple[Any, ...]) -> None:
        self.function, self.args, self.done = function, args, False

    def result(self) -> Any:
        """Its result."""
        if not self.done:
            self.value = self.function(*(arg.result() if isinstance(arg, LocalTask) else arg for arg in self.args))
            # What it was made of is no longer needed.
            self.done, self.args = True, ()
        return self.value


class InProcess:
    """Every task is run here, when its result is wanted."""

    folder: Any = None

    def submit(self, function: Callable[..., Any], *args: Any, key: str, turn: int | None = None) -> Any:
        """Note it."""
        return LocalTask(function, args)

    def send(self, value: Any, key: str) -> Any:
        """It is here."""
        return value

    def result(self, future: Any) -> Any:
        """Run it."""
        return future.result()

    def as_done(self, futures: Iterable[Any]) -> Iterator[Any]:
        """One after another."""
        yield from futures

    def forget(self) -> None:
        """Results go with who asked for them."""

    def everywhere(self, function: Callable[..., Any], *args: Any) -> dict[str, Any]:
        """There is this process alone."""
        return {"this process": function(*args)}

    def close(self) -> None:
        """Nothing was started."""
