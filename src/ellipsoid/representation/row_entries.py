"""The entries of one row, dense or sparse: one after another, or all of them as a dense vector.

One after another they have the places of `row_span`, and the constant feature follows at the place ``stop``.
"""

from typing import Any

import numpy as np

from ellipsoid.engine.generic import generic, helper
from ellipsoid.engine.rows import CSR, Dense, feature_at, value_at


@helper()
def entry_column(rows, k, stop):
    """The column of the table that place k belongs to."""
    return np.int64(0) if k == stop else np.int64(1 + feature_at(rows, k))


@helper()
def entry_value(rows, t, k, stop):
    """The value at place k of row t."""
    return rows.constant if k == stop else value_at(rows, t, k)


@generic(1)
def unpack_row(rows: Any, t: int, x: Any) -> None:
    """Write row t into the vector ``x``, the constant feature first; entries beyond the row's width become zero."""


@unpack_row.register(Dense)
def _(rows, t, x):
    width = rows.X.shape[1]
    x[0] = rows.constant
    for j in range(width):
        x[1 + j] = rows.X[t, j]
    for j in range(1 + width, x.shape[0]):
        x[j] = 0.0


@unpack_row.register(CSR)
def _(rows, t, x):
    for j in range(x.shape[0]):
        x[j] = 0.0
    x[0] = rows.constant
    for k in range(rows.indptr[t], rows.indptr[t + 1]):
        x[1 + np.uint64(rows.indices[k])] = rows.data[k]
