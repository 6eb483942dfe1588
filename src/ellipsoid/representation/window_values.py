"""A window in the feature space of a kernel: its ring holds no rows, but where their kernel values are.

The rows of the window stand in front of each block that is scored ahead, so that the block's Gram matrix has all the
products that a round may ask for, and a change of an older alpha corrects the scores of the rows to come.
"""

from typing import NamedTuple

import numpy as np

from ellipsoid.engine.rows import Dense

from .linear import add
from .lookahead import Lookahead
from .window import fits, gather, place, product, spread, store


class Values(NamedTuple):
    """Slot i is row ``where[i]`` of the block, ``gram[s, t]`` the kernel value of two rows, ``constant`` is 0."""

    gram: np.ndarray
    where: np.ndarray
    constant: float


@store.register(Values, Dense)
def _(ring, rows, t, i, numbers):
    ring.where[i] = t


@fits.register(Values, Dense)
def _(ring, rows, t, numbers):
    return True


@place.register(Values)
def _(ring, i):
    return ring.where[i]


@spread.register(Values)
@gather.register(Values)
def _(ring, i, x):
    pass


@product.register(Values)
def _(ring, i, j, x):
    return ring.gram[ring.where[i], ring.where[j]]


@add.register(Lookahead, Values)
def _(rep, rows, t, moves, work, before):
    if rep.when[t] == 0.0:
        rep.when[t] = before + 1.0
    add(rep, Dense(rows.gram, 0.0), t, moves, work, before)
