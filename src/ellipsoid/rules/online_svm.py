"""The online SVM on a window: after every round the dual is maximal over the last k examples.

    D(alpha) = margin sum alpha_i - |theta|^2 / 2,   theta = sum alpha_i z_i,   alpha in [0, C]^t

z = y x for two classes, z = (e_y - e_s) (x) x for more, s the highest rival when the example came. On each round the
alphas of the last k examples seen are chosen anew, jointly, and the older ones stay; k = 1 is passive-aggressive, k = t
is the SVM of every prefix of the stream. The rule is ``DualAscent``; what is said here is who is asked: every example,
also one without loss, because it takes a place in the window.

Shalev-Shwartz and Singer (COLT 2006), sections 3 and 5, Eq. (31).
"""

from typing import NamedTuple

import numpy as np

from ellipsoid.engine.generic import helper
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


class BinaryWindowTask(NamedTuple):
    """Two classes, where every example is handed on with its direction z, loss or none."""

    ledger: np.ndarray
    mode: int


class MulticlassWindowTask(NamedTuple):
    """The same for more classes, the right one against its highest rival."""

    ledger: np.ndarray
    mode: int
    classes: int


class MultiLabelWindowTask(NamedTuple):
    """The same for label sets, the lowest right label against the highest wrong one."""

    ledger: np.ndarray
    mode: int
    classes: int
    Y: np.ndarray


@width.register(BinaryWindowTask)
def _(task):
    return 1


@width.register(MulticlassWindowTask)
@width.register(MultiLabelWindowTask)
def _(task):
    return task.classes


@margin_of.register(BinaryWindowTask)
def _(task, t, scores):
    return margin_of(Binary(task.ledger, task.mode), t, scores)


@margin_of.register(MulticlassWindowTask)
def _(task, t, scores):
    return margin_of(Multiclass(task.ledger, task.mode, task.classes), t, scores)


@margin_of.register(MultiLabelWindowTask)
def _(task, t, scores):
    return margin_of(MultiLabel(task.ledger, task.mode, task.classes, task.Y), t, scores)


@winner.register(BinaryWindowTask)
def _(task, scores):
    return winner(Binary(task.ledger, task.mode), scores)


@winner.register(MulticlassWindowTask)
@winner.register(MultiLabelWindowTask)
def _(task, scores):
    return winner(Multiclass(task.ledger, task.mode, task.classes), scores)


# The moves written below are z itself, of length one in each of its blocks; ``work[SPARE, 0]`` is |x|^2.
@request_step.register(BinaryWindowTask)
def _(task, rule, rep, rows, t, margin, work, tally):  # noqa: PLR0913 (every part of the protocol once)
    size = norm2(rep, rows, t)
    if size < TINY:
        tally[ZEROS] += 1.0
        on_zero_row(rule, rep, tally)
    work[SPARE, 0] = size
    work[WHO, 0], work[TAU, 0] = 0.0, 1.0 if task.ledger[CODES, t] == 1 else -1.0
    return 1, size


@request_step.register(MulticlassWindowTask)
def _(task, rule, rep, rows, t, margin, work, tally):  # noqa: PLR0913 (every part of the protocol once)
    # While only one label is known there is no rival, and no z.
    if task.classes < 2:
        return 0, 0.0
    size = norm2(rep, rows, t)
    if size < TINY:
        tally[ZEROS] += 1.0
        on_zero_row(rule, rep, tally)
    y = task.ledger[CODES, t]
    rival, _ = highest_but(work[SCORES], task.classes, y)
    return hand_on(y, rival, size, work)


@request_step.register(MultiLabelWindowTask)
def _(task, rule, rep, rows, t, margin, work, tally):  # noqa: PLR0913 (every part of the protocol once)
    # With no right label, or no wrong one, there is no z.
    right, wrong = worst_pair(task.classes, task.Y, t, work[SCORES])
    if right < 0 or wrong < 0:
        return 0, 0.0
    size = norm2(rep, rows, t)
    if size < TINY:
        tally[ZEROS] += 1.0
        on_zero_row(rule, rep, tally)
    return hand_on(right, wrong, size, work)


@helper()
def hand_on(right, wrong, size, work):
    """Write z = (e_right - e_wrong) (x) x."""
    work[SPARE, 0] = size
    work[WHO, 0], work[TAU, 0] = right, 1.0
    work[WHO, 1], work[TAU, 1] = wrong, -1.0
    return 2, size
