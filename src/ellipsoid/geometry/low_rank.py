"""A square root of I - V' M V that is itself the identity less something of low rank."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def expanded(pairs: Floats, rows: Floats, functions: int) -> Floats:
    """Stored examples as vectors of the whole space: the row in its blocks, with their signs."""
    out = np.zeros((len(rows), functions, rows.shape[1]))
    for k, (block, sign, rival, rival_sign) in enumerate(pairs[:, :4]):
        out[k, int(block)] += sign * rows[k]
        if rival_sign != 0.0:
            out[k, int(rival)] += rival_sign * rows[k]
    return out


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
