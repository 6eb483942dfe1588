"""Margins and steps from labels and scores: binary, multiclass, one-vs-rest, multi-label, and regression.

The ledger of a block holds the labels and the predictions of its rows in one array (each array costs a one-row call
0.1 us). Row CODES holds the indices of the labels, in regression the bits of the targets. In mode ORDERED row ORDER
says in which order to learn the rows; in mode WATCHED its place is taken by PREDICTED, the index of the label predicted
before each row was learned; in mode PLAIN there is no such row. In mode PAIRED rows come in twos, an even one that is
only predicted and an odd one that is only learned: an example before and after it changes what is computed from the
stream, such as the scale of a feature. Where the ledger has rows from PREDICTED_SCORES on, these take the scores behind
each prediction, as the bits of floats.

Every rule is passive beyond its own ``margin``; a task asks it only below. A zero row is a mistake and no update.
"""

from math import sqrt
from typing import NamedTuple

import numpy as np

from .generic import MAXIMUM, helper
from .native.vector_sums import highest_but
from .protocol import (
    SCORES,
    TAU,
    WHO,
    margin_of,
    norm2,
    on_zero_row,
    record_step,
    request_step,
    share,
    share_sets,
    step,
    width,
    winner,
)
from .rows import HUGE, TINY
from .tally import GAIN, LOSS2, PARTS, PATH, PUSH, STEPS, SWAY, WEIGHT, ZEROS

CODES, ORDER, PREDICTED_SCORES = range(3)
PREDICTED = ORDER
PLAIN, ORDERED, WATCHED, PAIRED = range(4)

# The longest step in regression: after many of them the values of the longest rows are still finite.
LONGEST_MOVE = 1e155


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


class MultiLabel(NamedTuple):
    """Sets of labels, ``Y[t]`` is 1 where a label is right. The margin: lowest right score less highest wrong one."""

    ledger: np.ndarray
    mode: int
    classes: int
    Y: np.ndarray


class Regression(NamedTuple):
    """A target for each row; the loss is by how much the error of the score exceeds ``tube``."""

    ledger: np.ndarray
    mode: int
    tube: float


@helper()
def note_scores(ledger, t, n, scores, first):
    """Keep the n scores from ``first`` on that row t is predicted by, where the ledger has room for them.

    Of two scores their difference is kept: with two labels a row has one score for the user.
    """
    if ledger.shape[0] > PREDICTED_SCORES:
        places = ledger.view(np.float64)
        if n == 2:
            places[PREDICTED_SCORES, t] = scores[first + 1] - scores[first]
            return
        for r in range(n):
            places[PREDICTED_SCORES + r, t] = scores[first + r]


@width.register(Binary | Regression)
def _(task):
    return 1


@width.register(Multiclass | OneVsRest | MultiLabel)
def _(task):
    return task.classes


@margin_of.register(Binary)
def _(task, t, scores):
    return scores[0] if task.ledger[CODES, t] == 1 else -scores[0]


@margin_of.register(Multiclass | OneVsRest)
def _(task, t, scores):
    y = task.ledger[CODES, t]
    _, highest = highest_but(scores, task.classes, y)
    return scores[y] - highest


@margin_of.register(MultiLabel, fast=MAXIMUM)
def _(task, t, scores):
    low, high = np.inf, -np.inf
    for r in range(task.classes):
        if task.Y[t, r] != 0:
            low = min(low, scores[r])
        else:
            high = max(high, scores[r])
    return low - high


@margin_of.register(Regression)
def _(task, t, scores):
    return task.tube - abs(task.ledger.view(np.float64)[CODES, t] - scores[0])


@winner.register(Regression)
def _(task, scores):
    return 0


@winner.register(Binary)
def _(task, scores):
    return 1 if scores[0] > 0.0 else 0


@winner.register(Multiclass | OneVsRest | MultiLabel)
def _(task, scores):
    best, _ = highest_but(scores, task.classes, -1)
    return best


@helper()
def count_step(rule, margin, tau, size, energy, tally):
    """Add a step of size ``tau`` along a row of squared norm ``size`` to the sums; ``energy`` is that of the update."""
    tally[PATH] += tau * sqrt(size)
    tally[STEPS] += 1.0
    tally[LOSS2] += min((rule.margin - margin) * (rule.margin - margin), HUGE)
    record_step(rule, margin, tau, energy, tally)


@request_step.register(Binary)
def _(task, rule, rep, rows, t, margin, work, tally):  # noqa: PLR0913 (every part of the protocol once)
    if margin > rule.margin:
        return 0, 0.0
    size = norm2(rep, rows, t)
    if size < TINY:
        tally[ZEROS] += 1.0
        on_zero_row(rule, rep, tally)
        return 0, 0.0
    tau = step(rule, margin, size)
    if tau == 0.0:
        return 0, size
    work[WHO, 0] = 0.0
    work[TAU, 0] = tau if task.ledger[CODES, t] == 1 else -tau
    tally[PUSH] += tau
    count_step(rule, margin, tau, size, size, tally)
    return 1, size


@request_step.register(Multiclass)
def _(task, rule, rep, rows, t, margin, work, tally):  # noqa: PLR0913 (every part of the protocol once)
    if margin > rule.margin:
        return 0, 0.0
    size = norm2(rep, rows, t)
    if size < TINY:
        tally[ZEROS] += 1.0
        on_zero_row(rule, rep, tally)
        return 0, 0.0
    moves = share(rule, task.classes, task.ledger[CODES, t], size, work)
    if moves > 0:
        tally[PUSH] += work[TAU, 0]
        count_step(rule, margin, work[TAU, 0], size, 2.0 * size, tally)
    return moves, size


@request_step.register(OneVsRest)
def _(task, rule, rep, rows, t, margin, work, tally):  # noqa: PLR0913 (every part of the protocol once)
    y = task.ledger[CODES, t]
    size = -1.0
    moves = 0
    for r in range(task.classes if task.classes > 1 else 0):
        sign = 1.0 if r == y else -1.0
        own = sign * work[SCORES, r]
        if own > rule.margin:
            continue
        if size < 0.0:
            size = norm2(rep, rows, t)
            tally[ZEROS] += 1.0 if size < TINY else 0.0
        if size < TINY:
            on_zero_row(rule, rep, tally)
            continue
        tau = step(rule, own, size)
        if tau != 0.0:
            work[WHO, moves] = r
            work[TAU, moves] = sign * tau
            moves += 1
            count_step(rule, own, tau, size, size, tally)
    tally[PARTS] += moves
    return moves, size


@request_step.register(MultiLabel)
def _(task, rule, rep, rows, t, margin, work, tally):  # noqa: PLR0913 (every part of the protocol once)
    # With no right label, or no wrong one, the margin is infinite and there is no step.
    if margin > rule.margin or margin == np.inf:
        return 0, 0.0
    size = norm2(rep, rows, t)
    if size < TINY:
        tally[ZEROS] += 1.0
        on_zero_row(rule, rep, tally)
        return 0, 0.0
    moves, push = share_sets(rule, task.classes, task.Y, t, size, work), 0.0
    for k in range(moves):
        push += max(0.0, work[TAU, k])
    if moves > 0:
        tally[PUSH] += push
        count_step(rule, margin, push, size, 2.0 * size, tally)
    return moves, size


@request_step.register(Regression)
def _(task, rule, rep, rows, t, margin, work, tally):  # noqa: PLR0913 (every part of the protocol once)
    # The margin of the rule is 0.
    if margin >= 0.0:
        return 0, 0.0
    size = norm2(rep, rows, t)
    if size < TINY:
        tally[ZEROS] += 1.0
        return 0, 0.0
    tau = step(rule, margin, size)
    if tau == 0.0:
        return 0, 0.0
    way = tau * sqrt(size)
    if not (way < LONGEST_MOVE and tau < HUGE):
        # As if the row were zero, which it nearly is: the values of longer ones would be infinite.
        tally[ZEROS] += 1.0
        return 0, 0.0
    target = task.ledger.view(np.float64)[CODES, t]
    work[WHO, 0] = 0.0
    work[TAU, 0] = tau if target > work[SCORES, 0] else -tau
    worth = max(-HUGE, min(work[TAU, 0] * target, HUGE))
    tally[PUSH] += tau
    tally[GAIN] += worth
    tally[SWAY] += abs(worth)
    tally[WEIGHT] += min(tau * -margin, HUGE)
    tally[PATH] += way
    tally[STEPS] += 1.0
    tally[LOSS2] += min(margin * margin, HUGE)
    return 1, size
