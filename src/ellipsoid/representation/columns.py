"""Support patterns of a given kernel matrix: each is the number of its column."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ellipsoid.engine.rows import CSR, Dense

from .patterns import Block, DensePatterns, Floats, Patterns, Picks
from .tables import doubled


class Columns(Patterns):
    """Columns of a given kernel matrix: a pattern is the number of its column."""

    def __init__(self, width: int) -> None:
        super().__init__(width)
        self.columns: NDArray[np.int64] = np.zeros(0, dtype=np.int64)

    def matrix_of(self, rows: Dense | CSR, picks: Picks) -> Floats:
        """The kernel values that were given."""
        return DensePatterns.matrix_of(self, rows, picks)  # type: ignore[arg-type]

    def keys_of(self, block: Block, rows: list[int]) -> list[bytes]:
        """The columns."""
        return [int(column).to_bytes(8, "little") for column in block.columns[rows]]

    def rows(self, slots: Picks) -> NDArray[np.int64]:
        """The columns."""
        return self.columns[slots]

    def append(self, block: Block, rows: list[int]) -> None:
        """Note the columns."""
        end = self.used + len(rows)
        self.columns = doubled(self.columns, end)
        self.columns[self.used : end] = block.columns[rows]

    def put(self, slot: int, block: Block, t: int) -> None:
        """Note the column."""
        self.columns[slot] = block.columns[t]

    def values(self, kernel: Any, block: Block, slots: Picks, buffer: Floats) -> Floats:
        """Picked out of the rows."""
        return np.ascontiguousarray(block.matrix[:, self.columns[slots]])

    def gram(self, kernel: Any, block: Block, *, half: bool = False) -> Floats:
        """Picked out of the rows."""
        return np.ascontiguousarray(block.matrix[:, block.columns].T)

    def widen(self, width: int) -> None:
        """Refuse: the columns are the training examples, all of them known from the start."""
        if self.used or self.norms.size:
            raise ValueError("a precomputed kernel cannot grow columns: X must hold one for every training example")
        self.width = width

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The columns."""
        return {"columns": self.columns[: self.used].copy()}

    def restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Take them back."""
        columns = arrays["columns"]
        if len(columns) and not (columns.min() >= 0 and columns.max() < self.width):
            raise ValueError("its support patterns are columns beyond its width")
        self.columns, self.used = columns.astype(np.int64), len(columns)
        self.norms = np.zeros(self.used)
        self.keys = [int(column).to_bytes(8, "little") for column in columns]
        self.index = {key: slot for slot, key in enumerate(self.keys)}
        if len(self.index) != self.used:
            raise ValueError("it holds one support pattern twice")
