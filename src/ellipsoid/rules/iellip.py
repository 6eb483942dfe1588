"""IELLIP: the smallest move, in an ellipsoid's metric, that restores the margin; for data of any kind.

    w <- w + ((goal - n) / z'Pz) Pz          (afterwards <w, z> = goal exactly)
    P <- (P - c_t (Pz)(Pz)' / z'Pz) / (1 - c_t),     c_t = c b^k

k counts earlier updates (decay "update") or earlier rounds (decay "round"). With P = s B the step is (goal - n) / z'Bz
along Bz, and the scale s = 1 / prod(1 - c_t) matters for reports only. Once c_t <= 2^-54, fl(1 - c_t) = 1 and B stays.

Yang, Jin, Ye (ICML 2009), section 2.3, corrected: c < 1; the oldest updates weigh most; P only grows, so that this
ellipsoid is no version space.
"""

from math import log1p
from typing import NamedTuple

import numpy as np

from ellipsoid.ellipsoids.confidence import write_lead
from ellipsoid.ellipsoids.protocol import cut
from ellipsoid.ellipsoids.state import ASKED, COMPLETE, CUTS, LOG_KEPT, LOG_SCALE, MARGIN_WEIGHT, UNBOUNDED
from ellipsoid.engine.generic import helper
from ellipsoid.engine.protocol import step, wants_label
from ellipsoid.engine.rows import TINY
from ellipsoid.engine.tally import ROUNDS

NEGLIGIBLE = 2.0**-54


class IELLIPRule(NamedTuple):
    """``margin`` is where the rule becomes passive: 0 (mistakes only) or ``goal``.

    With ``smoothing`` > 0 a label is asked for with probability smoothing / (smoothing + gap), gap the lead of the best
    score in units of ``goal``: Cesa-Bianchi, Gentile, Zaniboni (JMLR 2006). The draw depends only on seed and round.
    """

    margin: float
    goal: float
    c: float
    b: float
    by_round: bool
    smoothing: float
    seed: int


@step.register(IELLIPRule)
def _(rule, margin, energy):
    return 1.0 if margin <= 0.0 or margin < rule.margin else 0.0


@wants_label.register(IELLIPRule)
def _(rule, task, rep, rows, t, work, tally):
    if rule.smoothing > 0.0:
        gap = write_lead(task, work)[0] / rule.goal
        if uniform(rule.seed, tally[ROUNDS]) * (rule.smoothing + gap) > rule.smoothing:
            return False
    rep.state[ASKED] += 1.0
    return True


@helper()
def uniform(seed, rounds):
    """A number in [0, 1) for a seed and a round: the finaliser of SplitMix64 (Steele, Lea, Flood 2014)."""
    z = np.uint64(seed) + np.uint64(rounds + 1.0) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z = z ^ (z >> np.uint64(31))
    return np.float64(z >> np.uint64(11)) * 2.0**-53


@cut.register(IELLIPRule)
def _(rule, margin, quadratic, norm2, state, rounds, errors):
    if quadratic < TINY or (rule.goal - margin) / quadratic < TINY:
        state[UNBOUNDED] = 1.0
        return 0.0, 0.0
    shrinkage = 0.0
    if state[COMPLETE] == 0.0:
        shrinkage = rule.c * rule.b ** (rounds if rule.by_round else state[CUTS])
        if shrinkage <= NEGLIGIBLE:
            shrinkage = 0.0
            state[COMPLETE] = 1.0
        state[LOG_SCALE] -= log1p(-shrinkage)
        state[LOG_KEPT] += log1p(-shrinkage)
    # a_k of the margin certificate, with v_k D_k = (z'Bz)(1 - c_k).
    state[MARGIN_WEIGHT] += (rule.goal - (1.0 - shrinkage) * margin) / (quadratic * (1.0 - shrinkage))
    return (rule.goal - margin) / quadratic, shrinkage
