"""Bounds for learners that multiply what they have before they add to it: ROMMA and ALMA.

Their hypotheses are sums of the updates' rows with positive coefficients. Those of ROMMA's W sum to |W|^2; the sum A of
those of ALMA's theta is kept. So g = <U, W> / |W|^2, or <U, theta> / (A |U|_q), is an average margin of U on the
updates, and docs/certificates.md proves

    ROMMA: mistakes <= c R^2 |U|^2 / g^2,    ALMA: updates <= (2 (p - 1) / g^2) (2 / alpha - 1)^2 + 8 / alpha - 4 .

Li & Long (2002), theorem 2; Crammer & Singer (JMLR 2003), theorem 14; Gentile (JMLR 2001), theorem 3.

c = 1 binary, 2 multiclass. The aggressive ROMMA may share the blame for a mistake with labels that trail,
e_r = 1 - (B_y - B_r) in [0, 1), and m = <W, X> may be positive. With n of K labels in the error set and some e_r >= 1,
|x|^2 (1 - m)^2 / |X|^2 is (mean e)^2 / (1 + 1/n) >= 1 / (n (n + 1)) where blame is equal and
(sum e^2)^2 / ((sum e)^2 + sum e^2) >= 1 / (n + 1) where it is proportional: c = K (K - 1) and c = K.

Rounding. Every update multiplies the weights and adds to them, so that relative errors add up. Those of ROMMA's c and d
are larger the more X is parallel to W: the sum of |X|^2 / f over the updates is kept (HELD). An expansion's scores are
sums of coefficients times kernel values, which may cancel: their errors are larger by up to |W| R.
"""

from math import inf, sqrt

import numpy as np
from numpy.typing import NDArray

from ellipsoid.engine import tally as tallies

from . import run_rounding
from .additive import Run
from .certificate import Certificate
from .rounding import Span, as_span, length, product, relative_error

AVERAGE = "average margin of the unit comparator on the updates"


def romma(run: Run, *, goal: float, skipped: int, parts: int) -> list[Certificate]:
    """``goal`` is the unit of the weights, ``skipped`` the number of rounds that no weights satisfy, ``parts`` is c."""
    size = run.reach
    if size.high == 0.0:
        bound, observed, best = 0.0 if run.mistakes == 0 else inf, 0.0, inf
    else:
        known = run_rounding.path_known(run.tally, tallies.HELD)
        wrong = 4.0 * float(run.tally[tallies.HELD]) * relative_error(run.terms + 16) if known else inf
        if run.expansion:
            wrong *= 1.0 + (size * (2.0 * run.radius2).root() / goal).high
        shares = Span.within(1.0, wrong)
        average = as_span(goal) / size * (run.along / size) * shares
        observed, best = average.low if known else -inf, (as_span(goal) / size * shares).high
        reach = (float(parts) * run.radius2).root() / average if average.low > 0.0 else as_span(inf)
        bound = run.if_all_updated(reach.square().high) if skipped == 0 else inf
    condition = "U has a positive average margin on the updates; R is the largest norm of an update's row; no zero row"
    return [
        Certificate("mistakes", run.mistakes, bound, condition + "; no round was skipped"),
        Certificate(AVERAGE, observed, best, "always; no unit vector has a larger margin on all update examples"),
    ]


def alma(run: Run, dual: NDArray[np.float64], *, power: float, alpha: float, weight: float) -> list[Certificate]:
    """``dual`` is theta, ``weight`` the sum A of its coefficients, ``power`` the p of the norm."""
    # |U|_q after division by the largest entry, for comparators of any size.
    largest = float(np.abs(run.comparator).max(initial=0.0))
    U = run.comparator / largest if largest else run.comparator
    size = Span.about(float((np.abs(U) ** (power / (power - 1.0))).sum() ** (1.0 - 1.0 / power)), U.size + 16)
    top = float(np.abs(dual).max(initial=0.0))
    norm = Span.exactly(0.0)
    if top:
        power_sum = float(((np.abs(dual) / top) ** power).sum() ** (1.0 / power))
        norm = Span.about(power_sum, dual.size + 16 + 4 * power) * top
    if power == 2.0:
        size, norm = length(U), length(dual)
    # Every update rounds the dual and the sum of its coefficients, and uses a rounded score.
    shares = Span.about(1.0, 16.0 * power * (run.updates + (run.terms + 2.0) * (1.0 + sqrt(run.updates))))
    coefficients = Span.exactly(weight) * shares
    directed = largest > 0.0 and weight > 0.0
    average = product(U, dual, roundings=1) / size / coefficients if directed else Span.exactly(0.0)
    if run.expansion and directed:
        # An expansion is compared with itself, and its length is kept.
        average = norm / coefficients
    bound = inf if run.updates else 0.0
    if run.updates and average.low > 0.0:
        reach = (2.0 / as_span(alpha) - 1.0) / average
        bound = ((2.0 * (power - 1.0) * reach.square() + 8.0 / as_span(alpha) - 4.0) * shares).high
    most_mistakes = bound if run.updates or run.mistakes == 0 else inf
    condition = "U has a positive average margin on the updates, rows scaled to p-norm one"
    return [
        Certificate("updates", run.updates, bound, condition),
        Certificate("mistakes", run.mistakes, run.if_all_updated(most_mistakes), condition + "; no zero row"),
        Certificate(
            AVERAGE, average.low, (norm / coefficients).high if weight else inf, "always; rows scaled to p-norm one"
        ),
    ]
