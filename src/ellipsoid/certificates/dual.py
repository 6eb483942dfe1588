"""Bounds from the dual solution of a run: lower bounds on the objective of every classifier on the rows so far.

    P(w) = F(w) + C sum_i max(0, margin - <w, z_i>)        D(alpha) = margin A - G(theta)
    theta = sum alpha_i z_i,   A = sum alpha_i,   0 <= alpha_i <= C,   G(theta) = sup_w <w, theta> - F(w)

For all feasible alphas, however they were found, D(alpha) <= P(w) for every w; so a few numbers of a run (A, the
largest alpha, G(theta) and the dual norm of theta) bound what any classifier can achieve on the rows seen. Since

    margin A - <w, theta> = sum_i alpha_i (margin - <w, z_i>) <= sum_i alpha_i loss_i(w),

one product <w, theta> also gives the weighted loss of any comparator w, without a second look at the rows.

Shalev-Shwartz and Singer, "Online learning meets optimization in the dual" (COLT 2006), sections 3 and 4, corrected.

Rounding. theta is a sum of float64 numbers, off by at most ``drift`` in the dual norm; the increases of D are computed
from scores, and are off by at most ``lost`` in all. For both see `run_rounding`. The rest is arithmetic of spans, see
`rounding`: what is observed is rounded down, its bound up.
"""

from collections.abc import Callable
from math import inf
from typing import NamedTuple

from ellipsoid.engine import tally as tallies

from .certificate import Certificate
from .mixed import DUAL, Mixed
from .rounding import LINE, Number, Span, as_span

GOLDEN = 0.6180339887498949
# Roundings between the loss of an example and the increase of its step.
ROUNDINGS_OF_A_STEP = 16
# The certificate whose observed side is a lower bound on the loss of all weights of the comparator's norm.
FLOOR = "loss that nothing of the comparator's norm avoids"


class Dual(NamedTuple):
    """The numbers of a dual solution.

    ``margin`` and ``C`` are those of P; ``weight`` is A, ``largest`` the largest alpha, ``conjugate`` is G(theta),
    ``norm`` the norm of theta that is dual to the one comparators are measured in.

    ``terms`` is how many alphas were added up. Errors: ``drift`` bounds that of theta in that norm, ``blurred`` that of
    G(theta), ``lost`` that of all increases of D together. ``weighed``: some alphas are capped at C times a weight, and
    it is unknown which.

    Two examples on opposite sides, alphas 0.4 each: theta = 0.4 (z_1 + z_2).

    >>> run = Dual(margin=0.5, C=0.4, weight=0.8, largest=0.4, conjugate=0.02, norm=0.2)
    >>> round(run.objective, 12), round(least_loss(run, 1.0), 12), round(largest_common_margin(run), 12)
    (0.38, 0.5, 0.25)
    """

    margin: float
    C: float
    weight: float
    largest: float
    conjugate: float
    norm: float
    terms: int = 0
    drift: float = 0.0
    blurred: float = 0.0
    lost: float = 0.0
    weighed: bool = False

    @property
    def pushed(self) -> Span:
        """margin A."""
        return Span.about(self.weight, self.terms) * self.margin

    @property
    def value(self) -> Span:
        """D."""
        return self.pushed - Span.within(self.conjugate, self.blurred)

    @property
    def length(self) -> Span:
        """The norm of the sum of alpha z."""
        return Span.within(self.norm, self.drift)

    @property
    def objective(self) -> float:
        """D in floating point; no w has a smaller P, up to the rounding that ``value`` takes into account."""
        return self.margin * self.weight - self.conjugate


class Comparator(NamedTuple):
    """A classifier w that a run is compared with.

    ``size`` is its norm, ``along`` is <w, theta> / size, ``complexity`` is F(w), infinite outside the domain of F.
    """

    size: Span
    along: Span
    complexity: Span

    @property
    def inside(self) -> bool:
        """Whether its norm is finite."""
        return self.size.high < inf

    def inner(self, drift: float) -> Span:
        """<w, sum of alpha z>, where theta is within ``drift`` of that sum."""
        return self.size * self.along.widened(drift)


def rescaled(dual: Dual, conjugate: Callable[[float], float] | None = None) -> tuple[float, float]:
    """The best dual value along the ray: max over s in [0, C / largest] of s margin A - G(s theta), and that s.

    Where examples have weights s is at most 1: the alpha of an example with a small weight may be at its cap.
    ``conjugate`` is the function s -> G(s theta); without one, G is half a squared norm.
    """
    if dual.largest == 0.0:
        return 0.0, 1.0
    most = 1.0 if dual.weighed else dual.C / dual.largest
    slope = dual.margin * dual.weight
    if conjugate is None:
        if dual.norm == 0.0:
            if most == inf and dual.drift == 0.0:
                return inf, inf
            s = most if most < inf else 1.0
            return s * slope, s
        # By the norm, since the square of a small number may underflow.
        s = min(dual.margin * (dual.weight / dual.norm) / dual.norm, most)
        s = s if s < inf else 1.0
        return s * slope - 0.5 * (s * dual.norm) * (s * dual.norm), s
    # A concave function: its maximum is bracketed, and found by golden sections. s = 1 is always allowed.
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


def least_loss(dual: Dual, size: Number) -> float:
    """Every w of norm at most ``size`` has at least this much loss so far, whatever C is."""
    if dual.largest == 0.0:
        return 0.0
    # Where all of theta is negative, and weights are not, zero weights have the least loss.
    return max(0.0, ((dual.pushed - as_span(size) * dual.length.at_least(0.0)) / dual.largest).low)


def largest_common_margin(dual: Dual) -> float:
    """No w of unit norm has a larger margin on all the examples with alpha > 0."""
    return (dual.length / Span.about(dual.weight, dual.terms)).high if dual.weight > 0.0 else inf


def running(
    dual: Dual,
    comparator: Comparator,
    conjugate: Callable[[float], float] | None = None,
    blurred: Callable[[float], float] = lambda s: 0.0,
) -> list[Certificate]:
    """The certificates that need no condition: they hold for every run, every link and every comparator.

    ``blurred`` is the function s -> error of ``conjugate`` at s.
    """
    inside = comparator.inside
    loss = dual.pushed - comparator.inner(dual.drift) if inside else LINE
    best, s = rescaled(dual, conjugate)
    if s < inf:
        if conjugate is None:
            ray = (dual.length * s).square() * 0.5
        else:
            ray = Span.within(conjugate(s), blurred(s))
        best = (dual.pushed * s - ray).low
    domain, weight = comparator.complexity.low < inf, Span.about(dual.weight, dual.terms)
    # A zero comparator has no direction, and no margin.
    directed = inside and dual.weight > 0.0 and comparator.size.low > 0.0
    return [
        Certificate("dual objective", dual.value.low, (comparator.complexity + loss).high if domain else inf,
                    "always: F(U) + sum of alpha (margin - U's margin), at most F(U) + C times the loss of U"),
        Certificate("rescaled dual objective", best,
                    (comparator.complexity + loss * s).high if domain and s < inf else inf,
                    "always: the same with every alpha times the best factor"),
        Certificate(FLOOR, least_loss(dual, comparator.size),
                    (loss.at_least(0.0) / dual.largest).high if inside and dual.largest > 0.0 else inf,
                    "always, for every C: the bound is the comparator's own loss, weighted by alpha"),
        Certificate("average margin of the unit comparator on the updates",
                    (comparator.along.widened(dual.drift) / weight).low if directed else 0.0,
                    largest_common_margin(dual) if directed else inf,
                    "always; no unit vector has a larger margin on all examples with alpha > 0, zero rows included"),
    ]  # fmt: skip


def least_increase(kind: str, margin: float, C: float, curvature: Span) -> float:
    """The least that a mistake adds to D when kappa(x) <= ``curvature``, rounded down; 0 or less proves nothing.

    ``kind`` is "fixed" (alpha = C), "adaptive" (alpha = min(C, loss)), or "best" for steps that raise D at least as
    much as alpha = min(C, loss / kappa).

    >>> [round(least_increase(kind, 1.0, 2.5, Span.exactly(1.0)), 12) for kind in ("fixed", "best")]
    [-0.625, 0.5]
    """
    step, most = _step(kind, margin, C, curvature.high), Span.exactly(curvature.high)
    return ((margin - 0.5 * step * most * Span.about(1.0, ROUNDINGS_OF_A_STEP)) * step).low


def _step(kind: str, margin: float, C: float, curvature: float) -> float:
    if kind == "best":
        return min(C, margin / curvature) if curvature > 0.0 else C
    if kind == "adaptive":
        # The increase grows with the loss only while kappa < 2.
        return min(C, margin) if curvature < 2.0 else 0.0
    return C


def gains(dual: Dual, gain: float, mistakes: float, *, never_falls: bool) -> Certificate:
    """The increases of D on mistakes are a part of D where no round lowers it.

    Rounding may let a round lower D, and make an increase look larger than it is, by at most ``dual.lost`` in all
    rounds together. The bound allows for both, since the increases are observed as they were computed.
    """
    condition = "no round lowered the dual; observed / mistakes is the average increase of a mistake"
    observed = Span.about(gain, dual.terms).low if mistakes else 0.0
    bound = dual.value.widened(dual.lost).widened(dual.lost).high if never_falls else inf
    return Certificate("dual increase on mistakes", observed, bound, condition)


def mistakes(dual: Dual, comparator: Comparator, count: float, increase: float, condition: str) -> Certificate:
    """M <= (F(U) + sum alpha (margin - U's margin)) / increase, as every mistake adds at least ``increase`` > 0."""
    if count == 0:
        return Certificate("mistakes", 0, 0.0, condition)
    bound = inf
    if increase > 0.0 and comparator.complexity.low < inf and comparator.inside:
        reached = comparator.complexity + dual.pushed - comparator.inner(dual.drift)
        bound = (reached.widened(dual.lost).at_least(0.0) / increase).high
    return Certificate("mistakes", count, bound, condition)


def fixed_mistakes(dual: Dual, comparator: Comparator, curvature: Span, quadratic: bool) -> float:
    """A bound on mistakes that each gave alpha = C, from the comparator's average margin g on them, free of ``margin``.

    A mistake adds at most C^2 kappa / 2 to G; so g A = <U, theta> <= F(U) + G(theta) <= F(U) + M C^2 kappa / 2, and
    <U, theta> <= |U| |theta|_* <= |U| C sqrt(M kappa) where G is half a squared norm.
    """
    if not dual.weight > 0.0 or not comparator.complexity.low < inf:
        return inf
    average = comparator.along.widened(dual.drift) / Span.about(dual.weight, dual.terms)
    if average.low <= 0.0:
        return inf
    if quadratic:
        # The rounding error of G is divided among the M = A / C mistakes.
        spilled = 2.0 * as_span(dual.lost) / dual.weight / dual.C
        return ((curvature + spilled) / average / average).high
    spare = (comparator.size * average - 0.5 * dual.C * curvature) * dual.C
    return ((comparator.complexity + dual.lost) / spare).high if spare.low > 0.0 else inf


def primal_of(mixed: Mixed | None, rounds: int) -> float:
    """The objective of the weights on all rows, if it was measured and nothing was learned since, else infinity."""
    known = mixed is not None and mixed.kind == DUAL and rounds == mixed.apart[tallies.ROUNDS]
    return mixed.primal if mixed is not None and known else inf


def gap_of(dual: Dual, mixed: Mixed | None, rounds: int) -> float:
    """The duality gap of the weights on all rows; infinite if their objective is unknown."""
    return (as_span(primal_of(mixed, rounds)) - dual.value).high


def of_all_rows(dual: Dual, mixed: Mixed, rounds: int) -> list[Certificate]:
    """The dual value over all rows of all shards, and the objective of the weights; the optimum lies between them."""
    condition = (
        "always: the bound is |w|^2 / 2 + C times the loss of these weights on all rows; no weights have less than D"
    )
    return [Certificate("dual objective of all rows", dual.value.low, primal_of(mixed, rounds), condition)]
