"""The online SVM on a window: after every round the dual is maximal over the last k examples.

    D(alpha) = margin sum alpha_i - |theta|^2 / 2,   theta = sum alpha_i z_i,   alpha in [0, C]^t

z = y x for two classes, z = (e_y - e_s) (x) x for more, s the highest rival when the example came. On each round the
alphas of the last k examples are chosen anew, jointly, and the older ones stay; k = 1 is passive-aggressive, k = t is
the SVM of every prefix of the stream. The rule is ``DualAscent``. This file is the task, which asks the rule about
every example, also about one without loss, because it takes a place in the window.

Shalev-Shwartz and Singer (COLT 2006), sections 3 and 5, Eq. (31).
"""

from typing import Any, NamedTuple

import numpy as np

from ellipsoid.engine.generic import generic, helper
from ellipsoid.engine.native.vector_sums import highest_but
from ellipsoid.engine.protocol import (
    SCORES,
    SPARE,
    TAU,
    WHO,
    margin_of,
    norm2,
    on_zero_row,
    request_step,
    width,
    winner,
    worst_pair,
)
from ellipsoid.engine.rows import TINY
from ellipsoid.engine.tally import ZEROS
from ellipsoid.engine.tasks import CODES, Binary, Multiclass, MultiLabel


class WindowTask(NamedTuple):
    """A task whose every example goes to the window with its direction z, whatever its loss."""

    ledger: np.ndarray
    mode: int
    task: Any


@width.register(WindowTask)
def _(task):
    return width(task.task)


@margin_of.register(WindowTask)
def _(task, t, scores):
    return margin_of(task.task, t, scores)


@winner.register(WindowTask)
def _(task, scores):
    return winner(task.task, scores)


@request_step.register(WindowTask)
def _(task, rule, rep, rows, t, margin, work, tally):  # noqa: PLR0913 (every part of the protocol once)
    moves = write_direction(task.task, t, work)
    if moves == 0:
        return 0, 0.0
    size = norm2(rep, rows, t)
    if size < TINY:
        tally[ZEROS] += 1.0
        on_zero_row(rule, rep, tally)
    work[SPARE, 0] = size
    return moves, size


@generic(1)
def write_direction(task: Any, t: int, work: Any) -> int:
    """Write z as moves of length one, a move for each of its blocks; returns how many, 0 where there is no z."""


@write_direction.register(Binary)
def _(task, t, work):
    work[WHO, 0], work[TAU, 0] = 0.0, 1.0 if task.ledger[CODES, t] == 1 else -1.0
    return 1


@write_direction.register(Multiclass)
def _(task, t, work):
    # While only one label is known there is no rival.
    if task.classes < 2:
        return 0
    y = task.ledger[CODES, t]
    rival, _ = highest_but(work[SCORES], task.classes, y)
    return write_pair(y, rival, work)


@write_direction.register(MultiLabel)
def _(task, t, work):
    right, wrong = worst_pair(task.classes, task.Y, t, work[SCORES])
    if right < 0 or wrong < 0:
        return 0
    return write_pair(right, wrong, work)


@helper()
def write_pair(right, wrong, work):
    """Write z = (e_right - e_wrong) (x) x."""
    work[WHO, 0], work[TAU, 0] = right, 1.0
    work[WHO, 1], work[TAU, 1] = wrong, -1.0
    return 2
