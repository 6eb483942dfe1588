"""Find a point of a convex set given only by a separation oracle, or prove that there is none to speak of.

The oracle is evaluated at the centre x: either x is in the set, or a half-space <a, q> <= b contains the
set and not x.  If the set contains a ball of radius r inside the start ball of radius R, its volume stays
inside every ellipsoid, so central cuts find a point within about 2 n (n+1) log(R / r) steps, and deep
cuts no later.

Groetschel, Lovasz, Schrijver, "The ellipsoid method and its consequences in combinatorial optimization"
(Combinatorica 1, 1981); Khachiyan (Soviet Mathematics Doklady 20, 1979).
"""

from collections.abc import Callable
from math import log
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from ellipsoid.ellipsoids.shapes.shape import EPSILON
from ellipsoid.representation.table_protocol import Floats

from .cutting import CuttingEllipsoid, cuts_for, sure_depth
from .oracles import check_cut, checked_number, start_ball, vector
from .results import Cut, CutRule, FeasibilityResult

Separation = Callable[[Floats], tuple[Any, float] | None]
Status = Literal["feasible", "empty", "small", "exhausted", "max_iter"]


def feasible_point(
    oracle: Separation,
    x0: ArrayLike,
    radius: float,
    *,
    cut: CutRule = "deep",
    inner_radius: float | None = None,
    max_iter: int | None = None,
) -> FeasibilityResult:
    """Find a point of a convex set by the ellipsoid method.

    Parameters
    ----------
    oracle
        ``oracle(x)`` is None when x is in the set, else ``(a, b)`` with <a, q> <= b for every q of the set.
    x0, radius
        The ball in which the set is sought.  A point of the set outside the ball is also accepted.
    cut
        ``"deep"`` uses b, ``"central"`` only the direction a.
    inner_radius
        Give up, with a proof, when the set cannot contain a ball of this radius; the default is 1e-8 radius.
    max_iter
        The most calls of the oracle; the default is twice what the theory needs for ``inner_radius``.

    Examples
    --------
    The part of the plane with x >= 1, y >= 1, x + y <= 2.1:

    >>> sides = [([-1, 0], -1), ([0, -1], -1), ([1, 1], 2.1)]
    >>> oracle = lambda x: next(((a, b) for a, b in sides if np.dot(a, x) > b), None)
    >>> result = feasible_point(oracle, [0.0, 0.0], 10.0)
    >>> result.status, oracle(result.x) is None
    ('feasible', True)
    """
    centre, radius = start_ball(x0, radius)
    central = check_cut(cut)
    inner = 1e-8 * radius if inner_radius is None else float(inner_radius)
    if not 0.0 < inner < np.inf:
        raise ValueError(f"inner_radius must be a positive finite number, got {inner_radius}")
    if max_iter is not None and max_iter < 1:
        raise ValueError(f"max_iter must be at least 1, got {max_iter}")
    dim = centre.size
    bound = cuts_for(dim, log(radius) - log(inner)) + 1
    limit = 2 * bound if max_iter is None else int(max_iter)
    ellipsoid = CuttingEllipsoid(centre, radius)
    cuts: list[Cut] = []

    def finish(status: Status, message: str, asked: int, x: Floats | None = None) -> FeasibilityResult:
        return FeasibilityResult(x, asked, status, message, ellipsoid.snapshot(), bound, cuts)

    for iteration in range(limit):
        x = ellipsoid.centre
        answer = oracle(x.copy())
        if answer is None:
            return finish("feasible", "the oracle accepts the point", iteration + 1, x.copy())
        if not isinstance(answer, tuple) or len(answer) != 2:
            raise ValueError(f"the oracle must return None or a pair (a, b), got {type(answer).__name__}")
        normal = vector(answer[0], dim, "the normal of the oracle", iteration)
        offset = checked_number(answer[1], "the offset of the oracle", iteration)
        if not normal.any():
            if offset >= 0.0:
                raise ValueError(
                    f"the oracle's half-space 0 <= {offset} at iteration {iteration} does not "
                    "separate the point; return None for a point of the set"
                )
            cuts.append(Cut(normal, offset, np.inf))
            return finish("empty", f"the oracle's half-space is empty (0 <= {offset})", iteration + 1)
        along = ellipsoid.along(normal)
        with np.errstate(over="ignore", invalid="ignore"):  # an infinite allowance ends the run
            value = float(normal @ x) - offset
            allowance = along.noise + (dim + 2) * EPSILON * (float(np.abs(normal) @ np.abs(x)) + abs(offset))
        depth = sure_depth(value, allowance, along.width)
        if depth > 1.0:
            cuts.append(Cut(normal, offset, depth))
            return finish("empty", "the last half-space excludes all that was left of the ball", iteration + 1)
        if central:
            depth = min(depth, sure_depth(0.0, allowance, along.width))
        if ellipsoid.exhausted or allowance * 2 * dim >= along.width:
            message = "the ellipsoid is too thin for floating point; nothing is proven"
            return finish("exhausted", message, iteration + 1)
        if depth <= -1.0 / dim:
            raise ValueError(
                f"the oracle's half-space at iteration {iteration} contains the point by {-value:.6g}, so "
                "much that the cut cannot shrink the ellipsoid: return None for a point of the set, else a "
                "half-space that excludes the point"
            )
        cuts.append(Cut(normal, offset, ellipsoid.cut(along.unit, depth)))
        if not ellipsoid.lost and ellipsoid.log_det < 2.0 * dim * log(inner):
            return finish("small", f"no ball of radius {inner:.6g} fits into the set", iteration + 1)
    return finish("max_iter", f"the limit of {limit} calls of the oracle was reached", limit)
