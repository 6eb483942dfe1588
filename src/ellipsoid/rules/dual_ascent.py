"""Dual ascent: every new example raises the dual of the problem of all examples so far by its own multiplier.

    D(alpha) = margin sum_i alpha_i - G(sum_i alpha_i z_i),   0 <= alpha_t <= C,   loss = max(0, margin - <w, z>)

    fixed      on a mistake, alpha = C                      (the Perceptron; Winnow in the entropies' geometry)
    adaptive   alpha = min(C, loss)
    curvature  alpha = min(C, loss / kappa(x)), kappa a bound of the curvature of G along x
    exact      the alpha in [0, C] that raises D most; where G is half a squared Euclidean norm that is `curvature`,
               the passive-aggressive step PA-I

The alpha of an example of weight k lies in [0, C k].

A zero row has loss `margin` under every w: it moves nothing, and its multiplier is worth alpha margin to the dual.

Shalev-Shwartz and Singer (COLT 2006), equations 16 and 28, section 4.
"""

from math import inf
from typing import NamedTuple

from ellipsoid.engine.generic import helper
from ellipsoid.engine.protocol import (
    against_highest_rival,
    lowest_against_highest,
    on_zero_row,
    record_step,
    share,
    share_sets,
    step,
    weighted,
)
from ellipsoid.engine.rows import HUGE
from ellipsoid.engine.tally import GAIN, LARGEST, WEIGHT
from ellipsoid.links.protocol import prolongation, record_rise

FIXED_STEP, ADAPTIVE_STEP, CURVATURE_STEP, EXACT_STEP = range(4)


class DualAscent(NamedTuple):
    """The Euclidean rule: ``margin`` is the margin beyond which it is passive, ``goal`` that of the loss."""

    margin: float
    goal: float
    cap: float
    step_kind: int


class LinkedAscent(NamedTuple):
    """The same in the geometry of a link, whose curvature along a row stands in for its squared norm.

    ``pair`` is the curvature along (e_y - e_s) (x) x in units of that along x.
    """

    margin: float
    goal: float
    cap: float
    step_kind: int
    pair: float


@step.register(DualAscent | LinkedAscent)
def _(rule, margin, curvature):
    # The exact step behind a link is at least as long; it is found in `absorb`.
    if rule.step_kind == FIXED_STEP:
        return rule.cap
    return min(rule.cap, max(0.0, rule.goal - margin) / (1.0 if rule.step_kind == ADAPTIVE_STEP else curvature))


@helper()
def record_multiplier(tally, alpha, gain, mistake):
    """Add a new multiplier to the sums for certificates."""
    tally[WEIGHT] += alpha
    tally[LARGEST] = max(tally[LARGEST], alpha)
    if mistake:
        # Clipped, so that infinities neither cancel nor add up to NaN.
        tally[GAIN] += min(HUGE, max(-HUGE, gain))


@on_zero_row.register(DualAscent | LinkedAscent)
def _(rule, rep, tally):
    # Without a cap the multiplier of a zero row would be infinite, and is left at zero.
    alpha = min(rule.cap, rule.goal) if rule.step_kind == ADAPTIVE_STEP else rule.cap
    if alpha < inf:
        record_multiplier(tally, alpha, alpha * rule.goal, True)


@record_step.register(DualAscent)
def _(rule, margin, tau, energy, tally):
    # Not tau squared times the energy: the square of a small tau underflows.
    record_multiplier(tally, tau, tau * (rule.goal - margin - 0.5 * tau * energy), margin <= 0.0)


@weighted.register(DualAscent)
def _(rule, weight):
    return DualAscent(rule.margin, rule.goal, rule.cap * weight, rule.step_kind)


@share.register(LinkedAscent)
def _(rule, n, y, energy, work):
    return against_highest_rival(rule, n, y, 0.5 * rule.pair * energy, work)


@share_sets.register(LinkedAscent)
def _(rule, n, Y, t, energy, work):
    return lowest_against_highest(rule, n, Y, t, 0.5 * rule.pair * energy, work)


@weighted.register(LinkedAscent)
def _(rule, weight):
    return LinkedAscent(rule.margin, rule.goal, rule.cap * weight, rule.step_kind, rule.pair)


@prolongation.register(LinkedAscent)
def _(rule):
    return rule.goal, rule.cap if rule.step_kind == EXACT_STEP else 0.0


@record_rise.register(LinkedAscent)
def _(rule, margin, alpha, rise, tally):
    record_multiplier(tally, alpha, alpha * rule.goal - rise, margin <= 0.0)
