"""A full root J of B that shrinks for ever, kept within the range of float64.

With a constant kappa every direction that is met shrinks geometrically, and so does B = J J'. Steps do not feel a
factor of B, so B may be multiplied. Directions never met stay where they are meanwhile: they run ahead of the others,
and by how much makes no difference once it is far enough.
"""

from math import exp, log

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

# Roots beyond this multiple of the least one change no step that float64 could tell.
WIDEST = 1e7


def ahead(lifted: float) -> float:
    """The root that a direction never met has by now, where B was multiplied by exp(lifted)."""
    return min(WIDEST, exp(min(0.5 * lifted, 700.0)))


def lift(J: Floats, rows: slice, columns: slice) -> float:
    """Multiply J (row (r, j), column (s, i)) so that its least root is about 1, in place; log of the factor of B.

    ``rows`` and ``columns`` are the functions and features in use; the rest of J is diagonal.

    >>> J = 2.0**-40 * np.eye(2).reshape(1, 2, 1, 2)
    >>> factor = lift(J, slice(1), slice(2))
    >>> float(factor / log(2.0)), float(J[0, 0, 0, 0])
    (80.0, 1.0)
    """
    active = J[rows, columns, rows, columns]
    size = active.shape[0] * active.shape[1]
    axes, roots, _ = np.linalg.svd(active.reshape(size, size))
    gain = 2.0 ** round(-np.log2(max(roots[-1], 1e-100 * roots[0])))
    lifted = (axes * np.minimum(gain * roots, WIDEST)) @ axes.T
    np.clip(gain * J, -WIDEST, WIDEST, out=J)
    J[rows, columns, rows, columns] = lifted.reshape(active.shape)
    return 2.0 * log(gain)
