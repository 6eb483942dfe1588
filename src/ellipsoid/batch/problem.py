"""The optimisation problem of the ellipsoidal SVM: constants, solutions, and the duality gap that certifies them.

    (P)  min  -r log|B| + (1-r) tr B + sum_i C_i xi_i
         s.t. y_i (phi_i.w + b) + xi_i >= c_i phi_i'B phi_i,   |w| <= 1,   xi >= 0

    (D)  max  r log|M/r| + r d - |sum_i alpha_i y_i phi_i|     s.t. 0 <= alpha_i <= C_i,  sum_i alpha_i y_i = 0
         with M = (1-r) I + sum_i alpha_i c_i phi_i phi_i'  and  B = r M^{-1}

Momma, Hatano, Nakayama, "Ellipsoidal Support Vector Machines", Problem 6 and its dual, with the corrections of
the errata page. Every solver's result is certified by the duality gap computed here.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ellipsoid.estimators.state.binary_esvm import check_constants

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]

HARD_MARGIN_R = 1.0 - 1e-6
# (D) is unbounded where no hyperplane separates the classes with a hard margin, and alpha then grows without limit. A
# margin of a share g of the points' lengths bounds alpha_i |phi_i| by about the rank over g.
DIVERGED = 1e12
# The relative error of one rounding, with a little to spare for products of errors.
ROUNDING = 1.2e-16


class NotSeparable(ValueError):
    """A hard margin was required, but no hyperplane separates the classes (``proven``), or none was found.

    ``alpha`` are the multipliers at which the solver stopped; they may serve for a proof.
    """

    def __init__(self, detail: str, *, proven: bool = False, alpha: Vector | None = None) -> None:
        verdict = f"but these are not ({detail}); " if proven else f"but {detail}, or "
        super().__init__(
            f"hard_margin=True needs separable classes, {verdict}use hard_margin=False, or a kernel that separates them"
        )
        self.proven, self.alpha = proven, alpha


@dataclass(frozen=True)
class Problem:
    """Labels, constants and size of one binary problem; ``C`` is infinite for a hard margin."""

    y: Vector
    c: Vector
    C: Vector
    r: float
    rank: int

    @property
    def hard(self) -> bool:
        return bool(np.isinf(self.C[0]))

    @property
    def constant(self) -> float:
        """The constant that the kernel form of the dual leaves out: ``r d (1 + log((1-r)/r))``."""
        return self.r * self.rank * (1.0 + np.log((1.0 - self.r) / self.r))


class Gap(NamedTuple):
    """A bias and the duality gap it certifies; ``scale`` shrinks the ellipsoid so that a hard margin holds."""

    value: float
    bias: float
    scale: float = 1.0


@dataclass
class Solution:
    """A solved binary problem: dual-feasible multipliers, a classifier, and the duality gap between the two.

    The weights are known in features (``w``), as a combination of the training points (``coef``), or both. The
    ellipsoid is given by M^{-1} in features (``inverse``), by E (``shape``, exact formulation), or by the multipliers.
    """

    problem: Problem
    alpha: Vector
    bias: float
    gap: float
    dual: float
    scale: float = 1.0
    norm_w: float = 1.0
    iterations: int = 0
    converged: bool = False
    w: Any = None
    coef: Any = None
    inverse: Matrix | None = None
    shape: Matrix | None = None


def make_problem(
    y: Vector,
    squared_norms: Vector,
    *,
    nu: float,
    r: float,
    rank: int,
    hard: bool = False,
    scaling: str = "unit",
    weights: Vector | None = None,
) -> Problem:
    """The constants ``c_i`` and ``C_i`` of the chosen margin scaling."""
    check_constants(nu, r)
    norms = np.sqrt(squared_norms)
    if scaling == "unit":
        c, C = 1.0 / norms, 1.0 / (nu * norms)
    elif scaling == "paper":
        c, C = np.ones_like(norms), 1.0 / (nu * squared_norms)
    else:
        raise ValueError(f"margin_scaling must be 'unit' or 'paper', got {scaling!r}")
    if hard:
        C = np.full_like(C, np.inf)
    elif weights is not None:
        C = C * weights
    return Problem(y=np.ascontiguousarray(y, dtype=np.float64), c=c, C=C, r=float(r), rank=int(rank))


def best_bias(problem: Problem, scores: Vector, omega: Vector) -> float:
    """``argmin_b sum_i C_i (omega_i - y_i (scores_i + b))_+``: where the slope crosses zero."""
    breakpoints = problem.y * omega - scores
    order = np.argsort(breakpoints, kind="stable")
    slope = np.cumsum(problem.C[order]) - problem.C[problem.y > 0].sum()
    tie = 1e-12 * problem.C.sum()
    first = int(np.searchsorted(slope, -tie))
    if first + 1 < len(order) and abs(slope[first]) <= tie:
        return float(breakpoints[order[first]] + breakpoints[order[first + 1]]) / 2.0
    return float(breakpoints[order[min(first, len(order) - 1)]])


def widest_bias(problem: Problem, scores: Vector, omega: Vector, separation: float) -> tuple[float, float]:
    """The bias that maximises ``min_i y_i (scores_i + b) / omega_i``, and that minimum (hard margin).

    For a target ratio k, the biases that reach it form the interval [max_+ (k omega - s), min_- (-k omega - s)];
    it shrinks as k grows, so bisection finds where it vanishes. The minimum is 0 where no bias separates by more than
    ``separation``.
    """
    plus = problem.y > 0
    sp, wp, sm, wm = scores[plus], omega[plus], scores[~plus], omega[~plus]

    def interval(k: float) -> tuple[float, float]:
        return float(np.max(k * wp - sp)), float(np.min(-k * wm - sm))

    low, high = 0.0, 1.0
    if not np.subtract(*interval(0.0)) < -separation or not np.isfinite(omega).all():
        return sum(interval(0.0)) / 2.0, 0.0
    while np.subtract(*interval(high)) < 0 and high < 1e12:
        high *= 2.0
    for _ in range(100):
        middle = 0.5 * (low + high)
        if middle in (low, high):
            break
        if np.subtract(*interval(middle)) > 0:
            high = middle
        else:
            low = middle
    return sum(interval(low)) / 2.0, low


def duality_gap(
    problem: Problem,
    alpha: Vector,
    omega: Vector,
    scores: Vector,
    norm: float,
    errors: tuple[Vector, Vector] | None = None,
    separation: float = 0.0,
) -> Gap:
    """Primal minus dual at a dual-feasible alpha, with ``B = r M^{-1}`` and any w of norm at most one.

    ``omega_i = c_i phi_i'B phi_i``, ``scores_i = phi_i.w`` and ``norm = |sum_i alpha_i y_i phi_i|``. The terms in
    log|B| and tr B cancel, so neither is needed. With the ``errors`` of omega and of the scores it is the largest gap
    that these allow; without them it guides a solver and certifies nothing. Classes whose distance is at most a share
    ``separation`` of the scores count as not separated.
    """
    if not (omega > 0).all():
        # B is positive definite: values that are not positive are left over from cancellation.
        return Gap(np.inf, 0.0, 0.0)
    blur = np.zeros_like(scores) if errors is None else errors[1]
    lost = np.zeros_like(omega) if errors is None else errors[0]
    spent = float(alpha @ (omega - lost))
    omega = omega + lost
    if not problem.hard:
        bias = best_bias(problem, scores, omega)
        slack = np.maximum(omega + blur - problem.y * (scores + bias), 0.0)
        return _finite_gap(float(problem.C @ slack) - spent + norm, bias, 1.0)
    bias, scale = widest_bias(problem, scores - problem.y * blur, omega, separation * float(np.abs(scores).max()))
    if scale <= 0:
        return Gap(np.inf, bias, 0.0)
    excess = scale - 1.0 - np.log(scale)
    return _finite_gap(problem.r * problem.rank * excess + norm - scale * spent, bias, scale)


def _finite_gap(value: float, bias: float, scale: float) -> Gap:
    return Gap(value if np.isfinite(value) else np.inf, bias, scale)


def check_diverged(problem: Problem, alpha: Vector, squared_norms: Vector) -> None:
    """Raise `NotSeparable` where the multipliers of a hard margin grow without limit."""
    if problem.hard and not np.max(alpha * np.sqrt(squared_norms)) <= DIVERGED:
        raise unseparated(alpha)


def unseparated(alpha: Vector) -> NotSeparable:
    """The error for multipliers that have grown beyond what can be computed with."""
    detail = "any hyperplane that separates these does so by less than the rounding error; centre or rescale X"
    return NotSeparable(detail, alpha=alpha)


def balanced(alpha: Vector, y: Vector) -> Vector:
    """The multipliers of the heavier class scaled down until y'alpha = 0."""
    plus, minus = float(alpha[y > 0].sum()), float(alpha[y < 0].sum())
    light = min(plus, minus)
    factor = np.where(y > 0, light / plus if plus > 0 else 0.0, light / minus if minus > 0 else 0.0)
    return alpha * factor
