"""The compiled parts of the product and full forms of an ellipsoid's matrix B, and the vector operations they use.

    product  B = J J', J = I - H' T H                T upper triangular ("WY"), h = J'z / |J'z|
    full     B = J J', J a matrix                    J <- J - tau (J h) h',  tau = kappa / (1 + sqrt(1 - kappa))

The product form costs twice as much as the column form, and its z'Bz is never negative, being a sum of squares; the
full form is for m beyond dim / 2. Bischof & Van Loan (1987) for the aggregated product.
"""

from math import sqrt
from typing import NamedTuple

import numpy as np

from ellipsoid.engine.generic import SUM, helper
from ellipsoid.engine.protocol import TAU, WHO
from ellipsoid.representation.linear import ClassMajor
from ellipsoid.representation.row_entries import unpack_row

from ..protocol import downdate, move_and_downdate, move_weights, probe
from ..state import STORED


class Product(NamedTuple):
    """``H[k]`` unit vectors, ``T`` upper triangular; ``small`` is scratch for three vectors of m numbers."""

    base: ClassMajor
    H: np.ndarray
    T: np.ndarray
    state: np.ndarray
    rounds: np.ndarray
    x: np.ndarray
    f: np.ndarray
    Bz: np.ndarray
    small: np.ndarray


class Full(NamedTuple):
    """``J[r, j, s, i]``: row (r, j), column (s, i)."""

    base: ClassMajor
    J: np.ndarray
    state: np.ndarray
    rounds: np.ndarray
    x: np.ndarray
    f: np.ndarray
    Bz: np.ndarray


@helper()
def place_direction(moves, work, x, z):
    """z as a dense vector of blocks."""
    zero(z)
    for i in range(moves):
        r = int(work[WHO, i])
        for j in range(x.shape[0]):
            z[r, j] += work[TAU, i] * x[j]


@helper()
def zero(target):
    """target = 0."""
    for r in range(target.shape[0]):
        for j in range(target.shape[1]):
            target[r, j] = 0.0


@helper()
def copy(target, factor, vector):
    """target = factor vector."""
    for r in range(target.shape[0]):
        for j in range(target.shape[1]):
            target[r, j] = factor * vector[r, j]


@helper(SUM)
def against(vector, moves, work, x):
    """<vector, z>, reading only the blocks of z."""
    total = 0.0
    for i in range(moves):
        block, partial = vector[int(work[WHO, i])], 0.0
        for j in range(x.shape[0]):
            partial += block[j] * x[j]
        total += work[TAU, i] * partial
    return total


@helper(SUM)
def inner(left, right):
    """<left, right> over all blocks."""
    total = 0.0
    for r in range(left.shape[0]):
        for j in range(left.shape[1]):
            total += left[r, j] * right[r, j]
    return total


@helper(SUM)
def inner_four(H, k, vector):
    """<H_i, vector> for the four from H_k on, reading the vector once."""
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    for r in range(vector.shape[0]):
        for j in range(vector.shape[1]):
            x = vector[r, j]
            a += H[k, r, j] * x
            b += H[k + 1, r, j] * x
            c += H[k + 2, r, j] * x
            d += H[k + 3, r, j] * x
    return a, b, c, d


@helper()
def subtract(target, factor, vector):
    """target -= factor vector."""
    for r in range(target.shape[0]):
        for j in range(target.shape[1]):
            target[r, j] -= factor * vector[r, j]


@helper()
def subtract_four(target, weights, H, k):
    """target -= sum of weights_i H_{k + i}, reading and writing the target once for all four."""
    a, b, c, d = weights
    for r in range(target.shape[0]):
        for j in range(target.shape[1]):
            target[r, j] -= (a * H[k, r, j] + b * H[k + 1, r, j]) + (c * H[k + 2, r, j] + d * H[k + 3, r, j])


@helper()
def combine(target, weights, H, m):
    """target -= sum_k weights_k H_k."""
    k = 0
    while k + 4 <= m:
        subtract_four(target, (weights[k], weights[k + 1], weights[k + 2], weights[k + 3]), H, k)
        k += 4
    while k < m:
        subtract(target, weights[k], H[k])
        k += 1


@helper()
def forward(base, Bz, step, before):
    """w += step Bz."""
    for r in range(Bz.shape[0]):
        for j in range(Bz.shape[1]):
            base.W[r, j] += step * Bz[r, j]
            if base.U.shape[0] > 0:
                base.U[r, j] += step * before * Bz[r, j]


@move_weights.register(Product)
def _(rep, rows, t, moves, work, step, before):
    forward(rep.base, rep.Bz, step, before)


@probe.register(Product)
def _(rep, rows, t, moves, work, length):
    m = int(rep.state[STORED])
    unpack_row(rows, t, rep.x)
    place_direction(moves, work, rep.x, rep.f)
    seen, weight, back = rep.small[0], rep.small[1], rep.small[2]
    for k in range(m):
        seen[k] = against(rep.H[k], moves, work, rep.x)
    for k in range(m):
        weight[k] = 0.0
        for i in range(k + 1):
            weight[k] += rep.T[i, k] * seen[i]
    combine(rep.f, weight, rep.H, m)
    copy(rep.Bz, 1.0, rep.f)
    for k in range(m):
        back[k] = inner(rep.H[k], rep.f)
    for k in range(m):
        total = 0.0
        for i in range(k, m):
            total += rep.T[k, i] * back[i]
        weight[k] = total
    combine(rep.Bz, weight, rep.H, m)
    return inner(rep.f, rep.f)


@downdate.register(Product)
def _(rep, rows, t, moves, work, kappa, left, quadratic):  # noqa: PLR0913 (a step of a form has these parts)
    m = int(rep.state[STORED])
    size, back = sqrt(quadratic), rep.small[2]
    tau = kappa / (1.0 + sqrt(left))
    copy(rep.H[m], 1.0 / size, rep.f)
    for k in range(m):
        total = 0.0
        for i in range(k, m):
            total += rep.T[k, i] * back[i]
        rep.T[k, m] = -tau * total / size
        rep.T[m, k] = 0.0
    rep.T[m, m] = tau
    rep.state[STORED] += 1.0


@probe.register(Full)
def _(rep, rows, t, moves, work, length):
    J, f = rep.J, rep.f
    unpack_row(rows, t, rep.x)
    zero(f)
    for i in range(moves):
        subtract_rows(f, -work[TAU, i], rep.x, J[int(work[WHO, i])])
    return inner(f, f)


@helper(inline=False)
def subtract_rows(f, sign, x, J):
    """f -= sign J'x, four rows of J at a time where x is not zero."""
    j = 0
    while j + 4 <= x.shape[0]:
        a, b, c, d = x[j], x[j + 1], x[j + 2], x[j + 3]
        if a != 0.0 or b != 0.0 or c != 0.0 or d != 0.0:
            subtract_four(f, (sign * a, sign * b, sign * c, sign * d), J, j)
        j += 4
    while j < x.shape[0]:
        if x[j] != 0.0:
            subtract(f, sign * x[j], J[j])
        j += 1


@move_weights.register(Full)
def _(rep, rows, t, moves, work, step, before):
    for r in range(rep.f.shape[0]):
        for j in range(rep.f.shape[1]):
            rep.Bz[r, j] = inner(rep.J[r, j], rep.f)
    forward(rep.base, rep.Bz, step, before)


@move_and_downdate.register(Full)
def _(rep, rows, t, moves, work, step, before, kappa, left, quadratic):  # noqa: PLR0913 (the same)
    factor = kappa / (1.0 + sqrt(left)) / quadratic
    for r in range(rep.f.shape[0]):
        reflect(rep.J[r], rep.f, factor, rep.Bz[r])
    forward(rep.base, rep.Bz, step, before)
    rep.state[STORED] += 1.0


@helper(inline=False)
def reflect(J, f, factor, Bz):
    """Bz = J f and J -= factor Bz f', row by row, so that the matrix is read from memory once."""
    j = 0
    while j + 4 <= J.shape[0]:
        a, b, c, d = inner_four(J, j, f)
        Bz[j], Bz[j + 1], Bz[j + 2], Bz[j + 3] = a, b, c, d
        subtract(J[j], factor * a, f)
        subtract(J[j + 1], factor * b, f)
        subtract(J[j + 2], factor * c, f)
        subtract(J[j + 3], factor * d, f)
        j += 4
    while j < J.shape[0]:
        Bz[j] = inner(J[j], f)
        subtract(J[j], factor * Bz[j], f)
        j += 1
