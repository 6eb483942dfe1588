"""Bounds on the rounding errors of an ellipsoid that must not lose any classifier, for each form that stores it.

A version space is a promise about real numbers that is kept in floats. So every cut is made a little shallower, and
every new ellipsoid a little larger, than the formulas say: by as much as rounding may have changed a score, a width,
the direction of a cut, and the numbers in which the new ellipsoid is stored. Decision 21 derives the bounds; in short,
with u = 2^-53, B = J J' as it is stored and L >= |B^{-1}|,

    |fl(<a, b>) - <a, b>| <= n u |a| |b|          for n products that are not zero, in any order of the sum
    L = 1 + sum kappa / (1 - kappa) |z|^2 / z'Bz  because B^{-1} gains kappa / (1 - kappa) zz' / z'Bz with each cut
    |w| <= radius + sqrt(s max(B))                because some classifier lies in the start ball and in the ellipsoid

A form bounds its errors (`rounding_errors`), and the rule that makes the promise turns them into a shallower cut and a
larger ellipsoid. Rules that promise nothing have a `guaranteed_radius` of 0, and nothing of this is computed.
"""

from math import exp, inf, sqrt
from typing import Any

from ellipsoid.engine.generic import generic, helper

from ..state import DIM, INVERSE_NORM, LOG_SCALE, PARTS_BOUND, ROOT_SQUARES, STORED, TERM_SUM
from .column import Column
from .gram import Gram, SparseGram, row_length
from .gram_matrix import COEF
from .kernel_gram import AheadGram, KernelGram, WaitingGram
from .vectors import Full, Product, inner

# Half a unit in the last place of 1: the relative error of one operation.
U = 2.0**-53
# The relative error of an exponential and a few operations with it.
LOOSE = 8.0 * U
# Products of numbers smaller than this may underflow.
FAINT = 1e-150


@generic(1, default=True)
def guaranteed_radius(rule: Any) -> float:
    """Rule: the radius of the start ball if the ellipsoid is a guaranteed version space, else 0."""
    return 0.0


@generic(1)
def rounding_errors(rep: Any, rows: Any, t: int, size: float, root: float, radius: float) -> tuple[float, ...]:
    """Form: six bounds for the direction z just probed, ``size`` = |z| and ``root`` = sqrt(z'Bz).

    They bound the error of a score <w, z>; the error of the direction in the metric of B, which is half that of
    ``root``; the error of w after a step, as a constant and for each unit of step; the error of J after a downdate, for
    forms that store J; the error of B, for the others.
    """


@generic(1, default=True)
def update_norms(rep: Any, size: float) -> None:
    """Form: update the norms for `rounding_errors` after a downdate along z; by default there are none."""


@helper()
def rounded_products(x):
    """How many products of a sum with x can have been rounded, with 2 to spare."""
    total = 2.0
    for j in range(x.shape[0]):
        total += 1.0 if x[j] != 0.0 else 0.0
    return total


@helper()
def row_copies(rep):
    """In how many blocks of a direction the row occurs."""
    return 1.0 if rep.f.shape[0] == 1 else 2.0


@helper()
def longest_weights(rep, radius, axis):
    """A bound on |w|, where the longest axis of B is at most ``axis``."""
    return radius + 1.01 * exp(0.5 * rep.state[LOG_SCALE]) * axis


@rounding_errors.register(Column)
def _(rep, rows, t, size, root, radius):
    n, m = rounded_products(rep.x), rep.state[STORED]
    squares, inverse_root = rep.state[TERM_SUM], sqrt(1.0 + rep.state[INVERSE_NORM])
    w = longest_weights(rep, radius, 1.0)
    # Bz = z - H'Hz: the products with the columns, then their sum.
    direction = U * size * (n * squares + (m + 4.0) * (1.0 + sqrt(squares)))
    return U * n * size * w, inverse_root * direction + U * n * size, 2.0 * U * w, 4.0 * U * size, 0.0, 8.0 * U


@rounding_errors.register(Full)
def _(rep, rows, t, size, root, radius):
    n, dim = row_copies(rep) * rounded_products(rep.x), float(rep.f.size + 6)
    norm = sqrt(rep.state[ROOT_SQUARES])
    w = longest_weights(rep, radius, min(1.0, norm))
    direction_error = U * (n * size * norm + dim * root)
    return U * n * size * w, direction_error, 2.0 * U * w, U * dim * norm * root, U * (dim + 8.0) * norm, 0.0


@rounding_errors.register(Product)
def _(rep, rows, t, size, root, radius):
    n, dim, m = row_copies(rep) * rounded_products(rep.x), float(rep.f.size + 6), rep.state[STORED]
    # Every product with a column of H is multiplied by T: an error grows by at most the sum of its absolute entries.
    weight = 1.0 + rep.state[TERM_SUM]
    w = longest_weights(rep, radius, 1.0)
    direction_error = U * ((n + 2.0 * m + 8.0) * weight * size + dim * root)
    per_step = U * ((dim + 2.0 * m + 8.0) * weight + 4.0) * root
    return U * n * size * w, direction_error, 2.0 * U * w, per_step, U * (3.0 * dim + 2.0 * m + 8.0) * weight, 0.0


@helper()
def example_errors(rep, n, size, root):
    """For the Gram forms: the error of the direction, that of B, and ``|z| + sum |coef_k| |z_k|``.

    S is positive, whence sum |S_ij| |z_i| |z_j| <= (sum sqrt(S_kk) |z_k|)^2, which is TERM_SUM.
    """
    m, inverse_root, total = rep.state[STORED], sqrt(1.0 + rep.state[INVERSE_NORM]), size
    for k in range(int(m)):
        total += abs(rep.small[COEF, k]) * rep.lengths[k]
    direction_error = 2.0 * inverse_root * U * size * (2.0 * n + 2.0 * m + 8.0) * (1.0 + rep.state[TERM_SUM])
    after = sqrt(rep.state[TERM_SUM]) + 1.01 * total / max(root, FAINT)
    return direction_error, 8.0 * U * (1.0 + after * after), 1.01 * total


@rounding_errors.register(Gram)
def _(rep, rows, t, size, root, radius):
    n, m, w = rounded_products(rep.x), rep.state[STORED], longest_weights(rep, radius, 1.0)
    direction_error, matrix_error, total = example_errors(rep, n, size, root)
    return U * n * size * w, direction_error, U * (2.0 * m + 4.0) * w, U * (2.0 * m + 8.0) * total, 0.0, matrix_error


@rounding_errors.register(SparseGram)
def _(rep, rows, t, size, root, radius):
    n, m, mass = float(row_length(rows, t) + 2), rep.state[STORED], rep.state[PARTS_BOUND]
    direction_error, matrix_error, total = example_errors(rep, n, size, root)
    return U * (n + m + 8.0) * size * mass, direction_error, 3.0 * U * mass, 4.0 * U * total, 0.0, matrix_error


@rounding_errors.register(KernelGram | AheadGram | WaitingGram)
def _(rep, rows, t, size, root, radius):
    # Kernel values come without a bound on their errors.
    return inf, inf, inf, inf, inf, inf


@update_norms.register(Column)
def _(rep, size):
    column = rep.H[int(rep.state[STORED]) - 1]
    rep.state[TERM_SUM] += 1.001 * inner(column, column)


@update_norms.register(Product)
def _(rep, size):
    m = int(rep.state[STORED])
    total = 0.0
    for k in range(m):
        total += abs(rep.T[k, m - 1])
    rep.state[TERM_SUM] += 1.001 * total


@update_norms.register(Gram | SparseGram)
def _(rep, size):
    m = int(rep.state[STORED])
    rep.lengths[m - 1] = size
    total = 0.0
    for k in range(m):
        total += sqrt(max(rep.S[k, k], 0.0)) * rep.lengths[k]
    rep.state[TERM_SUM] = 1.001 * total * total


@update_norms.register(Full)
def _(rep, size):
    # |J| only falls, so that an old norm is a bound; it is renewed from time to time, which costs dim per update.
    every = max(1, int(rep.state[DIM]) // 8)
    if int(rep.state[STORED]) % every == 0:
        total = 0.0
        for r in range(rep.J.shape[0]):
            for j in range(rep.J.shape[1]):
                total += inner(rep.J[r, j], rep.J[r, j])
        rep.state[ROOT_SQUARES] = 1.001 * total


@helper()
def width_bound(rep, rows, t, size, quadratic, radius):
    """A bound on how far scores in the ellipsoid differ from the computed one: the width, and rounding."""
    root, scale = sqrt(max(0.0, quadratic)), exp(0.5 * rep.state[LOG_SCALE])
    error, direction_error, _, _, _, _ = rounding_errors(rep, rows, t, size, root, radius)
    return scale * (root + 2.02 * direction_error + FAINT) * (1.0 + LOOSE) + 1.01 * error
