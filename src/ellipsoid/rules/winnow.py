"""Winnow, multiclass: the Perceptron family's blame, taken as exponents.

    M_{r,i} <- M_{r,i} exp(eta tau_r x_i) / Z      for tau of the error set, tau_y = 1, Z so that the weights sum to one

over each row (version 1) or the whole matrix (version 2). theta holds the exponents, so that weights never overflow,
and the link of theta is the normalised exponential; over features and their negatives, its balanced form.

Crammer and Singer (JMLR 2003), section 6; Littlestone (1988); Kivinen and Warmuth (1997).
"""

from typing import NamedTuple

from ellipsoid.engine.protocol import TAU, share

from .blame import share_blame


class WinnowRule(NamedTuple):
    """``sharing`` and ``margin`` as the Perceptron's; ``eta`` is the step in the exponents."""

    sharing: int
    margin: float
    eta: float


@share.register(WinnowRule)
def _(rule, n, y, energy, work):
    moves = share_blame(rule.sharing, rule.margin, n, y, work)
    for k in range(moves):
        work[TAU, k] *= rule.eta
    return moves
