"""CELLIP: an ellipsoid that covers every classifier of the start ball with the asked margin; for separable data.

    alpha = (threshold - n) / sqrt(z'Pz),   g = z / sqrt(z'Pz)
    w <- w + (alpha + rho) Pg,   P <- mu^2 P + (A^2 - mu^2) (Pg)(Pg)',   A = 1 - alpha - rho

``paper``: rho = 0, mu^2 = 1 - alpha^2. ``minvol`` is the deep cut of least volume: rho = (1 - alpha) / (dim + 1),
mu^2 = dim^2 (1 - alpha^2) / (dim^2 - 1). In the form P = s B:

    paper    s *= (1 - alpha)(1 + alpha)                    kappa = 2 alpha / (1 + alpha)
    minvol   s *= (1 - alpha^2) dim^2 / (dim^2 - 1)         kappa = 2 (1 + dim alpha) / ((1 + alpha)(dim + 1))

alpha > 1 means that the intersection is empty: a proof that no classifier of norm at most the radius has the margin on
the examples used. alpha = 1 leaves a point.

Yang, Jin, Ye (ICML 2009), section 2.2, with the start, the outcomes and the bounds corrected.
"""

from math import exp, inf, log, log1p, sqrt
from typing import NamedTuple

from ellipsoid.engine.generic import helper
from ellipsoid.engine.protocol import curious, forgo, share, step
from ellipsoid.engine.rows import TINY
from ellipsoid.engine.tally import ROUNDS
from ellipsoid.geometry.doubt import disagreement
from ellipsoid.geometry.protocol import cut
from ellipsoid.geometry.state import ASKED, DIM, DONE, EMPTY, EMPTY_ROUND, EXHAUSTED, HALT, LOG_KEPT, LOG_SCALE, SLIM

from .pairwise import against_highest_rival

# What an empty intersection leads to.
SKIP, FREEZE, RESTART, RAISE = range(4)

TOLERANCE = 1e-9


class CELLIP(NamedTuple):
    """``margin`` is where the rule becomes passive: 0 (mistakes), ``threshold`` (margin), huge (always)."""

    margin: float = 0.0
    threshold: float = 0.1
    smallest: bool = False
    policy: int = SKIP
    selective: bool = False


@step.register(CELLIP)
def _(rule, margin, energy):
    return 1.0 if margin <= 0.0 or margin < rule.margin else 0.0


@share.register(CELLIP)
def _(rule, n, y, energy, work):
    return against_highest_rival(rule, n, y, energy, work)


@curious.register(CELLIP)
def _(rule, task, rep, rows, t, work, tally):
    if rule.selective and not disagreement(task, rep, rows, t, work):
        return False
    rep.state[ASKED] += 1.0
    return True


@forgo.register(CELLIP)
def _(rule, rep, tally):
    # Every classifier has margin 0 on a zero row.
    if rule.threshold > 0.0 and not (rule.policy == FREEZE and rep.state[EMPTY] > 0.0):
        refute(rule, rep.state, tally[ROUNDS])


@helper()
def refute(rule, state, rounds):
    """Note an empty intersection."""
    if state[EMPTY] == 0.0:
        state[EMPTY_ROUND] = rounds + 1.0
    state[EMPTY] += 1.0
    if rule.policy >= RESTART:
        state[HALT] = 1.0


@cut.register(CELLIP)
def _(rule, margin, quadratic, norm2, state, rounds):
    if rule.policy == FREEZE and state[EMPTY] > 0.0:
        return 0.0, 0.0
    dim = state[DIM]
    root = exp(0.5 * state[LOG_SCALE]) * sqrt(max(quadratic, 0.0))
    short = rule.threshold - margin
    # The point that is left has its margins to rounding only.
    alpha = short / root if root * root >= TINY else (inf if short > TOLERANCE * rule.threshold else -inf)
    if alpha > 1.0 + TOLERANCE:
        refute(rule, state, rounds)
        return 0.0, 0.0
    if alpha <= (-1.0 / dim if rule.smallest else 0.0):
        return 0.0, 0.0
    state[SLIM] = min(state[SLIM], max(0.0, 1.0 - alpha) * root / (2.0 * sqrt(norm2)))
    length = exp(0.5 * state[LOG_SCALE]) / sqrt(quadratic)
    if alpha >= 1.0 - TOLERANCE:
        state[EXHAUSTED] = 1.0
        state[LOG_SCALE] = -inf
        state[DONE] = 1.0
        return length, 0.0
    if not rule.smallest:
        state[LOG_SCALE] += log1p(-alpha) + log1p(alpha)
        state[LOG_KEPT] += log1p(-alpha) - log1p(alpha)
        return alpha * length, 2.0 * alpha / (1.0 + alpha)
    if dim == 1.0:
        half = 0.5 * (1.0 - alpha)
        state[LOG_KEPT] += 2.0 * log(half)
        return (alpha + half) * length, 1.0 - half * half
    state[LOG_SCALE] += log1p(-alpha) + log1p(alpha) - log1p(-1.0 / (dim * dim))
    state[LOG_KEPT] += log1p(-alpha) - log1p(alpha) + log((dim - 1.0) / (dim + 1.0))
    kappa = 2.0 * (1.0 + dim * alpha) / ((1.0 + alpha) * (dim + 1.0))
    return (1.0 + dim * alpha) / (dim + 1.0) * length, kappa
