"""The state of several copies of one learner, and their scores: one pass over a row scores all of them.

Row j of ``W`` holds all weights of column j side by side, copy after copy: the last weights of its functions, then as
many sums for its average. With ``past`` the weight of all rounds before, every step also goes to the sums, ``past``
times, so that the average is ``last - sums / past``. Round t weighs t^3: the noise of early steps is soon forgotten.
The last two places of a row are the metric's: with two classes and three copies a column needs one cache line.

Which of the *heads*, the last weights and the average of each copy, predicts? The one with the fewest mistakes so far,
where older mistakes count less. Ties go to the average, then to the copy that stands first.
"""

from typing import Any, NamedTuple

import numpy as np

from ellipsoid.engine.generic import FUSE, helper
from ellipsoid.engine.native.memory import prefetch
from ellipsoid.engine.native.vector_sums import LANES, add_products, store_sums, zero_sums
from ellipsoid.engine.protocol import score
from ellipsoid.engine.rows import CSR, Dense, feature_at, row_span, value_at

from ..linear import AHEAD, CACHE_LINE

# Numbers of all copies: rounds; rows of steps, the sum of their lengths and the columns in them; since the form of the
# metric was chosen, the sum of energies and their number.
COPY_ROUNDS, ROWS, LENGTH, COLUMNS_SEEN, ENERGY, SHAPED = range(6)
# Numbers of each copy: discounted mistakes of both heads; and for the bound its mistakes by the last weights, those
# that no step could correct, its steps, their gains, and the price of mistakes.
BAD_LAST, BAD_AVERAGE, COPY_MISTAKES, UNANSWERED, COPY_STEPS, COPY_GAIN, PRICE = range(7)
SHARED, OWN = 6, 7
# Which heads may predict.
EITHER_HEAD, AVERAGE_HEAD, LAST_HEAD = range(3)
# Entries of rows below this size are left out: their squares would be too near zero.
NEGLIGIBLE_VALUE = 1e-100
# Old mistakes count less by this factor a round: 4096 rounds are remembered.
MISTAKE_MEMORY = 1.0 - 2.0**-12


class Copies(NamedTuple):
    """``W`` as above, in blocks of ``block`` functions; ``P`` is the full form of the metric, see ``metric``.

    ``shared`` and ``own`` are numbers of all copies and of each. The rest is scratch: the packed row (columns in
    ``at``), the direction of a step, all scores of the row, a step's columns of ``W`` and their coefficients.
    """

    W: np.ndarray
    P: np.ndarray
    shared: np.ndarray
    own: np.ndarray
    positions: np.ndarray
    value: np.ndarray
    direction: np.ndarray
    scores: np.ndarray
    columns: np.ndarray
    step: np.ndarray
    block: int
    heads: int


@helper()
def pack(rows: Any, t: int, index: Any, value: Any) -> int:
    """Write the columns (constant 0, feature j 1 + j) and values of row t, without zeros; returns how many there are.

    It is read once for all copies, and what follows gives the same bits for dense and for sparse rows.
    """
    size = 0
    if rows.constant != 0.0:
        index[0], value[0] = 0, rows.constant
        size = 1
    start, stop = row_span(rows, t)
    for k in range(start, stop):
        x = value_at(rows, t, k)
        index[size], value[size] = 1 + feature_at(rows, k), x
        size += 1 if abs(x) >= NEGLIGIBLE_VALUE else 0
    return size


@helper()
def weight_of_past(rounds):
    """1 + 8 + 27 + ... + rounds^3."""
    half = 0.5 * rounds * (rounds + 1.0)
    return half * half


@helper()
def leading_head(rep):
    """Copy and place (0 last, 1 average) of the head that predicts."""
    best, copy, place = np.inf, 0, 1
    for s in range(rep.own.shape[0]):
        if rep.heads != LAST_HEAD and rep.own[s, BAD_AVERAGE] < best:
            best, copy, place = rep.own[s, BAD_AVERAGE], s, 1
        if rep.heads != AVERAGE_HEAD and rep.own[s, BAD_LAST] < best:
            best, copy, place = rep.own[s, BAD_LAST], s, 0
    return copy, place


@helper(inline=False)
def score_columns(rep, size, first, stop):
    """The sums of columns first..stop of ``W`` over the packed row."""
    while first < stop:
        blocks = (stop - first + LANES - 1) // LANES
        if blocks >= 14:
            first = score_copies(rep, size, first, zero_sums(14))
        elif blocks >= 10:
            first = score_copies(rep, size, first, zero_sums(10))
        elif blocks >= 6:
            first = score_copies(rep, size, first, zero_sums(6))
        elif blocks >= 4:
            first = score_copies(rep, size, first, zero_sums(4))
        elif blocks >= 2:
            first = score_copies(rep, size, first, zero_sums(2))
        else:
            first = score_copies(rep, size, first, zero_sums(1))


@helper()
def score_copies(rep, size, first, sums):
    """As many columns as ``sums`` holds; returns where the next block begins."""
    W, index, value = rep.W, rep.positions, rep.value
    for k in range(size):
        coming = np.uint64(index[np.uint64(min(k + AHEAD, size - 1))])
        for r in range(first, first + LANES * len(sums), CACHE_LINE):
            prefetch(W, coming, r)
        if first == 0:
            # The metric's numbers are needed next.
            prefetch(W, coming, W.shape[1] - 1)
        sums = add_products(sums, W, np.uint64(index[np.uint64(k)]), first, value[np.uint64(k)])
    store_sums(sums, rep.scores, first)
    return first + LANES * len(sums)


@helper()
def average_scores(rep, first, n, past):
    """Turn the sums behind the n last scores that begin at ``first`` into scores of the average."""
    scores, block = rep.scores, rep.block
    for r in range(first, first + n):
        scores[block + r] = scores[r] - scores[block + r] / past if past > 0.0 else scores[r]


@helper(fast=FUSE)
def add_step(rep, size, steps):
    """Add the direction to the ``steps`` first columns listed in ``columns``, each times its coefficient in ``step``.

    ``size`` is the length of the packed row: in the diagonal form the direction has its columns only.
    """
    W, index, v, columns, step = rep.W, rep.positions, rep.direction, rep.columns, rep.step
    full, stop = rep.P.shape[0] > 0, 2 * rep.own.shape[0] * rep.block
    many = 6 * steps > stop
    if many:
        # Most columns change: to pass over all of them, without a list, is faster.
        for c in range(stop):
            rep.scores[c] = 0.0
        for m in range(steps):
            rep.scores[columns[m]] = step[m]
    for k in range(rep.P.shape[0] if full else size):
        j = np.uint64(k) if full else np.uint64(index[np.uint64(k)])
        far = v[np.uint64(k)]
        if many:
            for c in range(stop):
                W[j, np.uint64(c)] += far * rep.scores[np.uint64(c)]
        else:
            for m in range(steps):
                W[j, np.uint64(columns[np.uint64(m)])] += far * step[np.uint64(m)]


@score.register(Copies, Dense | CSR)
def _(rep, rows, t, n, scores):
    copy, place = leading_head(rep)
    first = 2 * copy * rep.block
    size = pack(rows, t, rep.positions, rep.value)
    score_columns(rep, size, first, first + (1 + place) * rep.block)
    if place == 1:
        average_scores(rep, first, n, weight_of_past(rep.shared[COPY_ROUNDS]))
    for r in range(n):
        scores[r] = rep.scores[first + place * rep.block + r]
