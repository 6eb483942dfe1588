"""Linear weights that are a scalar times a table: ``M <- c M + d X`` at the price of the one row X.

Where a rule multiplies the whole hypothesis on every update (ROMMA by c, ALMA by 1 / norm), the table keeps V with
M = SCALE V, and an update multiplies SCALE and adds ``d / SCALE`` times the row. The squared norm of M is kept by the
rule's own recurrence. An error in it grows as the norm itself does, so it is summed afresh whenever the norm has grown
by the factor TRUSTED_GROWTH, and at every update whose number is a power of two. An error in the sum of the functions,
which should be zero and which no update corrects, grows too; they are centred whenever the norm has grown so.

Averages stay lazy, too. With S_t the sum of the scales after each of t rounds and V = sum of its changes D_i,

    sum_t SCALE_t V_t = S_T V_T - U,    U = sum_i S_(i-1) D_i ,

so that ``U`` is collected as for a plain table, with S (slot SCALE_SUM) in place of the number of rounds. The
difference loses digits when the scale falls; then what has been summed moves into U, and S restarts at 0 (``flush``).
"""

from typing import Any, NamedTuple

import numpy as np

from ellipsoid.engine.generic import generic, helper
from ellipsoid.engine.protocol import (
    SCORES,
    TAU,
    WHO,
    absorb,
    keeps_average,
    norm2,
    score,
    swap_in_average,
    swap_out_average,
)
from ellipsoid.engine.rows import CSR, Dense
from ellipsoid.engine.tally import ROUNDS, UPDATES

from ..averages import exchange, put_back
from ..kernel.lookahead import NORM2, SCALE, SCALE_SUM, SINCE
from ..linear import ClassMajor, FeatureMajor, add

# Slots beside those that the look-ahead of a kernel expansion has. NORM2_SUMMED: |M|^2 when it was last summed.
# FLUSHED: the round from which the scales are summed. GOAL: the unit in which M is kept, 1 until its norm is beyond all
# bounds. SKIPPED: updates that no step could satisfy. ROW_WEIGHT: sum of the coefficients of the rows. FUNCTIONS_USED:
# functions in use. FORGET and BEFORE: an expansion has to be emptied, and the sum of scales up to then. STRETCH, POWER
# and PEAK belong to the p-norm table, which has no look-ahead.
NORM2_SUMMED, FLUSHED, GOAL, SKIPPED, ROW_WEIGHT, FUNCTIONS_USED, FORGET, BEFORE = range(8, 16)
STRETCH, POWER, PEAK = range(4, 7)

# Scales outside are folded into the table; a squared norm beyond LARGEST_NORM2 changes the unit by SMALLER_UNIT, a
# power of two.
SMALLEST_SCALE, LARGEST_SCALE = 1e-100, 1e100
LARGEST_NORM2, SMALLER_UNIT = 1e240, 2.0**-133

TRUSTED_GROWTH = 1000.0

# A sum of scales may be this many times what the present scale would have summed to: three of sixteen digits.
LOSS = 1024.0


class ScaledWeights(NamedTuple):
    """``state[SCALE]`` times the weights of ``table``, which is class-major or feature-major."""

    table: Any
    state: np.ndarray


class Powers(NamedTuple):
    """Weights in the dual of a p-norm: ``table`` holds G, ``V`` has the same layout, ``power`` is p; see `powers`."""

    table: Any
    V: np.ndarray
    state: np.ndarray
    power: float


@generic(1)
def blend(rule: Any, state: Any, reach: float, energy: float, tally: Any) -> tuple[float, float]:
    """Rule: c and d of ``M <- c M + d X``, for ``reach`` = <M, X> and ``energy`` = |X|^2 > 0; d = 0: stay.

    It writes the squared norm of what results to ``state[NORM2]``. c = 0 forgets M.
    """


@score.register(ScaledWeights | Powers, Dense | CSR)
def _(rep, rows, t, n, scores):
    score(rep.table, rows, t, n, scores)
    for r in range(n):
        scores[r] *= rep.state[SCALE]


@keeps_average.register(ScaledWeights | Powers)
def _(rep):
    return keeps_average(rep.table)


@swap_in_average.register(ScaledWeights | Powers)
def _(rep, rows, t, n, rounds):
    # The average is no multiple of anything: it takes the table's place, at scale 1.
    state = rep.state
    past = state[SCALE_SUM] + state[SCALE] * (rounds - state[SINCE])
    kept = exchange(rep.table, rows, t, n, rounds, past)
    kept[kept.shape[0] - 1, 0], state[SCALE] = state[SCALE], 1.0
    return kept


@swap_out_average.register(ScaledWeights | Powers)
def _(rep, rows, t, n, kept):
    rep.state[SCALE] = kept[kept.shape[0] - 1, 0]
    put_back(rep.table, rows, t, n, kept)


@helper()
def blended(rep, rule, rows, t, moves, work, tally):
    """c and d of the rule's step for row t."""
    squares = 0.0
    for k in range(moves):
        squares += work[TAU, k] * work[TAU, k]
    return blend(rule, rep.state, reach(moves, work), squares * norm2(rep, rows, t), tally)


@absorb.register(ScaledWeights)
def _(rep, rule, rows, t, moves, work, tally):
    state = rep.state
    c, d = blended(rep, rule, rows, t, moves, work, tally)
    if d == 0.0:
        return False
    bring_up(state, tally[ROUNDS])
    if c == 0.0:
        flush(rep, tally[ROUNDS])
        multiply_table(rep.table.W, 0.0)
        state[SCALE] = 1.0
    else:
        state[SCALE] *= c
        if not SMALLEST_SCALE < state[SCALE] < LARGEST_SCALE:
            fold(rep, 1.0, tally[ROUNDS])
    for k in range(moves):
        work[TAU, k] *= d / state[SCALE]
    add(rep.table, rows, t, moves, work, state[SCALE_SUM])
    count, growth = int(tally[UPDATES]) + 1, state[NORM2] / state[NORM2_SUMMED] if state[NORM2_SUMMED] > 0.0 else 0.0
    if growth >= TRUSTED_GROWTH and state[FUNCTIONS_USED] > 1.0:
        flush(rep, tally[ROUNDS])
        centre(rep.table, int(state[FUNCTIONS_USED]))
    if count & (count - 1) == 0 or not 1.0 / TRUSTED_GROWTH < growth < TRUSTED_GROWTH:
        state[NORM2] = state[NORM2_SUMMED] = squared_norm(rep)
    if state[NORM2] > LARGEST_NORM2:
        fold(rep, SMALLER_UNIT, tally[ROUNDS])
    keep_digits(rep, tally[ROUNDS])
    return True


@helper()
def reach(moves, work):
    """<M, X> = sum tau_r B_r, as differences from the right label's score: rounding must not make up for a mistake."""
    scores, tau, who = work[SCORES], work[TAU], work[WHO]
    if moves == 1:
        return tau[0] * scores[int(who[0])]
    total = 0.0
    for k in range(1, moves):
        total += tau[k] * (scores[int(who[k])] - scores[int(who[0])])
    return total


@helper()
def bring_up(state, rounds):
    """Bring the sum of the scales up to this round."""
    state[SCALE_SUM] += state[SCALE] * (rounds - state[SINCE])
    state[SINCE] = rounds


@helper()
def keep_digits(rep, rounds):
    """Flush if the difference S V - U would lose digits."""
    state = rep.state
    if rep.table.U.shape[0] > 0 and state[SCALE_SUM] > LOSS * state[SCALE] * (rounds - state[FLUSHED] + 1.0):
        flush(rep, rounds)


@helper()
def flush(rep, rounds):
    """Move all that has been summed into U, and set S to 0."""
    W, U, past = rep.table.W, rep.table.U, rep.state[SCALE_SUM]
    if U.shape[0] > 0:
        for i in range(W.shape[0]):
            for j in range(W.shape[1]):
                U[i, j] -= past * W[i, j]
    rep.state[SCALE_SUM], rep.state[FLUSHED] = 0.0, rounds


@helper()
def multiply_table(table, factor):
    for i in range(table.shape[0]):
        for j in range(table.shape[1]):
            table[i, j] = factor * table[i, j] if factor != 0.0 else 0.0


@helper()
def fold(rep, unit, rounds):
    """Multiply the scale into the table, and measure everything in units of ``1 / unit``."""
    state = rep.state
    flush(rep, rounds)
    multiply_table(rep.table.W, state[SCALE] * unit)
    multiply_table(rep.table.U, unit)
    state[SCALE] = 1.0
    state[GOAL] *= unit
    state[NORM2] *= unit * unit
    state[NORM2_SUMMED] *= unit * unit


@generic(1)
def centre(table: Any, n: int) -> None:
    """Subtract their mean from the first n functions of a table."""


@centre.register(ClassMajor)
def _(table, n):
    W = table.W
    for j in range(W.shape[1]):
        mean = 0.0
        for r in range(n):
            mean += W[r, j]
        for r in range(n):
            W[r, j] -= mean / n


@centre.register(FeatureMajor)
def _(table, n):
    W = table.W
    for j in range(W.shape[0]):
        mean = 0.0
        for r in range(n):
            mean += W[j, r]
        for r in range(n):
            W[j, r] -= mean / n


@helper()
def squared_norm(rep):
    """|M|^2 from the table, in an order that spare room does not change."""
    W, scale, total = rep.table.W, rep.state[SCALE], 0.0
    for i in range(W.shape[0]):
        for j in range(W.shape[1]):
            weight = scale * W[i, j]
            total += weight * weight
    return total
