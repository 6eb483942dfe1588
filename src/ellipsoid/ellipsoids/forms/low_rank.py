"""A square root of I - V' M V that is itself the identity less something of low rank."""

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def in_blocks(pairs: Floats, rows: sp.csr_matrix, functions: int) -> sp.csr_matrix:
    """Stored examples as vectors of the whole space: each row in its blocks, with their signs."""
    coordinates = rows.tocoo()
    k, width = coordinates.row, rows.shape[1]
    parts = [(pairs[k, 0], pairs[k, 1]), (pairs[k, 2], pairs[k, 3])]
    columns = np.concatenate([np.maximum(block, 0).astype(np.int64) * width + coordinates.col for block, _ in parts])
    values = np.concatenate([sign * coordinates.data for _, sign in parts])
    shape = (rows.shape[0], functions * width)
    blocks = sp.csr_matrix((values, (np.concatenate([k, k]), columns)), shape)
    blocks.eliminate_zeros()
    return blocks


def square_root(vectors: Floats, middle: Floats) -> tuple[Floats, Floats]:
    """Orthonormal rows h_k and numbers t_k with (I - sum t_k h_k h_k')^2 = I - vectors' middle vectors.

    >>> h, t = square_root(np.array([[3.0, 0.0]]), np.array([[0.07]]))
    >>> np.round((np.eye(2) - h.T @ np.diag(t) @ h) ** 2, 12)
    array([[0.37, 0.  ],
           [0.  , 1.  ]])
    """
    basis, upper = np.linalg.qr(vectors.T)
    inside = np.eye(len(upper)) - upper @ middle @ upper.T
    values, rotation = np.linalg.eigh(0.5 * (inside + inside.T))
    return (basis @ rotation).T, 1.0 - np.sqrt(np.maximum(values, 0.0))
