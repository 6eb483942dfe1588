"""The Python side of ``tiles``: rows laid into lanes, patterns with or without their zeros, shares of the work."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ellipsoid.engine.compile import entry

from .kernels import RBF, Linear, Poly
from .tables import doubled, zeros
from .tiles import (
    FEW,
    PATTERNS,
    ROWS,
    TOGETHER,
    Compressed,
    Few,
    Many,
    Picked,
    Whole,
    add_sums,
    fill_values,
    pick,
    spread,
    spread_compressed,
    squeeze,
)

Floats = NDArray[np.float64]
Places = NDArray[np.int64]
Stored = Whole | Compressed

# A product of numbers next to each other costs a half of one that has to be looked up.
MOSTLY_ZEROS = 0.4
# Features from which on zeros are left out.
LONG = 64


def tiled(kernel: Any) -> bool:
    """Are there tiles for this kernel?"""
    return isinstance(kernel, Linear | RBF) or (isinstance(kernel, Poly) and kernel.degree == int(kernel.degree) >= 0)


def laid_out(matrix: Any, norms: Floats) -> Many | Few:
    """Rows of a matrix, dense or CSR, side by side."""
    n, width = matrix.shape
    lanes = FEW if n <= FEW else ROWS
    tiles = -(-n // lanes)
    X, halves = zeros((tiles, width, lanes)), zeros((tiles, lanes))
    halves.ravel()[:n] = -0.5 * norms
    if sp.issparse(matrix):
        args: tuple[Any, ...] = (*parts(matrix), X)
        entry(spread_compressed, *args)(*args)
    else:
        entry(spread, matrix, X)(matrix, X)
    return (Few if lanes == FEW else Many)(X, halves)


def parts(matrix: Any) -> tuple[Floats, Places, Places]:
    """The arrays of a CSR matrix, of the types that compiled code knows."""
    return matrix.data, matrix.indices.astype(np.int64, copy=False), matrix.indptr.astype(np.int64, copy=False)


def squeezed(matrix: Floats) -> tuple[Floats, Places, Places]:
    """The arrays of the CSR form of a dense matrix."""
    room = int(np.count_nonzero(matrix)) + 1
    args = (matrix, np.empty(room), np.empty(room, dtype=np.int64), np.zeros(len(matrix) + 1, dtype=np.int64))
    entry(squeeze, *args)(*args)
    return args[1][:-1], args[2][:-1], args[3]


class Nonzeros:
    """Dense rows once more without their zeros, as long as these are many."""

    def __init__(self) -> None:
        self.count = 0
        self.worthwhile = True
        self.data: Floats = np.zeros(0)
        self.indices: Places = np.zeros(0, dtype=np.int64)
        self.indptr: Places = np.zeros(1, dtype=np.int64)

    def follow(self, table: Floats, used: int) -> bool:
        """Catch up with the first ``used`` rows of a table; False if they have too few zeros."""
        width, begin = table.shape[1], self.count
        if not self.worthwhile or begin == used:
            return self.worthwhile
        fresh = table[begin:used]
        room = int(self.indptr[begin]) + int(np.count_nonzero(fresh))
        self.worthwhile = width >= LONG and room <= MOSTLY_ZEROS * width * used
        if self.worthwhile:
            self.data, self.indices = doubled(self.data, room + 1), doubled(self.indices, room + 1)
            self.indptr = doubled(self.indptr, used + 1)
            args = (fresh, self.data, self.indices, self.indptr[begin:])
            entry(squeeze, *args)(*args)
            self.count = used
        else:
            self.forget(0)
        return self.worthwhile

    def forget(self, count: int) -> None:
        """Keep no more than the first rows."""
        self.count = min(self.count, count)
        if self.count == 0:
            self.data, self.indices, self.indptr = self.data[:0], self.indices[:0], self.indptr[:1]

    def compressed(self, halves: Floats) -> Compressed:
        """The rows for compiled code."""
        return Compressed(self.data, self.indices, self.indptr, halves)


class Picker:
    """The coefficients that are not zero, kept from call to call as far as they have not changed."""

    def __init__(self) -> None:
        self.known = self.end = 0
        self.copy: Floats = np.zeros((0, 0))
        self.picked = Picked(np.zeros(0, dtype=np.int64), np.zeros(0), np.zeros((0, 1), dtype=np.int64))

    def pick(self, coef: Floats) -> Picked:
        """Those of a row for each pattern."""
        coef = np.ascontiguousarray(coef)
        count, classes = coef.shape
        if self.copy.shape[1] != classes:
            self.known, self.copy = 0, np.zeros((0, classes))
            self.picked = self.picked._replace(ends=np.zeros((0, classes + 1), dtype=np.int64))
        # Whole tiles that were known are compared; all others are picked.
        last, known = -(-count // PATTERNS), min(count, self.known) // PATTERNS
        same = slice(0, known * PATTERNS)
        differ = (coef[same] != self.copy[same]).reshape(known, PATTERNS * classes).any(axis=1)
        tiles = np.concatenate([np.flatnonzero(differ), np.arange(known, last)])
        # What is picked anew goes behind the rest; without room for it everything is, and what is stale is left out.
        if self.end + len(tiles) * PATTERNS * classes >= len(self.picked.much):
            room, tiles, self.end = 2 * coef.size + PATTERNS * classes + 1, np.arange(last), 0
            self.picked = self.picked._replace(which=np.empty(room, dtype=np.int64), much=np.empty(room))
        self.picked = self.picked._replace(ends=doubled(self.picked.ends, last))
        self.copy, self.known = doubled(self.copy, count), count
        for tile in tiles:
            rows = slice(tile * PATTERNS, min(count, (tile + 1) * PATTERNS))
            self.copy[rows] = coef[rows]
        args = (coef, tiles, self.end, self.picked)
        self.end = entry(pick, *args)(*args)
        return self.picked


class Sums:
    """``sums[r] = sum_i coef[i, r] (K(pattern slots[i], x) + constant2)`` for rows x, by all threads that ``work``."""

    def __init__(
        self, kernel: Any, patterns: Stored, slots: Places, picked: Picked, rows: Many | Few, constant2: float
    ) -> None:
        tiles, width, self.lanes = rows.X.shape
        self.sums = zeros((picked.ends.shape[1] - 1, tiles * self.lanes))
        self.parts = -(-tiles // TOGETHER)
        self.effort = self.sums.shape[1] * len(slots) * float(width + len(self.sums))
        self.args = (kernel, patterns, slots, picked, constant2, rows, np.zeros(1, dtype=np.int64))

    def work(self) -> None:
        """Do what nobody has claimed yet."""
        args = (*self.args, zeros((PATTERNS, self.lanes)), self.sums)
        entry(add_sums, *args)(*args)


class Values:
    """``out[i] = K(pattern slots[i], x)`` for rows x, with ``half`` for those from the i-th on, in the same way."""

    def __init__(
        self, kernel: Any, patterns: Stored, slots: Places, rows: Many | Few, count: int, *, half: bool = False
    ) -> None:
        self.parts, width, self.lanes = rows.X.shape
        self.out = np.zeros((len(slots), count))
        self.effort = self.out.size * float(width)
        self.args = (kernel, patterns, slots, rows, np.zeros(1, dtype=np.int64), half)

    def work(self) -> None:
        """Do what nobody has claimed yet."""
        args = (*self.args, zeros((4, self.lanes)), self.out)
        entry(fill_values, *args)(*args)
