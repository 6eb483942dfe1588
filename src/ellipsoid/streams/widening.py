"""Sparse chunks cut before each wider row, for learners to whom it matters at which row the width grows."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix


def split_where_wider(X: Any, y: Any, width: int, mark: int | None = None) -> Iterator[tuple[Any, Any]]:
    """A chunk, cut before each row with a feature beyond the first ``width`` and all that came before.

    If all that matters is whether there are more than ``mark`` features, it is cut where that becomes true.

    >>> X = csr_matrix([[1.0, 0.0, 0.0], [2.0, 3.0, 0.0], [4.0, 0.0, 0.0], [0.0, 0.0, 5.0]])
    >>> [(X.shape, y) for X, y in split_where_wider(X, [1, 2, 3, 4], 1)]
    [((1, 1), [1]), ((2, 2), [2, 3]), ((1, 3), [4])]
    >>> [(X.shape, y) for X, y in split_where_wider(X, [1, 2, 3, 4], 1, mark=2)]
    [((3, 2), [1, 2, 3]), ((1, 3), [4])]
    """
    reach = np.full(X.shape[0], max(1, width))
    filled = np.flatnonzero(np.diff(X.indptr))
    if len(filled):
        reach[filled] = np.maximum(reach[filled], 1 + np.maximum.reduceat(X.indices, X.indptr[filled]))
    reach = np.maximum.accumulate(reach)
    if mark is not None:
        widest = max(X.shape[1], width)
        reach = np.where(reach > mark, widest, min(mark, widest))
    edges = [0, *(np.flatnonzero(np.diff(reach)) + 1).tolist(), len(reach)]
    for start, stop in pairwise(edges):
        low, high = X.indptr[start], X.indptr[stop]
        parts = X.data[low:high], X.indices[low:high], X.indptr[start : stop + 1] - low
        yield csr_matrix(parts, shape=(stop - start, int(reach[start]))), y[start:stop]
