"""Linear weights in one table, absorbed by ``W_r += tau_r x``; two layouts, one meaning.

Column 0 is the constant feature. ``ClassMajor`` keeps a class's weights together, which is best for dense rows,
``FeatureMajor`` a feature's, best for sparse rows. Tables have spare capacity: the task knows how many classes are in
use, the rows how many features. ``U`` is empty, or collects (rounds before the update) x (the update), so that the
average of all hypotheses after each of T rounds is ``W - U / T``.
"""

from typing import Any, NamedTuple

import numpy as np

from ellipsoid.engine.generic import FUSE, SUM, generic, helper
from ellipsoid.engine.native.memory import prefetch
from ellipsoid.engine.native.vector_sums import LANES, add_products, store_sums, zero_sums
from ellipsoid.engine.protocol import TAU, WHO, absorb, score
from ellipsoid.engine.rows import CSR, Dense, feature_at, row_span, value_at
from ellipsoid.engine.tally import ROUNDS

# Features to fetch ahead, and float64 numbers in a cache line.
AHEAD, CACHE_LINE = 32, 8


class ClassMajor(NamedTuple):
    """``W[r, 1 + j]``: the weight of feature j for class r."""

    W: np.ndarray
    U: np.ndarray


class FeatureMajor(NamedTuple):
    """``W[1 + j, r]``: the weight of feature j for class r."""

    W: np.ndarray
    U: np.ndarray


@score.register(ClassMajor, Dense, fast=SUM)
def _(rep, rows, t, n, scores):
    W, X = rep.W, rows.X
    for r in range(n):
        total = 0.0
        for j in range(X.shape[1]):
            total += W[r, 1 + j] * X[t, j]
        scores[r] = total + W[r, 0] * rows.constant


@score.register(ClassMajor, CSR)
def _(rep, rows, t, n, scores):
    W = rep.W
    for r in range(n):
        total = W[r, 0] * rows.constant
        for k in range(rows.indptr[t], rows.indptr[t + 1]):
            total += W[r, 1 + np.uint64(rows.indices[k])] * rows.data[k]
        scores[r] = total


@score.register(FeatureMajor, Dense | CSR)
def _(rep, rows, t, n, scores):
    score_in_blocks(rep, rep, rows, t, n, scores)


@helper()
def score_in_blocks(rep, base, rows, t, n, scores):
    """The n scores of a table ``base``, block by block of ``rep``, which may do more than that with each feature."""
    # The table and the scores have spare places: whole blocks may reach into them.
    reach = min(base.W.shape[1], scores.shape[0])
    first = 0
    while first < n:
        blocks = min((n - first + LANES - 1) // LANES, (reach - first) // LANES)
        if blocks == 0:
            for r in range(first, n):
                scores[r] = score_alone(base, rows, t, r)
            first = n
        elif blocks == 1:
            first = score_block(rep, rows, t, first, zero_sums(1), scores)
        elif blocks == 2:
            first = score_block(rep, rows, t, first, zero_sums(2), scores)
        elif blocks == 3:
            first = score_block(rep, rows, t, first, zero_sums(3), scores)
        elif blocks == 4:
            first = score_block(rep, rows, t, first, zero_sums(4), scores)
        elif blocks == 5:
            first = score_block(rep, rows, t, first, zero_sums(5), scores)
        elif blocks == 6:
            first = score_block(rep, rows, t, first, zero_sums(6), scores)
        elif blocks == 7:
            first = score_block(rep, rows, t, first, zero_sums(7), scores)
        else:
            first = score_block(rep, rows, t, first, zero_sums(8), scores)


@generic(2)
def score_block(rep: Any, rows: Any, t: int, first: int, sums: Any, scores: Any) -> int:
    """Write as many scores as ``sums`` holds, from ``first`` on; returns where the next block begins."""


@score_block.register(FeatureMajor, Dense)
def _(rep, rows, t, first, sums, scores):
    X = rows.X
    sums = add_products(sums, rep.W, 0, first, rows.constant)
    for j in range(X.shape[1]):
        sums = add_products(sums, rep.W, 1 + j, first, X[np.uint64(t), np.uint64(j)])
    store_sums(sums, scores, first)
    return first + LANES * len(sums)


@score_block.register(FeatureMajor, CSR)
def _(rep, rows, t, first, sums, scores):
    W, indices, data = rep.W, rows.indices, rows.data
    last = indices.shape[0] - 1
    sums = add_products(sums, W, 0, first, rows.constant)
    for k in range(rows.indptr[t], rows.indptr[t + 1]):
        coming = 1 + np.uint64(indices[np.uint64(min(k + AHEAD, last))])
        for r in range(first, first + LANES * len(sums), CACHE_LINE):
            prefetch(W, coming, r)
        sums = add_products(sums, W, 1 + np.uint64(indices[np.uint64(k)]), first, data[np.uint64(k)])
    store_sums(sums, scores, first)
    return first + LANES * len(sums)


@generic(2)
def score_alone(rep: Any, rows: Any, t: int, r: int) -> float:
    """One score, summed in the order of the blocks."""


@score_alone.register(FeatureMajor, Dense, fast=FUSE)
def _(rep, rows, t, r):
    total = rep.W[0, r] * rows.constant
    for j in range(rows.X.shape[1]):
        total += rep.W[1 + j, r] * np.float64(rows.X[t, j])
    return total


@score_alone.register(FeatureMajor, CSR, fast=FUSE)
def _(rep, rows, t, r):
    W, indices = rep.W, rows.indices
    last = indices.shape[0] - 1
    total = W[0, r] * rows.constant
    for k in range(rows.indptr[t], rows.indptr[t + 1]):
        prefetch(W, 1 + np.uint64(indices[np.uint64(min(k + AHEAD, last))]), r)
        total += W[1 + np.uint64(indices[np.uint64(k)]), r] * np.float64(rows.data[np.uint64(k)])
    return total


@generic(1)
def add(rep: Any, rows: Any, t: int, moves: int, work: Any, before: float) -> None:
    """``W_r += tau_r x_t`` for every move, and the same times ``before`` into ``U`` where averages are kept."""


@add.register(ClassMajor)
def _(rep, rows, t, moves, work, before):
    W, U = rep.W, rep.U
    start, stop = row_span(rows, t)
    for m in range(moves):
        r, tau = int(work[WHO, m]), work[TAU, m]
        W[r, 0] += tau * rows.constant
        for k in range(start, stop):
            W[r, 1 + feature_at(rows, k)] += tau * value_at(rows, t, k)
        if U.shape[0] > 0:
            late = tau * before
            U[r, 0] += late * rows.constant
            for k in range(start, stop):
                U[r, 1 + feature_at(rows, k)] += late * value_at(rows, t, k)


@add.register(FeatureMajor)
def _(rep, rows, t, moves, work, before):
    start, stop = row_span(rows, t)
    if moves == 2 and rep.U.shape[0] == 0:
        # The usual case, with nothing left to look up for each feature.
        W, a, b, up, down = rep.W, np.uint64(work[WHO, 0]), np.uint64(work[WHO, 1]), work[TAU, 0], work[TAU, 1]
        for k in range(start, stop):
            j, x = 1 + feature_at(rows, k), value_at(rows, t, k)
            W[j, a] += up * x
            W[j, b] += down * x
    else:
        for k in range(start, stop):
            add_feature(rep, 1 + feature_at(rows, k), value_at(rows, t, k), moves, work, before)
    add_feature(rep, 0, rows.constant, moves, work, before)


@helper()
def add_feature(rep, j, x, moves, work, before):
    """Add the part of one feature in a step."""
    for m in range(moves):
        r, tau = int(work[WHO, m]), work[TAU, m]
        rep.W[j, r] += tau * x
        if rep.U.shape[0] > 0:
            rep.U[j, r] += tau * before * x


@absorb.register(ClassMajor | FeatureMajor)
def _(rep, rule, rows, t, moves, work, tally):
    add(rep, rows, t, moves, work, tally[ROUNDS])
    return True
