"""The coordinates that a row touches, one after another, dense or sparse: its features, then the constant one.

They are numbered as `row_span` says; ``stop``, behind the last feature, is the number of the constant one.
"""

import numpy as np

from ellipsoid.engine.generic import helper
from ellipsoid.engine.rows import feature_at, value_at


@helper()
def column(rows, k, stop):
    """The column of the table that coordinate k belongs to."""
    return np.int64(0) if k == stop else np.int64(1 + feature_at(rows, k))


@helper()
def value(rows, t, k, stop):
    """The value of coordinate k of row t."""
    return rows.constant if k == stop else value_at(rows, t, k)
