"""How labels and scores meet: binary, multiclass, one-vs-rest.

The ledger of a chunk holds what is known of its rows in one array (each array costs a one-row call 0.1 us): row
CODES the labels' indices, and row ASIDE, in mode ORDERED the order in which to learn the rows, in mode WATCHED the
place for the index of the label predicted before each row was learned; in mode PLAIN it has no such row.

Every rule is passive beyond its own ``margin``; a task asks it only below. A zero row is a mistake and no update.
"""

from typing import NamedTuple

import numpy as np

from .protocol import SCORES, TAU, demand, judge, share, step, width, winner
from .rows import TINY, energy
from .tally import LOSS2, PARTS, PUSH

CODES, ASIDE = range(2)
PLAIN, ORDERED, WATCHED = range(3)


class Binary(NamedTuple):
    """One score; label code 1 is the positive class."""

    ledger: np.ndarray
    mode: int


class Multiclass(NamedTuple):
    """A score for each of the known classes."""

    ledger: np.ndarray
    mode: int
    classes: int


class OneVsRest(NamedTuple):
    """A binary learner for each class; the highest score predicts."""

    ledger: np.ndarray
    mode: int
    classes: int


@width.register(Binary)
def _(task):
    return 1


@width.register(Multiclass)
@width.register(OneVsRest)
def _(task):
    return task.classes


@judge.register(Binary)
def _(task, t, scores):
    return scores[0] if task.ledger[CODES, t] == 1 else -scores[0]


@judge.register(Multiclass)
@judge.register(OneVsRest)
def _(task, t, scores):
    y = task.ledger[CODES, t]
    rival = -np.inf
    for r in range(task.classes):
        if r != y and scores[r] > rival:
            rival = scores[r]
    return scores[y] - rival


@winner.register(Binary)
def _(task, scores):
    return 1 if scores[0] > 0.0 else 0


@winner.register(Multiclass)
@winner.register(OneVsRest)
def _(task, scores):
    best = 0
    for r in range(1, task.classes):
        if scores[r] > scores[best]:
            best = r
    return best


@demand.register(Binary)
def _(task, rule, rows, t, margin, work, tally):
    if margin > rule.margin:
        return 0.0
    size = energy(rows, t)
    if size < TINY:
        return 0.0
    tau = step(rule, margin, size)
    if tau == 0.0:
        return 0.0
    work[TAU, 0] = tau if task.ledger[CODES, t] == 1 else -tau
    tally[PUSH] += tau
    tally[LOSS2] += (rule.margin - margin) ** 2
    return size


@demand.register(Multiclass)
def _(task, rule, rows, t, margin, work, tally):
    if margin > rule.margin:
        return 0.0
    size = energy(rows, t)
    y = task.ledger[CODES, t]
    if size < TINY or not share(rule, task.classes, y, size, work):
        return 0.0
    tally[PUSH] += work[TAU, y]
    tally[LOSS2] += (rule.margin - margin) ** 2
    return size


@demand.register(OneVsRest)
def _(task, rule, rows, t, margin, work, tally):
    y = task.ledger[CODES, t]
    size = -1.0
    moved = 0
    for r in range(task.classes):
        sign = 1.0 if r == y else -1.0
        own = sign * work[SCORES, r]
        tau = 0.0
        if own <= rule.margin and task.classes > 1:
            if size < 0.0:
                size = energy(rows, t)
            if size >= TINY:
                tau = step(rule, own, size)
        work[TAU, r] = sign * tau
        if tau != 0.0:
            moved += 1
            tally[LOSS2] += (rule.margin - own) ** 2
    if moved == 0:
        return 0.0
    tally[PARTS] += moved
    return size
