"""AROW: weights and a confidence in them, moved by every margin below 1; SOP: the same by mistakes alone.

    alpha = (1 - m) / (v + r),     1 - kappa = r / (v + r)

This is the unique minimum of KL(N(w, S) || N(w_t, S_t)) + ((1 - <w, z>)^2 + z'Sz) / (2 r). Every update adds the same
1 / r to the weight of its example, so that w is the ridge solution (r I + X)^{-1} sum z on the examples it was updated
on, X = sum zz': their order is forgotten, only which they are depends on it.

The second-order Perceptron scores x by x'(a I + X + xx')^{-1} sum z over its mistakes; with r = a that is
m / (1 + v / r), of the same sign, and so it is this rule asked on mistakes only.

Crammer, Kulesza, Dredze (NIPS 2009; multiclass in Machine Learning 2013). Cesa-Bianchi, Conconi, Gentile (SIAM J.
Comput. 2005).
"""

from math import exp, log1p
from typing import NamedTuple

from ellipsoid.ellipsoids.protocol import cut, what_is_left
from ellipsoid.ellipsoids.state import LOG_SCALE, SHARE_LEFT, SQUARED_LOSS
from ellipsoid.engine.protocol import step, wants_label
from ellipsoid.engine.rows import HUGE

from .gaussian import asks_for_label, is_visible, note_update


class AROWRule(NamedTuple):
    """``margin`` is where the rule becomes passive: 1, or 0 for mistakes only. ``doubt`` as in `asks_for_label`."""

    margin: float
    r: float
    doubt: float


@step.register(AROWRule)
def _(rule, margin, energy):
    return 1.0 if margin <= 0.0 or margin < rule.margin else 0.0


@wants_label.register(AROWRule)
def _(rule, task, rep, rows, t, work, tally):
    return asks_for_label(rule.doubt, task, rep, rows, t, work)


@what_is_left.register(AROWRule)
def _(rule, kappa, state):
    return state[SHARE_LEFT]


@cut.register(AROWRule)
def _(rule, margin, quadratic, norm2, state, rounds, errors):
    scale = exp(state[LOG_SCALE])
    v, loss = scale * quadratic, 1.0 - margin
    whole = v + rule.r
    alpha = loss / whole
    if not (is_visible(state, v, quadratic, norm2) and 0.0 < alpha < HUGE):
        return 0.0, 0.0
    left, omega = rule.r / whole, min(v / rule.r, HUGE)
    note_update(state, margin, left, -log1p(omega), omega, norm2 / quadratic)
    state[SQUARED_LOSS] += min(loss * (loss * left), HUGE)
    return alpha * scale, v / whole
