"""The rule of all learners that keep a Gaussian N(w, S) over weight vectors: AROW, NHERD, CW and SCW.

    w <- w + alpha S z,     S <- S - kappa (Sz)(Sz)' / v,     v = z'Sz,     0 <= kappa < 1

A learner chooses alpha and kappa for a margin m = <w, z> and a variance v: see `arow`, `nherd` and `confidence`. A
number says which learner it is, so that one compiled loop serves all. For the inverse of S this means

    S^{-1} <- S^{-1} + (omega / v) zz',     omega = kappa / (1 - kappa),
    S^{-1} w <- S^{-1} w + weight z,        weight = alpha + (omega / v) (m + alpha v).
"""

from math import exp, sqrt
from typing import NamedTuple

from ellipsoid.ellipsoids.confidence import lead_and_variance
from ellipsoid.ellipsoids.protocol import cut, remaining_share
from ellipsoid.ellipsoids.state import ASKED, LOG_SCALE, SHARE_LEFT
from ellipsoid.engine.protocol import step, wants_label, weighted

from .arow import cut_of_arow
from .confidence import STDEV, VARIANCE, cut_of_confidence
from .gaussian_sums import is_visible
from .nherd import cut_of_nherd

# The kinds of steps, besides those of `confidence`.
ADAPTIVE, HERDING = STDEV + 1, STDEV + 2


class GaussianRule(NamedTuple):
    """Beyond ``margin`` it is passive. ``price`` is the r of AROW, the 1 / C of NHERD, the C of CW and SCW.

    ``phi`` is the margin that CW and SCW want, in deviations. A label is not asked for where the lead is more than
    ``doubt`` deviations; with 0 every label is.
    """

    margin: float
    kind: int
    price: float
    phi: float
    doubt: float


@step.register(GaussianRule)
def _(rule, margin, energy):
    if rule.kind > STDEV:
        return 1.0 if margin <= 0.0 or margin < rule.margin else 0.0
    # z'Sz is at most |z|^2: a margin that suffices for that needs no product with S.
    reach = energy if rule.kind == VARIANCE else sqrt(energy)
    return 1.0 if margin < rule.phi * reach else 0.0


@wants_label.register(GaussianRule)
def _(rule, task, rep, rows, t, work, tally):
    if rule.doubt > 0.0:
        lead, variance = lead_and_variance(task, rep, rows, t, work)
        if lead > rule.doubt * sqrt(variance):
            return False
    rep.state[ASKED] += 1.0
    return True


@weighted.register(GaussianRule)
def _(rule, weight):
    # Of the learners only AROW takes weights other than 1. Variances are divided by its r, which must not vanish.
    return GaussianRule(rule.margin, rule.kind, max(rule.price / weight, 1e-308), rule.phi, rule.doubt)


@remaining_share.register(GaussianRule)
def _(rule, kappa, state):
    return state[SHARE_LEFT]


@cut.register(GaussianRule)
def _(rule, margin, quadratic, norm2, state, rounds, errors):
    # Along Bz the step is alpha s.
    scale = exp(state[LOG_SCALE])
    v = scale * quadratic
    if not is_visible(state, v, quadratic, norm2):
        return 0.0, 0.0
    tilt = norm2 / quadratic
    if rule.kind == ADAPTIVE:
        return cut_of_arow(rule.price, margin, v, scale, tilt, state)
    if rule.kind == HERDING:
        return cut_of_nherd(rule.price, margin, v, scale, tilt, state)
    return cut_of_confidence(rule.kind, rule.phi, rule.price, margin, v, scale, tilt, state)
