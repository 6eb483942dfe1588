"""Weights in the dual of a p-norm, w = f^{-1}(theta), where an update touches the features of its row only.

theta = STRETCH V changes by a row and by a factor. As f^{-1} works entry by entry but for one factor,

    w = SCALE G,   G = sign(V) |V|^(p-1),   SCALE = STRETCH POWER^(-(p-2)/p),   POWER = sum |V|^p ,

the table of a scaled hypothesis can hold G; scores and averages are those of ``Scaled``, and an update computes G and
its share of POWER anew where V has moved, instead of the map of the whole vector.

Gentile (JMLR 2001), section 2, for f.
"""

from typing import Any, NamedTuple

import numpy as np

from ellipsoid.engine.generic import generic, helper
from ellipsoid.engine.protocol import (
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

from ..kernel.lookahead import SCALE, SCALE_SUM
from ..linear import ClassMajor, FeatureMajor
from .weights import (
    PEAK,
    POWER,
    ROW_WEIGHT,
    STRETCH,
    bring_up,
    flush,
    keep_digits,
    lift_scaled,
    lower_scaled,
    multiply_table,
    reach,
)

# A sum of powers beyond LARGEST_POWER_SUM is folded into V; one that has fallen to FALLEN of its peak is summed afresh.
LARGEST_POWER_SUM, FALLEN = 1e100, 1e-4


class Powers(NamedTuple):
    """``table`` holds G, ``V`` has the same layout, ``power`` is p."""

    table: Any
    V: np.ndarray
    state: np.ndarray
    power: float


@generic(1)
def stride(rule: Any, reach: float, tally: Any) -> float:
    """Rule: how far theta moves along an example of p-norm one and score ``reach``; 0: not at all."""


@score.register(Powers, Dense)
@score.register(Powers, CSR)
def _(rep, rows, t, n, scores):
    score(rep.table, rows, t, n, scores)
    for r in range(n):
        scores[r] *= rep.state[SCALE]


@keeps_average.register(Powers)
def _(rep):
    return keeps_average(rep.table)


@swap_in_average.register(Powers)
def _(rep, rows, t, n, rounds):
    return lift_scaled(rep, rows, t, n, rounds)


@swap_out_average.register(Powers)
def _(rep, rows, t, n, kept):
    lower_scaled(rep, rows, t, n, kept)


@absorb.register(Powers)
def _(rep, rule, rows, t, moves, work, tally):
    state, p, total, lead = rep.state, rep.power, 0.0, reach(moves, work)
    for k in range(moves):
        total += abs(work[TAU, k]) ** p
    # No p-norm, p > 2, is longer than the Euclidean one, which is cheap: most rows are found passive by it.
    if lead > 0.0 and stride(rule, lead / np.sqrt(moves * norm2(rep, rows, t)), tally) == 0.0:
        return False
    size = total ** (1.0 / p) * p_norm(rows, t, p)
    eta = stride(rule, lead / size, tally)
    if eta == 0.0:
        return False
    bring_up(state, tally[ROUNDS])
    for k in range(moves):
        work[TAU, k] *= eta / size / state[STRETCH]
    state[POWER] += climb(rep, rows, t, moves, work)
    state[PEAK] = max(state[PEAK], state[POWER])
    count = int(tally[UPDATES]) + 1
    if count & (count - 1) == 0 or state[POWER] < FALLEN * state[PEAK]:
        sum_powers(rep)
    clipped = max(1.0, state[STRETCH] * state[POWER] ** (1.0 / p))
    state[STRETCH] /= clipped
    state[ROW_WEIGHT] = (state[ROW_WEIGHT] + eta) / clipped
    if state[POWER] > LARGEST_POWER_SUM:
        fold_powers(rep, tally[ROUNDS])
    rescale(rep)
    keep_digits(rep, tally[ROUNDS])
    return True


@helper()
def rescale(rep):
    """The factor between w and G; a hypothesis of zero needs none."""
    state = rep.state
    state[SCALE] = state[STRETCH] * state[POWER] ** (2.0 / rep.power - 1.0) if state[POWER] > 0.0 else 1.0


@helper()
def sum_powers(rep):
    """POWER from the table, in an order that spare room does not change."""
    G, V, total = rep.table.W, rep.V, 0.0
    for i in range(V.shape[0]):
        for j in range(V.shape[1]):
            total += V[i, j] * G[i, j]
    rep.state[POWER] = rep.state[PEAK] = total


@helper()
def fold_powers(rep, rounds):
    """V = theta."""
    flush(rep, rounds)
    multiply_table(rep.V, rep.state[STRETCH])
    rep.state[STRETCH] = 1.0
    G, V = rep.table.W, rep.V
    for i in range(V.shape[0]):
        for j in range(V.shape[1]):
            G[i, j] = raised(V[i, j], rep.power)
    sum_powers(rep)


@helper()
def raised(v, p):
    """sign(v) |v|^(p-1)."""
    return 0.0 if v == 0.0 else v * abs(v) ** (p - 2.0)


@generic(1)
def p_norm(rows: Any, t: int, p: float) -> float:
    """The p-norm of row t and the constant feature; the largest entry is taken out, so that no power overflows."""


@p_norm.register(Dense)
def _(rows, t, p):
    largest, total = rows.constant, 0.0
    for j in range(rows.X.shape[1]):
        largest = max(largest, abs(np.float64(rows.X[t, j])))
    for j in range(rows.X.shape[1]):
        total += (abs(np.float64(rows.X[t, j])) / largest) ** p
    return largest * (total + (rows.constant / largest) ** p) ** (1.0 / p)


@p_norm.register(CSR)
def _(rows, t, p):
    largest, total = rows.constant, 0.0
    for k in range(rows.indptr[t], rows.indptr[t + 1]):
        largest = max(largest, abs(np.float64(rows.data[k])))
    for k in range(rows.indptr[t], rows.indptr[t + 1]):
        total += (abs(np.float64(rows.data[k])) / largest) ** p
    return largest * (total + (rows.constant / largest) ** p) ** (1.0 / p)


@generic(2)
def climb(rep: Any, rows: Any, t: int, moves: int, work: Any) -> float:
    """``V_r += tau_r x_t`` for every move, and what follows from it; returns the change of POWER."""


@climb.register(Powers, Dense)
def _(rep, rows, t, moves, work):
    change = 0.0
    for k in range(moves):
        r, tau = int(work[WHO, k]), work[TAU, k]
        for j in range(rows.X.shape[1]):
            change += climb_one(rep, r, 1 + j, tau * np.float64(rows.X[t, j]))
        change += climb_one(rep, r, 0, tau * rows.constant)
    return change


@climb.register(Powers, CSR)
def _(rep, rows, t, moves, work):
    change = 0.0
    for k in range(moves):
        r, tau = int(work[WHO, k]), work[TAU, k]
        for m in range(rows.indptr[t], rows.indptr[t + 1]):
            change += climb_one(rep, r, 1 + int(rows.indices[m]), tau * np.float64(rows.data[m]))
        change += climb_one(rep, r, 0, tau * rows.constant)
    return change


@helper()
def climb_one(rep, r, column, delta):
    """One entry of V, and of G and U after it."""
    if delta == 0.0:
        return 0.0
    G, V, U = rep.table.W, rep.V, rep.table.U
    i, j = weight_index(rep.table, r, column)
    before, power = G[i, j], V[i, j] * G[i, j]
    V[i, j] += delta
    G[i, j] = raised(V[i, j], rep.power)
    if U.shape[0] > 0:
        U[i, j] += rep.state[SCALE_SUM] * (G[i, j] - before)
    return V[i, j] * G[i, j] - power


@generic(1)
def weight_index(table: Any, r: int, column: int) -> tuple[int, int]:
    """Where a table keeps a weight of function r."""


@weight_index.register(ClassMajor)
def _(table, r, column):
    return r, column


@weight_index.register(FeatureMajor)
def _(table, r, column):
    return column, r
