"""The Perceptron, and its multiclass family: on a round with a non-empty error set, M_r += tau_r x.

    E = { r != y : B_r >= B_y - margin },   tau_y = 1,   tau_r <= 0 on E,   sum tau = 0

How the classes of E share the blame is told in ``blame``. Binary: update when y <w, x> <= margin. The step of an
example of weight k is k times as long.

Crammer & Singer (JMLR 2003), section 4; Rosenblatt (1958).
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
