"""Reports the progress of a run line by line: shards, rows, their rate, and the error of each round."""

from collections.abc import Callable
from time import monotonic
from typing import Any

# Seconds between two lines of one round.
LINE_PAUSE = 2.0


class RunProgress:
    """Calls a function such as ``print`` with lines on the progress of a run, unless it is None."""

    def __init__(self, report: Callable[[str], Any] | None) -> None:
        self.report, self.round = report, 0

    def expect(self, rounds: int, shards: int) -> None:
        """How many rounds there will be, and shards in each."""
        self.rounds, self.shards = rounds, shards

    def line(self, text: str) -> None:
        """Report a line."""
        if self.report is not None:
            self.report(text)

    def begin(self, number: int) -> None:
        """A round begins."""
        self.round, self.done, self.rows = number, 0, 0
        self.started = self.last_line = monotonic()

    def shard(self, counts: Any) -> None:
        """A shard is done."""
        self.done, self.rows = self.done + 1, self.rows + counts.rows
        now = monotonic()
        if now - self.last_line >= LINE_PAUSE and self.done < self.shards:
            self.last_line = now
            self.line(f"{self._where()}, {self.done} of {self.shards} shards, {self._rate(now)}")

    def end(self, mistakes: int, error: float | None) -> None:
        """A round is over."""
        validation = "" if error is None else f", validation error {100 * error:.2f} %"
        share = 100 * mistakes / max(1, self.rows)
        self.line(f"{self._where()}, {self._rate(monotonic())}, {share:.2f} % mistakes of the shards{validation}")

    def _where(self) -> str:
        return f"round {self.round + 1} of {self.rounds}"

    def _rate(self, now: float) -> str:
        return f"{self.rows:,} rows, {self.rows / max(1e-9, now - self.started):,.0f} rows/s"
