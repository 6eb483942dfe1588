"""Matrices I - V' M V with few rows V: their square roots of the same kind, and bounds on the rounding errors."""

from math import sqrt

import numpy as np
import scipy.sparse as sp

from ellipsoid.representation.tables import Floats

from .rounding import U


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


def bound_difference(rows: Floats, middle: Floats | None, vectors: Floats, weights: Floats) -> float:
    """A bound on the norm of B - JJ', with B = I - rows' middle rows and J = I - sum_k weights_k v_k v_k'.

    A ``middle`` of None is the identity. The rows are split along the vectors, rows = inside vectors + outside; for
    floats a sum of n products is off by n u times the norms of its factors.

    >>> rows = np.array([[0.6, 0.0]])
    >>> bound_difference(rows, None, np.array([[1.0, 0.0]]), np.array([0.2])) < 1e-14  # 1 - 0.36 = 0.8^2
    True
    >>> bound_difference(rows, np.eye(1), np.array([[1.0, 0.0]]), np.array([0.3])) > 0.1
    True
    """
    size = np.linalg.norm
    count, length = len(weights) + len(rows) + 8, rows.shape[1] + 8
    inside = rows @ vectors.T
    outside = rows - inside @ vectors
    overlaps = vectors @ vectors.T
    new = np.diag(2.0 * weights) - weights[:, None] * overlaps * weights
    across = inside if middle is None else middle @ inside
    off = 0.0 if middle is None else U * count * size(middle) * size(inside)
    # The longest of the vectors' combinations: 1, if they were orthonormal.
    reach = sqrt(1.0 + size(overlaps - np.eye(len(weights))) + U * length * len(weights))
    left = size(outside) + U * count * (size(inside) * size(vectors) + size(rows))
    within = size(inside.T @ across - new) + U * count * size(inside) * size(across) + size(inside) * off
    within += U * length * size(weights) ** 2 + U * count * size(weights)
    large = sqrt(len(rows)) if middle is None else size(middle)
    return float(1.01 * (reach**2 * within + 2.0 * reach * (size(across) + off) * left + large * left**2))


def assemble(vectors: Floats, middle: Floats) -> tuple[Floats, float]:
    """vectors' middle vectors, and a bound on the rounding error of I minus that."""
    size = np.linalg.norm
    half = vectors.T @ middle
    off = size(vectors) * size(middle) * size(vectors, 2) + size(half) * size(vectors)
    return half @ vectors, float(U * (len(vectors) + 8) * (off + sqrt(vectors.shape[1])))
