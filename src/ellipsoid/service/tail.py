"""The newest blocks of a stream, kept in memory for its learners; one that is behind them reads the journal."""

from __future__ import annotations

import threading
from collections import deque

from .database import Block

# Of rows of numbers; of named features about as much.
MOST_BYTES = 1 << 25


class Tail:
    """Blocks in order, up to example ``end``, which the journal holds too."""

    def __init__(self, end: int) -> None:
        self.end = end
        self._blocks: deque[tuple[Block, int]] = deque()
        self._bytes = 0
        self.grown = threading.Condition()

    def add(self, blocks: list[Block]) -> None:
        """Blocks that are on disk."""
        with self.grown:
            for block in blocks:
                size = int(getattr(block.rows.x, "nbytes", 500 * len(block.rows.y)))
                self._blocks.append((block, size))
                self._bytes += size
                self.end = block.end
            while self._bytes > MOST_BYTES and len(self._blocks) > 1:
                self._bytes -= self._blocks.popleft()[1]
            self.grown.notify_all()

    def wait(self, row: int, seconds: float) -> bool:
        """Wait for examples from number ``row`` on; False if none came."""
        with self.grown:
            return self.end > row or (self.grown.wait(seconds) and self.end > row)

    def after(self, row: int, most: int) -> list[Block] | None:
        """Blocks from example ``row`` on, about ``most`` rows; None where only the journal has them."""
        with self.grown:
            if not self._blocks or self._blocks[0][0].first > row:
                return None
            found, rows = [], 0
            for block, _ in self._blocks:
                if block.end > row and rows < most:
                    found.append(block)
                    rows += len(block.rows.y)
            return found

    def wake(self) -> None:
        """Let whoever waits look around."""
        with self.grown:
            self.grown.notify_all()
