"""Lines of sparse examples, svmlight's and Vowpal Wabbit's, as compressed sparse rows."""

from typing import Any

import numpy as np
from scipy import sparse

from ..format import RowPieces
from ..scan.svmlight import IMPORTANCE, SparseRows
from .blocks import TextBlock
from .scanned_text import Density, ScannedText

# Bytes of the first block from which the number of its rows is estimated.
SAMPLE = 1 << 16


class SparseText(ScannedText):
    """Lines of sparse examples; most features have one of the byte ``mark``."""

    shortest_value, mark = 4, b":"

    def pieces(self) -> RowPieces:
        """Rows, each piece at least as wide as those before it, labels and weights."""
        width = self.n_features or 1
        for X, y, weights in super().pieces():
            width = max(width, X.shape[1])
            X.resize(X.shape[0], width)
            yield X, y, weights

    def expected(self, block: TextBlock) -> Density:
        """The density at the beginning: memory for the most possible rows would cost more time than the scan."""
        size = min(block.stop, SAMPLE)
        return block.raw.count(b"\n", 0, size) / size, block.raw.count(self.mark, 0, size) / size

    def buffers(self, rows: int, values: int, hard: int) -> SparseRows:
        return SparseRows(
            np.empty(rows),
            np.empty(rows + 1, dtype=np.int32),
            np.empty(values, dtype=np.int32),
            np.empty(values),
            np.empty((hard, 3), dtype=np.int64),
            np.empty(rows),
        )

    def place(self, out: SparseRows, found: Any, where: list[int]) -> tuple[int, Any, int, float]:
        (which,) = where
        if which >= 0:
            row = int(np.searchsorted(out.indptr[: found.rows + 1], which, side="right")) - 1
            return row, out.values, which, float(out.values[which])
        if which <= IMPORTANCE:
            return IMPORTANCE - which, out.weights, IMPORTANCE - which, 1.0
        return -1 - which, out.labels, -1 - which, 1.0


def matrix(out: SparseRows, rows: int, width: int, hashed: bool) -> Any:
    """The first rows of a scan as a CSR matrix; features of one hash are added up."""
    k = int(out.indptr[rows])
    X = sparse.csr_matrix((out.values[:k], out.indices[:k], out.indptr[: rows + 1]), shape=(rows, width))
    if hashed:
        X.sum_duplicates()
    return X
