"""The interface of an engine, which runs the tasks of a run over shards and returns their results.

What ``submit`` and ``send`` return may be an argument of a later task. A task is a function of its arguments alone, so
that a task whose worker died can be run again elsewhere with the same result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol


class LostWorkers(RuntimeError):
    """The workers of a task died several times; the task itself may be the reason."""


class NoWorkers(RuntimeError):
    """There are no workers, so that sending a task again would not help."""


class Engine(Protocol):
    """Runs tasks. In ``folder`` large models may be written for workers to read."""

    folder: Any

    def submit(self, function: Callable[..., Any], *args: Any, key: str, turn: int | None = None) -> Any:
        """Start a task and return its future. Tasks with different ``turn`` prefer different workers."""

    def send(self, value: Any, key: str) -> Any:
        """Make a value available to many tasks; what is returned is given to them in its place."""

    def result(self, future: Any) -> Any:
        """Wait for the result of a task, or raise its exception; `LostWorkers` if its workers died."""

    def as_done(self, futures: Iterable[Any]) -> Iterator[Any]:
        """Yield the futures as they are done, successfully or not."""

    def forget(self) -> None:
        """Release all that was submitted or sent so far."""

    def everywhere(self, function: Callable[..., Any], *args: Any) -> dict[str, Any]:
        """Call a function on every worker; the results by the names of the workers."""

    def close(self) -> None:
        """Close what this engine has started itself."""
