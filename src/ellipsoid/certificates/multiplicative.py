"""Bounds for Winnow, from the relative entropy of a comparator to the weights.

With theta the sum of eta tau_r x over all updates, U >= 0 a comparator whose weights sum to one where the learner's do,
F(U) its relative entropy to the uniform start, and kappa the curvature of the link along an update's row,

    <U, theta> - F(U) <= G(theta) <= n eta (margin + eta c kappa / 2)

after n updates: on an update sum tau_r B_r <= margin, and sum tau_r^2 <= 2 where rows are normalised one by one (c = 2,
version 1), while the matrix as a whole has entries tau_r x_i (c = 1, version 2). Let g = <U, theta> / (n eta), the
average margin of U on the updates; then

    n <= F(U) / (eta (g - margin - eta c kappa / 2)).

Smallest at eta = g / c for margin 0 and |x_i| <= 1: 4 k log(n) / g^2 (version 1), 2 log(n k) / g^2 (version 2).

Crammer and Singer (JMLR 2003), theorem 11, corrected: U must not be negative; for signed U double the features.

Rounding: theta is off by ``drift`` in the norm that is dual to U's, and G may have grown by ``lost`` more than the
scores allow, since these are rounded too.
"""

from math import inf
from typing import NamedTuple

from .certificate import Certificate
from .dual import Comparator
from .rounding import Span, as_span


class Multiplied(NamedTuple):
    """The numbers of a run: ``growth`` is c kappa; the rest as above."""

    updates: float
    eta: float
    margin: float
    growth: Span
    drift: float
    lost: float


def winnow(run: Multiplied, comparator: Comparator, *, mistakes: float, zeros: bool) -> list[Certificate]:
    """The comparator lies in the domain of F, or its complexity is infinite."""
    bound = inf if run.updates else 0.0
    if run.updates and comparator.inside and comparator.complexity.low < inf:
        average = comparator.inner(run.drift) / (run.updates * as_span(run.eta))
        spare = (average - run.margin - 0.5 * as_span(run.eta) * run.growth) * run.eta
        bound = ((comparator.complexity + run.lost) / spare).high if spare.low > 0.0 else inf
    condition = (
        "U in the domain (scaled into it where that is enough), with average margin above margin + eta c kappa / 2"
    )
    sure = not zeros and mistakes <= run.updates
    return [
        Certificate("updates", run.updates, bound, condition),
        Certificate("mistakes", mistakes, bound if sure else inf, condition + "; no zero row"),
    ]


def growth_of_normaliser(run: Multiplied, G: Span) -> Certificate:
    """The log of the normaliser and its bound, a certificate that needs no comparator."""
    bound = run.updates * as_span(run.eta) * (run.margin + 0.5 * as_span(run.eta) * run.growth)
    return Certificate("log of the normaliser", G.low, bound.widened(run.lost).high, "always")
