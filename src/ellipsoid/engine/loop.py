"""The loop of all learners, over a block of rows: score, compare with the label, ask the rule for a step, absorb it.

A block of one row runs the same machine code as one of a million: how a stream is cut into blocks changes no model.
"""

import numpy as np

from .compile import compiled
from .native.memory import borrowed
from .protocol import (
    SCORES,
    absorb,
    begin,
    has_room,
    keeps_average,
    margin_of,
    request_step,
    score,
    score_next,
    swap_in_average,
    swap_out_average,
    wants_label,
    weighted,
    width,
    winner,
)
from .rows import count, flaw
from .tally import EXCESS, HEAVY, MISTAKES, RADIUS2, ROUNDS, UPDATES, WEIGHED
from .tasks import ORDER, ORDERED, PAIRED, PREDICTED, WATCHED, note_scores

# What the loop is given where all rows have weight 1.
NO_WEIGHTS = np.zeros(0)


@compiled
def inspect(rows):
    """The first bad row of the block and its flaw, or -1 and FINE."""
    rows = borrowed(rows)
    for t in range(count(rows)):
        found = flaw(rows, t)
        if found:
            return t, found
    return -1, 0


@compiled
def learn(rule, task, rep, rows, tally, work, start, stop, weights):  # noqa: PLR0913 (every part of the protocol once)
    """Learn rows start..stop, in the order of the task's ledger; returns where it stopped.

    ``weights`` are those of all rows, positive; an empty array means that each is 1.

    It stops early where the representation has no room for the next row. A block of one row is inspected here, larger
    ones by ``inspect`` beforehand: the answer ``-1 - flaw`` says that the row is bad and nothing was changed.
    """
    if count(rows) == 1:
        found = flaw(rows, 0)
        if found:
            return -1 - found
    task, rep, rows, tally, work = borrowed(task), borrowed(rep), borrowed(rows), borrowed(tally), borrowed(work)
    n = width(task)
    scores = work[SCORES]
    averaging = keeps_average(rep)
    kept = work
    begin(rep)
    for i in range(start, stop):
        t = task.ledger[ORDER, i] if task.mode == ORDERED else i
        if not has_room(rep, rows, t):
            return i
        only = task.mode == PAIRED and t % 2 == 0
        predicted = task.mode == WATCHED or only
        # An averaging learner scores a row by its average for the prediction, and then by its weights to learn it.
        by_average = predicted and averaging and tally[ROUNDS] > 0.0
        while True:
            if by_average:
                kept = swap_in_average(rep, rows, t, n, tally[ROUNDS])
            score_next(rep, rows, t, n, scores)
            if predicted:
                task.ledger[PREDICTED, t] = winner(task, scores)
                note_scores(task.ledger, t, n, scores, 0)
            if by_average:
                swap_out_average(rep, rows, t, n, kept)
            if only or not by_average:
                break
            by_average = predicted = False
        if only:
            continue
        if not wants_label(rule, task, rep, rows, t, work, tally):
            tally[ROUNDS] += 1.0
            continue
        weight = weights[t] if weights.size > 0 else 1.0
        margin = margin_of(task, t, scores)
        if margin <= 0.0:
            tally[MISTAKES] += 1.0
            tally[EXCESS] += weight - 1.0
        if weight != 1.0:
            tally[WEIGHED] += 1.0
        own = weighted(rule, weight)
        moves, size = request_step(task, own, rep, rows, t, margin, work, tally)
        moved = moves > 0 and absorb(rep, own, rows, t, moves, work, tally)
        if moved:
            tally[UPDATES] += 1.0
        # The step of a mistake may have vanished because the row is so long.
        if moved or margin <= 0.0:
            tally[RADIUS2] = max(tally[RADIUS2], size)
            tally[HEAVY] = max(tally[HEAVY], weight * size)
        tally[ROUNDS] += 1.0
    return stop


@compiled
def decide(task, rep, rows, work):
    """The label index predicted for the first row, or ``-1 - flaw`` for a bad row."""
    found = flaw(rows, 0)
    if found:
        return -1 - found
    score(rep, rows, 0, width(task), work[SCORES])
    return winner(task, work[SCORES])


@compiled
def scores_of(rep, rows, n, out):
    """Write the n scores of every row."""
    rep, rows, out = borrowed(rep), borrowed(rows), borrowed(out)
    for t in range(count(rows)):
        score(rep, rows, t, n, out[t])
    return np.int64(0)
