"""Minimise a convex function over a ball and convex constraints, with a proof of how far it may be improved.

    min f(x)   s.t.  g_i(x) <= 0,  |x - x0| <= radius

Every ellipsoid E_k contains the minimisers, so at a feasible centre x_k with subgradient g

    f* >= min over E_k of f(x_k) + <g, x - x_k> = f(x_k) - sqrt(g' P_k g),

and the best value found less the largest of these bounds is a proven gap, however the run went.  A centre
outside a constraint (or the ball) is cut off by the linearisation there, a feasible one by
<g, x - x_k> <= f_best - f(x_k).

Central cuts, all of them on f, prove a gap eps after about 2 n (n+1) log(2 G R / eps) steps, |g| <= G: while
sqrt(g'Pg) > eps the trace of P^{-1} stays below max(n/R^2, 2 (n+1) (G/eps)^2), for each step multiplies it by
1 - 1/n^2 and adds at most 2 (n+1)/n^2 (G/eps)^2; so the volume cannot go on shrinking.

Shor (Cybernetics 13, 1977); Bland, Goldfarb, Todd (Operations Research 29, 1981); Groetschel, Lovasz,
Schrijver (Combinatorica 1, 1981).
"""

from collections.abc import Callable, Sequence
from fractions import Fraction
from math import log
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ellipsoid.ellipsoids import Ellipsoid
from ellipsoid.ellipsoids.shapes.shape import EPSILON
from ellipsoid.representation.table_protocol import Floats

from .cutting import LEAST_WIDTH, CuttingEllipsoid, Direction, cuts_for, iteration_bound, lengths, sure_depth
from .oracles import Oracle, check_cut, evaluate, start_ball
from .results import CutRule, MinimizeResult, Step

Callback = Callable[[Step, Ellipsoid], object]

FAR_ENOUGH = 1e24  # the default max_iter shrinks the mean radius this much; floats are exhausted before
CONSISTENT = 1e-6  # relative slack of a linearisation at a known point before the oracle counts as non-convex


class _Linearisation(NamedTuple):
    """The half-space excess + <normal, x - centre> <= 0, and how the ellipsoid lies along its normal."""

    kind: Literal["objective", "constraint", "ball"]
    which: int | None  # of the constraints
    value: float
    excess: float  # the value less what it may be: 0 for a constraint, the best value for the objective
    rounding: float  # of the excess
    normal: Floats
    direction: Direction | None  # None when the normal is zero

    @property
    def name(self) -> str:
        return f"constraint {self.which}" if self.kind == "constraint" else f"the {self.kind}"

    @property
    def allowance(self) -> float:
        return self.rounding + (self.direction.noise if self.direction else 0.0)

    @property
    def depth(self) -> float:
        """How deep the half-space surely cuts; above 1 it leaves nothing."""
        if self.direction is None:
            return np.inf
        return sure_depth(self.excess, self.allowance, self.direction.width)

    @property
    def central_depth(self) -> float:
        """The depth when only the side is used: zero, less the allowance."""
        return sure_depth(0.0, self.allowance, self.direction.width) if self.direction else np.inf


class _Search:
    """The state of one run: the ellipsoid, the best point, the best bound."""

    def __init__(self, objective: Oracle, constraints: Sequence[Oracle], centre: Floats, radius: float) -> None:
        self.objective, self.constraints = objective, constraints
        self.start, self.radius = centre, radius
        self.ellipsoid = CuttingEllipsoid(centre, radius)
        self.x: Floats | None = None
        self.best, self.lower_bound = np.inf, -np.inf
        self.log_steepest = -np.inf  # of the longest subgradient of the objective
        self.history: list[Step] = []

    @property
    def gap(self) -> float:
        return self.best - self.lower_bound if np.isfinite(self.best) else np.inf

    def probe(self) -> _Linearisation:
        """Evaluate at the centre: the deepest violated constraint if there is one, else the objective."""
        x, iteration = self.ellipsoid.centre, len(self.history)
        found = self._ball(x) or self._deepest_constraint(x, iteration) or self._objective(x, iteration)
        width = found.direction.width if found.direction else 0.0
        known = (self.best, self.lower_bound, width, self.ellipsoid.log_det)
        self.history.append(Step(iteration, found.kind, found.which, x.copy(), found.value, *known))
        return found

    def _along(self, normal: Floats) -> Direction | None:
        return self.ellipsoid.along(normal) if normal.any() else None

    def _ball(self, x: Floats) -> _Linearisation | None:
        offset = x - self.start
        distance = float(lengths(offset))
        rounding = (2.0 * x.size + 8.0) * EPSILON * distance
        if distance + rounding <= self.radius or (distance - rounding <= self.radius and self._lies_within(x)):
            return None
        normal, value = offset / distance, max(0.0, distance - self.radius)
        return _Linearisation("ball", None, value, value, rounding, normal, self._along(normal))

    def _lies_within(self, x: Floats) -> bool:
        """Is a point in the ball? Without rounding, for one that is close to the sphere."""
        squares = ((Fraction(a) - Fraction(b)) ** 2 for a, b in zip(x.tolist(), self.start.tolist(), strict=True))
        return sum(squares) <= Fraction(self.radius) ** 2

    def _deepest_constraint(self, x: Floats, iteration: int) -> _Linearisation | None:
        violated = []
        for which, constraint in enumerate(self.constraints):
            value, normal = evaluate(constraint, x, f"constraint {which}", iteration)
            if value > 0.0:
                along = self._along(normal)
                violated.append(_Linearisation("constraint", which, value, value, 4.0 * EPSILON * value, normal, along))
                self._check(violated[-1], 0.0)
        return max(violated, key=lambda cut: cut.depth, default=None)

    def _objective(self, x: Floats, iteration: int) -> _Linearisation:
        value, normal = evaluate(self.objective, x, "the objective", iteration)
        known = self.best if self.x is not None else value
        rounding = 4.0 * EPSILON * (abs(value) + abs(known))
        found = _Linearisation("objective", None, value, max(0.0, value - known), rounding, normal, self._along(normal))
        self._check(found, self.best)
        if value < self.best:
            self.best, self.x = value, x.copy()
        if normal.any():
            size = float(np.abs(normal).max())
            self.log_steepest = max(self.log_steepest, log(size) + log(float(lengths(normal / size))))
        # A zero subgradient has no width: the value is its own lower bound.
        loss = found.direction.width + found.allowance if found.direction else 0.0
        bound = max(self.lower_bound, value - loss)
        if bound - self.best > CONSISTENT * max(1.0, abs(self.best)):
            raise ValueError(
                f"the objective is not convex, or its subgradient is wrong: at iteration {iteration} it is "
                f"proven to be at least {bound:.6g}, but {self.best:.6g} was found"
            )
        # Rounding may put the bound a hair above the best value; a bound cannot say more than that value.
        self.lower_bound = min(bound, self.best)
        return found

    def _check(self, cut: _Linearisation, limit: float) -> None:
        # The best point is feasible, so every linearisation must lie below what was evaluated there.
        if self.x is None:
            return
        with np.errstate(over="ignore", invalid="ignore"):  # what is too large for a float contradicts nothing
            slope = cut.normal * (self.x - self.ellipsoid.centre)
            there = cut.value + float(slope.sum())
            scale = abs(cut.value) + abs(limit) + float(np.abs(slope).sum())
        # Close to the minimum the values are differences of larger numbers: allow for those too.
        absolute = float(lengths(cut.normal)) * (self.radius + float(lengths(self.start)))
        if there > limit + CONSISTENT * scale + 1e-3 * CONSISTENT * absolute + LEAST_WIDTH:
            raise ValueError(
                f"{cut.name} is not convex, or its subgradient is wrong: the linearisation at iteration "
                f"{len(self.history)} is {there:.6g} at an earlier point, where the value "
                f"was at most {limit:.6g}"
            )


def minimize(  # noqa: PLR0913 - one optional part of the problem an argument
    f_and_subgradient: Oracle,
    x0: ArrayLike,
    radius: float,
    *,
    constraints: Sequence[Oracle] | None = None,
    cut: CutRule = "deep",
    tol: float = 1e-8,
    max_iter: int | None = None,
    callback: Callback | None = None,
) -> MinimizeResult:
    """Minimise a convex function by the ellipsoid method.

    Parameters
    ----------
    f_and_subgradient
        ``f(x) -> (value, subgradient)``, evaluated only at feasible points of the ball.  The proof trusts
        its values up to rounding, a few units in the last place of the value and of <subgradient, x>.
    x0, radius
        The ball ``|x - x0| <= radius`` in which the minimum is sought; it is part of the problem.
    constraints
        Convex functions ``g(x) -> (value, subgradient)``; feasible means every value <= 0.  The feasible set
        needs an interior: an equation written as two inequalities is never satisfied.
    cut
        ``"deep"`` uses how far the centre misses, ``"central"`` only on which side it is.
    tol
        Stop when the proven gap is at most ``tol * max(1, |fun|)``.
    max_iter
        The most centres to evaluate; the default lets the mean radius shrink by 1e24.
    callback
        ``callback(step, ellipsoid)`` after each evaluation; a true result stops the run.

    Examples
    --------
    >>> result = minimize(lambda x: (abs(x[0] - 1) + x[1] ** 2, [np.sign(x[0] - 1), 2 * x[1]]), [0, 0], 5.0)
    >>> result.status, bool(result.lower_bound <= 0.0 <= result.fun <= 1e-8)
    ('optimal', True)
    """
    centre, radius = start_ball(x0, radius)
    central = check_cut(cut)
    if callable(constraints):
        raise ValueError("constraints must be a sequence of functions: write a single one as [constraint]")
    if not 0.0 <= tol < np.inf:
        raise ValueError(f"tol must be a finite number >= 0, got {tol}")
    if max_iter is not None and max_iter < 1:
        raise ValueError(f"max_iter must be at least 1, got {max_iter}")
    limit = iteration_bound(centre.size, FAR_ENOUGH) if max_iter is None else int(max_iter)
    search = _Search(f_and_subgradient, tuple(constraints or ()), centre, radius)
    while True:
        found = search.probe()
        stopped = callback is not None and bool(callback(search.history[-1], search.ellipsoid.snapshot()))
        if search.x is not None and search.gap <= tol * max(1.0, abs(search.best)):
            return _finish(search, tol, "optimal", f"the best value is within {search.gap:.3g} of the minimum")
        if found.depth > 1.0 and search.x is None:
            message = f"no point of the ball is feasible: {found.name} excludes all that the others left"
            return _finish(search, tol, "infeasible", message, "ball" if found.which is None else found.which)
        depth = found.central_depth if central else found.depth
        if search.ellipsoid.exhausted or found.direction is None or not -0.5 / centre.size < depth <= 1.0:
            what = "only the gap is proven" if search.x is not None else "no feasible point was found"
            message = f"the ellipsoid is too thin for floating point; {what}"
            return _finish(search, tol, "exhausted", message)
        if stopped:
            return _finish(search, tol, "stopped", "the callback stopped the run")
        if len(search.history) >= limit:
            return _finish(search, tol, "max_iter", f"the limit of {limit} iterations was reached")
        search.ellipsoid.cut(found.direction.unit, depth)


def _finish(
    search: _Search,
    tol: float,
    status: Literal["optimal", "infeasible", "exhausted", "max_iter", "stopped"],
    message: str,
    witness: int | Literal["ball"] | None = None,
) -> MinimizeResult:
    # Of 2 G R and the tolerance, which may be too large for a float.
    ratio = log(2.0) + search.log_steepest + log(search.radius) - log(max(tol, EPSILON))
    return MinimizeResult(
        x=search.x,
        fun=search.best,
        lower_bound=search.lower_bound,
        gap=search.gap,
        n_iter=len(search.history),
        status=status,
        message=message,
        witness=witness,
        ellipsoid=search.ellipsoid.snapshot(),
        iteration_bound=cuts_for(search.start.size, ratio),
        history=search.history,
    )
