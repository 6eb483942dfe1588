"""The interface of an engine: how a run over shards has its tasks run, and gets their results.

An engine is asked to ``submit`` a function, to ``send`` a model to who needs it, to give the ``result`` of what was
submitted, and to say what is done as it comes, ``as_done``. What was submitted may be an argument of what is submitted
next. A task is a function of its arguments alone, so that a task whose worker died is run once more, elsewhere, with
the same result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol


class LostWorkers(RuntimeError):
    """A task whose workers died, several times: the task may be what kills them."""


class NoWorkers(RuntimeError):
    """Nobody is there to run a task, and nobody comes: to send it again would help nothing."""


class Engine(Protocol):
    """Whoever runs tasks. ``folder``: where large models may be left for workers to read."""

    folder: Any

    def submit(self, function: Callable[..., Any], *args: Any, key: str, turn: int | None = None) -> Any:
        """Begin a task; what comes back stands for its result. Tasks of different turns go to different workers, as far
        as there are enough of them and they live.
        """

    def send(self, value: Any, key: str) -> Any:
        """What stands for a value that many tasks are given."""

    def result(self, future: Any) -> Any:
        """The result of a task, or its exception; `LostWorkers` where it got none."""

    def as_done(self, futures: Iterable[Any]) -> Iterator[Any]:
        """The same futures, each when it is done."""

    def forget(self) -> None:
        """Nothing that was submitted is needed any more."""

    def everywhere(self, function: Callable[..., Any], *args: Any) -> dict[str, Any]:
        """The results of a function on every worker, by its name."""

    def close(self) -> None:
        """Let go of what this engine has started itself."""
