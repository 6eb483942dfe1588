"""Bounds of the learners with Gaussian weights N(w, S), from a few sums of a run and from S itself.

S starts as a I. There are A updates, U of them without a mistake, and M mistakes; h = S^{-1} w = sum weight z over the
updates, X = sum zz', L = log det(S_1) - log det(S). For proofs see docs/second-order.md.

AROW and SOP (S^{-1} = I / a + X / r, weight 1 / r, q = w'S^{-1}w). For every u with g = <u, sum z> / A > 0

    M <= sqrt(r u'S^{-1}u (L + U)) / g - U
    sum r l^2 / (v + r) <= r u'S^{-1}u - 2 <u, sum z> + A = (r / a) |u|^2 + sum (1 - <u, z>)^2

l = 1 - m the loss before an update. The second survives a sketch: dropping a part of S^{-1} only helps.

Weights that are all positive: no unit vector has a margin above |h| / sum weight on all the updates.

CW stdev: a mistake divides det S by 1 + phi^2 at least, so that M <= L / log(1 + phi^2).

Rounding. A perturbation of a root J of B = S / s by e changes B^{-1} by a share e |J^{-1}|, which later downdates only
reduce. So ``uncertain`` grows with the updates, the dimension and the norm of B^{-1}, and bounds the relative error of
S^{-1}, and of w in its metric.
"""

from math import inf, log1p, sqrt
from typing import NamedTuple

from .certificate import Certificate
from .rounding import LINE, UNIT, VANISHED, Span

# With a larger relative error than this nothing is bounded.
MOST_UNCERTAIN = 0.05


class GaussianRun(NamedTuple):
    """The sums of a run. ``margin_updates`` is U, ``log_shrunk`` L, ``squares`` the sum of r l^2 / (v + r).

    ``steep`` bounds the norm of S^{-1}; ``uncertain`` is a relative error, see above.
    """

    mistakes: int
    updates: int
    margin_updates: int
    log_shrunk: float
    squares: float
    steep: float
    uncertain: float

    @property
    def counted(self) -> bool:
        """Whether every mistake caused an update, and the relative error is small enough."""
        return self.mistakes <= self.updates - self.margin_updates and self.uncertain < MOST_UNCERTAIN


class MeasuredComparator(NamedTuple):
    """A comparator u in the metric of S, and its length.

    ``square`` is u'S^{-1}u, ``inner`` <u, h>, ``own`` <w, h> = w'S^{-1}w, ``size`` |u|, ``pull`` |h|; u was divided by
    ``scale``.
    """

    square: float
    inner: float
    own: float
    size: float
    pull: float
    scale: float = 1.0


def uncertainty(dim: float, updates: float, logarithms: float, steep: float, cancels: bool) -> float:
    """The relative error after so many updates; ``steep`` bounds B^{-1}, ``cancels``: B is a difference.

    The error of a difference is a share of its terms: ``steep`` times as much of B, and as much again of quantities
    measured by B^{-1}.
    """
    worst = steep * steep if cancels else sqrt(steep)
    return 16.0 * UNIT * (updates + 8.0) * (dim + 8.0 + abs(logarithms)) * worst


def _spans(run: GaussianRun, u: MeasuredComparator, r: float) -> tuple[Span, Span]:
    """r u'S^{-1}u and <u, sum z> with their errors."""
    if not run.uncertain < MOST_UNCERTAIN:
        return LINE, LINE
    length = 1.1 * sqrt(max(0.0, u.square)) * sqrt(max(0.0, u.own))
    whole = Span.within(u.square, 2.0 * run.uncertain * u.square).at_least(0.0)
    pull = Span.within(u.inner, 2.0 * run.uncertain * length + VANISHED * (1.0 + run.steep) * u.size)
    return whole * r, pull * r


def arow_mistakes(run: GaussianRun, u: MeasuredComparator, r: float, measured: bool = False) -> Certificate:
    """AROW and SOP: the bound of the average margin.

    On one stream L + U bounds r w'S^{-1}w. For merged shards it is ``measured`` instead: |<u, h>| is at most the
    product of the lengths of u and h in any case.
    """
    condition = "u has a positive average margin on the updates; no mistake without an update"
    whole, pull = _spans(run, u, r)
    if run.mistakes == 0:
        bound = 0.0
    elif not run.counted or not pull.low > 0.0:
        bound = inf
    else:
        grown = Span.about(run.log_shrunk, run.updates + 16.0) + Span.exactly(run.margin_updates)
        if measured:
            grown = Span.within(u.own, 2.0 * run.uncertain * u.own) * r
        grown = grown.widened(4.0 * run.uncertain * (run.updates + 1.0))
        bound = ((whole * grown).root() * run.updates / pull - run.margin_updates).high
    return Certificate("mistakes", run.mistakes, bound, condition)


def arow_squares(run: GaussianRun, u: MeasuredComparator, r: float, dropped: float = 0.0) -> Certificate:
    """AROW and SOP: the squared losses before the updates against those of u; ``dropped`` is X less its sketch."""
    name = "squared losses before the updates, each over 1 + v/r"
    whole, pull = _spans(run, u, r)
    unseen = Span.about(dropped, 64.0 + run.updates) * Span.about(u.size, 64.0).square()
    off = 8.0 * run.uncertain * (run.updates + run.squares + 1.0)
    scale = Span.exactly(u.scale)
    bound = (whole + unseen) * scale.square() - 2.0 * pull * scale + Span.exactly(run.updates).widened(off)
    observed = Span.about(run.squares, 4.0 * run.updates + 16.0).widened(off).at_least(0.0).low
    known = run.uncertain < MOST_UNCERTAIN
    return Certificate(name, observed if known else 0.0, bound.high if known else inf, "always")


def gaussian_margin(run: GaussianRun, u: MeasuredComparator, weight: float, positive: bool) -> Certificate:
    """The average margin of u over its length, and the largest that any vector has; ``weight`` is the sum of all."""
    condition = "all weights are positive; it is also the largest margin that any unit vector has on all updates"
    name = "average margin of the unit comparator on the updates"
    if not (positive and weight > 0.0 and run.uncertain < MOST_UNCERTAIN):
        return Certificate(name, 0.0, inf, condition)
    off = 2.2 * run.uncertain * sqrt(run.steep) * sqrt(max(0.0, u.own)) + VANISHED * (1.0 + run.steep)
    total = Span.about(weight, 16.0 * run.updates + 64.0).widened(1e-8 * weight)
    along = Span.within(u.inner / u.size if u.size > 0.0 else 0.0, off) / total
    return Certificate(name, along.low, (Span.within(u.pull, off) / total).high, condition)


def determinant_mistakes(run: GaussianRun, phi: float) -> Certificate:
    """CW stdev: the bound from the determinant, which every mistake reduces."""
    condition = "no mistake without an update"
    share = Span.about(log1p(phi * phi), 16.0)
    whole = Span.about(run.log_shrunk, 8.0 * run.updates + 64.0)
    bound = (whole / share).high if run.mistakes <= run.updates - run.margin_updates else inf
    return Certificate("mistakes", run.mistakes, max(0.0, bound) if run.mistakes else 0.0, condition)


def moving_cost(cost: float, off: float, proved: bool) -> Certificate:
    """AROW with a drift q: the least cost of a classifier that moves.

    For every sequence u_1, u_2, ... and S = a I at the start, the sums over the updates (the second over all rounds)::

        sum r l^2 / (v + r) <= (r / a) |u_1|^2 + (r / q) sum |u_{t+1} - u_t|^2 + sum (1 - <u_t, z_t>)^2

    and for the best sequence both sides are equal, because (S + q I)^{-1} is the infimal convolution of S^{-1} and the
    cost of a move. So the number is its own bound; ``off`` is the share of it that rounding may have changed.
    """
    condition = (
        "two labels, a whole covariance, no weights, no variance at its ceiling; then no moving classifier costs less"
    )
    known = proved and off < MOST_UNCERTAIN
    name = "least cost of a moving classifier"
    if not known:
        return Certificate(name, cost, inf, condition)
    return Certificate(name, max(0.0, cost * (1.0 - off) - VANISHED), cost * (1.0 + off) + VANISHED, condition)
