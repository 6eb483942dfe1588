"""A row as a list of its non-zero entries, the constant first: read once, used by every copy of a learner.

Dense and sparse rows become the same list, so that what follows is one body of code and gives the same bits for both.
An entry below ``NEGLIGIBLE_VALUE`` in size is left out: its square would be too near zero.
"""

from typing import Any

from ellipsoid.engine.generic import helper
from ellipsoid.engine.rows import feature_at, row_span, value_at

NEGLIGIBLE_VALUE = 1e-100


@helper()
def pack(rows: Any, t: int, index: Any, value: Any) -> int:
    """Write the columns (constant 0, feature j 1 + j) and values of row t; returns how many there are."""
    size = 0
    if rows.constant != 0.0:
        index[0], value[0] = 0, rows.constant
        size = 1
    start, stop = row_span(rows, t)
    for k in range(start, stop):
        x = value_at(rows, t, k)
        index[size], value[size] = 1 + feature_at(rows, k), x
        size += 1 if abs(x) >= NEGLIGIBLE_VALUE else 0
    return size
