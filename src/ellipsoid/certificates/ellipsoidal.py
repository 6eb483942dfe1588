"""Bounds of CELLIP and IELLIP, from a few sums of a run and from the ellipsoid itself; proofs in docs/certificates.md.

CELLIP (threshold = a margin, start radius r, R largest |z| of an update). With pi = prod(1 - alpha^2), for the `paper`
cut and while no intersection was empty,

    mistakes <= R^2 (r^2 - v0^2) / threshold^2,    v0 = margin (r - a) / (R + margin) the radius of a ball inside E,

and at most R^2 (pi r^2 - v0^2) / threshold^2 more will come from rows of norm at most R. The v0 terms assume that some
unit vector has the margin; they are dropped once pi refutes this.

IELLIP (w_1 = 0). With a_k = (goal - (1 - c_k) n_k) / (v_k D_k), h = sum a_k z_k = P^{-1} w / D and A = sum a_k, every
comparator u has the average margin m = <u, h> / A on the updates, no unit vector has margin above |h| / A on all of
them, and mistakes <= (R |u| / m)^2 / D. A mixture of shards has h = P^{-1} w / D + e, and |h| <= |e| + sqrt(goal A / D)
bounds A by the root of a quadratic equation.

Rounding. Every cut measures a row in the shape, with a relative error that grows with the dimension and the number of
cuts before; the forms of the shape lose no more than three digits to cancellation (LOG_LEAST_KEPT). ``after_cuts`` is
one, with the relative error of a bound that follows from all of this.
"""

from fractions import Fraction
from math import exp, inf, log, log1p
from typing import NamedTuple

from .certificate import Certificate
from .rounding import VANISHED, ZERO, Span, as_span

# By what factor cancellation in a form of the shape may increase rounding errors before another form takes over.
DIGITS = 1e3
# Cuts of a depth within this distance from one leave a point; with a larger depth the ellipsoid is empty.
DEPTH = 2e-9


def after_cuts(dim: float, cuts: float, logarithms: float = 0.0, lost: float = DIGITS) -> Span:
    """One, with the relative error after so many cuts in so many dimensions, and of logarithms that sum to that size.

    ``lost`` is the factor by which cancellation in the shape increases rounding errors.
    """
    return Span.about(1.0, lost * (dim + 8.0) + 8.0 * (cuts + 8.0) * (dim + 8.0 + abs(logarithms)))


def cellip_mistakes(mistakes: int, remaining: float, bound: float, refuted: bool) -> list[Certificate]:
    """Mistakes so far, and the most that can still follow."""
    condition = "no intersection was empty, no row zero and no mistake too shallow to cut; rows of norm at most R"
    return [
        Certificate("mistakes", mistakes, inf if refuted else bound, condition),
        Certificate("mistakes still to come", 0, inf if refuted else remaining, condition + "; separable data"),
    ]


class Start(NamedTuple):
    """The start of a CELLIP run: the assumed margin, the share of it that is asked, the radius of the first ball."""

    margin: float
    a: float
    radius: float


def cellip_bound(
    start: Start, *, threshold: float, largest: Span, s: Span, gained: float, known: Span
) -> tuple[float, float]:
    """Bound on mistakes, and on those still to come, for the `paper` cut; ``largest`` is R, ``s`` = pi r^2.

    ``gained`` is by how much s was raised in all to allow for rounding.
    """
    if largest.high == 0.0:
        return 0.0, inf
    inner = _inner(start, largest)
    whole = as_span(start.radius).square() + gained
    if s.high < inner.square().low:
        inner = Span.exactly(0.0)
    scale = (largest / threshold).square() * known
    return (scale * (whole - inner.square())).high, max(0.0, (scale * (s - inner.square())).high)


def _inner(start: Start, largest: Span) -> Span:
    """The radius of a ball inside the ellipsoid, if some unit vector has the margin."""
    return (start.margin * (as_span(start.radius) - start.a) / (largest + start.margin)).at_least(0.0)


def minvol_bound(
    start: Start, *, largest: Span, dim: int, log_det: float, widened: float, known: Span
) -> tuple[float, float]:
    """The same for the `minvol` cut: every cut removes at least the share of the volume that a central cut does."""
    inner = _inner(start, largest).low if largest.high > 0.0 and start.margin > 0.0 else 0.0
    if inner <= 0.0 or not log_det >= 2.0 * dim * log(inner):
        return inf, inf
    # log(1 + x) of small x, where log(d^2 / (d^2 - 1)) would cancel in many dimensions.
    central = log(2.0) if dim == 1 else 0.5 * ((dim - 1) * log1p(-1.0 / dim**2) + 2.0 * log1p(1.0 / dim))
    share = Span.about(central, 8.0 * dim + 16.0)
    if not share.low > 0.0:
        return inf, inf
    far = Span.about(log(start.radius), 4) + Span.about(0.5 * widened, 4) - Span.about(log(inner), 4)
    left = Span.about(0.5 * log_det, 8) - dim * Span.about(log(inner), 4)
    uncertain = known.high - 1.0
    return (dim * far / share * known).high, ((left.widened(uncertain * (1.0 + abs(log_det)))) / share * known).high


def refuted_margin(radius: float, threshold: float) -> Certificate:
    """No unit vector has the margin with which the intersection was empty."""
    # The quotient is only rounded up if the division rounded it down.
    threshold = max(0.0, threshold)
    proved = threshold / radius
    if proved < inf and Fraction(threshold) > Fraction(proved) * Fraction(radius):
        proved = (as_span(threshold) / radius).high
    return Certificate("best unit margin", 0.0, proved, "an intersection was empty: a proof")


def margin_of_updates(
    *, radius: float, threshold: float, largest: Span, slim: float, log_det: float, dim: int, known: Span
) -> Certificate:
    """No unit vector has a larger margin on the update examples.

    If one of margin g* existed, E would hold a ball of radius r (g* - beta) / (1 + g*) (norms in units of R), which
    neither the volume nor the slimmest cut leaves room for.
    """
    condition = "norms of the updates' rows at most R; infinite while the ellipsoid is too large for a bound"
    if largest.high == 0.0:
        return Certificate("best unit margin", 0.0, inf, condition)
    # An ellipsoid that is a point was left by a cut of depth one, up to DEPTH.
    exhausted = DEPTH if log_det == -inf else 0.0
    left = min(_exp(max(-745.0, log_det / (2.0 * dim))), slim)
    room = (Span.about(left, 8) * known).widened(exhausted * radius + VANISHED) / radius
    beta = as_span(threshold) / (largest * radius)
    bound = (largest * (beta + room) / (1.0 - room) * known).high if room.high < 1.0 else inf
    return Certificate("best unit margin", 0.0, bound, condition)


def _exp(exponent: float) -> float:
    return exp(exponent) if exponent < 700.0 else inf


class Pull(NamedTuple):
    """h and A of an IELLIP run against a comparator u, both divided by exp(``lifted``).

    ``inner`` is <u, h>, ``size`` |u|, ``norm`` |h|, ``weight`` A. Of a mixture ``offset`` is |e|, not divided.
    """

    inner: Span
    size: Span
    norm: Span
    weight: Span
    lifted: float = 0.0
    offset: Span = ZERO


def iellip(
    pull: Pull, *, mistakes: float, largest: Span, log_kept: float, goal: float, zeros: bool, always: bool
) -> list[Certificate]:
    """``largest`` is R, ``log_kept`` log D; ``always``: the learner also updates on correct rows of small margin."""
    inner, size, norm, weight, lifted, offset = pull
    along = inner / size if size.low > 0.0 else Span.exactly(0.0)
    some = weight.low > 0.0
    margin = Certificate(
        "average margin of the unit comparator on the updates", (along / weight).low if some else 0.0,
        (norm / weight).high if some else inf,
        "always; it is also the largest margin that any unit vector has on all update examples",
    )  # fmt: skip
    if weight.high == 0.0:
        bound = 0.0 if mistakes == 0 else inf
    elif along.low <= 0.0 or zeros or not some:
        bound = inf
    elif always:
        bound = (largest * largest * norm * weight / (goal * along) * Span.about(_exp(lifted), 8)).high
    elif offset == ZERO:
        bound = ((largest * weight / along).square() * Span.about(_exp(-log_kept), 8)).high
    else:
        average, half = along / weight, 0.5 * (goal * Span.about(_exp(-log_kept), 8)).root()
        root = (half + (half.square() + average * offset).root()) / average
        bound = (largest.square() * root.square() / goal).high
    condition = "U has a positive average margin on the updates; R is the largest |z| of an update; no zero row"
    return [Certificate("mistakes", mistakes, bound, condition), margin]
