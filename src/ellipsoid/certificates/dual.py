"""What a dual solution proves while it is being built.

    P(w) = F(w) + C sum_i max(0, margin - <w, z_i>)        D(alpha) = margin A - G(theta)
    theta = sum alpha_i z_i,   A = sum alpha_i,   0 <= alpha_i <= C,   G(theta) = sup_w <w, theta> - F(w)

Whatever the alphas, and however they were found, D(alpha) <= P(w) for every w; so a few numbers of a run (A, the
largest alpha, G(theta) and the dual norm of theta) say what no classifier could have done on the rows seen. Since

    margin A - <w, theta> = sum_i alpha_i (margin - <w, z_i>) <= sum_i alpha_i loss_i(w),

one product <w, theta> also gives the weighted loss of any comparator w, without a second look at the rows.

Shalev-Shwartz and Singer, "Online learning meets optimization in the dual" (COLT 2006), sections 3 and 4, corrected.
"""

from collections.abc import Callable
from math import inf, isnan
from typing import NamedTuple

from .certificate import Certificate

# Certificates are computed from float64 sums; a bound that is met with equality must not fail by rounding.
SLACK = 1e-9
GOLDEN = 0.6180339887498949


# The certificate of which the observed side is a floor: what no weights of the comparator's norm have done better than.
FLOOR = "loss that nothing of the comparator's norm avoids"


class Dual(NamedTuple):
    """The numbers of a dual solution.

    ``margin`` and ``C`` are those of P; ``weight`` is A, ``largest`` the largest alpha, ``conjugate`` is G(theta),
    ``norm`` the norm of theta that is dual to the one comparators are measured in.

    Two examples on opposite sides, alphas 0.4 each: theta = 0.4 (z_1 + z_2).

    >>> run = Dual(margin=0.5, C=0.4, weight=0.8, largest=0.4, conjugate=0.02, norm=0.2)
    >>> round(run.objective, 12), round(least_loss(run, 1.0), 12), round(best_margin(run), 12)
    (0.38, 0.5, 0.25)
    """

    margin: float
    C: float
    weight: float
    largest: float
    conjugate: float
    norm: float

    @property
    def objective(self) -> float:
        """D: no w has a smaller P."""
        return self.margin * self.weight - self.conjugate


class Comparator(NamedTuple):
    """A classifier w to be held against a run.

    ``size`` is its norm, ``along`` is <w, theta> / size, ``complexity`` is F(w), infinite outside the domain of F.
    """

    size: float
    along: float
    complexity: float

    @property
    def ground(self) -> float:
        """F(w) - <w, theta>; infinite outside the domain."""
        return _number(self.complexity - self.size * self.along) if self.complexity < inf else inf


def rescaled(dual: Dual, conjugate: Callable[[float], float] | None = None) -> tuple[float, float]:
    """The best dual value along the ray: max over s in [0, C / largest] of s margin A - G(s theta), and that s.

    ``conjugate`` is the function s -> G(s theta); without one, G is half a squared norm.
    """
    if dual.largest == 0.0:
        return 0.0, 1.0
    most = dual.C / dual.largest
    slope = dual.margin * dual.weight
    if conjugate is None:
        if dual.conjugate <= 0.0:
            return (most * slope, most) if most < inf else (inf, inf)
        s = min(0.5 * slope / dual.conjugate, most)
        return s * slope - s * s * dual.conjugate, s
    # A concave function: golden sections after the top is between two ends. s = 1 is always allowed.
    low, high = 0.0, min(most, 2.0)
    while high < most and slope * high - conjugate(high) > slope * 0.5 * high - conjugate(0.5 * high) and high < 1e150:
        high = min(most, 2.0 * high)
    left, right = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
    values = [slope * s - conjugate(s) for s in (left, right)]
    for _ in range(45):
        if values[0] < values[1]:
            low, left, right = left, right, left + GOLDEN * (high - left)
            values = [values[1], slope * right - conjugate(right)]
        else:
            high, right, left = right, left, right - GOLDEN * (right - low)
            values = [slope * left - conjugate(left), values[0]]
    return max((s * slope - conjugate(s), s) for s in (left, min(1.0, most)))


def least_loss(dual: Dual, size: float) -> float:
    """Every w of norm at most ``size`` has suffered at least this much loss so far, C or no C."""
    if dual.largest == 0.0:
        return 0.0
    return max(0.0, _number(dual.margin * dual.weight - size * dual.norm, -inf) / dual.largest)


def best_margin(dual: Dual) -> float:
    """No w of unit norm has a larger margin on all the examples with alpha > 0."""
    return dual.norm / dual.weight if dual.weight > 0.0 else inf


def running(dual: Dual, comparator: Comparator, conjugate: Callable[[float], float] | None = None) -> list[Certificate]:
    """The certificates that need no condition: they hold for every run, every link and every comparator."""
    weighted, inside = dual.margin * dual.weight, comparator.size < inf
    inner = comparator.size * comparator.along if inside else 0.0
    slack = SLACK * (abs(weighted) + abs(dual.conjugate) + abs(inner))
    loss = _number(weighted - inner)
    best, s = rescaled(dual, conjugate)
    ray = _number(comparator.complexity + s * loss + (1.0 + s) * slack) if comparator.complexity < inf else inf
    return [
        Certificate("dual objective", dual.objective, comparator.ground + weighted + slack,
                    "always: F(U) + sum of alpha (margin - U's margin), at most F(U) + C times the loss of U"),
        Certificate("rescaled dual objective", best, ray, "always: the same with every alpha times the best factor"),
        Certificate(FLOOR, least_loss(dual, comparator.size),
                    (max(0.0, loss) + slack) / dual.largest if inside and dual.largest > 0.0 else inf,
                    "always, for every C: the bound is what the comparator itself has suffered, alpha-weighted"),
        Certificate("average margin of the unit comparator on the updates",
                    comparator.along / dual.weight if dual.weight > 0.0 and inside else 0.0,
                    best_margin(dual) + SLACK * abs(best_margin(dual)) if inside else inf,
                    "always; it is also the largest margin that any unit vector has on all update examples"),
    ]  # fmt: skip


def increase_on_mistake(kind: str, margin: float, C: float, curvature: float) -> float:
    """The least that a mistake adds to D when kappa(x) <= ``curvature``; zero or less where nothing is promised.

    ``kind`` is "fixed" (alpha = C), "adaptive" (alpha = min(C, loss)), or "best" for steps that raise D at least as
    much as alpha = min(C, loss / kappa).

    >>> increase_on_mistake("fixed", 1.0, 2.5, 1.0), increase_on_mistake("best", 1.0, 2.5, 1.0)
    (-0.625, 0.5)
    """
    if kind == "best":
        step = min(C, margin / curvature) if curvature > 0.0 else C
    elif kind == "adaptive":
        # The increase grows with the loss only while kappa < 2.
        step = min(C, margin) if curvature < 2.0 else 0.0
    else:
        step = C
    return step * (margin - 0.5 * step * curvature)


def gains(dual: Dual, gain: float, mistakes: int, *, never_falls: bool) -> Certificate:
    """Certificate 5: the increases on mistakes, lambda_t M, are a part of D where no round lowers it."""
    condition = "no round lowered the dual; observed / mistakes is the average increase of a mistake"
    slack = SLACK * (abs(dual.objective) + abs(dual.margin * dual.weight) + abs(dual.conjugate))
    return Certificate("dual increase on mistakes", gain if mistakes else 0.0,
                       dual.objective + slack if never_falls else inf, condition)  # fmt: skip


def mistakes(dual: Dual, comparator: Comparator, count: int, increase: float, condition: str) -> Certificate:
    """M <= (F(U) + sum alpha (margin - U's margin)) / increase, as every mistake adds at least ``increase`` > 0."""
    if count == 0:
        return Certificate("mistakes", 0, 0.0, condition)
    bound = comparator.ground + dual.margin * dual.weight
    slack = SLACK * (1.0 + abs(dual.margin * dual.weight) + dual.conjugate)
    return Certificate("mistakes", count, max(0.0, bound + slack) / increase * (1.0 + SLACK) if increase > 0.0 else inf,
                       condition)  # fmt: skip


def fixed_mistakes(dual: Dual, comparator: Comparator, curvature: float, quadratic: bool) -> float:
    """A bound on mistakes that each gave alpha = C, from the comparator's average margin g on them, free of ``margin``.

    A mistake adds at most C^2 kappa / 2 to G; so g A = <U, theta> <= F(U) + G(theta) <= F(U) + M C^2 kappa / 2, and
    <U, theta> <= |U| |theta|_* <= |U| C sqrt(M kappa) where G is half a squared norm.
    """
    average = comparator.along / dual.weight if dual.weight > 0.0 else 0.0
    if average <= 0.0 or comparator.complexity == inf:
        return inf
    if quadratic:
        return (1.0 + SLACK) * (curvature / average) / average
    spare = dual.C * (comparator.size * average - 0.5 * dual.C * curvature)
    return (comparator.complexity + SLACK) / spare * (1.0 + SLACK) if spare > 0.0 else inf


def _number(value: float, otherwise: float = inf) -> float:
    return otherwise if isnan(value) else value
