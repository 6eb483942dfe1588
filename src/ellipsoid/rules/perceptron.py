"""The Perceptron, and its multiclass family: on a round with a non-empty error set, M_r += tau_r x.

    E = { r != y : B_r >= B_y - margin },   tau_y = 1,   tau_r <= 0 on E,   sum tau = 0

`blame` says how the classes of E share the blame. Binary: update when y <w, x> <= margin. The step of an example of
weight k is k times as long. Crammer & Singer (JMLR 2003), section 4; Rosenblatt (1958).

Winnow is the same rule for the exponents of the weights, which the normalised exponential turns into weights that sum
to one, over each row (version 1) or over the whole matrix (version 2); ``size`` is then its eta:

    M_{r,i} <- M_{r,i} exp(eta tau_r x_i) / Z

The exponents are what is stored, so that weights never overflow. Over features and their negatives it is the balanced
form. Crammer & Singer (JMLR 2003), section 6; Littlestone (1988); Kivinen & Warmuth (1997).
"""

from typing import NamedTuple

from ellipsoid.engine.protocol import TAU, share, step, weighted

from .blame import share_blame


class PerceptronRule(NamedTuple):
    """``sharing`` is one of ``blame.SHARINGS``, ``margin`` >= 0 makes the rule aggressive, ``size`` is its step."""

    sharing: int
    margin: float
    size: float


@step.register(PerceptronRule)
def _(rule, margin, energy):
    return rule.size if margin <= rule.margin else 0.0


@share.register(PerceptronRule)
def _(rule, n, y, energy, work):
    moves = share_blame(rule.sharing, rule.margin, n, y, work)
    for k in range(moves):
        work[TAU, k] *= rule.size
    return moves


@weighted.register(PerceptronRule)
def _(rule, weight):
    return PerceptronRule(rule.sharing, rule.margin, rule.size * weight)
