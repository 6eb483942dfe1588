"""The Gram form of an ellipsoid's matrix, B = I - Z' S Z: the rows of Z are the examples of the updates themselves.

    g = Z z,  coef = -S g,  z'Bz = z'z + g'coef,  Bz = z + Z' coef

The inner product of z with an example z_k = (e_b - e_a) (x) x_k is <x_k, x> ([b_k = b] + [a_k = a] - [b_k = a] -
[a_k = b]), so that cost and memory do not depend on the number of classes, and w moves along stored examples only.

``Gram``, for dense rows, adds all of Bz to the table of weights. ``SparseGram`` adds z alone and keeps the coefficients
``beta`` of the stored examples beside it; the scores then need <x_k, x> at every round. These come from a compact table
of the stored examples that has rows only for features occurring in them (``slot``) and so stays in the nearest caches:
a round costs little more than its scores, and an update touches only the non-zeros of its own row.
"""

from typing import NamedTuple

import numpy as np

from ellipsoid.engine.generic import SUM, helper
from ellipsoid.engine.native.memory import prefetch
from ellipsoid.engine.native.vector_sums import LANES, add_products, store_sums, zero_sums
from ellipsoid.engine.protocol import TAU, WHO, score
from ellipsoid.engine.rows import CSR, Dense, feature_at, row_span, value_at
from ellipsoid.representation.linear import (
    AHEAD,
    CACHE_LINE,
    ClassMajor,
    FeatureMajor,
    add,
    score_alone,
    score_block,
    score_in_blocks,
)
from ellipsoid.representation.row_entries import unpack_row
from ellipsoid.representation.signed_pairs import PAIR_BLOCK, PAIR_RIVAL, PAIR_RIVAL_SIGN, PAIR_SIGN

from ..protocol import downdate, move_weights, probe, quadratic_error
from ..state import FEATURES_USED, STORED
from .gram_matrix import COEF, INNER, extend, gram_quadratic_error, multiply_examples, pair_overlap, probe_gram

# Products with stored examples are made in blocks of so many.
PAD = 8 * LANES


class Gram(NamedTuple):
    """``Z[k]`` is the stored row x_k; ``small`` scratch for coef and g; ``lengths`` |z_k| where rounding is bounded."""

    base: ClassMajor
    Z: np.ndarray
    S: np.ndarray
    pairs: np.ndarray
    state: np.ndarray
    rounds: np.ndarray
    x: np.ndarray
    small: np.ndarray
    lengths: np.ndarray


class SparseGram(NamedTuple):
    """``Z[slot[1 + j], k]`` is feature j of stored row x_k; slot 0 is a row of zeros, for features of none.

    Columns are padded to a multiple of ``PAD`` and summed in blocks. Rows of ``small``: coef, g, <x_k, x>, beta and
    its averages.
    """

    base: FeatureMajor
    Z: np.ndarray
    slot: np.ndarray
    S: np.ndarray
    pairs: np.ndarray
    state: np.ndarray
    rounds: np.ndarray
    small: np.ndarray
    lengths: np.ndarray


# Rows of ``small`` behind those that every Gram form has.
PRODUCTS, BETA, LATE = range(2, 5)


@probe.register(Gram, fast=SUM)
def _(rep, rows, t, moves, work, length):
    m = int(rep.state[STORED])
    unpack_row(rows, t, rep.x)
    inner = rep.small[INNER]
    for k in range(m):
        common, total = pair_overlap(rep.pairs[k], moves, work), 0.0
        if common != 0.0:
            for j in range(rep.x.shape[0]):
                total += rep.Z[k, j] * rep.x[j]
        inner[k] = common * total
    return probe_gram(rep, m, length)


@quadratic_error.register(Gram | SparseGram)
def _(rep):
    return gram_quadratic_error(rep)


@move_weights.register(Gram)
def _(rep, rows, t, moves, work, step, before):
    for i in range(moves):
        add_multiple(rep.base, int(work[WHO, i]), step * work[TAU, i], rep.x, before)
    for k in range(int(rep.state[STORED])):
        pair, amount = rep.pairs[k], step * rep.small[COEF, k]
        if amount != 0.0:
            add_multiple(rep.base, int(pair[PAIR_BLOCK]), amount * pair[PAIR_SIGN], rep.Z[k], before)
            if pair[PAIR_RIVAL_SIGN] != 0.0:
                add_multiple(rep.base, int(pair[PAIR_RIVAL]), amount * pair[PAIR_RIVAL_SIGN], rep.Z[k], before)


@helper()
def add_multiple(base, r, amount, x, before):
    """w_r += amount x."""
    for j in range(x.shape[0]):
        base.W[r, j] += amount * x[j]
    if base.U.shape[0] > 0:
        for j in range(x.shape[0]):
            base.U[r, j] += amount * before * x[j]


@downdate.register(Gram)
def _(rep, rows, t, moves, work, kappa, left, quadratic):  # noqa: PLR0913 (a step of a form has these parts)
    k = int(rep.state[STORED])
    for j in range(rep.x.shape[0]):
        rep.Z[k, j] = rep.x[j]
    extend(rep, moves, work, kappa, left, quadratic)


@helper()
def add_example_scores(rep, m, scores):
    """Add the stored examples' share to the scores."""
    for k in range(m):
        pair, amount = rep.pairs[k], rep.small[BETA, k] * rep.small[PRODUCTS, k]
        scores[int(pair[PAIR_BLOCK])] += amount * pair[PAIR_SIGN]
        if pair[PAIR_RIVAL_SIGN] != 0.0:
            scores[int(pair[PAIR_RIVAL])] += amount * pair[PAIR_RIVAL_SIGN]


@score.register(SparseGram, CSR | Dense)
def _(rep, rows, t, n, scores):
    m = int(rep.state[STORED])
    done = 0
    if min(rep.base.W.shape[1], scores.shape[0]) >= LANES:
        score_in_blocks(rep, rep.base, rows, t, n, scores)
        done = PAD
    else:
        for r in range(n):
            scores[r] = score_alone(rep.base, rows, t, r)
    while done < m:
        done = multiply_block(rep, rows, t, done, zero_sums(8))
    add_example_scores(rep, m, scores)


@score_block.register(SparseGram, CSR)
def _(rep, rows, t, first, sums, scores):
    # Weights and stored examples in one pass: while one table is waited for, the other is summed.
    W, Z, slot, indices, data = rep.base.W, rep.Z, rep.slot, rows.indices, rows.data
    last = indices.shape[0] - 1
    sums = add_products(sums, W, 0, first, rows.constant)
    products = add_products(zero_sums(8), Z, slot[0], 0, rows.constant)
    for q in range(rows.indptr[t], rows.indptr[t + 1]):
        coming = 1 + np.uint64(indices[np.uint64(min(q + AHEAD, last))])
        for r in range(first, first + LANES * len(sums), CACHE_LINE):
            prefetch(W, coming, r)
        j, x = 1 + np.uint64(indices[np.uint64(q)]), data[np.uint64(q)]
        sums = add_products(sums, W, j, first, x)
        products = add_products(products, Z, slot[j], 0, x)
    store_sums(sums, scores, first)
    store_sums(products, rep.small[PRODUCTS], 0)
    return first + LANES * len(sums)


@score_block.register(SparseGram, Dense)
def _(rep, rows, t, first, sums, scores):
    W, Z, slot = rep.base.W, rep.Z, rep.slot
    sums = add_products(sums, W, 0, first, rows.constant)
    products = add_products(zero_sums(8), Z, slot[0], 0, rows.constant)
    for j in range(rows.X.shape[1]):
        x = rows.X[t, j]
        sums = add_products(sums, W, 1 + j, first, x)
        products = add_products(products, Z, slot[1 + j], 0, x)
    store_sums(sums, scores, first)
    store_sums(products, rep.small[PRODUCTS], 0)
    return first + LANES * len(sums)


@helper()
def multiply_block(rep, rows, t, first, sums):
    """Write <x_k, x> for as many k as ``sums`` holds, from ``first`` on; returns where the next block begins."""
    sums = add_products(sums, rep.Z, rep.slot[0], first, rows.constant)
    start, stop = row_span(rows, t)
    for q in range(start, stop):
        sums = add_products(sums, rep.Z, rep.slot[1 + feature_at(rows, q)], first, value_at(rows, t, q))
    store_sums(sums, rep.small[PRODUCTS], first)
    return first + LANES * len(sums)


@probe.register(SparseGram)
def _(rep, rows, t, moves, work, length):
    multiply_examples(rep, moves, work, rep.small[PRODUCTS])
    return probe_gram(rep, int(rep.state[STORED]), length)


@move_weights.register(SparseGram)
def _(rep, rows, t, moves, work, step, before):
    for i in range(moves):
        work[TAU, i] *= step
    add(rep.base, rows, t, moves, work, before)
    for i in range(moves):
        work[TAU, i] = 1.0 if work[TAU, i] > 0.0 else -1.0
    for k in range(int(rep.state[STORED])):
        amount = step * rep.small[COEF, k]
        rep.small[BETA, k] += amount
        rep.small[LATE, k] += amount * before


@downdate.register(SparseGram)
def _(rep, rows, t, moves, work, kappa, left, quadratic):  # noqa: PLR0913 (a step of a form has these parts)
    k = int(rep.state[STORED])
    store_feature(rep, 0, rows.constant, k)
    start, stop = row_span(rows, t)
    for q in range(start, stop):
        store_feature(rep, 1 + feature_at(rows, q), value_at(rows, t, q), k)
    rep.small[BETA, k] = 0.0
    rep.small[LATE, k] = 0.0
    extend(rep, moves, work, kappa, left, quadratic)


@helper()
def store_feature(rep, j, x, k):
    """Store one feature of an example; a new feature gets the next row of ``Z``."""
    if x == 0.0:
        return
    if rep.slot[j] == 0:
        rep.state[FEATURES_USED] += 1.0
        rep.slot[j] = int(rep.state[FEATURES_USED])
    rep.Z[np.uint64(rep.slot[j]), k] = x


@helper()
def row_length(rows, t):
    """How many entries row t may have, the constant feature included."""
    start, stop = row_span(rows, t)
    return 1 + stop - start
