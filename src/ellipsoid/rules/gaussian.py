"""The one rule type of all learners that keep a Gaussian N(w, S) over weight vectors.

    w <- w + alpha S z,     S <- S - kappa (Sz)(Sz)' / v,     v = z'Sz,     0 <= kappa < 1

A learner is two numbers, alpha and kappa, for a margin m = <w, z> and a variance v; they have a file each, `arow`,
`nherd` and `confidence`. Which of them is asked is a number too, so that one compiled loop serves all. In the other
direction

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

# Which learner's step; those above are in `confidence`.
ADAPTIVE, HERDING = STDEV + 1, STDEV + 2


class GaussianRule(NamedTuple):
    """Beyond ``margin`` it is passive. ``price`` is the r of AROW, the 1 / C of NHERD, the C of CW and SCW.

    ``phi`` is in how many deviations a margin must be for CW and SCW, ``doubt`` in how many a lead must be for a label
    not to be asked for; 0: every label is.
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
    # z'Sz is at most |z|^2: a margin that is enough for that needs no look at S.
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
    # AROW's; the others know of no other weight than 1.
    return GaussianRule(rule.margin, rule.kind, rule.price / weight, rule.phi, rule.doubt)


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
