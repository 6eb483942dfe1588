"""ALMA_p: an approximately maximal margin in p-norm, without knowing it beforehand.

With x scaled to |x|_p = 1 and j - 1 updates behind, an update happens where y <w, x> <= (1 - alpha) gamma_j:

    theta <- theta + eta_j y x,   theta <- theta / max(1, |theta|_p),   w = f^{-1}(theta)
    gamma_j = sqrt(8 (p - 1) / j) / alpha,   eta_j = sqrt(2 / ((p - 1) j))

f^{-1}_i(theta) = sign(theta_i) |theta_i|^(p-1) / |theta|_p^(p-2) keeps norms: |w|_q = |theta|_p, 1/p + 1/q = 1. For
p = 2 it is the identity. Multiclass: the right label against its highest rival, X = (e_y - e_s) (x) x with |X|_p = 1.

Gentile (JMLR 2001), section 3.
"""

from math import sqrt
from typing import NamedTuple

from ellipsoid.engine.protocol import step
from ellipsoid.engine.tally import UPDATES
from ellipsoid.representation.kernel.lookahead import NORM2
from ellipsoid.representation.scaled.powers import dual_step
from ellipsoid.representation.scaled.weights import ROW_WEIGHT, blend

# The margin at which it updates depends on the row and the round: the loop must ask at every row.
EVERY_MARGIN = 1e146


class ALMARule(NamedTuple):
    """``alpha`` in (0, 1] is how much of the margin may be missing; 1 updates on mistakes only. ``p`` >= 2."""

    alpha: float
    p: float
    margin: float


@step.register(ALMARule)
def _(rule, margin, energy):
    return 1.0


@dual_step.register(ALMARule)
def _(rule, reach, tally):
    j = tally[UPDATES] + 1.0
    if reach > (1.0 - rule.alpha) * sqrt(8.0 * (rule.p - 1.0) / j) / rule.alpha:
        return 0.0
    return sqrt(2.0 / ((rule.p - 1.0) * j))


@blend.register(ALMARule)
def _(rule, state, reach, energy, tally):
    size = sqrt(energy)
    eta = dual_step(rule, reach / size, tally)
    if eta == 0.0:
        return 1.0, 0.0
    grown = max(0.0, state[NORM2] + eta * (eta + 2.0 * reach / size))
    c = 1.0 / max(1.0, sqrt(grown))
    state[NORM2] = min(1.0, grown)
    state[ROW_WEIGHT] = c * (state[ROW_WEIGHT] + eta)
    return c, c * eta / size
