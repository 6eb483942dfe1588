"""The m x m matrix S of the Gram forms B = I - Z' S Z: its products with g = Z z, and how it grows.

    coef = -S g,  z'Bz = z'z + g'coef
    S <- [[S + (kappa/z'Bz) coef coef', (kappa/z'Bz) coef], [.., kappa/z'Bz]]

Where rows repeat, S becomes large, and z'Bz the small difference of large numbers. Rules that shrink B without end
(AROW, the second-order Perceptron) therefore store the Cholesky factor R of S^{-1} = Z Z' + D in place of S, D being
diagonal with (1 - kappa)/kappa z'Bz for each update:

    y = R^{-T} g,  coef = -R^{-1} y,  z'Bz = z'z - y'y,  R <- [[R, y], [0, sqrt(z'Bz / kappa)]]

Then no number is larger than the rows are. It costs half as much, too.
"""

from math import exp, sqrt

from ellipsoid.engine.generic import SUM, helper
from ellipsoid.engine.protocol import TAU, WHO
from ellipsoid.representation.signed_pairs import PAIR_BLOCK, PAIR_RIVAL, PAIR_RIVAL_SIGN, PAIR_SIGN

from ..state import FACTORED, LOG_KEPT, STORED

# Column PAIR_KAPPA of ``pairs`` follows those of a signed pair; with R it holds D in place of kappa.
PAIR_KAPPA, PAIR_SIZE = 4, 5
PAIR_D = PAIR_KAPPA
# What rounding does to g'Sg, as a share of the sizes of its terms. Exact arithmetic has found up to 6 * 2^-53.
GRAM_ROUNDING = 8.0 * 2.0**-53
# Rows of the scratch array ``small``: coef, and g or y.
COEF, INNER = range(2)


@helper()
def pair_overlap(pair, moves, work):
    """Sum over common blocks of the product of signs."""
    total = 0.0
    for i in range(moves):
        who, sign = work[WHO, i], work[TAU, i]
        # No branches, because they could not be predicted; a pair without a rival has PAIR_RIVAL = -1.
        total += sign * pair[PAIR_SIGN] if who == pair[PAIR_BLOCK] else 0.0
        total += sign * pair[PAIR_RIVAL_SIGN] if who == pair[PAIR_RIVAL] else 0.0
    return total


@helper()
def multiply_examples(rep, moves, work, products):
    """g: the inner products of the direction with the stored examples, from those of their rows."""
    for k in range(int(rep.state[STORED])):
        rep.small[INNER, k] = pair_overlap(rep.pairs[k], moves, work) * products[k]


@helper(SUM)
def probe_gram(rep, m, norm2):
    """Write coef = -S g and return z'Bz, at least what the downdates must have left of |z|^2."""
    least = exp(rep.state[LOG_KEPT]) * norm2
    if rep.state[FACTORED] != 0.0:
        return max(norm2 - solve_factor(rep, m), least)
    coef, inner = rep.small[COEF], rep.small[INNER]
    for k in range(m):
        coef[k] = 0.0
    # S is symmetric, and few stored examples share a class with the new one.
    for i in range(m):
        common = inner[i]
        if common != 0.0:
            for k in range(m):
                coef[k] -= rep.S[i, k] * common
    quadratic = norm2
    for k in range(m):
        quadratic += inner[k] * coef[k]
    return max(quadratic, least)


@helper(SUM)
def solve_factor(rep, m):
    """Write y in place of g, then coef; returns y'y."""
    coef, y, total = rep.small[COEF], rep.small[INNER], 0.0
    for i in range(m):
        if y[i] != 0.0:
            row, rest = rep.S[i, i + 1 : m], y[i + 1 : m]
            value = y[i] / rep.S[i, i]
            y[i] = value
            total += value * value
            for k in range(row.shape[0]):
                rest[k] -= row[k] * value
    for i in range(m - 1, -1, -1):
        row, rest = rep.S[i, i + 1 : m], coef[i + 1 : m]
        known = y[i]
        for k in range(row.shape[0]):
            known += row[k] * rest[k]
        coef[i] = -known / rep.S[i, i]
    return total


@helper()
def gram_quadratic_error(rep):
    """The rounding error of z'Bz: the terms of g'Sg are at most (sum sqrt(S_kk) |g_k|)^2, as S is positive."""
    if rep.state[FACTORED] != 0.0:
        return 0.0
    total = 0.0
    for k in range(int(rep.state[STORED])):
        total += sqrt(max(rep.S[k, k], 0.0)) * abs(rep.small[INNER, k])
    return GRAM_ROUNDING * total * total


@helper()
def extend(rep, moves, work, kappa, left, quadratic):
    """Append a row and column to S, or a column to R, and the pair of the new example."""
    m = int(rep.state[STORED])
    coef, S, factor = rep.small[COEF], rep.S, kappa / quadratic
    if rep.state[FACTORED] != 0.0:
        for k in range(m):
            S[k, m] = rep.small[INNER, k]
        S[m, m] = sqrt(quadratic / kappa)
        append_pair(rep, moves, work, left / factor)
        return
    for k in range(m):
        for i in range(m):
            S[k, i] += factor * coef[k] * coef[i]
        S[k, m] = factor * coef[k]
        S[m, k] = S[k, m]
    S[m, m] = factor
    append_pair(rep, moves, work, kappa)


@helper()
def append_pair(rep, moves, work, size):
    """Append the pair of a new example; ``size`` is its kappa, or its entry of D."""
    pair = rep.pairs[int(rep.state[STORED])]
    pair[PAIR_BLOCK], pair[PAIR_SIGN], pair[PAIR_KAPPA] = work[WHO, 0], work[TAU, 0], size
    pair[PAIR_RIVAL], pair[PAIR_RIVAL_SIGN] = -1.0, 0.0
    if moves == 2:
        pair[PAIR_RIVAL], pair[PAIR_RIVAL_SIGN] = work[WHO, 1], work[TAU, 1]
    rep.state[STORED] += 1.0
