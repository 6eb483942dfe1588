"""What the two sparse text formats share: a block is scanned until it is used up, rows first, then the flaw, if any."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse

from ellipsoid.streams.blocks import Block, Origin
from ellipsoid.streams.options import Options
from ellipsoid.streams.scan.svmlight import DONE, FULL, Rows
from ellipsoid.streams.words import LineError, finite

# Numerals left to Python in one scan; a single line with more of them is scanned again with more room.
HARD_ROOM = 256


def room_for(size: int, shortest: int, density: float) -> int:
    """Entries to expect of a text: a quarter more than were met lately, at most what the shortest ones would be."""
    return min(size // shortest, int(1.25 * density * size) + 64) + 1


class SparseText:
    """Lines of sparse examples; a subclass gives `run`, `flaw`, and the bytes of the shortest feature."""

    shortest = 4

    def __init__(self, origin: Origin, options: Options) -> None:
        self.origin, self.options = origin, options
        # Lines of the blocks scanned so far.
        self.lines = 0
        # Rows and values a byte, as they were met last.
        self._density = 1.0, 1.0

    def run(self, text: Any, position: int, stop: int, out: Rows) -> Any:
        """Scan lines from a position on; returns a ``Stop``."""
        raise NotImplementedError

    def flaw(self, block: Block, found: Any) -> str:
        """The sentence for the flaw at which a scan stopped."""
        raise NotImplementedError

    def scans(self, block: Block) -> Iterator[tuple[Rows, Any]]:
        """Rows until the block is used up; an error comes after the rows before it."""
        position, room, before = 0, HARD_ROOM, self.lines
        while position < block.stop:
            size = block.stop - position
            rows = room_for(size, 2, self._density[0])
            values = room_for(size, self.shortest, self._density[1])
            out = Rows(
                np.empty(rows),
                np.empty(rows + 1, dtype=np.int32),
                np.empty(values, dtype=np.int32),
                np.empty(values),
                np.empty((room, 3), dtype=np.int64),
            )
            found = self.run(block.text, position, block.stop, out)
            if found.reason == DONE:
                self._density = found.rows / size, found.values / size
            row, flaw = self._hard(block, out, found, before)
            if row:
                yield out, found._replace(rows=row, values=int(out.indptr[row]))
            if flaw is not None:
                raise flaw
            self.lines += found.lines
            if found.reason > FULL:
                raise LineError(self.origin.name, self.lines + 1, self.flaw(block, found))
            if found.rows == 0:
                room, self._density = 4 * room, (1.0, 1.0)
            position = found.position

    def _hard(self, block: Block, out: Rows, found: Any, lines: int) -> tuple[int, LineError | None]:
        """Read the numerals that were left to Python; returns how many rows are good, and what is wrong with the
        next.
        """
        for which, begin, end in out.hard[: found.hard].tolist():
            value, place, row = 1.0, out.labels, -1 - which
            if which >= 0:
                value, place = float(out.values[which]), out.values
                row = int(np.searchsorted(out.indptr[: found.rows + 1], which, side="right")) - 1
            try:
                place[row if which < 0 else which] = finite(self.origin.name, block, (begin, end), lines, value)
            except LineError as error:
                return row, error
        return found.rows, None


def matrix(out: Rows, found: Any, width: int, hashed: bool) -> Any:
    """The rows of a scan as a CSR matrix; features of one hash are added up."""
    n, k = found.rows, found.values
    X = sparse.csr_matrix((out.values[:k], out.indices[:k], out.indptr[: n + 1]), shape=(n, width))
    if hashed:
        X.sum_duplicates()
    return X
