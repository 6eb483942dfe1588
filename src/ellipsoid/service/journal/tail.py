"""The tail of a stream: its newest blocks, kept in memory for learners that are not far behind.

A learner that is further behind reads the journal.
"""

import threading
from bisect import bisect_right

from .database import JournalBlock

# The memory of the blocks; exact for rows of numbers, an estimate for named features.
MOST_BYTES = 1 << 25


class Tail:
    """The newest blocks in order; ``end`` is the number of the next example."""

    def __init__(self, end: int) -> None:
        self.end = end
        self._blocks: list[JournalBlock] = []
        self._firsts: list[int] = []
        self._bytes = 0
        self.grown = threading.Condition()

    def add(self, blocks: list[JournalBlock]) -> None:
        """Append blocks, which are on disk."""
        with self.grown:
            for block in blocks:
                self._blocks.append(block)
                self._firsts.append(block.first)
                self._bytes += block.size
                self.end = block.end
            if self._bytes > MOST_BYTES:
                self._drop(MOST_BYTES // 2)
            self.grown.notify_all()

    def _drop(self, most: int) -> None:
        """Keep the newest blocks, of at most so many bytes in all, but at least one."""
        kept = len(self._blocks) - 1
        size = self._blocks[kept].size
        while kept > 0 and size + self._blocks[kept - 1].size <= most:
            kept -= 1
            size += self._blocks[kept].size
        self._blocks, self._firsts, self._bytes = self._blocks[kept:], self._firsts[kept:], size

    def wait(self, row: int, seconds: float) -> bool:
        """Wait for examples from number ``row`` on; False if none came."""
        with self.grown:
            return self.end > row or (self.grown.wait(seconds) and self.end > row)

    def after(self, row: int, most: int) -> list[JournalBlock] | None:
        """Blocks from example ``row`` on, of about ``most`` rows; None where only the journal has them."""
        with self.grown:
            if not self._blocks or self._firsts[0] > row:
                return None
            found: list[JournalBlock] = []
            rows = 0
            for i in range(bisect_right(self._firsts, row) - 1, len(self._blocks)):
                block = self._blocks[i]
                if rows >= most:
                    break
                if block.end > row:
                    found.append(block)
                    rows += len(block.rows.y)
            return found

    def wake(self) -> None:
        """Wake the threads in `wait`, so that they can stop."""
        with self.grown:
            self.grown.notify_all()
