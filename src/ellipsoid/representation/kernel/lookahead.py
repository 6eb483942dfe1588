"""A block of examples scored ahead: the loop reads the scores, and every update corrects those of the later rows.

    B_r(x_s) = sum_i coef[i, r] K(x_i, x_s)  +  sum over the block's updates t < s of tau_t,r K(x_t, x_s)

The first sum is a matrix product computed before the loop enters the block; the second is added as the updates happen,
with the block's own Gram matrix. So each row gets the scores of the one-by-one algorithm, up to rounding, and the loop,
the rules and the tasks are those of every other representation.

The hypothesis is ``scale`` times what is kept, so that a rule that shrinks all of it (``rescale``) costs nothing. Its
squared norm is updated too: each update adds ``2 sum tau_r B_r + K(x, x) sum tau_r^2``.

Crammer & Singer (JMLR 2003), section 8, for the expansion; the look-ahead is exact and ours.
"""

from typing import NamedTuple

import numpy as np

from ellipsoid.engine.generic import FUSE, helper
from ellipsoid.engine.protocol import SCORES, TAU, WHO, absorb, has_room, norm2, score
from ellipsoid.engine.rows import Dense
from ellipsoid.engine.tally import ROUNDS

from ..linear import add

# The numbers of a hypothesis: its scale; the sum of the scales of all rounds before SINCE; that round; |M|^2;
# two orders to the loop, to stop after each update (PAUSE) and to keep the scores of rows that have passed (KEEP); and
# whether it has stopped (PENDING). SINCE_INVERTED belongs to the expansion within a budget.
SCALE, SCALE_SUM, SINCE, NORM2, PAUSE, KEEP, PENDING, SINCE_INVERTED = range(8)
EXPANSION_NUMBERS = 16


class Lookahead(NamedTuple):
    """``scores[r, t]`` of the block's rows, their ``gram`` matrix, and the coefficients they get in ``moved[t, r]``.

    ``late`` is empty or collects the same times the sum of the scales of all earlier rounds, for averages; ``when[t]``
    is the round of row t's update, counted from 1, or 0.
    """

    scores: np.ndarray
    gram: np.ndarray
    moved: np.ndarray
    late: np.ndarray
    when: np.ndarray
    state: np.ndarray


class ScaledAhead(Lookahead):
    """The same for a rule that multiplies the whole hypothesis, see `scaled.expansion`."""


@has_room.register(Lookahead | ScaledAhead)
def _(rep, rows, t):
    return rep.state[PENDING] == 0.0


@score.register(Lookahead | ScaledAhead, Dense)
def _(rep, rows, t, n, scores):
    for r in range(n):
        scores[r] = rep.state[SCALE] * rep.scores[r, t]


@norm2.register(Lookahead | ScaledAhead, Dense)
def _(rep, rows, t):
    return rep.gram[t, t]


@helper()
def elapsed(state, rounds):
    """The sum of the scales after each of the rounds so far; without rescaling their number."""
    return state[SCALE_SUM] + state[SCALE] * (rounds - state[SINCE])


@add.register(Lookahead | ScaledAhead, fast=FUSE)
def _(rep, rows, t, moves, work, before):
    first = 0 if rep.state[KEEP] != 0.0 else t + 1
    for m in range(moves):
        r, tau = int(work[WHO, m]), work[TAU, m]
        rep.moved[t, r] += tau
        if rep.late.shape[0] > 0:
            rep.late[t, r] += tau * before
        add_times(rep.scores[r, first:], tau, rep.gram[t, first:])


@helper(FUSE)
def add_times(own, tau, other):
    """``own += tau other``, each sum fused."""
    # The loop begins at zero: with an index that might be negative it would not be vectorised.
    for s in range(own.shape[0]):
        own[s] += tau * other[s]


@absorb.register(Lookahead)
def _(rep, rule, rows, t, moves, work, tally):
    state = rep.state
    for m in range(moves):
        tau = work[TAU, m]
        state[NORM2] += tau * (2.0 * work[SCORES, int(work[WHO, m])] + tau * rep.gram[t, t])
        work[TAU, m] = tau / state[SCALE]
    add(rep, rows, t, moves, work, elapsed(state, tally[ROUNDS]))
    rep.when[t] = tally[ROUNDS] + 1.0
    state[PENDING] = state[PAUSE]
    return True
