"""Columns of numbers beside columns of hashed words, as one sparse matrix.

The numbers keep their columns, in the order of the table; after them come ``2**bits`` columns in which each word sets
a one. The word w of the column named c has the hash of w seeded with the hash of c, so that equal words of two
columns are two features.
"""

from typing import Any

import numpy as np
from scipy import sparse

from ..scan.table import NO_HASH


def with_one_hot_words(numbers: Any, hashes: Any, bits: int) -> Any:
    """A CSR matrix of dense numbers and of hashes (`NO_HASH` where a word is missing).

    >>> with_one_hot_words(np.array([[0.5], [0.0]]), np.array([[3, 3], [0, NO_HASH]]), 2).toarray().tolist()
    [[0.5, 0.0, 0.0, 0.0, 2.0], [0.0, 1.0, 0.0, 0.0, 0.0]]
    """
    n, m = numbers.shape
    there = np.column_stack([numbers != 0, hashes != NO_HASH])
    columns = np.column_stack([np.broadcast_to(np.arange(m, dtype=np.int32), (n, m)), m + hashes])
    values = np.column_stack([numbers, np.ones(hashes.shape)])
    indptr = np.concatenate([[0], np.cumsum(there.sum(axis=1))]).astype(np.int32)
    shape = (n, m + (1 << bits))
    X = sparse.csr_matrix((values[there], columns[there].astype(np.int32), indptr), shape=shape)
    X.sum_duplicates()
    return X
