"""Running means and deviations of features, row by row, in one pass over dense or sparse rows.

For the n_j non-zero entries of feature j Welford's recurrence keeps mean a_j and sum of squares q_j around it; the
n - n_j zeros join when a number is asked for, by the formula for two samples (Chan, Golub, LeVeque 1983, eq. 2.1):

    mean = a_j n_j / n                     n variance = q_j + a_j^2 n_j (n - n_j) / n

No term is negative, so that nothing cancels. A zero costs nothing, dense and sparse rows give the same bits, and every
row is taken in by itself: how a stream is cut into calls cannot matter. A row may be scaled in the same breath, by the
rows before it (``early``) and by the rows up to and including itself (``out``).

Welford, "Note on a method for calculating corrected sums of squares and products", Technometrics 4 (1962).
"""

from typing import Any

import numpy as np

from ellipsoid.engine import compiled

# Rows of the table of moments.
COUNT, MEAN, SQUARE_SUM = range(3)

# A deviation below this share of the mean is rounding: the feature is taken for constant.
EQUAL = 1e-14

# What a row may have in deviations of the rows before it, where the row itself is not refused: as much as any row.
UNLIKELY = 1e144


@compiled
def centre_of(count: Any, mean: Any, n: Any) -> Any:
    """The mean over n rows."""
    return mean * (count / n)


@compiled
def deviation_of(count: Any, mean: Any, squares: Any, n: Any) -> Any:
    """The deviation over n rows; 1 where the feature is constant, so that to divide by it changes nothing."""
    deviation = np.sqrt((squares + mean * mean * (count * ((n - count) / n))) / n)
    if deviation <= EQUAL * abs(mean * (count / n)):
        return 1.0
    return deviation


@compiled
def note(moments: Any, j: Any, x: Any) -> None:
    """Take in a non-zero entry."""
    moments[COUNT, j] += 1.0
    off = x - moments[MEAN, j]
    moments[MEAN, j] += off / moments[COUNT, j]
    moments[SQUARE_SUM, j] += off * (x - moments[MEAN, j])


@compiled
def scale_dense_rows(X: Any, moments: Any, seen: Any, learn: Any, centre: Any, out: Any, early: Any) -> Any:
    """Take in rows if ``learn``, and scale them into what has room; returns the number of rows seen.

    Where nothing was seen before a row, ``early`` gets zeros.
    """
    for t in range(X.shape[0]):
        if early.shape[0] > 0:
            for j in range(X.shape[1]):
                count, mean = moments[COUNT, j], moments[MEAN, j]
                shift = centre_of(count, mean, seen) if centre and seen > 0.0 else 0.0
                early[t, j] = clipped_scaling(X[t, j] - shift, count, mean, moments[SQUARE_SUM, j], seen)
        if learn:
            seen += 1.0
            for j in range(X.shape[1]):
                if X[t, j] != 0.0:
                    note(moments, j, X[t, j])
        if out.shape[0] > 0:
            for j in range(X.shape[1]):
                count, mean = moments[COUNT, j], moments[MEAN, j]
                shift = centre_of(count, mean, seen) if centre else 0.0
                out[t, j] = (X[t, j] - shift) / deviation_of(count, mean, moments[SQUARE_SUM, j], seen)
    return seen


@compiled
def clipped_scaling(x: Any, count: Any, mean: Any, squares: Any, n: Any) -> Any:
    """x scaled by rows that may have been very unlike it, within bounds that no score overflows at; 0 before all."""
    if n == 0.0:
        return 0.0
    return max(-UNLIKELY, min(UNLIKELY, x / deviation_of(count, mean, squares, n)))


@compiled
def scale_sparse_rows(
    data: Any, indices: Any, indptr: Any, moments: Any, seen: Any, learn: Any, out: Any, early: Any
) -> Any:
    """The same for compressed sparse rows, without a shift, which would fill them."""
    for t in range(indptr.shape[0] - 1):
        if early.shape[0] > 0:
            for k in range(indptr[t], indptr[t + 1]):
                j = indices[k]
                early[k] = clipped_scaling(data[k], moments[COUNT, j], moments[MEAN, j], moments[SQUARE_SUM, j], seen)
        if learn:
            seen += 1.0
            for k in range(indptr[t], indptr[t + 1]):
                if data[k] != 0.0:
                    note(moments, indices[k], data[k])
        if out.shape[0] > 0:
            for k in range(indptr[t], indptr[t + 1]):
                j = indices[k]
                out[k] = data[k] / deviation_of(moments[COUNT, j], moments[MEAN, j], moments[SQUARE_SUM, j], seen)
    return seen


@compiled
def entry_norm(values: Any, start: Any, stop: Any) -> Any:
    """The 2-norm of some entries, also where their squares would underflow; 1 where all are zero."""
    total = 0.0
    for k in range(start, stop):
        total += values[k] * values[k]
    if total > 1e-290:
        return np.sqrt(total)
    largest = 0.0
    for k in range(start, stop):
        largest = max(largest, abs(values[k]))
    if largest == 0.0:
        return 1.0
    total = 0.0
    for k in range(start, stop):
        total += (values[k] / largest) * (values[k] / largest)
    return largest * np.sqrt(total)


@compiled
def unit_rows(values: Any, ends: Any, out: Any) -> None:
    """Divide the entries of every row, from one end to the next, by their 2-norm."""
    for t in range(ends.shape[0] - 1):
        norm = entry_norm(values, ends[t], ends[t + 1])
        for k in range(ends[t], ends[t + 1]):
            out[k] = values[k] / norm
