"""A row as a list of its non-zero entries, the constant first: read once, used by every copy of a learner.

Dense and sparse rows become the same list, so that what follows is one body of code and gives the same bits for both.
An entry below ``NEGLIGIBLE_VALUE`` in size is left out: its square could not be told from zero.
"""

from typing import Any

import numpy as np

from ellipsoid.engine.generic import generic
from ellipsoid.engine.rows import CSR, Dense

NEGLIGIBLE_VALUE = 1e-100


@generic(1)
def pack(rows: Any, t: int, index: Any, value: Any) -> int:
    """Write the columns (constant 0, feature j 1 + j) and values of row t; returns how many there are."""


@pack.register(Dense)
def _(rows, t, index, value):
    X = rows.X
    size = 0
    if rows.constant != 0.0:
        index[0], value[0] = 0, rows.constant
        size = 1
    for j in range(X.shape[1]):
        x = np.float64(X[t, j])
        index[size], value[size] = 1 + j, x
        size += 1 if abs(x) >= NEGLIGIBLE_VALUE else 0
    return size


@pack.register(CSR)
def _(rows, t, index, value):
    size = 0
    if rows.constant != 0.0:
        index[0], value[0] = 0, rows.constant
        size = 1
    for k in range(rows.indptr[t], rows.indptr[t + 1]):
        x = np.float64(rows.data[np.uint64(k)])
        index[size], value[size] = 1 + np.int64(rows.indices[np.uint64(k)]), x
        size += 1 if abs(x) >= NEGLIGIBLE_VALUE else 0
    return size
