"""A kernel expansion that a rule multiplies as a whole: ``M <- c M + d phi(x)`` on a block that is scored ahead.

The look-ahead has a scale already. The loop does not have most of the coefficients. What needs them is left to Python:
the loop stops after the update (PENDING) when the norm has to be summed afresh, the scale or the unit changed, averages
flushed or everything forgotten. All of these are rare.
"""

from typing import Any, NamedTuple

import numpy as np

from ellipsoid.engine.protocol import TAU, absorb, has_room, norm2, score
from ellipsoid.engine.rows import Dense
from ellipsoid.engine.tally import ROUNDS

from ..kernel.lookahead import NORM2, PENDING, SCALE, SCALE_SUM
from ..linear import add
from .weights import (
    BEFORE,
    FLUSHED,
    FORGET,
    LARGEST_NORM2,
    LARGEST_SCALE,
    LOSS,
    NORM2_SUMMED,
    SMALLEST_SCALE,
    TRUSTED_GROWTH,
    blend,
    bring_up,
    reach,
)


class ScaledAhead(NamedTuple):
    """A ``Lookahead`` and its ``state``."""

    ahead: Any
    state: np.ndarray


@has_room.register(ScaledAhead)
def _(rep, rows, t):
    return has_room(rep.ahead, rows, t)


@score.register(ScaledAhead, Dense)
def _(rep, rows, t, n, scores):
    score(rep.ahead, rows, t, n, scores)


@norm2.register(ScaledAhead, Dense)
def _(rep, rows, t):
    return norm2(rep.ahead, rows, t)


@absorb.register(ScaledAhead)
def _(rep, rule, rows, t, moves, work, tally):
    ahead, state, squares = rep.ahead, rep.state, 0.0
    for k in range(moves):
        squares += work[TAU, k] * work[TAU, k]
    c, d = blend(rule, state, reach(moves, work), squares * norm2(rep, rows, t), tally)
    if d == 0.0:
        return False
    bring_up(state, tally[ROUNDS])
    if c == 0.0:
        state[FORGET], state[BEFORE], state[SCALE_SUM], state[FLUSHED] = 1.0, state[SCALE_SUM], 0.0, tally[ROUNDS]
        for r in range(ahead.scores.shape[0]):
            for s in range(ahead.scores.shape[1]):
                ahead.scores[r, s] = 0.0
        state[SCALE], state[NORM2_SUMMED] = 1.0, 0.0
    else:
        state[SCALE] *= c
    for k in range(moves):
        work[TAU, k] *= d / state[SCALE]
    add(ahead, rows, t, moves, work, state[SCALE_SUM])
    ahead.when[t] = tally[ROUNDS] + 1.0
    if state[NORM2_SUMMED] == 0.0:
        state[NORM2_SUMMED] = state[NORM2]
    growth = state[NORM2] / state[NORM2_SUMMED] if state[NORM2_SUMMED] > 0.0 else 0.0
    lost = ahead.late.shape[0] > 0 and state[SCALE_SUM] > LOSS * state[SCALE] * (tally[ROUNDS] - state[FLUSHED] + 1.0)
    fine = 1.0 / TRUSTED_GROWTH < growth < TRUSTED_GROWTH and SMALLEST_SCALE < state[SCALE] < LARGEST_SCALE
    if lost or not fine or state[NORM2] > LARGEST_NORM2 or state[FORGET] != 0.0:
        state[PENDING] = 1.0
    return True
