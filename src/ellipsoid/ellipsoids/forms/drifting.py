"""A Gaussian over weights that walk at random: S + drift I after every round, in a matrix or on a diagonal.

    S_jj <- min(ceiling, S_jj + drift)

S grows where nothing is learned, and so do the next steps: what was learned long ago is forgotten. Rounds without an
update do nothing; an update first adds the drift of the rounds since the last one, to the whole matrix, or on a
diagonal to the features of its row since each was last touched. Crammer, Kulesza, Dredze (NIPS 2009) for the step,
Vaits and Crammer (ALT 2011) for the walk.

The matrix itself is stored and not a root, because nothing can be added to a root. It stays symmetric to the last bit,
as (a b) c = (b a) c, and positive, as every round adds more than a downdate rounds: a drift below 1e-12 of the ceiling
is refused. After a long row only rounding is left along it until the next round, and no less than zero.
"""

from typing import Any, NamedTuple

import numpy as np

from ellipsoid.engine.generic import SUM, generic, helper
from ellipsoid.engine.protocol import TAU, WHO, absorb
from ellipsoid.engine.rows import row_span
from ellipsoid.engine.tally import ROUNDS
from ellipsoid.representation.linear import ClassMajor, FeatureMajor
from ellipsoid.representation.row_entries import entry_column, unpack_row

from ..protocol import NO_ERRORS, cut, margin_along, probe
from ..state import CAPPED, CUTS, DRIFTED
from .diagonal import Diagonal, quadratic_form, score_with_base


class Drifting(NamedTuple):
    """``B`` is the matrix; its coordinates go function by function, and in each by feature, the constant one first."""

    base: Any
    B: np.ndarray
    drift: float
    ceiling: float
    state: np.ndarray
    x: np.ndarray
    Bz: np.ndarray


class DriftingDiagonal(NamedTuple):
    """``B`` and ``touched`` have the layout of the weights; a variance includes the drift up to round ``touched``."""

    base: Any
    B: np.ndarray
    touched: np.ndarray
    kind: int
    drift: float
    ceiling: float
    state: np.ndarray


score_with_base(Drifting | DriftingDiagonal)


# -- the matrix --------------------------------------------------------------------------------------------------


@helper()
def add_drift(B, drift, ceiling, rounds, state):
    """Let the diagonal grow for the rounds since the last update."""
    grown = (rounds - state[DRIFTED]) * drift
    for i in range(B.shape[0]):
        if B[i, i] + grown < ceiling:
            B[i, i] += grown
        else:
            B[i, i] = max(B[i, i], ceiling)
            if grown > 0.0:
                state[CAPPED] = 1.0
    state[DRIFTED] = rounds


@helper(SUM)
def entry_of_product(B, i, moves, work, x):
    """The entry i of Bz."""
    total, columns = 0.0, x.shape[0]
    for m in range(moves):
        first, part = int(work[WHO, m]) * columns, 0.0
        for j in range(columns):
            part += B[i, first + j] * x[j]
        total += work[TAU, m] * part
    return total


@probe.register(Drifting)
def _(rep, rows, t, moves, work, length):
    unpack_row(rows, t, rep.x)
    columns, quadratic = rep.x.shape[0], 0.0
    for i in range(rep.B.shape[0]):
        rep.Bz[i] = entry_of_product(rep.B, i, moves, work, rep.x)
    for m in range(moves):
        first, part = int(work[WHO, m]) * columns, 0.0
        for j in range(columns):
            part += rep.Bz[first + j] * rep.x[j]
        quadratic += work[TAU, m] * part
    return quadratic


@absorb.register(Drifting)
def _(rep, rule, rows, t, moves, work, tally):
    add_drift(rep.B, rep.drift, rep.ceiling, tally[ROUNDS], rep.state)
    margin = margin_along(moves, work)
    quadratic = probe(rep, rows, t, moves, work, 0.0)
    step, kappa = cut(rule, margin, quadratic, quadratic, rep.state, tally[ROUNDS], NO_ERRORS)
    if step == 0.0:
        return False
    W, U, B, Bz, columns = rep.base.W, rep.base.U, rep.B, rep.Bz, rep.x.shape[0]
    factor, size = kappa / quadratic, B.shape[0]
    for r in range(size // columns):
        for j in range(columns):
            move = step * Bz[r * columns + j]
            W[r, j] += move
            if U.shape[0] > 0:
                U[r, j] += move * tally[ROUNDS]
    for i in range(size):
        one = Bz[i]
        for j in range(size):
            B[i, j] -= (one * Bz[j]) * factor
        B[i, i] = max(B[i, i], 0.0)
    rep.state[CUTS] += 1.0
    return True


# -- the diagonal ------------------------------------------------------------------------------------------------


@generic(1)
def place_of(base: Any, r: int, j: int) -> tuple[int, int]:
    """Where arrays in the layout of the weights hold column j of function r."""


@place_of.register(ClassMajor)
def _(base, r, j):
    return r, j


@place_of.register(FeatureMajor)
def _(base, r, j):
    return j, r


@helper()
def add_drift_along(rep, rows, t, moves, work, rounds):
    """Let each variance that row t uses grow for the rounds since it was last touched."""
    start, stop = row_span(rows, t)
    for m in range(moves):
        r = int(work[WHO, m])
        for k in range(start, stop + 1):
            i, j = place_of(rep.base, r, entry_column(rows, k, stop))
            grown = rep.B[i, j] + (rounds - rep.touched[i, j]) * rep.drift
            rep.B[i, j] = max(rep.B[i, j], min(rep.ceiling, grown))
            rep.touched[i, j] = rounds


@probe.register(DriftingDiagonal)
def _(rep, rows, t, moves, work, length):
    return quadratic_form(rep.base, rows, rep.B, t, moves, work)


@absorb.register(DriftingDiagonal)
def _(rep, rule, rows, t, moves, work, tally):
    add_drift_along(rep, rows, t, moves, work, tally[ROUNDS])
    return absorb(Diagonal(rep.base, rep.B, rep.kind, rep.state), rule, rows, t, moves, work, tally)
