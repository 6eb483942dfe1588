"""The Gram form for kernels: inner products <x_k, x> become K(x_k, x), and w a combination of the update examples.

Every update appends its example as a support pattern with a coefficient for each function. The first patterns are also
the examples of B = I - Z' S Z, so that the kernel values made for the scores serve the ellipsoid too. The constant
feature adds its square to every kernel value.

With a device the kernel values of a block of rows are made before the loop enters it (``AheadGram``). Updates do not
change the coefficients of patterns beyond those of B, so that the device can sum their part of the scores: IELLIP's
loop then reads only the values of some thirty patterns. All of AROW's patterns belong to B, whose S may be on the
device too: then the loop stops at a row that needs S, is reset to before that row, and runs again with the product
that the device has made (``WaitingGram``).
"""

from typing import Any, NamedTuple

import numpy as np

from ellipsoid.engine.generic import helper
from ellipsoid.engine.protocol import TAU, WHO, has_room, norm2, score
from ellipsoid.engine.rows import CSR, Dense
from ellipsoid.representation.kernel.functions import kernel_value
from ellipsoid.representation.row_entries import unpack_row
from ellipsoid.representation.signed_pairs import PAIR_BLOCK, PAIR_RIVAL, PAIR_RIVAL_SIGN, PAIR_SIGN

from ..protocol import downdate, move_weights, probe, quadratic_error
from ..state import COMPLETE, CUTS, HALT, STORED
from .gram_matrix import COEF, append_pair, extend, gram_quadratic_error, multiply_examples, probe_gram


class KernelGram(NamedTuple):
    """``SV[i, 1 + j]`` feature j of support pattern i (column 0 is zero), ``coef[i, r]`` its coefficient in function r.

    ``late`` is empty or collects (rounds before the update) x (the update) for averages; ``values`` are K(x_i, x).
    """

    kernel: Any
    constant2: float
    SV: np.ndarray
    coef: np.ndarray
    late: np.ndarray
    S: np.ndarray
    pairs: np.ndarray
    state: np.ndarray
    rounds: np.ndarray
    x: np.ndarray
    values: np.ndarray
    small: np.ndarray


@score.register(KernelGram, Dense | CSR)
def _(rep, rows, t, n, scores):
    unpack_row(rows, t, rep.x)
    rep.x[0] = 0.0
    for r in range(n):
        scores[r] = 0.0
    for i in range(int(rep.state[CUTS])):
        rep.values[i] = kernel_value(rep.kernel, rep.SV[i], rep.x) + rep.constant2
        for r in range(n):
            scores[r] += rep.coef[i, r] * rep.values[i]


class AheadGram(NamedTuple):
    """A Gram form and a block of rows whose kernel values are known; ``where[t]`` is row t's place in the block.

    ``values[b, k]`` are those with the examples that B had before the block, ``sums[b, r]`` the scores by the other
    patterns up to ``first``, ``gram`` the values of the block's rows with each other; its row ``place[i - first]``
    became pattern i.
    """

    base: KernelGram
    state: np.ndarray
    rounds: np.ndarray
    where: np.ndarray
    values: np.ndarray
    sums: np.ndarray
    gram: np.ndarray
    first: int
    place: np.ndarray


@score.register(AheadGram, Dense | CSR)
def _(rep, rows, t, n, scores):
    b, base = rep.where[t], rep.base
    for r in range(n):
        scores[r] = rep.sums[b, r]
    for k in range(rep.values.shape[1]):
        add_value(base, k, rep.values[b, k], n, scores)
    for i in range(rep.first, int(rep.state[CUTS])):
        add_value(base, i, rep.gram[rep.place[i - rep.first], b], n, scores)


@helper()
def add_value(base, i, value, n, scores):
    """Store the kernel value of pattern i, and add its part to the scores."""
    base.values[i] = value
    for r in range(n):
        scores[r] += base.coef[i, r] * value


@norm2.register(AheadGram, Dense | CSR)
def _(rep, rows, t):
    return rep.gram[rep.where[t], rep.where[t]]


@probe.register(AheadGram)
def _(rep, rows, t, moves, work, length):
    return probe(rep.base, rows, t, moves, work, length)


@move_weights.register(AheadGram)
def _(rep, rows, t, moves, work, step, before):
    unpack_row(rows, t, rep.base.x)
    rep.base.x[0] = 0.0
    rep.place[int(rep.state[CUTS]) - rep.first] = rep.where[t]
    move_weights(rep.base, rows, t, moves, work, step, before)


@downdate.register(AheadGram)
def _(rep, rows, t, moves, work, kappa, left, quadratic):  # noqa: PLR0913 (a step of a form has these parts)
    downdate(rep.base, rows, t, moves, work, kappa, left, quadratic)


@has_room.register(AheadGram)
def _(rep, rows, t):
    return has_room(rep.base, rows, t)


# The numbers of a row that waits for S: does one wait, has the device answered, z'z, z'Bz, the bound on its rounding
# error, and the factor of the downdate.
WAITS, ANSWERED, LENGTH2, QUADRATIC, ERROR, FACTOR = range(6)


class WaitingGram(NamedTuple):
    """The same with S on a device, for which rows wait; ``before`` and ``sums_before`` are copies from before a row."""

    ahead: AheadGram
    state: np.ndarray
    rounds: np.ndarray
    wait: np.ndarray
    tally: np.ndarray
    before: np.ndarray
    sums_before: np.ndarray


@has_room.register(WaitingGram)
def _(rep, rows, t):
    if rep.wait[WAITS] != 0.0:
        return False
    for i in range(rep.state.shape[0]):
        rep.before[i] = rep.state[i]
    for i in range(rep.tally.shape[0]):
        rep.sums_before[i] = rep.tally[i]
    return True


@score.register(WaitingGram, Dense | CSR)
def _(rep, rows, t, n, scores):
    score(rep.ahead, rows, t, n, scores)


@norm2.register(WaitingGram, Dense | CSR)
def _(rep, rows, t):
    return norm2(rep.ahead, rows, t)


@probe.register(WaitingGram)
def _(rep, rows, t, moves, work, length):
    if rep.wait[ANSWERED] != 0.0:
        return rep.wait[QUADRATIC]
    multiply_examples(rep.ahead.base, moves, work, rep.ahead.base.values)
    rep.wait[WAITS], rep.wait[LENGTH2] = 1.0, length
    return 0.0  # no rule steps along such a direction


@move_weights.register(WaitingGram)
def _(rep, rows, t, moves, work, step, before):
    move_weights(rep.ahead, rows, t, moves, work, step, before)


@downdate.register(WaitingGram)
def _(rep, rows, t, moves, work, kappa, left, quadratic):  # noqa: PLR0913 (a step of a form has these parts)
    append_pair(rep.ahead.base, moves, work, kappa)
    rep.wait[FACTOR] = kappa / quadratic


@norm2.register(KernelGram, Dense | CSR)
def _(rep, rows, t):
    unpack_row(rows, t, rep.x)
    rep.x[0] = 0.0
    return kernel_value(rep.kernel, rep.x, rep.x) + rep.constant2


@probe.register(KernelGram)
def _(rep, rows, t, moves, work, length):
    multiply_examples(rep, moves, work, rep.values)
    return probe_gram(rep, int(rep.state[STORED]), length)


@quadratic_error.register(KernelGram)
def _(rep):
    return gram_quadratic_error(rep)


@quadratic_error.register(AheadGram)
def _(rep):
    return gram_quadratic_error(rep.base)


@quadratic_error.register(WaitingGram)
def _(rep):
    return rep.wait[ERROR]


@move_weights.register(KernelGram)
def _(rep, rows, t, moves, work, step, before):
    new = int(rep.state[CUTS])
    for j in range(rep.x.shape[0]):
        rep.SV[new, j] = rep.x[j]
    for i in range(moves):
        add_coefficient(rep, new, int(work[WHO, i]), step * work[TAU, i], before)
    for k in range(int(rep.state[STORED])):
        pair, amount = rep.pairs[k], step * rep.small[COEF, k]
        add_coefficient(rep, k, int(pair[PAIR_BLOCK]), amount * pair[PAIR_SIGN], before)
        if pair[PAIR_RIVAL_SIGN] != 0.0:
            add_coefficient(rep, k, int(pair[PAIR_RIVAL]), amount * pair[PAIR_RIVAL_SIGN], before)


@helper()
def add_coefficient(rep, i, r, amount, before):
    """Add to the coefficient of pattern i in function r."""
    rep.coef[i, r] += amount
    if rep.late.shape[0] > 0:
        rep.late[i, r] += amount * before


@downdate.register(KernelGram)
def _(rep, rows, t, moves, work, kappa, left, quadratic):  # noqa: PLR0913 (a step of a form has these parts)
    extend(rep, moves, work, kappa, left, quadratic)


@has_room.register(KernelGram)
def _(rep, rows, t):
    state = rep.state
    stored = state[COMPLETE] != 0.0 or state[STORED] < rep.S.shape[0]
    return stored and state[HALT] == 0.0 and state[CUTS] < min(rep.SV.shape[0], rep.rounds.shape[0])
