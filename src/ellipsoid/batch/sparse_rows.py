"""Products with rows that are mostly zeros, over their nonzeros alone: the compiled half of ``features.Rows``."""

from typing import NamedTuple

import numpy as np

from ellipsoid.engine.compile import compiled


class SparseParts(NamedTuple):
    """The arrays of compressed rows."""

    data: np.ndarray
    indices: np.ndarray
    indptr: np.ndarray


@compiled(error_model="numpy")
def quadratic_of_rows(rows, form):
    """phi_i' form phi_i for every row; ``form`` is symmetric, so the pairs above the diagonal count twice."""
    data, indices, indptr = rows
    out = np.empty(len(indptr) - 1)
    for i in range(out.shape[0]):
        total = 0.0
        for a in range(indptr[i], indptr[i + 1]):
            line = form[indices[a]]
            inner = 0.5 * data[a] * line[indices[a]]
            for b in range(a + 1, indptr[i + 1]):
                inner += data[b] * line[indices[b]]
            total += data[a] * inner
        out[i] = 2.0 * total
    return out


@compiled(error_model="numpy")
def gram_of_rows(rows, weights, width):
    """sum_i weights_i phi_i phi_i'."""
    data, indices, indptr = rows
    total = np.zeros((width, width))
    for i in range(weights.shape[0]):
        if weights[i] == 0.0:
            continue
        for a in range(indptr[i], indptr[i + 1]):
            line = total[indices[a]]
            value = weights[i] * data[a]
            for b in range(indptr[i], indptr[i + 1]):
                line[indices[b]] += value * data[b]
    return total


@compiled(error_model="numpy")
def filled_rows(rows, which, width):
    """The rows ``which``, zeros filled in."""
    data, indices, indptr = rows
    out = np.zeros((which.shape[0], width))
    for i in range(which.shape[0]):
        for a in range(indptr[which[i]], indptr[which[i] + 1]):
            out[i, indices[a]] += data[a]
    return out


@compiled(error_model="numpy")
def nonzeros_of_rows(X):
    """Compressed rows of a dense matrix."""
    indptr = np.zeros(X.shape[0] + 1, np.int32)
    for i in range(X.shape[0]):
        count = 0
        for j in range(X.shape[1]):
            count += X[i, j] != 0.0
        indptr[i + 1] = indptr[i] + count
    data, indices = np.empty(indptr[-1]), np.empty(indptr[-1], np.int32)
    for i in range(X.shape[0]):
        a = indptr[i]
        for j in range(X.shape[1]):
            if X[i, j] != 0.0:
                data[a], indices[a] = X[i, j], j
                a += 1
    return SparseParts(data, indices, indptr)
