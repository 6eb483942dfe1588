"""What the two sparse text formats share: a block is scanned until it is used up, rows first, then the flaw, if any."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse

from ..labels import Numbers
from ..options import Options
from ..scan.reasons import FULL
from ..scan.svmlight import IMPORTANCE, SparseRows
from ..scan_threads import ABREAST, Scanned, side_by_side
from .blocks import Origin, TextBlock
from .errors import LineError, finite

# Numerals left to Python in one scan; a single line with more of them is scanned again with more room.
HARD_ROOM = 256
# Bytes of the first block that tell how much room its rows will need.
SAMPLE = 1 << 16


def room_for(size: int, shortest: int, density: float) -> int:
    """Entries to expect of a text: a quarter more than were met lately, at most what the shortest ones would be."""
    return min(size // shortest, int(1.25 * density * size) + 64) + 1


class SparseText:
    """Lines of sparse examples; a subclass gives `run`, `flaw`, `pieces`, the bytes of the shortest feature, and a byte
    that most features have one of.
    """

    shortest, mark = 4, b":"

    def __init__(self, origin: Origin, options: Options) -> None:
        self.origin, self.options = origin, options
        self.n_features: int | None = None
        self.important = 0

    def begin(self, block: TextBlock) -> None:
        """Find out from the first block what is to be known beforehand."""

    def run(self, text: Any, position: int, stop: int, out: SparseRows) -> Any:
        """Scan lines from a position on; returns a ``Stop``."""
        raise NotImplementedError

    def flaw(self, block: TextBlock, found: Any) -> str:
        """The sentence for the flaw at which a scan stopped."""
        raise NotImplementedError

    def pieces(self, out: SparseRows, found: Any) -> tuple[Any, ...]:
        """Rows, as wide as they need be, and labels of a scan, and weights where rows have such."""
        raise NotImplementedError

    def pairs(self) -> Iterator[tuple[Any, ...]]:
        """Rows and labels, and weights where rows have such, block by block."""
        numbers, width, lines, self.important = Numbers(), self.n_features or 1, 0, 0
        for done in self._blocks():
            for X, labels, *more in done.pieces:
                width = max(width, X.shape[1])
                X.resize(X.shape[0], width)
                for part, y in numbers.pieces(labels):
                    yield (X if len(y) == len(labels) else X[part]), y, *(weights[part] for weights in more)
            self.important += done.important
            if done.flaw is not None:
                raise LineError(self.origin.name, lines + done.flaw[0], done.flaw[1])
            lines += done.lines

    def _blocks(self) -> Iterator[Scanned]:
        blocks = self.origin.blocks(ABREAST)
        first = next(blocks, None)
        if first is None:
            return
        self.begin(first)
        done = self.scanned(first, self._guess(first))
        yield done
        density = done.density
        yield from side_by_side(
            blocks,
            lambda block, earlier: self.scanned(block, density if earlier is None else earlier),
            self.options.scan_threads(self.origin.blocks_left),
            note=lambda done: done.density,
        )

    def _guess(self, block: TextBlock) -> tuple[float, float]:
        """Rows and values to expect in a byte, from a look at the beginning: memory for the most that there could be
        would take longer to get than the scan.
        """
        size = min(block.stop, SAMPLE)
        return block.raw.count(b"\n", 0, size) / size, block.raw.count(self.mark, 0, size) / size

    def scanned(self, block: TextBlock, density: tuple[float, float]) -> Scanned:
        """All rows of a block, or those before its first flaw; ``density``: rows and values to expect in a byte."""
        position, room, lines, important, pieces = 0, HARD_ROOM, 0, 0, []
        rows_seen = values_seen = 0
        flaw = None
        while position < block.stop and flaw is None:
            size = block.stop - position
            rows = room_for(size, 2, density[0])
            values = room_for(size, self.shortest, density[1])
            out = self.rows(rows, values, room)
            found = self.run(block.text, position, block.stop, out)
            row, flaw = self._hard(block, out, found)
            if row:
                pieces.append(self.pieces(out, found._replace(rows=row, values=int(out.indptr[row]))))
            lines += found.lines
            important += getattr(found, "important", 0)
            rows_seen, values_seen = rows_seen + found.rows, values_seen + found.values
            if flaw is None and found.reason > FULL:
                flaw = lines + 1, self.flaw(block, found)
            passed, position = found.position - position, found.position
            if found.rows == 0:
                room, density = 4 * room, (1.0, 1.0)
            elif found.reason == FULL:
                density = max(2 * density[0], found.rows / passed), max(2 * density[1], found.values / passed)
        return Scanned(pieces, lines, flaw, (rows_seen / block.stop, values_seen / block.stop), important)

    @staticmethod
    def rows(rows: int, values: int, hard: int) -> SparseRows:
        """Arrays for so many rows, values and numerals left to Python."""
        return SparseRows(
            np.empty(rows),
            np.empty(rows + 1, dtype=np.int32),
            np.empty(values, dtype=np.int32),
            np.empty(values),
            np.empty((hard, 3), dtype=np.int64),
            np.empty(rows),
        )

    def _hard(self, block: TextBlock, out: SparseRows, found: Any) -> tuple[int, tuple[int, str] | None]:
        """Read the numerals that were left to Python; returns how many rows are good, and what is wrong with the
        next.
        """
        for which, begin, end in out.hard[: found.hard].tolist():
            value, place, row = 1.0, out.labels, -1 - which
            if which <= IMPORTANCE:
                place, row = out.weights, IMPORTANCE - which
            elif which >= 0:
                value, place = float(out.values[which]), out.values
                row = int(np.searchsorted(out.indptr[: found.rows + 1], which, side="right")) - 1
            try:
                place[row if which < 0 else which] = finite(block, (begin, end), value)
            except LineError as error:
                return row, (error.line, error.what)
        return found.rows, None


def matrix(out: SparseRows, found: Any, width: int, hashed: bool) -> Any:
    """The rows of a scan as a CSR matrix; features of one hash are added up."""
    n, k = found.rows, found.values
    X = sparse.csr_matrix((out.values[:k], out.indices[:k], out.indptr[: n + 1]), shape=(n, width))
    if hashed:
        X.sum_duplicates()
    return X
