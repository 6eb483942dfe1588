"""One ellipsoid around the intersection of several ellipsoids, or a proof that the intersection is empty.

For weights l >= 0 that sum to one, a point that satisfies all inequalities ``(q - c_i)' P_i^{-1} (q - c_i) <= 1``
satisfies their weighted sum,

    (q - c)' A (q - c) <= k,   A = sum l_i P_i^{-1},   A c = sum l_i P_i^{-1} c_i,   k = 1 - sum l_i |c - c_i|_i^2 .

So that ellipsoid holds the intersection, whatever the weights: a search for good ones need not be exact. Where k < 0
the intersection is empty, and the weights prove it: ``a_i = l_i P_i^{-1} (c_i - c)`` add up to zero, so that a common
point q would have

    0 = sum <a_i, q - c> >= sum <a_i, c_i - c> - sqrt(a_i' P_i a_i) >= s - sqrt(s) > 0,    s = 1 - k.

This needs no inverse once the a_i are known, whatever their rounding errors: an intersection is only called empty if it
is proved in this way, rounded outwards. Otherwise the ellipsoid is widened by the error of the inverses; where these
are too uncertain, the smallest of the given ellipsoids is returned. For version spaces an empty intersection proves
that no classifier has the margin on the rows of all shards, though each shard alone is consistent.

As a merge of version spaces it is weak: a direction that one of S shards has narrowed becomes wider by up to S. To cut
one ellipsoid by the rows that cut those of the shards is far better, where rows may be sent.

Kahan (1968); Ros, Sabater and Thomas, "An ellipsoidal calculus based on propagation and fusion" (2002).
"""

from collections.abc import Sequence
from math import fsum
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize

from ellipsoid.ellipsoids import Ellipsoid
from ellipsoid.ellipsoids.shapes.shape import EPSILON
from ellipsoid.representation.table_protocol import Floats

# The least slack in k, as a share of its terms, even where rounding is less.
FUSION_SLACK = 1e-9
# Inverses with a larger relative error than this, in the metric of their matrix, are not used.
TOO_THIN = 0.01


class Fusion(NamedTuple):
    """``ellipsoid`` holds the intersection, None where it is empty; ``weights`` and ``k`` are those above.

    If the ellipsoids are too thin for float64, the one of least volume has all the weight.
    """

    ellipsoid: Ellipsoid | None
    weights: Floats
    k: float


def fuse(ellipsoids: Sequence[Ellipsoid], weights: ArrayLike | None = None) -> Fusion:
    """The ellipsoid around the intersection for given weights, by default for weights of about the least volume.

    >>> left, right = Ellipsoid.ball([0.0, 0.0], 1.0), Ellipsoid.ball([1.0, 0.0], 1.0)
    >>> both = fuse([left, right])
    >>> both.ellipsoid.contains([[0.5, 0.0]]), bool(both.ellipsoid.log_volume < left.log_volume)
    (array([ True]), True)
    >>> fuse([left, Ellipsoid.ball([3.0, 0.0], 1.0)]).ellipsoid is None
    True
    """
    centres = np.array([np.ravel(each.centre) for each in ellipsoids])
    shapes = np.array([each.shape_matrix() for each in ellipsoids])
    inverses, least, steep = (np.array(found) for found in zip(*map(_inverse, shapes), strict=True))
    if weights is None:
        shares = _search(centres, inverses)
    else:
        shares = np.asarray(weights, dtype=np.float64)
        if shares.shape != (len(centres),) or (shares < 0.0).any() or not shares.sum() > 0.0:
            raise ValueError("weights must hold one number for each ellipsoid, none negative and not all zero")
        shares = shares / shares.sum()
    A, centre, k, size = _fused(shares, centres, inverses)
    if k < -FUSION_SLACK * size and _are_apart(
        ellipsoids, shapes, shares[:, None] * _slopes(centre, centres, inverses), centre, centres
    ):
        return Fusion(None, shares, k)
    shape, least_of_sum, steep_of_sum = _inverse(A)
    unit = 32.0 * (centres.size + 4) * EPSILON
    slack = max(FUSION_SLACK, unit * max(steep.max(), steep_of_sum))
    if not slack < TOO_THIN:
        smallest = int(np.argmin([each.log_volume for each in ellipsoids]))
        return Fusion(ellipsoids[smallest], np.eye(len(centres))[smallest], 1.0)
    # How far the centre may be from the point where the sum of the inequalities is least, in the metric of A.
    lengths = np.linalg.norm(centres - centre, axis=1)
    slope = shares @ _slopes(centre, centres, inverses)
    off = 1.1 * (np.linalg.norm(slope) + unit * float(shares @ (lengths / least))) / np.sqrt(least_of_sum)
    wider = (np.sqrt(max(k, 0.0) + 2.0 * slack * size + off * off) + off) ** 2 * (1.0 + 2.0 * slack)
    return Fusion(Ellipsoid.from_matrix(centre, wider * shape), shares, k)


def _inverse(matrix: Floats) -> tuple[Floats, float, float]:
    """The inverse, the least eigenvalue, and the condition number, infinite where rounding leaves it open."""
    values, vectors = np.linalg.eigh(matrix)
    lost = len(values) * EPSILON * values[-1]
    steep = float(values[-1] / values[0]) if values[0] > lost else np.inf
    values = np.maximum(values, max(lost, np.finfo(np.float64).tiny))
    root = vectors / np.sqrt(values)
    return root @ root.T, float(values[0]), steep


def _are_apart(
    ellipsoids: Sequence[Ellipsoid], shapes: Floats, slopes: Floats, centre: Floats, centres: Floats
) -> bool:
    """Whether the slopes prove that no point is in all ellipsoids, whatever their rounding errors."""
    slopes = -slopes / np.abs(slopes).max()
    unit, gaps = 8.0 * (centres.size + 4) * EPSILON, centres - centre
    squares = np.einsum("ij,ijk,ik->i", slopes, shapes, slopes)
    squares += unit * np.einsum("ij,ijk,ik->i", np.abs(slopes), np.abs(shapes), np.abs(slopes))
    widths = [
        max(np.sqrt(q), float(each.width([a])[0])) for q, a, each in zip(squares, slopes, ellipsoids, strict=True)
    ]
    # The slopes add up to zero but for rounding, and no common point is farther from the centre than ``reach``.
    reach = np.sqrt(np.einsum("ijj->i", shapes)) + np.linalg.norm(gaps, axis=1)
    rest = float(np.linalg.norm([fsum(column) for column in slopes.T])) * float(reach.min())
    return float((slopes * gaps).sum()) - unit * float(np.abs(slopes * gaps).sum()) > (1.0 + unit) * (
        sum(widths) + rest
    )


def _slopes(centre: Floats, centres: Floats, inverses: Floats) -> Floats:
    """P_i^{-1} (c - c_i) of all."""
    return np.einsum("ijk,ik->ij", inverses, centre - centres)


def _fused(shares: Floats, centres: Floats, inverses: Floats) -> tuple[Floats, Floats, float, float]:
    """A, c, k, and the size of the terms of k."""
    A = np.einsum("i,ijk->jk", shares, inverses)
    centre = np.linalg.solve(A, np.einsum("i,ijk,ik->j", shares, inverses, centres))
    distances = shares * _distances(centre, centres, inverses)
    return A, centre, 1.0 - float(distances.sum()), 1.0 + float(np.abs(distances).sum())


def _distances(centre: Floats, centres: Floats, inverses: Floats) -> Floats:
    return np.einsum("ij,ijk,ik->i", centre - centres, inverses, centre - centres)


def _search(centres: Floats, inverses: Floats) -> Floats:
    """Weights that make k negative if some do, else the volume small: dim log k - log det A."""
    count, dim = centres.shape

    def shares_of(z: Floats) -> Floats:
        grown = np.exp(z - z.max())
        return grown / grown.sum()

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
