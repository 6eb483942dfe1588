"""One row as a dense vector, the constant feature first."""

from typing import Any

import numpy as np

from ellipsoid.engine.generic import generic
from ellipsoid.engine.rows import CSR, Dense


@generic(1)
def unpack_row(rows: Any, t: int, x: Any) -> None:
    """Write row t into ``x``; entries beyond its width become zero."""


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
