"""NHERD: AROW's step for the mean, and twice its step for the covariance (the normal herd follows its shepherd).

    alpha = (1 - m) / (v + g),     1 - kappa = (g / (v + g))^2,     g = 1 / C

The whole Gaussian is moved by the linear map that costs least beside C times the squared hinge loss that is left; what
the map does to the mean AROW does too, what it does to a root of S is AROW's change of S itself.

No mistake bound: a comparator with margin exactly 1 on an example gains nothing from an update on it, however large the
loss. Crammer, Lee (NIPS 2010).
"""

from math import exp, log1p
from typing import NamedTuple

from ellipsoid.ellipsoids.protocol import cut, what_is_left
from ellipsoid.ellipsoids.state import LOG_SCALE, SHARE_LEFT
from ellipsoid.engine.protocol import step, wants_label
from ellipsoid.engine.rows import HUGE

from .gaussian import add_weight, asks_for_label, is_visible, note_update

# What a variance may be of g, so that its square is finite.
LARGEST_RATIO = 1e140


class NHERDRule(NamedTuple):
    """``g`` = 1 / C. ``doubt`` as in `asks_for_label`."""

    margin: float
    g: float
    doubt: float


@step.register(NHERDRule)
def _(rule, margin, energy):
    return 1.0 if margin < rule.margin else 0.0


@wants_label.register(NHERDRule)
def _(rule, task, rep, rows, t, work, tally):
    return asks_for_label(rule.doubt, task, rep, rows, t, work)


@what_is_left.register(NHERDRule)
def _(rule, kappa, state):
    return state[SHARE_LEFT]


@cut.register(NHERDRule)
def _(rule, margin, quadratic, norm2, state, rounds, errors):
    scale = exp(state[LOG_SCALE])
    v = scale * quadratic
    whole = v + rule.g
    alpha, root = (1.0 - margin) / whole, rule.g / whole
    if not (is_visible(state, v, quadratic, norm2) and 0.0 < alpha < HUGE):
        return 0.0, 0.0
    ratio = min(v / rule.g, LARGEST_RATIO)
    note_update(state, margin, root * root, -2.0 * log1p(ratio), ratio * (ratio + 2.0), norm2 / quadratic)
    add_weight(state, scale * min((1.0 + margin + ratio) / rule.g, HUGE))
    return alpha * scale, v / whole * (1.0 + root)
