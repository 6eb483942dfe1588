"""Rows of a block of examples: dense or compressed sparse rows (CSR), with the constant feature in front.

Column 0 of every table of weights belongs to the constant feature (the intercept), column 1 + j to feature j, so that
features can be added in mid-stream without moving anything. ``constant`` is the value of that feature: 1 with an
intercept, 0 without.
"""

from typing import Any, NamedTuple

import numpy as np

from .generic import SUM, generic, helper

FINE, NOT_FINITE, TOO_LARGE, BAD_INDEX = range(4)

# Rows of larger squared norm are refused: a score may add up many of them and must not overflow.
HUGE = 1e290

# Squared norms below this are those of a zero row: a step that divides by them would overflow.
TINY = 1e-300


class Dense(NamedTuple):
    """C-contiguous rows of float64 or float32."""

    X: np.ndarray
    constant: float


class CSR(NamedTuple):
    """Compressed sparse rows: float64 values, int32 indices increasing within a row."""

    data: np.ndarray
    indices: np.ndarray
    indptr: np.ndarray
    constant: float
    width: int


@generic(1)
def row_span(rows: Any, t: int) -> tuple[int, int]:
    """The first number of a stored entry of row t, and the one behind the last, for ``feature_at`` and ``value_at``.

    A loop over them serves dense and sparse rows alike.
    """


@generic(1)
def feature_at(rows: Any, k: int) -> Any:
    """The feature of entry k, unsigned: such an index is never counted from the end."""


@generic(1)
def value_at(rows: Any, t: int, k: int) -> float:
    """The value of entry k, which belongs to row t."""


@row_span.register(Dense)
def _(rows, t):
    return 0, rows.X.shape[1]


@row_span.register(CSR)
def _(rows, t):
    return rows.indptr[t], rows.indptr[t + 1]


@feature_at.register(Dense)
def _(rows, k):
    return np.uint64(k)


@feature_at.register(CSR)
def _(rows, k):
    return np.uint64(rows.indices[np.uint64(k)])


@value_at.register(Dense)
def _(rows, t, k):
    return np.float64(rows.X[np.uint64(t), np.uint64(k)])


@value_at.register(CSR)
def _(rows, t, k):
    return np.float64(rows.data[np.uint64(k)])


@generic(1)
def energy(rows: Any, t: int) -> float:
    """Squared norm of row t, the constant feature included."""


@energy.register(Dense, fast=SUM)
def _(rows, t):
    X = rows.X
    total = 0.0
    for j in range(X.shape[1]):
        total += np.float64(X[t, j]) * np.float64(X[t, j])
    return total + rows.constant * rows.constant


@energy.register(CSR, fast=SUM)
def _(rows, t):
    total = 0.0
    for k in range(rows.indptr[t], rows.indptr[t + 1]):
        x = np.float64(rows.data[np.uint64(k)])  # an unsigned index is never counted from the end
        total += x * x
    return total + rows.constant * rows.constant


@generic(1)
def flaw(rows: Any, t: int) -> int:
    """What is wrong with row t: FINE, NOT_FINITE, TOO_LARGE (its squared norm is beyond HUGE) or BAD_INDEX."""


@flaw.register(Dense)
def _(rows, t):
    return flaw_of_values(rows, t)


@flaw.register(CSR)
def _(rows, t):
    start, stop = row_span(rows, t)
    rising = True
    for k in range(start, stop - 1):
        rising &= rows.indices[np.uint64(k + 1)] > rows.indices[np.uint64(k)]
    if stop > start and (not rising or rows.indices[start] < 0 or rows.indices[stop - 1] >= rows.width):
        return BAD_INDEX
    return flaw_of_values(rows, t)


@helper()
def flaw_of_values(rows, t):
    """What is wrong with the values of row t, whatever its indices."""
    if energy(rows, t) <= HUGE:
        return FINE
    start, stop = row_span(rows, t)
    for k in range(start, stop):
        if not np.isfinite(value_at(rows, t, k)):
            return NOT_FINITE
    return TOO_LARGE


@generic(1)
def count(rows: Any) -> int:
    """How many rows there are."""


@count.register(Dense)
def _(rows):
    return rows.X.shape[0]


@count.register(CSR)
def _(rows):
    return rows.indptr.shape[0] - 1
