"""Tables of weights that grow: the Python side of `linear`.

Capacity doubles, so that adding classes or features one by one costs O(1) copies amortised; compiled code sees whole
tables and never grows them.
"""

from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ellipsoid.engine.native.vector_sums import LANES

from .averages import mean
from .linear import CACHE_LINE, ClassMajor, FeatureMajor
from .table_protocol import Floats, StoredArrays, Table


def whole_blocks(scores: int) -> int:
    """The places for so many scores that are read in whole blocks; one alone is not."""
    return scores if scores == 1 else -(-scores // LANES) * LANES


def zeros(shape: tuple[int, ...]) -> Floats:
    """Zeros that begin where a cache line does: blocks read from them never straddle two lines."""
    size = prod(shape)
    raw = np.zeros(size + CACHE_LINE)
    skip = -raw.ctypes.data // raw.itemsize % CACHE_LINE
    return raw[skip : skip + size].reshape(shape)


def doubled(array: NDArray[Any], rows: int) -> NDArray[Any]:
    """The array itself if it has so many rows, or a copy with twice as many as it had, or more if need be."""
    if rows <= len(array):
        return array
    grown = np.zeros((max(rows, 2 * len(array)), *array.shape[1:]), dtype=array.dtype)
    grown[: len(array)] = array
    return grown


def widened(array: Floats, columns: int) -> Floats:
    """A copy of the array with so many columns, new ones of zeros."""
    wider = np.zeros((len(array), columns))
    wider[:, : array.shape[1]] = array
    return wider


class LinearTable(Table):
    """Weights of ``scores`` linear functions over ``width`` features and the constant one.

    >>> table = LinearTable(by_class=True, average=False)
    >>> _ = table.reserve(3, 4)
    >>> table.weights(0, rounds=0).shape, table.weights(3, rounds=0).shape
    ((0, 5), (3, 5))
    """

    predicts_in_loop = True

    def __init__(self, *, by_class: bool, average: bool) -> None:
        self.by_class = by_class
        self.average = average
        self.width = 0
        self._allocate(1, 1)

    def _shape(self, scores: int, columns: int) -> tuple[int, int]:
        """The shape of every array, for so many functions and columns."""
        return (scores, columns) if self.by_class else (columns, whole_blocks(scores))

    def _allocate(self, scores: int, columns: int) -> None:
        shape = self._shape(scores, columns)
        self.W: Floats = zeros(shape)
        self.U: Floats = zeros(shape) if self.average else np.zeros((0, 0))
        self._bind()

    def _bind(self) -> None:
        self.rep: Any = (ClassMajor if self.by_class else FeatureMajor)(self.W, self.U)

    def reserve(self, scores: int, width: int) -> bool:
        self.width = max(self.width, width)
        old_scores, old_columns = self.oriented_shape()
        if scores <= old_scores and 1 + self.width <= old_columns:
            return False
        # The first reservation is exact; only growth in mid-stream doubles.
        fresh = old_columns == 1
        new_scores = max(scores, old_scores if scores <= old_scores or fresh else 2 * old_scores)
        columns = max(1 + self.width, old_columns if 1 + self.width <= old_columns or fresh else 2 * old_columns)
        W, U = self.W, self.U
        self._allocate(new_scores, columns)
        for old, new in ((W, self.W), (U, self.U)):
            if old.size:
                new[: old.shape[0], : old.shape[1]] = old
        return True

    def _oriented(self, table: Floats) -> Floats:
        return table if self.by_class else table.T

    def oriented_shape(self) -> tuple[int, int]:
        """Capacity: functions, columns (the constant one included)."""
        functions, columns = self._oriented(self.W).shape
        return int(functions), int(columns)

    def copy(self) -> "LinearTable":
        """A table with copies of the weights."""
        other = LinearTable(by_class=self.by_class, average=self.average)
        other.width, other.W, other.U = self.width, self.W.copy(), self.U.copy()
        other._bind()
        return other

    def by_functions(self) -> "LinearTable":
        """A table with the same weights, those of a function together."""
        other = LinearTable(by_class=True, average=self.average)
        other.width = self.width
        other.W, other.U = (np.ascontiguousarray(self._oriented(table)) for table in (self.W, self.U))
        other._bind()
        return other

    def clear(self) -> None:
        """Forget all weights."""
        self.W[:] = 0.0
        self.U[:] = 0.0

    def weights(self, scores: int, rounds: int) -> Floats:
        W = self._oriented(self.W)[:scores, : 1 + self.width]
        if not self.average or rounds == 0:
            return W
        return mean(W, self._oriented(self.U)[:scores, : 1 + self.width], rounds, -1.0)

    def predictor(self, rounds: int) -> Any:
        if not self.average or rounds == 0:
            return self.rep
        return self.rep._replace(W=mean(self.W, self.U, rounds, -1.0))

    def split(self, factor: float) -> None:
        self.reserve(2, self.width)
        for table in (self.W, self.U):
            if table.size:
                view = self._oriented(table)
                view[1] = factor * view[0]
                view[0] = 0.0 - view[1]  # never -0.0

    def state(self, scores: int) -> StoredArrays:
        arrays: StoredArrays = {"W": self._oriented(self.W)[:scores, : 1 + self.width].copy()}
        if self.average:
            arrays["U"] = self._oriented(self.U)[:scores, : 1 + self.width].copy()
        return arrays

    def restore(self, arrays: StoredArrays) -> None:
        scores, columns = arrays["W"].shape
        self.reserve(max(scores, 1), columns - 1)
        for name in ("W", "U") if self.average else ("W",):
            self._oriented(getattr(self, name))[:scores, :columns] = arrays[name]


class AroundLinear(Table):
    """The base class of tables that keep something else beside linear weights; ``linear`` has the weights."""

    linear: LinearTable

    def mutable_parts(self) -> list[Any]:
        return [self, self.linear]

    @property
    def by_class(self) -> bool:  # type: ignore[override]
        return self.linear.by_class

    @property
    def width(self) -> int:  # type: ignore[override]
        return self.linear.width

    def weights(self, scores: int, rounds: int) -> Floats:
        return self.linear.weights(scores, rounds)
