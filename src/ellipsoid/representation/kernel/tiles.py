"""Kernel values in tiles, computed from rows in the lanes of vectors, and summed while they are in the nearest cache.

A tile is 64 patterns against 32 rows. Four patterns are multiplied with the 32 rows at once, feature by feature, in
registers; the kernel is applied there; and the values of two tiles side by side, in the nearest cache, are summed with
the coefficients that are not zero, class by class. No matrix of products is ever written. A pattern of mostly zeros is
kept compressed, and its zeros are left out: adding them would change nothing.

A value does not depend on its tile: products are summed in the order of the features, a Gaussian is that of
``x . z - (|x|^2 + |z|^2) / 2``, and a score is summed in the order of the patterns. Far from the origin that would be a
difference of large numbers: rows marked as far get their Gaussians from ``-sum_j (x_j - z_j)^2``, in a second pass over
the tiles that hold one. Whether a row is far depends on that row alone.
"""

from typing import Any, NamedTuple

import numpy as np

from ellipsoid.engine.compile import compiled
from ellipsoid.engine.generic import generic, helper
from ellipsoid.engine.native.counter import take_number
from ellipsoid.engine.native.vector_math import affine, exponential, times
from ellipsoid.engine.native.vector_sums import add_products, store_sums, subtract_squares, zero_sums

from .functions import RBF, Poly

# Patterns of a tile, and rows.
PATTERNS_OF_TILE, ROWS_OF_TILE, FEW_ROWS = 64, 32, 8


class Many(NamedTuple):
    """Rows in tiles of 32: ``X[tile, feature, row]``, and minus half their squared norms."""

    X: np.ndarray
    halves: np.ndarray


class Few(NamedTuple):
    """The same in tiles of 8, for a row or a few."""

    X: np.ndarray
    halves: np.ndarray


class FarMany(NamedTuple):
    """Rows in tiles of 32, some of them far from the origin: ``marks`` is 1 for these, ``far`` is true of their tiles.

    As this is another type, rows near the origin cost nothing more, neither to run nor to compile.
    """

    X: np.ndarray
    halves: np.ndarray
    marks: np.ndarray
    far: np.ndarray


class FarFew(NamedTuple):
    """The same in tiles of 8."""

    X: np.ndarray
    halves: np.ndarray
    marks: np.ndarray
    far: np.ndarray


TileRows = Many | Few | FarMany | FarFew


class Whole(NamedTuple):
    """Patterns with all their features, and their squared norms."""

    table: np.ndarray
    norms: np.ndarray


class Compressed(NamedTuple):
    """Patterns without their zeros."""

    data: np.ndarray
    indices: np.ndarray
    indptr: np.ndarray
    norms: np.ndarray


class Picked(NamedTuple):
    """Coefficients that are not zero, by tiles of patterns and by classes, with their patterns' places in the tile.

    Those of class r in tile t are at ``ends[t, r]`` up to ``ends[t, r + 1]``.
    """

    members: np.ndarray
    coefficients: np.ndarray
    ends: np.ndarray


@generic(1)
def start(rows: Any) -> Any:
    """Zeros to start the sums of the rows of a tile."""


@start.register(Many | FarMany)
def _(rows):
    return zero_sums(4, 8)


@start.register(Few | FarFew)
def _(rows):
    return zero_sums(1, 8)


@generic(1)
def start_of_two(rows: Any) -> Any:
    """Zeros to start the sums of two tiles."""


@start_of_two.register(Many | FarMany)
def _(rows):
    return zero_sums(8, 8)


@start_of_two.register(Few | FarFew)
def _(rows):
    return zero_sums(2, 8)


@generic(1)
def four_products(patterns: Any, X: Any, who: Any, sums: Any) -> Any:
    """Products of four patterns with the rows of a tile, added to sums that have begun."""


@four_products.register(Whole)
def _(patterns, X, who, sums):
    a, b, c, d = sums
    first, second, third, fourth = (
        patterns.table[who[0]],
        patterns.table[who[1]],
        patterns.table[who[2]],
        patterns.table[who[3]],
    )
    for j in range(X.shape[0]):
        a = add_products(a, X, j, 0, first[j])
        b = add_products(b, X, j, 0, second[j])
        c = add_products(c, X, j, 0, third[j])
        d = add_products(d, X, j, 0, fourth[j])
    return a, b, c, d


@helper()
def _compressed_product(patterns, X, i, sums):
    # An unsigned index is never counted from the end.
    for q in range(np.uint64(patterns.indptr[i]), np.uint64(patterns.indptr[i + 1])):
        sums = add_products(sums, X, patterns.indices[q], 0, patterns.data[q])
    return sums


@four_products.register(Compressed)
def _(patterns, X, who, sums):
    return (
        _compressed_product(patterns, X, who[0], sums[0]),
        _compressed_product(patterns, X, who[1], sums[1]),
        _compressed_product(patterns, X, who[2], sums[2]),
        _compressed_product(patterns, X, who[3], sums[3]),
    )


@generic(1)
def unpack_pattern(patterns: Any, i: int, out: Any) -> None:
    """Write a pattern with all its features."""


@unpack_pattern.register(Whole)
def _(patterns, i, out):
    for j in range(out.shape[0]):
        out[j] = patterns.table[i, j]


@unpack_pattern.register(Compressed)
def _(patterns, i, out):
    for j in range(out.shape[0]):
        out[j] = 0.0
    for q in range(patterns.indptr[i], patterns.indptr[i + 1]):
        out[patterns.indices[q]] = patterns.data[q]


@helper()
def _four_distances(some, X, nothing):
    """Minus the squared distances of four patterns from the rows of a tile."""
    a, b, c, d = nothing, nothing, nothing, nothing
    for j in range(X.shape[0]):
        a = subtract_squares(a, X, j, 0, some[0, j])
        b = subtract_squares(b, X, j, 0, some[1, j])
        c = subtract_squares(c, X, j, 0, some[2, j])
        d = subtract_squares(d, X, j, 0, some[3, j])
    return a, b, c, d


@generic(1, default=True)
def origin(kernel: Any, nothing: Any, halves: Any, half: float) -> Any:
    """What the products of a pattern with the rows of a tile are added to; by default zeros."""
    return nothing


@generic(1, default=True)
def values_of(kernel: Any, sums: Any) -> Any:
    """Kernel values from these sums; by default the sums themselves."""
    return sums


@values_of.register(Poly)
def _(kernel, sums):
    base = affine(sums, kernel.gamma, kernel.coef0)
    left = int(kernel.degree)
    power = base if left & 1 else affine(base, 0.0, 1.0)
    left >>= 1
    while left > 0:
        base = times(base, base)
        if left & 1:
            power = times(power, base)
        left >>= 1
    return power


@origin.register(RBF)
def _(kernel, nothing, halves, half):
    return affine(halves, 1.0, half)


@values_of.register(RBF)
def _(kernel, sums):
    return exponential(sums, 2.0 * kernel.gamma)


@helper()
def _four(kernel, patterns, who, rows, f, constant2, out, column):  # noqa: PLR0913
    """Values of four patterns with a tile of rows, into four rows of ``out`` from a column on."""
    nothing = start(rows)
    halves = add_products(nothing, rows.halves, f, 0, 1.0)
    begun = (
        origin(kernel, nothing, halves, -0.5 * patterns.norms[who[0]]),
        origin(kernel, nothing, halves, -0.5 * patterns.norms[who[1]]),
        origin(kernel, nothing, halves, -0.5 * patterns.norms[who[2]]),
        origin(kernel, nothing, halves, -0.5 * patterns.norms[who[3]]),
    )
    sums = four_products(patterns, rows.X[f], who, begun)
    _put(kernel, sums[0], constant2, out[0], column)
    _put(kernel, sums[1], constant2, out[1], column)
    _put(kernel, sums[2], constant2, out[2], column)
    _put(kernel, sums[3], constant2, out[3], column)


@helper()
def _put(kernel, sums, constant2, out, column):
    values = values_of(kernel, sums)
    if constant2 != 0.0:
        values = affine(values, 1.0, constant2)
    store_sums(values, out, column)


@generic(1, default=True)
def correct_far_rows(rows, f, kernel, patterns, slots, constant2, out, column):  # noqa: PLR0913
    """Overwrite the values of the far rows of a tile, in ``out`` from a column on, by Gaussians from differences."""


@correct_far_rows.register(FarMany | FarFew)
def _(rows, f, kernel, patterns, slots, constant2, out, column):  # noqa: PLR0913
    if rows.far[f]:
        _correct(rows, f, kernel, patterns, slots, constant2, out, column)


# Not inlined: within the loops around it, it would take registers from them.
@helper(inline=False)
def _correct(rows, f, kernel, patterns, slots, constant2, out, column):  # noqa: PLR0913
    _, width, lanes = rows.X.shape
    some, values = np.empty((4, width)), np.empty((4, lanes))
    for i in range(0, slots.shape[0], 4):
        for k in range(4):
            unpack_pattern(patterns, slots[min(i + k, slots.shape[0] - 1)], some[k])
        sums = _four_distances(some, rows.X[f], start(rows))
        _put_far(kernel, sums[0], constant2, values[0])
        _put_far(kernel, sums[1], constant2, values[1])
        _put_far(kernel, sums[2], constant2, values[2])
        _put_far(kernel, sums[3], constant2, values[3])
        for k in range(min(4, slots.shape[0] - i)):
            for s in range(min(lanes, out.shape[1] - column)):
                if rows.marks[f, s] != 0.0:
                    out[i + k, column + s] = values[k, s]


@helper()
def _put_far(kernel, sums, constant2, out):
    store_sums(affine(exponential(sums, kernel.gamma), 1.0, constant2), out, 0)


@compiled(nogil=True)
def add_sums(kernel, patterns, slots, picked, constant2, rows, counter, values, out):  # noqa: PLR0913
    """Add ``sum_i coef[i, r] (K(pattern slots[i], x) + constant2)`` to ``out[r]`` for the rows x of tiles it claims.

    ``values`` has room for two tiles, side by side: the sums of twice as many rows do not wait for each other.
    """
    lanes, tiles, end = rows.X.shape[2], rows.X.shape[0], slots.shape[0]
    while True:
        first = 2 * take_number(counter)
        if first >= tiles:
            return
        two = first + 1 < tiles
        for begin in range(0, end, PATTERNS_OF_TILE):
            last = min(end, begin + PATTERNS_OF_TILE) - 1
            for f in range(first, first + 1 + int(two)):
                for i in range(begin, last + 1, 4):
                    who = slots[i], slots[min(i + 1, last)], slots[min(i + 2, last)], slots[min(i + 3, last)]
                    four = values[i - begin : i - begin + 4]
                    _four(kernel, patterns, who, rows, f, constant2, four, (f - first) * lanes)
                some = slots[begin : last + 1]
                correct_far_rows(rows, f, kernel, patterns, some, constant2, values, (f - first) * lanes)
            if two:
                _add_picked(start_of_two(rows), picked, begin // PATTERNS_OF_TILE, values, 0, out, first * lanes)
            else:
                _add_picked(start(rows), picked, begin // PATTERNS_OF_TILE, values, 0, out, first * lanes)


@compiled(nogil=True)
def add_given(picked, tile, values, out):
    """Add ``sum_i coef[i, r] values[i]`` to ``out[r]`` over patterns that begin with those of a tile.

    There are as many columns as make whole vectors of eight.
    """
    whole = out.shape[1] - out.shape[1] % 64
    for begin in range(0, values.shape[0], PATTERNS_OF_TILE):
        some = values[begin : begin + PATTERNS_OF_TILE]
        for column in range(0, whole, 64):
            _add_picked(zero_sums(8, 8), picked, tile + begin // PATTERNS_OF_TILE, some, column, out, column)
        for column in range(whole, out.shape[1], 8):
            _add_picked(zero_sums(1, 8), picked, tile + begin // PATTERNS_OF_TILE, some, column, out, column)


@helper()
def _add_picked(nothing, picked, tile, values, first, out, column):
    for r in range(out.shape[0]):
        sums = add_products(nothing, out, r, column, 1.0)
        for q in range(np.uint64(picked.ends[tile, r]), np.uint64(picked.ends[tile, r + 1])):
            sums = add_products(sums, values, picked.members[q], first, picked.coefficients[q])
        store_sums(sums, out[r], column)


@compiled(nogil=True)
def fill_values(kernel, patterns, slots, constant2, rows, counter, half, values, out):  # noqa: PLR0913
    """Write ``K(pattern slots[i], x) + constant2`` to ``out[i]`` for all rows x and the patterns it claims.

    With ``half`` tiles before that of x_i may hold anything. ``out`` has as many columns as there are rows,
    which may be fewer than the last tile holds.
    """
    lanes, end = rows.X.shape[2], slots.shape[0]
    while True:
        begin = PATTERNS_OF_TILE * take_number(counter)
        if begin >= end:
            return
        last = min(end, begin + PATTERNS_OF_TILE) - 1
        for i in range(begin, last + 1, 4):
            who = slots[i], slots[min(i + 1, last)], slots[min(i + 2, last)], slots[min(i + 3, last)]
            first = i // lanes if half else 0
            for f in range(first, rows.X.shape[0]):
                count = min(lanes, out.shape[1] - f * lanes)
                if count == lanes and i + 4 <= end:
                    _four(kernel, patterns, who, rows, f, constant2, out[i : i + 4], f * lanes)
                else:
                    _four(kernel, patterns, who, rows, f, constant2, values, 0)
                    for k in range(min(4, end - i)):
                        for s in range(count):
                            out[i + k, f * lanes + s] = values[k, s]
        for f in range(begin // lanes if half else 0, rows.X.shape[0]):
            some = slots[begin : last + 1]
            correct_far_rows(rows, f, kernel, patterns, some, constant2, out[begin : last + 1], f * lanes)
