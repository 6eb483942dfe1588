"""The Gram form B = I - Z' S Z over the update examples themselves.

    g = Z z,  coef = -S g,  z'Bz = z'z + g'coef,  Bz = z + Z' coef
    S <- [[S + (kappa/z'Bz) coef coef', (kappa/z'Bz) coef], [.., kappa/z'Bz]]

An example z_k = (e_b - e_a) (x) x_k meets z in <x_k, x> ([b_k = b] + [a_k = a] - [b_k = a] - [a_k = b]), so cost
and memory do not depend on the number of classes, and w moves along stored examples only. Two ways to keep w:

``Gram`` adds all of Bz to an explicit table, for dense rows. ``SparseGram`` adds z alone and keeps the coefficients
``beta`` of the stored examples beside it; the scores then need <x_k, x> at every round. They are read off a compact
table of the stored examples that has rows only for features occurring in them (``slot``) and so stays in the near
caches: a round costs little more than its scores, and an update touches only the non-zeros of its own row.
"""

from math import exp
from typing import Any, NamedTuple

import numpy as np

from ellipsoid.engine.generic import FUSE, SUM, generic, helper
from ellipsoid.engine.protocol import TAU, WHO, score
from ellipsoid.engine.rows import CSR, Dense, energy
from ellipsoid.representation.linear import ClassMajor, FeatureMajor, add

from .protocol import probe, push, shrink
from .state import LOG_KEPT, STORED, USED
from .unpack import unpack

# Columns of ``pairs``: the blocks of a stored example and their signs (sign 0: no second block), and its kappa.
BLOCK, SIGN, RIVAL, RIVAL_SIGN, KAPPA = range(5)
PAIR = 5
PAD = 16


class Gram(NamedTuple):
    """``Z[k]`` is the stored row x_k; ``small`` scratch for coef and g."""

    base: ClassMajor
    Z: np.ndarray
    S: np.ndarray
    pairs: np.ndarray
    state: np.ndarray
    rounds: np.ndarray
    x: np.ndarray
    small: np.ndarray


class SparseGram(NamedTuple):
    """``Z[slot[1 + j], k]`` is feature j of stored row x_k; slot 0 is a row of zeros, for features of none.

    Columns are padded to a multiple of ``PAD``, which lets the compiler sum them without a remainder. Rows of
    ``small``: coef, g, <x_k, x>, beta and its averages.
    """

    base: FeatureMajor
    Z: np.ndarray
    slot: np.ndarray
    S: np.ndarray
    pairs: np.ndarray
    state: np.ndarray
    rounds: np.ndarray
    small: np.ndarray


COEF, MEET, PRODUCTS, BETA, LATE = range(5)


@helper()
def overlap(pair, moves, work):
    """Sum over common blocks of the product of signs."""
    total = 0.0
    for i in range(moves):
        who, sign = work[WHO, i], work[TAU, i]
        if who == pair[BLOCK]:
            total += sign * pair[SIGN]
        if pair[RIVAL_SIGN] != 0.0 and who == pair[RIVAL]:
            total += sign * pair[RIVAL_SIGN]
    return total


@helper(SUM)
def solve(rep, m, norm2):
    """coef = -S g and z'Bz, not below the least that the downdates can have left of |z|^2."""
    coef, meet = rep.small[COEF], rep.small[MEET]
    quadratic = norm2
    for k in range(m):
        total = 0.0
        for i in range(m):
            total -= rep.S[k, i] * meet[i]
        coef[k] = total
        quadratic += meet[k] * total
    return max(quadratic, exp(rep.state[LOG_KEPT]) * norm2)


@helper()
def extend(rep, moves, work, kappa, quadratic):
    """The new row and column of S, and the pair of the new example."""
    m = int(rep.state[STORED])
    coef, S, factor = rep.small[COEF], rep.S, kappa / quadratic
    for k in range(m):
        for i in range(m):
            S[k, i] += factor * coef[k] * coef[i]
        S[k, m] = factor * coef[k]
        S[m, k] = S[k, m]
    S[m, m] = factor
    pair = rep.pairs[m]
    pair[BLOCK], pair[SIGN], pair[RIVAL], pair[RIVAL_SIGN], pair[KAPPA] = work[WHO, 0], work[TAU, 0], -1.0, 0.0, kappa
    if moves == 2:
        pair[RIVAL], pair[RIVAL_SIGN] = work[WHO, 1], work[TAU, 1]
    rep.state[STORED] += 1.0


@helper()
def length2(moves, work, norm2):
    """|z|^2 from |x|^2."""
    total = 0.0
    for i in range(moves):
        total += work[TAU, i] * work[TAU, i]
    return total * norm2


@probe.register(Gram, Dense, fast=SUM)
@probe.register(Gram, CSR, fast=SUM)
def _(rep, rows, t, moves, work):
    m = int(rep.state[STORED])
    unpack(rows, t, rep.x)
    meet = rep.small[MEET]
    for k in range(m):
        common, total = overlap(rep.pairs[k], moves, work), 0.0
        if common != 0.0:
            for j in range(rep.x.shape[0]):
                total += rep.Z[k, j] * rep.x[j]
        meet[k] = common * total
    return solve(rep, m, length2(moves, work, energy(rows, t)))


@push.register(Gram, Dense)
@push.register(Gram, CSR)
def _(rep, rows, t, moves, work, step, before):
    for i in range(moves):
        along(rep.base, int(work[WHO, i]), step * work[TAU, i], rep.x, before)
    for k in range(int(rep.state[STORED])):
        pair, amount = rep.pairs[k], step * rep.small[COEF, k]
        if amount != 0.0:
            along(rep.base, int(pair[BLOCK]), amount * pair[SIGN], rep.Z[k], before)
            if pair[RIVAL_SIGN] != 0.0:
                along(rep.base, int(pair[RIVAL]), amount * pair[RIVAL_SIGN], rep.Z[k], before)


@helper()
def along(base, r, amount, x, before):
    """w_r += amount x."""
    for j in range(x.shape[0]):
        base.W[r, j] += amount * x[j]
    if base.U.shape[0] > 0:
        for j in range(x.shape[0]):
            base.U[r, j] += amount * before * x[j]


@shrink.register(Gram, Dense)
@shrink.register(Gram, CSR)
def _(rep, rows, t, moves, work, kappa, quadratic):
    k = int(rep.state[STORED])
    for j in range(rep.x.shape[0]):
        rep.Z[k, j] = rep.x[j]
    extend(rep, moves, work, kappa, quadratic)


@helper()
def correct(rep, m, scores):
    """Add the stored examples' share to the scores."""
    for k in range(m):
        pair, amount = rep.pairs[k], rep.small[BETA, k] * rep.small[PRODUCTS, k]
        scores[int(pair[BLOCK])] += amount * pair[SIGN]
        if pair[RIVAL_SIGN] != 0.0:
            scores[int(pair[RIVAL])] += amount * pair[RIVAL_SIGN]


@score.register(SparseGram, CSR, fast=FUSE)
def _(rep, rows, t, n, scores):
    Z, products = rep.Z, rep.small[PRODUCTS]
    m = int(rep.state[STORED])
    score(rep.base, rows, t, n, scores)
    for k in range(products.shape[0]):
        products[k] = 0.0
    meet_feature(Z, rep.slot[0], rows.constant, m, products)
    indices, data, slot = rows.indices, rows.data, rep.slot
    q, stop, padded = rows.indptr[t], rows.indptr[t + 1], PAD * ((m + PAD - 1) // PAD)
    # Four features at a time, summed in their order: the sums travel through memory once for all four.
    while q + 4 <= stop:
        j0, j1 = np.uint64(slot[1 + np.uint64(indices[q])]), np.uint64(slot[1 + np.uint64(indices[q + 1])])
        j2, j3 = np.uint64(slot[1 + np.uint64(indices[q + 2])]), np.uint64(slot[1 + np.uint64(indices[q + 3])])
        x0, x1, x2, x3 = data[q], data[q + 1], data[q + 2], data[q + 3]
        for k in range(padded):
            products[k] = (((products[k] + Z[j0, k] * x0) + Z[j1, k] * x1) + Z[j2, k] * x2) + Z[j3, k] * x3
        q += 4
    while q < stop:
        meet_feature(Z, slot[1 + np.uint64(indices[q])], np.float64(data[q]), m, products)
        q += 1
    correct(rep, m, scores)


@score.register(SparseGram, Dense, fast=FUSE)
def _(rep, rows, t, n, scores):
    Z, products, X = rep.Z, rep.small[PRODUCTS], rows.X
    m = int(rep.state[STORED])
    score(rep.base, rows, t, n, scores)
    for k in range(products.shape[0]):
        products[k] = 0.0
    meet_feature(Z, rep.slot[0], rows.constant, m, products)
    for j in range(X.shape[1]):
        meet_feature(Z, rep.slot[1 + j], np.float64(X[t, j]), m, products)
    correct(rep, m, scores)


@helper()
def meet_feature(Z, place, x, m, products):
    """The part of one feature in <x_k, x>, up to the padding."""
    for k in range(PAD * ((m + PAD - 1) // PAD)):
        products[k] += Z[np.uint64(place), k] * x


@probe.register(SparseGram, Dense)
@probe.register(SparseGram, CSR)
def _(rep, rows, t, moves, work):
    m = int(rep.state[STORED])
    for k in range(m):
        rep.small[MEET, k] = overlap(rep.pairs[k], moves, work) * rep.small[PRODUCTS, k]
    return solve(rep, m, length2(moves, work, energy(rows, t)))


@push.register(SparseGram, Dense)
@push.register(SparseGram, CSR)
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


@shrink.register(SparseGram, Dense)
@shrink.register(SparseGram, CSR)
def _(rep, rows, t, moves, work, kappa, quadratic):
    k = int(rep.state[STORED])
    store(rows, t, rep, k)
    rep.small[BETA, k] = 0.0
    rep.small[LATE, k] = 0.0
    extend(rep, moves, work, kappa, quadratic)


@generic(1)
def store(rows: Any, t: int, rep: Any, k: int) -> None:
    """Write row t into column k of the compact table."""


@store.register(Dense)
def _(rows, t, rep, k):
    store_feature(rep, 0, rows.constant, k)
    for j in range(rows.X.shape[1]):
        store_feature(rep, 1 + j, np.float64(rows.X[t, j]), k)


@store.register(CSR)
def _(rows, t, rep, k):
    store_feature(rep, 0, rows.constant, k)
    for q in range(rows.indptr[t], rows.indptr[t + 1]):
        store_feature(rep, 1 + np.uint64(rows.indices[q]), np.float64(rows.data[q]), k)


@helper()
def store_feature(rep, j, x, k):
    """One feature of a stored example, with a row of its own where it is new."""
    if x == 0.0:
        return
    if rep.slot[j] == 0:
        rep.state[USED] += 1.0
        rep.slot[j] = int(rep.state[USED])
    rep.Z[np.uint64(rep.slot[j]), k] = x


@generic(1)
def length(rows: Any, t: int) -> int:
    """How many entries row t may bring, the constant one included."""


@length.register(Dense)
def _(rows, t):
    return 1 + rows.X.shape[1]


@length.register(CSR)
def _(rows, t):
    return 1 + rows.indptr[t + 1] - rows.indptr[t]
