"""One ellipsoid around what several ellipsoids have in common, or a proof that they have nothing in common.

For weights l >= 0 that sum to one, a point that satisfies all inequalities ``(q - c_i)' P_i^{-1} (q - c_i) <= 1``
satisfies their weighted sum,

    (q - c)' A (q - c) <= k,   A = sum l_i P_i^{-1},   A c = sum l_i P_i^{-1} c_i,   k = 1 - sum l_i |c - c_i|_i^2 .

So that ellipsoid holds the intersection, whatever the weights: a search for good ones need not be exact. Where k < 0
the intersection is empty, and the weights are the proof, for anybody to check. Of version spaces this proves that no
classifier has the margin on the rows of all shards, though each shard alone is consistent.

As a merge of version spaces it is weak: a direction that one of S shards has narrowed becomes wider by up to S. To cut
one ellipsoid by the rows that cut those of the shards is far better, where rows may travel.

Kahan (1968); Ros, Sabater and Thomas, "An ellipsoidal calculus based on propagation and fusion" (2002).
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize

from ellipsoid.ellipsoids import Ellipsoid
from ellipsoid.representation.table_protocol import Floats

# Rounding may have moved k by this share of its terms: nothing is called empty, or narrow, by less.
FUSION_SLACK = 1e-9


class Fusion(NamedTuple):
    """``ellipsoid`` holds the intersection, None where it is empty; ``weights`` and ``k`` are those above."""

    ellipsoid: Ellipsoid | None
    weights: Floats
    k: float


def fuse(ellipsoids: Sequence[Ellipsoid], weights: ArrayLike | None = None) -> Fusion:
    """The ellipsoid for these weights; without any, for weights of about the least volume.

    >>> left, right = Ellipsoid.ball([0.0, 0.0], 1.0), Ellipsoid.ball([1.0, 0.0], 1.0)
    >>> both = fuse([left, right])
    >>> both.ellipsoid.contains([[0.5, 0.0]]), bool(both.ellipsoid.log_volume < left.log_volume)
    (array([ True]), True)
    >>> fuse([left, Ellipsoid.ball([3.0, 0.0], 1.0)]).ellipsoid is None
    True
    """
    centres = np.array([np.ravel(each.centre) for each in ellipsoids])
    inverses = np.array([np.linalg.inv(each.shape_matrix()) for each in ellipsoids])
    if weights is None:
        shares = _search(centres, inverses)
    else:
        shares = np.asarray(weights, dtype=np.float64)
        if shares.shape != (len(centres),) or (shares < 0.0).any() or not shares.sum() > 0.0:
            raise ValueError("weights must be one for each ellipsoid, none of them negative, and not all zero")
        shares = shares / shares.sum()
    A, centre, k, size = _fused(shares, centres, inverses)
    if k < -FUSION_SLACK * size:
        return Fusion(None, shares, k)
    wider = max(k, 0.0) + FUSION_SLACK * size
    return Fusion(Ellipsoid.from_matrix(centre, wider * np.linalg.inv(A)), shares, k)


def _fused(shares: Floats, centres: Floats, inverses: Floats) -> tuple[Floats, Floats, float, float]:
    """A, c, k, and the size of the terms of k."""
    A = np.einsum("i,ijk->jk", shares, inverses)
    centre = np.linalg.solve(A, np.einsum("i,ijk,ik->j", shares, inverses, centres))
    apart = shares * _distances(centre, centres, inverses)
    return A, centre, 1.0 - float(apart.sum()), 1.0 + float(np.abs(apart).sum())


def _distances(centre: Floats, centres: Floats, inverses: Floats) -> Floats:
    apart: Floats = np.einsum("ij,ijk,ik->i", centre - centres, inverses, centre - centres)
    return apart


def _search(centres: Floats, inverses: Floats) -> Floats:
    """Weights that make k negative if some do, else the volume small: dim log k - log det A."""
    count, dim = centres.shape

    def shares_of(z: Floats) -> Floats:
        grown = np.exp(z - z.max())
        found: Floats = grown / grown.sum()
        return found

    def depth(z: Floats) -> tuple[float, Floats]:
        shares = shares_of(z)
        _, centre, k, _ = _fused(shares, centres, inverses)
        slope = -_distances(centre, centres, inverses)
        return k, shares * (slope - float(shares @ slope))

    def volume(z: Floats) -> tuple[float, Floats]:
        shares = shares_of(z)
        A, centre, k, _ = _fused(shares, centres, inverses)
        if k <= 0.0:
            return -1e300, np.zeros(count)
        slope = -dim * _distances(centre, centres, inverses) / k
        slope -= np.einsum("jk,ikj->i", np.linalg.inv(A), inverses)
        return dim * np.log(k) - float(np.linalg.slogdet(A)[1]), shares * (slope - float(shares @ slope))

    start = np.zeros(count)
    # k is convex in the weights: if it becomes negative anywhere, this finds where.
    lowest = minimize(depth, start, jac=True, method="L-BFGS-B", bounds=[(-30.0, 30.0)] * count)
    if lowest.fun < 0.0:
        return shares_of(lowest.x)
    return shares_of(minimize(volume, start, jac=True, method="L-BFGS-B", bounds=[(-30.0, 30.0)] * count).x)
