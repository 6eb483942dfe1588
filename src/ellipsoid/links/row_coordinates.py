"""The coordinates that a row touches, one after another, dense or sparse: its features, then the constant one."""

from typing import Any

import numpy as np

from ellipsoid.engine.generic import generic
from ellipsoid.engine.rows import CSR, Dense


@generic(1)
def stretch(rows: Any, t: int) -> tuple[int, int]:
    """Where row t starts and stops; the place after the last one is the constant feature's."""


@stretch.register(Dense)
def _(rows, t):
    return 0, rows.X.shape[1]


@stretch.register(CSR)
def _(rows, t):
    return rows.indptr[t], rows.indptr[t + 1]


@generic(1)
def column(rows: Any, k: int, start: int, stop: int) -> int:
    """The column of the table that place k belongs to."""


@column.register(Dense)
def _(rows, k, start, stop):
    return np.int64(0 if k == stop else 1 + k)


@column.register(CSR)
def _(rows, k, start, stop):
    return np.int64(0 if k == stop else 1 + rows.indices[k])


@generic(1)
def value(rows: Any, t: int, k: int, stop: int) -> float:
    """The value at place k of row t."""


@value.register(Dense)
def _(rows, t, k, stop):
    return rows.constant if k == stop else np.float64(rows.X[t, k])


@value.register(CSR)
def _(rows, t, k, stop):
    return rows.constant if k == stop else np.float64(rows.data[k])
