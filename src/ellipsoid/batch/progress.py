"""A progress bar that shows the duality gap on its way to the tolerance, on standard error."""

import math
from types import TracebackType
from typing import Any, Self


class GapBar:
    """Called with (gap, target, iterations); its length is the share of the decades to the target already gained."""

    def __init__(self, shown: bool) -> None:
        self.shown, self.first = shown, 0.0

    def __enter__(self) -> Self:
        if self.shown:
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

            self.bar: Any = Progress(
                TextColumn("{task.description}"),
                BarColumn(),
                TextColumn("gap {task.fields[gap]} of {task.fields[target]}, {task.fields[iterations]} iterations"),
                TimeElapsedColumn(),
                console=Console(stderr=True),
            )
            self.bar.start()
            self.task = self.bar.add_task("e-SVM", total=1.0, gap="-", target="-", iterations=0)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.shown:
            self.bar.stop()

    def start(self, label: str) -> None:
        """A new binary problem begins."""
        self.first = 0.0
        if self.shown:
            self.bar.update(self.task, description=label, completed=0.0)

    def __call__(self, gap: float, target: float, iterations: int) -> None:
        if not self.shown:
            return
        if not self.first and math.isfinite(gap):
            self.first = gap
        closed = 0.0
        if self.first > target and 0 < gap < math.inf:
            closed = math.log(self.first / gap) / math.log(self.first / target)
        done = 1.0 if gap <= target else min(max(closed, 0.0), 1.0)
        self.bar.update(self.task, completed=done, gap=f"{gap:.2e}", target=f"{target:.2e}", iterations=iterations)
