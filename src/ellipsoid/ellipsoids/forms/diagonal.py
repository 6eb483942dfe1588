"""The diagonal form S = s diag(B): one variance for each weight, so that a step costs only its row's non-zeros.

The exact step leaves a matrix that is not diagonal. With ratio_j = B_j z_j^2 / z'Bz, which lies in [0, 1], and
omega = kappa / (1 - kappa), its approximation B_j is

    inverse   B_j / (1 + omega ratio_j)         the diagonal of the inverse: least KL(N(0, D) || N(0, S'))
    drop      B_j (1 - kappa ratio_j)           the diagonal itself: least KL(N(0, S') || N(0, D))
    exact     B_j / (1 + (sqrt(1 + omega) - 1) ratio_j)^2     NHERD's own problem over diagonal maps

inverse <= drop, and for NHERD inverse <= exact. For AROW, inverse is the minimum over diagonal S.
"""

from math import sqrt
from typing import Any, NamedTuple

import numpy as np

from ellipsoid.engine.generic import SUM, generic, helper
from ellipsoid.engine.protocol import TAU, WHO, absorb, keeps_average, score, swap_in_average, swap_out_average
from ellipsoid.engine.rows import CSR, Dense, feature_at, row_span, value_at
from ellipsoid.engine.tally import ROUNDS
from ellipsoid.representation.linear import ClassMajor, FeatureMajor

from ..protocol import NO_ERRORS, cut, margin_along, probe, remaining_share
from ..state import CUTS

INVERSE, DROP, EXACT_MAP = range(3)
# An omega beyond this leaves nothing of a variance.
LARGEST_OMEGA = 1e300


class Diagonal(NamedTuple):
    """``B`` has the layout of the weights; it is one where no weight has moved yet."""

    base: Any
    B: np.ndarray
    kind: int
    state: np.ndarray


class Shrinkage(NamedTuple):
    """How variances shrink: by ``factor`` times their part B_j z_j^2 of z'Bz; ``left`` is 1 - kappa."""

    kind: int
    factor: float
    left: float


def score_with_base(kind: Any) -> None:
    """Let parts of this kind score, and average, as the weights in their ``base`` do."""

    @score.register(kind, Dense | CSR)
    def _(rep, rows, t, n, scores):
        score(rep.base, rows, t, n, scores)

    @keeps_average.register(kind)
    def _(rep):
        return keeps_average(rep.base)

    @swap_in_average.register(kind)
    def _(rep, rows, t, n, rounds):
        return swap_in_average(rep.base, rows, t, n, rounds)

    @swap_out_average.register(kind)
    def _(rep, rows, t, n, kept):
        swap_out_average(rep.base, rows, t, n, kept)


score_with_base(Diagonal)


@probe.register(Diagonal)
def _(rep, rows, t, moves, work, length):
    return quadratic_form(rep.base, rows, rep.B, t, moves, work)


@absorb.register(Diagonal)
def _(rep, rule, rows, t, moves, work, tally):
    margin = margin_along(moves, work)
    quadratic = quadratic_form(rep.base, rows, rep.B, t, moves, work)
    step, kappa = cut(rule, margin, quadratic, quadratic, rep.state, tally[ROUNDS], NO_ERRORS)
    if step == 0.0:
        return False
    left = remaining_share(rule, kappa, rep.state)
    if rep.kind == DROP:
        factor = 1.0 / quadratic
    elif rep.kind == INVERSE:
        factor = kappa / max(left, 1.0 / LARGEST_OMEGA) / quadratic
    else:
        factor = (1.0 / sqrt(max(left, 1.0 / LARGEST_OMEGA)) - 1.0) / quadratic
    shrinkage = Shrinkage(rep.kind, min(factor, LARGEST_OMEGA), left)
    step_and_shrink(rep.base, rows, rep.B, shrinkage, t, moves, work, step, tally[ROUNDS])
    rep.state[CUTS] += 1.0
    return True


@generic(2)
def quadratic_form(base: Any, rows: Any, B: Any, t: int, moves: int, work: Any) -> float:
    """z'Bz for the direction of row t."""


@generic(2)
def step_and_shrink(  # noqa: PLR0913 (everything that a step knows)
    base: Any, rows: Any, B: Any, shrinkage: Any, t: int, moves: int, work: Any, step: float, before: float
) -> None:
    """w += step Bz, ``before`` times that for averages, and a smaller B where the row is not zero."""


@helper()
def shrunk(shrinkage, variance, part):
    """A variance after a step, ``part`` = B_j z_j^2."""
    if shrinkage.kind == DROP:
        share = min(1.0, shrinkage.factor * part)
        return variance * ((1.0 - share) + shrinkage.left * share)
    divisor = 1.0 + shrinkage.factor * part
    # Unlike a Python division this one has no test for zeros, which never come, and can be vectorised.
    return np.divide(variance, divisor if shrinkage.kind == INVERSE else divisor * divisor)


# fmt: off
@quadratic_form.register(ClassMajor, Dense, fast=SUM)
def _(base, rows, B, t, moves, work):
    X, total = rows.X, 0.0
    for m in range(moves):
        r = int(work[WHO, m])
        for j in range(X.shape[1]):
            x = np.float64(X[t, j])
            total += B[r, 1 + j] * (x * x)
        total += B[r, 0] * (rows.constant * rows.constant)
    return total


@quadratic_form.register(ClassMajor, CSR)
def _(base, rows, B, t, moves, work):
    total = 0.0
    for m in range(moves):
        r = int(work[WHO, m])
        total += B[r, 0] * (rows.constant * rows.constant)
        for k in range(rows.indptr[t], rows.indptr[t + 1]):
            total += B[r, 1 + np.uint64(rows.indices[k])] * (rows.data[k] * rows.data[k])
    return total


@quadratic_form.register(FeatureMajor, Dense | CSR)
def _(base, rows, B, t, moves, work):
    a, b, two = np.uint64(work[WHO, 0]), np.uint64(work[WHO, 1] if moves > 1 else 0.0), 1.0 if moves > 1 else 0.0
    total = (B[0, a] + two * B[0, b]) * (rows.constant * rows.constant)
    start, stop = row_span(rows, t)
    for k in range(start, stop):
        j, x = 1 + feature_at(rows, k), value_at(rows, t, k)
        total += (B[j, a] + two * B[j, b]) * (x * x)
    return total


@step_and_shrink.register(ClassMajor, Dense)
def _(base, rows, B, shrinkage, t, moves, work, step, before):  # noqa: PLR0913 (everything that a step knows)
    W, U, X = base.W, base.U, rows.X
    for m in range(moves):
        r, move = int(work[WHO, m]), step * work[TAU, m]
        update_feature(base, B, shrinkage, r, 0, rows.constant, move, before)
        if U.shape[0] > 0:
            for j in range(X.shape[1]):
                U[r, 1 + j] += move * before * (B[r, 1 + j] * X[t, j])
        for j in range(X.shape[1]):
            x, variance = np.float64(X[t, j]), B[r, 1 + j]
            W[r, 1 + j] += move * (variance * x)
            B[r, 1 + j] = shrunk(shrinkage, variance, variance * (x * x))


@step_and_shrink.register(ClassMajor, CSR)
def _(base, rows, B, shrinkage, t, moves, work, step, before):  # noqa: PLR0913 (everything that a step knows)
    for m in range(moves):
        r, move = int(work[WHO, m]), step * work[TAU, m]
        update_feature(base, B, shrinkage, r, 0, rows.constant, move, before)
        for k in range(rows.indptr[t], rows.indptr[t + 1]):
            j = 1 + np.uint64(rows.indices[k])
            update_feature(base, B, shrinkage, r, j, np.float64(rows.data[k]), move, before)


@step_and_shrink.register(FeatureMajor, Dense | CSR)
def _(base, rows, B, shrinkage, t, moves, work, step, before):  # noqa: PLR0913 (everything that a step knows)
    start, stop = row_span(rows, t)
    if moves == 2 and base.U.shape[0] == 0:
        # The usual case: both classes of a feature together, while its weights are in the cache.
        W, a, b, up, down = base.W, np.uint64(work[WHO, 0]), np.uint64(work[WHO, 1]), work[TAU, 0], work[TAU, 1]
        up, down = step * up, step * down
        for k in range(start, stop):
            j, x = 1 + feature_at(rows, k), value_at(rows, t, k)
            one, other = B[j, a], B[j, b]
            W[j, a] += up * (one * x)
            W[j, b] += down * (other * x)
            B[j, a] = shrunk(shrinkage, one, one * (x * x))
            B[j, b] = shrunk(shrinkage, other, other * (x * x))
        update_feature(base, B, shrinkage, 0, a, rows.constant, up, before)
        update_feature(base, B, shrinkage, 0, b, rows.constant, down, before)
        return
    for m in range(moves):
        r, move = np.uint64(work[WHO, m]), step * work[TAU, m]
        update_feature(base, B, shrinkage, 0, r, rows.constant, move, before)
        for k in range(start, stop):
            update_feature(base, B, shrinkage, 1 + feature_at(rows, k), r, value_at(rows, t, k), move, before)
# fmt: on


@helper()
def update_feature(base, B, shrinkage, i, j, x, move, before):  # noqa: PLR0913 (everything that a step knows)
    """The step for one feature."""
    variance = B[i, j]
    base.W[i, j] += move * (variance * x)
    if base.U.shape[0] > 0:
        base.U[i, j] += move * before * (variance * x)
    B[i, j] = shrunk(shrinkage, variance, variance * (x * x))
