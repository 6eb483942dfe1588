"""Rows and support patterns in the layout that `tiles` reads, and its work divided among threads."""

from threading import Lock
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ellipsoid.engine.compile import call

from ..table_protocol import Floats
from ..tables import doubled, zeros
from .functions import RBF, Linear, Poly
from .pattern_index import Places
from .tile_layout import fill_lanes, mark_changes, pick, spread_compressed, squeeze
from .tiles import (
    FEW_ROWS,
    PATTERNS_OF_TILE,
    ROWS_OF_TILE,
    Compressed,
    FarFew,
    FarMany,
    Few,
    Many,
    Picked,
    TileRows,
    Whole,
    add_given,
    add_sums,
    fill_values,
)

Stored = Whole | Compressed

# Several threads may predict with one model.
_ONE_AT_A_TIME = Lock()

# Share of nonzeros up to which zeros are left out: a product with neighbouring numbers costs half of one with others.
MOSTLY_ZEROS = 0.4
# Features from which on zeros are left out.
LONG_ROW = 64


def tiled(kernel: Any) -> bool:
    """Can `tiles` compute this kernel?"""
    return isinstance(kernel, Linear | RBF) or (isinstance(kernel, Poly) and kernel.degree == int(kernel.degree) >= 0)


def laid_out(matrix: Any, norms: Floats, far: NDArray[np.bool_] | None = None) -> TileRows:
    """Rows of a matrix, dense or CSR, in tiles; those that are ``far`` get their Gaussians from differences."""
    n, width = matrix.shape
    lanes = FEW_ROWS if n <= FEW_ROWS else ROWS_OF_TILE
    tiles = -(-n // lanes)
    X, halves = zeros((tiles, width, lanes)), zeros((tiles, lanes))
    halves.ravel()[:n] = -0.5 * norms
    if sp.issparse(matrix):
        call(spread_compressed, *parts(matrix), X)
    else:
        call(fill_lanes, matrix, X)
    if far is None or not far.any():
        return (Few if lanes == FEW_ROWS else Many)(X, halves)
    marks = zeros((tiles, lanes))
    marks.ravel()[:n] = far
    return (FarFew if lanes == FEW_ROWS else FarMany)(X, halves, marks, np.asarray(marks.any(axis=1)))


def parts(matrix: Any) -> tuple[Floats, Places, Places]:
    """The arrays of a CSR matrix, writeable and with indices of 64 bits."""
    data, indices, indptr = (np.require(a, requirements="W") for a in (matrix.data, matrix.indices, matrix.indptr))
    return data, indices.astype(np.int64, copy=False), indptr.astype(np.int64, copy=False)


class Nonzeros:
    """A copy of dense rows without their zeros, as long as these are many.

    What was returned stays valid: rows are added behind it. A copy or a pickle of this is empty, and filled when used.
    """

    def __init__(self) -> None:
        self.count = 0
        self.worthwhile = True
        self.data: Floats = np.zeros(0)
        self.indices: Places = np.zeros(0, dtype=np.int64)
        self.indptr: Places = np.zeros(1, dtype=np.int64)

    def __reduce__(self) -> tuple[Any, ...]:
        return Nonzeros, ()

    def of(self, table: Floats, used: int, norms: Floats) -> Compressed | None:
        """The first ``used`` rows of a table without their zeros, or None if these are few."""
        with _ONE_AT_A_TIME:
            if self.worthwhile and self.count < used:
                self._follow(table, used)
            return Compressed(self.data, self.indices, self.indptr, norms) if self.worthwhile else None

    def _follow(self, table: Floats, used: int) -> None:
        width, begin = table.shape[1], self.count
        fresh = table[begin:used]
        room = int(self.indptr[begin]) + int(np.count_nonzero(fresh))
        self.worthwhile = width >= LONG_ROW and room <= MOSTLY_ZEROS * width * used
        if self.worthwhile:
            self.data, self.indices = doubled(self.data, room + 1), doubled(self.indices, room + 1)
            self.indptr = doubled(self.indptr, used + 1)
            call(squeeze, fresh, self.data, self.indices, self.indptr[begin:])
            self.count = used
        else:
            self.forget(0)

    def forget(self, count: int) -> None:
        """Keep only the first rows."""
        self.count = min(self.count, count)
        if self.count == 0:
            self.data, self.indices, self.indptr = self.data[:0], self.indices[:0], self.indptr[:1]


def picked_once(coef: Floats) -> Picked:
    """Coefficients that are not zero, for one use."""
    tiles, classes, room = -(-len(coef) // PATTERNS_OF_TILE), coef.shape[1], coef.size + 1
    ends = np.empty((tiles, classes + 1), dtype=np.int64)
    picked = Picked(np.empty(room, dtype=np.uint8), np.empty(room), ends)
    call(pick, coef, np.arange(tiles), 0, picked)
    return picked


class Picker:
    """The coefficients that are not zero; from call to call only the changes are picked.

    What was returned stays valid; a copy or a pickle of this is empty.
    """

    def __init__(self) -> None:
        self.known = self.end = 0
        self.copy: Floats = np.zeros((0, 0))
        self.picked = Picked(np.zeros(0, dtype=np.uint8), np.zeros(0), np.zeros((0, 1), dtype=np.int64))

    def __reduce__(self) -> tuple[Any, ...]:
        return Picker, ()

    def pick(self, coef: Floats, since: tuple[Picked, Places] | None = None) -> Picked:
        """Pick from a row of coefficients for each pattern.

        ``since`` is what was picked from them before, and the only rows that have changed: no others are compared,
        unless there was a call with other coefficients in between.
        """
        with _ONE_AT_A_TIME:
            changed = None if since is None or since[0] is not self.picked else since[1]
            self._follow(np.ascontiguousarray(coef), changed)
            return self.picked

    def _follow(self, coef: Floats, changed: Places | None) -> None:
        count, classes = coef.shape
        if self.copy.shape[1] != classes:
            self.known, self.copy = 0, np.zeros((0, classes))
            self.picked = self.picked._replace(ends=np.zeros((0, classes + 1), dtype=np.int64))
        tiles, last = self._stale(coef, changed), -(-count // PATTERNS_OF_TILE)
        if not len(tiles):
            return
        # What is picked now goes behind the rest. Where there is no room, everything is picked again into a new array.
        if self.end + len(tiles) * PATTERNS_OF_TILE * classes >= len(self.picked.coefficients):
            room, tiles, self.end = 2 * coef.size + PATTERNS_OF_TILE * classes + 1, np.arange(last), 0
            self.picked = self.picked._replace(members=np.empty(room, dtype=np.uint8), coefficients=np.empty(room))
        self.picked = self.picked._replace(ends=doubled(self.picked.ends, last).copy())
        # Should this be interrupted, the copy is half written, and nothing in it is to be relied on.
        self.copy, self.known = doubled(self.copy, count), 0
        for tile in tiles:
            rows = slice(tile * PATTERNS_OF_TILE, min(count, (tile + 1) * PATTERNS_OF_TILE))
            self.copy[rows] = coef[rows]
        self.end = call(pick, coef, tiles, self.end, self.picked)
        self.known = count

    def _stale(self, coef: Floats, changed: Places | None) -> Places:
        """Tiles whose number of patterns or coefficients have changed."""
        differ = np.ones(-(-len(coef) // PATTERNS_OF_TILE), dtype=np.bool_)
        # Tiles that have gained or lost patterns have changed in any case.
        whole = len(differ) if len(coef) == self.known else min(len(coef), self.known) // PATTERNS_OF_TILE
        if changed is None:
            call(mark_changes, coef, self.copy, whole, differ)
        else:
            differ[:whole] = False
            differ[changed // PATTERNS_OF_TILE] = True
        return np.flatnonzero(differ)


class PatternSums:
    """``sum_i coef[i, r] (K(pattern slots[i], x) + constant2)`` for rows x, by all threads that call ``work``.

    They are added to ``sums[r]``, by default zeros.
    """

    def __init__(
        self, kernel: Any, patterns: Stored, slots: Places, picked: Picked, rows: TileRows, constant2: float,
        sums: Floats | None = None,
    ) -> None:  # fmt: skip
        tiles, width, self.lanes = rows.X.shape
        self.sums = zeros((picked.ends.shape[1] - 1, tiles * self.lanes)) if sums is None else sums
        self.parts = -(-tiles // 2)
        self.effort = self.sums.shape[1] * len(slots) * float(width + len(self.sums))
        self.args = (kernel, patterns, slots, picked, constant2, rows, np.zeros(1, dtype=np.int64))

    def work(self) -> None:
        """Do parts of the work until none is left."""
        call(add_sums, *self.args, zeros((PATTERNS_OF_TILE, 2 * self.lanes)), self.sums)


class GivenSums:
    """``sum_i coef[i, r] (K(pattern i, x) + constant2)`` for rows x, added to ``sums[r]``, from values given."""

    def __init__(self, picked: Picked, constant2: float, sums: Floats) -> None:
        self.picked, self.constant2, self.n, self.count = picked, constant2, sums.shape[1], 0
        self._sums = zeros((len(sums), -(-self.n // FEW_ROWS) * FEW_ROWS))
        self._sums[:, : self.n] = sums
        self._values: Floats = zeros((0, self._sums.shape[1]))

    @property
    def sums(self) -> Floats:
        """The sums so far."""
        return self._sums[:, : self.n]

    def add(self, values: Floats) -> None:
        """Add the values ``[row, pattern]`` of the next patterns, in whole tiles unless they are the last."""
        new = values.shape[1]
        if new > len(self._values):
            self._values = zeros((new, self._sums.shape[1]))
        np.add(values.T, self.constant2, out=self._values[:new, : self.n])
        call(add_given, self.picked, self.count // PATTERNS_OF_TILE, self._values[:new], self._sums)
        self.count += new


class Values:
    """``out[i] = K(pattern slots[i], x) + constant2`` for rows x, with ``half`` for those from the i-th on."""

    def __init__(
        self, kernel: Any, patterns: Stored, slots: Places, rows: TileRows, out: Floats, constant2: float = 0.0,
        *, half: bool = False,
    ) -> None:  # fmt: skip
        _, width, self.lanes = rows.X.shape
        self.parts = -(-len(slots) // PATTERNS_OF_TILE)
        self.out = out
        self.effort = out.size * float(width)
        self.args = (kernel, patterns, slots, constant2, rows, np.zeros(1, dtype=np.int64), half)

    def work(self) -> None:
        call(fill_values, *self.args, zeros((4, self.lanes)), self.out)
