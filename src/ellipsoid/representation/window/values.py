"""A window in the feature space of a kernel: in place of rows its ring holds the places of their kernel values.

The rows of the window precede each block that is scored ahead, so that the block's Gram matrix has all products that a
round may need. The scores computed ahead are those by the examples that have left the window, whose alphas are final;
an example that leaves in the middle of a block corrects the scores of the later rows. The window's share is added when
a row has its turn:

    B_r(x) = sum over those that have left, in their order  +  sum over the window, the oldest first

Each term is added once and in the order of arrival, so that no bit depends on where blocks begin.
"""

from typing import NamedTuple

import numpy as np

from ellipsoid.engine.generic import FUSE, helper
from ellipsoid.engine.rows import Dense

from ..kernel.lookahead import add_times
from .linear import (
    PAIR_BLOCK,
    PAIR_RIVAL,
    PAIR_RIVAL_SIGN,
    PAIR_SIGN,
    SEEN,
    add_window_scores,
    follow_change,
    retire,
    slot_product,
    store_row,
)


class WindowValues(NamedTuple):
    """Slot i is row ``where[i]`` of the block, ``gram[s, t]`` the kernel value of row t with an earlier one or itself.

    ``late[i]`` sums the changes of alpha_i, each times the rounds before it; ``constant`` is 0.
    """

    gram: np.ndarray
    where: np.ndarray
    late: np.ndarray
    constant: float


@store_row.register(WindowValues, Dense)
def _(ring, rows, t, i, numbers):
    ring.where[i] = t


@slot_product.register(WindowValues)
def _(ring, i, j, x):
    s, t = ring.where[i], ring.where[j]
    return ring.gram[min(s, t), max(s, t)]


@add_window_scores.register(WindowValues, fast=FUSE)
def _(ring, rep, t, scores):
    alpha, seen = rep.dual.alpha, int(rep.numbers[SEEN])
    slots = alpha.shape[0]
    i = seen % slots if seen > slots else 0
    for _ in range(min(seen, slots)):
        if alpha[i] != 0.0:
            z, value = rep.pairs[i], ring.gram[ring.where[i], t]
            scores[int(z[PAIR_BLOCK])] += alpha[i] * z[PAIR_SIGN] * value
            if z[PAIR_RIVAL] >= 0.0:
                scores[int(z[PAIR_RIVAL])] += alpha[i] * z[PAIR_RIVAL_SIGN] * value
        i = i + 1 if i + 1 < slots else 0


@follow_change.register(WindowValues)
def _(ring, rep, i, moves, work, before):
    ring.late[i] += rep.dual.change[i] * before


@retire.register(WindowValues)
def _(ring, rep, i, t, before):
    alpha, late, z = rep.dual.alpha[i], ring.late[i], rep.pairs[i]
    ring.late[i] = 0.0
    # An alpha that has come and gone is part of an average.
    if alpha != 0.0 or (late != 0.0 and rep.base.late.shape[0] > 0):
        s = ring.where[i]
        rep.base.when[s] = before + 1.0
        _commit(rep.base, s, t + 1, int(z[PAIR_BLOCK]), alpha * z[PAIR_SIGN], late * z[PAIR_SIGN])
        if z[PAIR_RIVAL] >= 0.0:
            _commit(rep.base, s, t + 1, int(z[PAIR_RIVAL]), alpha * z[PAIR_RIVAL_SIGN], late * z[PAIR_RIVAL_SIGN])


@helper()
def _commit(base, s, first, r, tau, late):
    """Store the final coefficient of row s in function r, and correct the scores of the rows from ``first`` on."""
    base.moved[s, r] = tau
    if base.late.shape[0] > 0:
        base.late[s, r] = late
    add_times(base.scores[r, first:], tau, base.gram[s, first:])
