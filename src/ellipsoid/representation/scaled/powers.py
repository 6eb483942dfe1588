"""Weights in the dual of a p-norm, w = f^{-1}(theta), where an update touches the features of its row only.

theta = STRETCH V changes by a row and by a factor. As f^{-1} works entry by entry but for one factor,

    w = SCALE G,   G = sign(V) |V|^(p-1),   SCALE = STRETCH POWER^(-(p-2)/p),   POWER = sum |V|^p ,

the table of a scaled hypothesis can hold G; scores and averages are those of `weights`, and an update computes G and
its share of POWER anew where V has moved, instead of the map of the whole vector.

Gentile (JMLR 2001), section 2, for f.
"""

from typing import Any

import numpy as np

from ellipsoid.engine.generic import generic, helper
from ellipsoid.engine.protocol import TAU, WHO, absorb, norm2
from ellipsoid.engine.rows import feature_at, row_span, value_at
from ellipsoid.engine.tally import ROUNDS, UPDATES

from ..kernel.lookahead import SCALE, SCALE_SUM
from ..linear import ClassMajor, FeatureMajor
from .weights import PEAK, POWER, ROW_WEIGHT, STRETCH, Powers, bring_up, flush, keep_digits, multiply_table, reach

# A sum of powers beyond LARGEST_POWER_SUM is folded into V; one that has fallen to FALLEN of its peak is summed afresh.
LARGEST_POWER_SUM, FALLEN = 1e100, 1e-4


@generic(1)
def dual_step(rule: Any, reach: float, tally: Any) -> float:
    """Rule: the step of theta along an example of p-norm one and score ``reach``; 0 for none."""


@absorb.register(Powers)
def _(rep, rule, rows, t, moves, work, tally):
    state, p, total, lead = rep.state, rep.power, 0.0, reach(moves, work)
    for k in range(moves):
        total += abs(work[TAU, k]) ** p
    # No p-norm, p > 2, is longer than the Euclidean one, which is cheap: most rows are found passive by it.
    if lead > 0.0 and dual_step(rule, lead / np.sqrt(moves * norm2(rep, rows, t)), tally) == 0.0:
        return False
    size = total ** (1.0 / p) * p_norm(rows, t, p)
    eta = dual_step(rule, lead / size, tally)
    if eta == 0.0:
        return False
    bring_up(state, tally[ROUNDS])
    for k in range(moves):
        work[TAU, k] *= eta / size / state[STRETCH]
    state[POWER] += add_to_dual(rep, rows, t, moves, work)
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
    """Update the factor between w and G; it is 1 for a hypothesis of zero."""
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
    """Multiply STRETCH into V, so that V = theta."""
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


@helper()
def p_norm(rows, t, p):
    """The p-norm of row t and the constant feature; the largest entry is taken out, so that no power overflows."""
    largest, total = rows.constant, 0.0
    start, stop = row_span(rows, t)
    for k in range(start, stop):
        largest = max(largest, abs(value_at(rows, t, k)))
    for k in range(start, stop):
        total += (abs(value_at(rows, t, k)) / largest) ** p
    return largest * (total + (rows.constant / largest) ** p) ** (1.0 / p)


@helper()
def add_to_dual(rep, rows, t, moves, work):
    """``V_r += tau_r x_t`` for every move, and G and U accordingly; returns the change of POWER."""
    change = 0.0
    start, stop = row_span(rows, t)
    for m in range(moves):
        r, tau = int(work[WHO, m]), work[TAU, m]
        for k in range(start, stop):
            change += add_to_entry(rep, r, 1 + int(feature_at(rows, k)), tau * value_at(rows, t, k))
        change += add_to_entry(rep, r, 0, tau * rows.constant)
    return change


@helper()
def add_to_entry(rep, r, column, delta):
    """Change one entry of V, and those of G and U accordingly; returns the change of POWER."""
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
    """The index of a weight of function r in a table."""


@weight_index.register(ClassMajor)
def _(table, r, column):
    return r, column


@weight_index.register(FeatureMajor)
def _(table, r, column):
    return column, r
