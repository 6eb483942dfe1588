"""Support patterns of a given kernel matrix: each is the number of its column."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ellipsoid.engine.rows import Dense

from ..rollback import Mark
from ..tables import doubled
from .patterns import Block, DensePatterns, Floats, Patterns, Picks, replay


class ColumnPatterns(Patterns):
    """Columns of a given kernel matrix: a pattern is the number of its column."""

    def __init__(self, width: int) -> None:
        super().__init__(width)
        self.columns: NDArray[np.int64] = np.zeros(0, dtype=np.int64)

    matrix_of = DensePatterns.matrix_of

    def kept(self) -> Dense:
        return _numbers(self.columns)

    def content(self, block: Block) -> Dense:
        return _numbers(block.columns)

    def rows(self, slots: Picks) -> NDArray[np.int64]:
        return self.columns[slots]

    def append(self, block: Block, rows: NDArray[np.int64]) -> None:
        end = self.used + len(rows)
        self.columns = doubled(self.columns, end)
        self.columns[self.used : end] = block.columns[rows]

    def put(self, slot: int, block: Block, t: int, mark: Mark) -> None:
        mark.save(self.columns, slot)
        self.columns[slot] = block.columns[t]

    def values(self, kernel: Any, block: Block, slots: Picks) -> Floats:
        return np.ascontiguousarray(block.matrix[:, self.columns[slots]])

    def gram(self, kernel: Any, block: Block, constant2: float, *, half: bool = False) -> Floats:
        return np.ascontiguousarray(block.matrix[:, block.columns].T + constant2)

    def widen(self, width: int) -> None:
        """Refuse: the columns are the training examples, all of them known from the start."""
        if self.used or self.norms.size:
            raise ValueError("a precomputed kernel cannot grow columns: X must hold one for every training example")
        self.width = width

    def arrays(self) -> dict[str, NDArray[Any]]:
        return {"columns": self.columns[: self.used].copy()}

    def restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        columns = arrays["columns"]
        if len(columns) and not (columns.min() >= 0 and columns.max() < self.width):
            raise ValueError("its support patterns are columns beyond its width")
        block = Block(np.zeros((len(columns), 0)), np.zeros(len(columns)), columns.astype(np.int64))
        replay(self, block)


def _numbers(columns: NDArray[np.int64]) -> Dense:
    """Columns as rows of one value, counted from 1: the index ignores zeros."""
    return Dense((columns + 1.0)[:, None], 0.0)
