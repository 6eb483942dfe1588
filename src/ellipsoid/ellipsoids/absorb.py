"""One update of weights and of the ellipsoid around them, for every form that stores the ellipsoid's matrix B.

    w <- w + step Bz,   B <- B - kappa (Bz)(Bz)' / (z'Bz)

The rule's `cut` gives the step and kappa. Only updates use B; scores do not.
"""

from math import sqrt

from ellipsoid.engine.generic import helper
from ellipsoid.engine.protocol import absorb, has_room, norm2, score
from ellipsoid.engine.rows import CSR, Dense
from ellipsoid.engine.tally import ROUNDS

from .forms.column import Column, is_final
from .forms.gram import Gram, SparseGram, row_length
from .forms.kernel_gram import AheadGram, KernelGram, WaitingGram
from .forms.rounding import guaranteed_radius, rounding_errors, update_norms
from .forms.vectors import Full, Product
from .protocol import (
    NO_ERRORS,
    cut,
    margin_along,
    move_and_downdate,
    move_weights,
    probe,
    quadratic_error,
    remaining_share,
    squared_length,
)
from .state import COMPLETE, CUTS, FEATURES_USED, HALT, LIFT_AT, LOG_KEPT, LOG_LEAST_KEPT, STORED


@absorb.register(Column | Product | Full | Gram | SparseGram | KernelGram | AheadGram | WaitingGram)
def _(rep, rule, rows, t, moves, work, tally):
    margin = margin_along(moves, work)
    length = squared_length(moves, work, norm2(rep, rows, t))
    quadratic = probe(rep, rows, t, moves, work, length)
    radius, errors = guaranteed_radius(rule), NO_ERRORS
    if radius > 0.0:
        errors = rounding_errors(rep, rows, t, sqrt(length), sqrt(max(quadratic, 0.0)), radius)
    elif quadratic < quadratic_error(rep):
        quadratic = 0.0  # no rule steps along such a direction
    step, kappa = cut(rule, margin, quadratic, length, rep.state, tally[ROUNDS], errors)
    if step == 0.0:
        return False
    if kappa > 0.0:
        left = remaining_share(rule, kappa, rep.state)
        move_and_downdate(rep, rows, t, moves, work, step, tally[ROUNDS], kappa, left, quadratic)
        if radius > 0.0:
            update_norms(rep, sqrt(length))
    else:
        move_weights(rep, rows, t, moves, work, step, tally[ROUNDS])
    rep.rounds[int(rep.state[CUTS])] = tally[ROUNDS] + 1.0
    rep.state[CUTS] += 1.0
    return True


@score.register(Product | Full | Gram, Dense | CSR)
def _(rep, rows, t, n, scores):
    score(rep.base, rows, t, n, scores)


@helper()
def open_for(rep, stored, capacity, accurate):
    """May the loop go on? It stops when the form is full or loses digits, and when the rule asks for that."""
    state = rep.state
    fits = state[COMPLETE] != 0.0 or (stored < capacity and accurate)
    return fits and state[HALT] == 0.0 and state[CUTS] < rep.rounds.shape[0]


@has_room.register(Column)
def _(rep, rows, t):
    if is_final(rep.state, rep.H.shape[1], rep.H.shape[2]) and rep.across.shape[0] == 0:
        return False
    return open_for(rep, rep.state[STORED], rep.H.shape[0], rep.state[LOG_KEPT] > LOG_LEAST_KEPT)


@has_room.register(Gram)
def _(rep, rows, t):
    return open_for(rep, rep.state[STORED], rep.S.shape[0], rep.state[LOG_KEPT] > LOG_LEAST_KEPT)


@has_room.register(Product)
def _(rep, rows, t):
    return open_for(rep, rep.state[STORED], rep.H.shape[0], True)


@has_room.register(SparseGram)
def _(rep, rows, t):
    fits = rep.state[FEATURES_USED] + row_length(rows, t) < rep.Z.shape[0]
    return open_for(rep, rep.state[STORED], rep.S.shape[0], fits)


@has_room.register(Full)
def _(rep, rows, t):
    return open_for(rep, 0, 1, rep.state[LOG_KEPT] > rep.state[LIFT_AT])
