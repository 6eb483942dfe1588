"""The column form of an ellipsoid's matrix: B = I - sum_k h_k h_k' with m vectors h_k = sqrt(kappa / z'Bz) Bz.

Each column h_k has a block for each function. An update costs 4 m dim flops: one pass over the columns for H z and one
for Bz = z - H' H z. Digits cancel when little is left of a direction.

When B has become final, and while updates are frequent, the second pass is postponed: with c = H z

    w <- w + step Bz        becomes        v <- v + step z,  debt <- debt + step c,     w = v - H' debt
    <w, x> = <v, x> - <debt, H x>,         z'Bz = z'z - c'c

and the first pass is made for several coming rows at once, so that the columns are read from memory once for all of
them. The debt is paid when updates have become rare, and then rows need no H x. All this depends on the rows alone and
not on their chunks: each H x is summed feature after feature, however many rows are read together.
"""

from math import sqrt
from typing import Any, NamedTuple

import numpy as np

from ellipsoid.engine.generic import SUM, generic, helper
from ellipsoid.engine.native.vector_sums import LANES, add_products, store_sums, zero_sums
from ellipsoid.engine.protocol import TAU, WHO, begin, score, score_next
from ellipsoid.engine.rows import CSR, Dense, count
from ellipsoid.representation.linear import ClassMajor, add
from ellipsoid.representation.row_entries import unpack_row

from ..protocol import downdate, move_weights, probe
from ..state import COMPLETE, CUTS, DEFERRED, EXHAUSTED, LAST_CUTS, STORED, UPDATE_RATE
from .vectors import against, combine, copy, forward, place_direction, subtract, subtract_four

# Columns whose sums fit in registers together.
GROUP = 8 * LANES
# The most rows to look ahead at, and for how many features the cache holds all columns.
ROWS_AHEAD, FEATURES_AT_ONCE = 16, 1024
# The rate of updates is that of about the last MEMORY rows. To look ahead at a row costs about a fifth of an update by
# two passes: it pays above the rate OFTEN, and does not below SELDOM.
MEMORY, OFTEN, SELDOM = 16.0, 0.3, 0.15
# Shorter columns are in the nearest caches, where two passes cost less than looking ahead.
LONG_COLUMN = 512
# H x is known for the rows from AHEAD_FIRST up to AHEAD_LAST; AHEAD_SPAN is how many are made at once.
AHEAD_FIRST, AHEAD_LAST, AHEAD_SPAN = range(3)


class Column(NamedTuple):
    """``H[k, r]`` is the block of function r in column k.

    ``across`` holds the same feature by feature once B is final (empty before, and where there are several functions),
    ``debt`` the coefficients of what W and U still owe, ``seen`` the H x of the rows that ``ahead`` names.
    """

    base: ClassMajor
    H: np.ndarray
    debt: np.ndarray
    across: np.ndarray
    state: np.ndarray
    rounds: np.ndarray
    x: np.ndarray
    Bz: np.ndarray
    seen: np.ndarray
    ahead: np.ndarray


@helper()
def is_final(state, functions, columns):
    """Is B final, with columns long enough to gain from postponed passes?"""
    last = state[COMPLETE] != 0.0 and state[EXHAUSTED] == 0.0 and state[STORED] > 0.0
    return last and functions == 1 and columns >= LONG_COLUMN


@helper(SUM)
def against_four(H, k, moves, work, x):
    """<h, z> for the four vectors from H_k on, reading z once."""
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    for i in range(moves):
        r, p, q, s, t = int(work[WHO, i]), 0.0, 0.0, 0.0, 0.0
        first, second, third, fourth = H[k, r], H[k + 1, r], H[k + 2, r], H[k + 3, r]
        for j in range(x.shape[0]):
            p += first[j] * x[j]
            q += second[j] * x[j]
            s += third[j] * x[j]
            t += fourth[j] * x[j]
        a += work[TAU, i] * p
        b += work[TAU, i] * q
        c += work[TAU, i] * s
        d += work[TAU, i] * t
    return a, b, c, d


@begin.register(Column)
def _(rep):
    rep.ahead[AHEAD_FIRST], rep.ahead[AHEAD_LAST], rep.ahead[AHEAD_SPAN] = 0, 0, 1


@score_next.register(Column, Dense | CSR)
def _(rep, rows, t, n, scores):
    state, ahead = rep.state, rep.ahead
    state[UPDATE_RATE] += ((1.0 if state[CUTS] > state[LAST_CUTS] else 0.0) - state[UPDATE_RATE]) / MEMORY
    state[LAST_CUTS] = state[CUTS]
    if rep.across.shape[0] > 0:
        if state[UPDATE_RATE] > OFTEN:
            state[DEFERRED] = 1.0
        elif state[DEFERRED] != 0.0 and state[UPDATE_RATE] < SELDOM:
            pay_debt(rep)
    score(rep.base, rows, t, n, scores)
    if state[DEFERRED] != 0.0:
        if not ahead[AHEAD_FIRST] <= t < ahead[AHEAD_LAST]:
            ahead[AHEAD_SPAN] = min(2 * ahead[AHEAD_SPAN], ROWS_AHEAD) if t == ahead[AHEAD_LAST] else 1
            ahead[AHEAD_FIRST], ahead[AHEAD_LAST] = t, min(t + ahead[AHEAD_SPAN], count(rows))
            multiply_ahead(rows, rep.across, t, ahead[AHEAD_LAST], rep.seen)
        scores[0] -= score_of_debt(rep, rep.seen[t - ahead[AHEAD_FIRST]])


@score.register(Column, Dense | CSR)
def _(rep, rows, t, n, scores):
    score(rep.base, rows, t, n, scores)
    if rep.state[DEFERRED] != 0.0:
        # Predictions may run in several threads: shared memory must not be written to.
        seen = np.zeros((1, rep.seen.shape[1]))
        multiply_ahead(rows, rep.across, t, t + 1, seen)
        scores[0] -= score_of_debt(rep, seen[0])


@helper()
def score_of_debt(rep, seen):
    """<debt, H x>."""
    total = 0.0
    for k in range(int(rep.state[STORED])):
        total += rep.debt[0, k] * seen[k]
    return total


@helper(inline=False)
def pay_debt(rep):
    """Pay all debt: w = v - H' debt."""
    m, width = int(rep.state[STORED]), rep.H.shape[2]
    combine(rep.base.W[:1, :width], rep.debt[0], rep.H, m)
    if rep.base.U.shape[0] > 0:
        combine(rep.base.U[:1, :width], rep.debt[1], rep.H, m)
    for k in range(m):
        rep.debt[0, k], rep.debt[1, k] = 0.0, 0.0
    rep.state[DEFERRED] = 0.0


@generic(1)
def multiply_ahead(rows: Any, across: Any, first: int, last: int, seen: Any) -> None:
    """Write H x of the rows first..last to the first rows of ``seen``."""


@multiply_ahead.register(Dense)
def _(rows, across, first, last, seen):
    width = rows.X.shape[1]
    for group in range(0, across.shape[1], GROUP):
        for i in range(last - first):
            store_sums(add_products(zero_sums(8), across, 0, group, rows.constant), seen[i], group)
        for start in range(0, width, FEATURES_AT_ONCE):
            stop, i = min(start + FEATURES_AT_ONCE, width), 0
            while i + 2 <= last - first:
                multiply_two(rows.X, across, first + i, start, stop, seen, i, group)
                i += 2
            if i < last - first:
                multiply_one(rows.X, across, first + i, start, stop, seen, i, group)


@helper(inline=False)
def multiply_one(X, across, t, start, stop, seen, i, group):  # noqa: PLR0913 (a tile in three directions)
    """Add the products of the features start..stop of row t with a group of columns to row i of ``seen``."""
    sums = add_products(zero_sums(8), seen, i, group, 1.0)
    for j in range(start, stop):
        sums = add_products(sums, across, 1 + j, group, X[np.uint64(t), np.uint64(j)])
    store_sums(sums, seen[i], group)


@helper(inline=False)
def multiply_two(X, across, t, start, stop, seen, i, group):  # noqa: PLR0913 (a tile in three directions)
    """The same for the rows t and t + 1, which share what is read of the columns."""
    one, two = add_products(zero_sums(8), seen, i, group, 1.0), add_products(zero_sums(8), seen, i + 1, group, 1.0)
    for j in range(start, stop):
        one = add_products(one, across, 1 + j, group, X[np.uint64(t), np.uint64(j)])
        two = add_products(two, across, 1 + j, group, X[np.uint64(t + 1), np.uint64(j)])
    store_sums(one, seen[i], group)
    store_sums(two, seen[i + 1], group)


@multiply_ahead.register(CSR)
def _(rows, across, first, last, seen):
    for i in range(last - first):
        for group in range(0, across.shape[1], GROUP):
            sums = add_products(zero_sums(8), across, 0, group, rows.constant)
            for k in range(rows.indptr[first + i], rows.indptr[first + i + 1]):
                sums = add_products(sums, across, 1 + np.uint64(rows.indices[k]), group, rows.data[k])
            store_sums(sums, seen[i], group)


@probe.register(Column)
def _(rep, rows, t, moves, work, length):
    m, k = int(rep.state[STORED]), 0
    if rep.state[DEFERRED] != 0.0:
        seen = rep.seen[t - rep.ahead[AHEAD_FIRST]]
        for i in range(m):
            length -= seen[i] * seen[i]
        return length
    unpack_row(rows, t, rep.x)
    place_direction(moves, work, rep.x, rep.Bz)
    # A column is read once from the far cache: its product and its share of Bz are made together.
    while k + 4 <= m:
        subtract_four(rep.Bz, against_four(rep.H, k, moves, work, rep.x), rep.H, k)
        k += 4
    while k < m:
        subtract(rep.Bz, against(rep.H[k], moves, work, rep.x), rep.H[k])
        k += 1
    return against(rep.Bz, moves, work, rep.x)


@move_weights.register(Column)
def _(rep, rows, t, moves, work, step, before):
    if rep.state[DEFERRED] == 0.0:
        forward(rep.base, rep.Bz, step, before)
        return
    sign, seen = work[TAU, 0], rep.seen[t - rep.ahead[AHEAD_FIRST]]
    work[TAU, 0] = step * sign
    add(rep.base, rows, t, moves, work, before)
    work[TAU, 0] = sign
    for k in range(int(rep.state[STORED])):
        rep.debt[0, k] += step * sign * seen[k]
        rep.debt[1, k] += step * sign * before * seen[k]


@downdate.register(Column)
def _(rep, rows, t, moves, work, kappa, left, quadratic):  # noqa: PLR0913 (a step of a form has these parts)
    copy(rep.H[int(rep.state[STORED])], sqrt(kappa / quadratic), rep.Bz)
    rep.state[STORED] += 1.0
