"""The engine that runs tasks in this process, one after another, when their results are asked for."""

from collections.abc import Callable
from typing import Any

from .engine import Engine


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


class InProcess(Engine):
    """Tasks are run here, when their results are asked for."""

    def submit(self, function: Callable[..., Any], *args: Any, key: str, turn: int | None = None) -> Any:
        return LocalTask(function, args)

    def everywhere(self, function: Callable[..., Any], *args: Any) -> dict[str, Any]:
        return {"this process": function(*args)}
