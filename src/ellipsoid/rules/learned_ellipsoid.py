"""Large-margin steps in a learned ellipsoid: MIRA's exact step, in a metric made of the rows of earlier steps.

With ``l_r = gamma - s_y + s_r`` the losses against the rivals, the k largest of which are taken while
``(k + 1) l_k > l_1 + ... + l_k``, lead ``A = (l_1 + ... + l_k) / (k + 1)`` and ``f = min(1, C gamma / (2 A))``:

    W_y += f A v,   W_r -= f (l_r - A) v,   v = P x / (x' P x + damping e)

e the mean energy ``x' P x`` of the steps so far. Without cap and damping it is the smallest move in the metric that
leaves every rival gamma behind. The margin gamma wanted of a row is 1, or in proportion to the row's length, since a
long text says more. Two classes: ``w += y min(C gamma, gamma - y <w, x>) v``, which is the same.

Several copies with different C, damping and margin learn side by side, in one ellipsoid. Steps do not shrink with time;
an average that weighs round t by t^3 removes the remaining noise, see ``representation/speeds``.
"""

from math import isfinite
from typing import Any, NamedTuple

import numpy as np

from ellipsoid.engine.compile import compiled
from ellipsoid.engine.generic import generic, helper
from ellipsoid.engine.native.memory import borrowed
from ellipsoid.engine.protocol import SCORES, SPARE, TAU, WHO, margin_of, width, winner
from ellipsoid.engine.rows import HUGE, TINY, count, flaw
from ellipsoid.engine.tally import MISTAKES, ROUNDS, STEPS, UPDATES
from ellipsoid.engine.tasks import CODES, ORDER, ORDERED, PAIRED, PREDICTED, WATCHED, Binary, Multiclass, note_scores
from ellipsoid.representation.speeds import copies as slots
from ellipsoid.representation.speeds.copies import (
    MISTAKE_MEMORY,
    add_step,
    average_scores,
    leading_head,
    pack,
    score_columns,
    weight_of_past,
)
from ellipsoid.representation.speeds.metric import absorb_row, find_direction, length_of, mean_energy

# The settings of a copy: C, the damping, and 1 where margins are in proportion to lengths.
CAP, DAMPING, BY_LENGTH = range(3)
# The least margin wanted of a short row, and the longest step of a weight; longer steps are not made.
LEAST_MARGIN, LONGEST = 1e-3, 1e110
# The relative rounding error of what a mistake gains.
GAIN_SLACK = 1e-9


class LearnedEllipsoidRule(NamedTuple):
    """``settings[s]``: C, damping and margin of copy s."""

    settings: np.ndarray


@generic(1)
def find_shares(task: Any, n: int, y: int, margin: float, cap: float, work: Any) -> tuple[int, float, float]:
    """Write the moves for the scores in ``work``; returns their number, f, and f times the sum of squared shares."""


@find_shares.register(Binary)
def _(task, n, y, margin, cap, work):
    sign = 1.0 if y == 1 else -1.0
    loss = margin - sign * work[SCORES, 0]
    if not loss > 0.0:
        return 0, 0.0, 0.0
    share = min(1.0, cap * margin / loss)
    work[WHO, 0], work[TAU, 0] = 0.0, sign * share * loss
    return 1, share, share * min(0.5 * loss * loss, HUGE)


@find_shares.register(Multiclass)
def _(task, n, y, margin, cap, work):
    scores, tau, who, losses = work[SCORES], work[TAU], work[WHO], work[SPARE]
    floor = scores[y] - margin
    size = 0
    for r in range(n):
        if r != y and scores[r] - floor > 0.0:
            size += 1
            who[size] = r
            losses[size - 1] = scores[r] - floor
    if size == 0:
        return 0, 0.0, 0.0
    lead = find_lead(losses, size)
    share = min(1.0, cap * margin / (2.0 * lead))
    moves, gain = 1, lead * lead
    for k in range(1, size + 1):
        excess = scores[int(who[k])] - floor - lead
        if excess > 0.0:
            who[moves], tau[moves] = who[k], -share * excess
            gain += excess * excess
            moves += 1
    who[0], tau[0] = y, share * lead
    return moves, share, share * min(gain, HUGE)


@helper()
def find_lead(losses, size):
    """A, the lead of the losses that are taken; ``losses[:size]`` is overwritten.

    With more losses the lead would be smaller, but not below those that are not taken. So losses below the lead are
    dropped until none is.
    """
    total = 0.0
    for k in range(size):
        total += losses[k]
    while True:
        lead, kept, total = total / (size + 1), 0, 0.0
        for k in range(size):
            loss = losses[k]
            losses[kept] = loss
            kept += 1 if loss > lead else 0
            total += loss if loss > lead else 0.0
        if kept == size or kept == 0:
            return lead
        size = kept


@compiled
def learn_copies(rule, task, rep, rows, tally, work, start, stop, weights):  # noqa: PLR0913 (as ``engine.learn``)
    """Learn rows start..stop as ``engine.learn`` does, by every copy; returns ``stop``, or ``-1 - flaw`` of one row.

    All weights are 1.
    """
    if count(rows) == 1:
        found = flaw(rows, 0)
        if found:
            return -1 - found
    task, rep, rows, tally, work = borrowed(task), borrowed(rep), borrowed(rows), borrowed(tally), borrowed(work)
    for i in range(start, stop):
        t = task.ledger[ORDER, i] if task.mode == ORDERED else i
        size = pack(rows, t, rep.positions, rep.value)
        past = weight_of_past(tally[ROUNDS])
        score_columns(rep, size, 0, 2 * rep.own.shape[0] * rep.block)
        for s in range(rep.own.shape[0]):
            average_scores(rep, 2 * s * rep.block, width(task), past)
        only = task.mode == PAIRED and t % 2 == 0
        if task.mode == WATCHED or only:
            copy, place = leading_head(rep)
            first = (2 * copy + place) * rep.block
            task.ledger[PREDICTED, t] = winner(task, rep.scores[first:])
            note_scores(task.ledger, t, width(task), rep.scores, first)
        if only:
            continue
        if learn_packed(rule, task, rep, size, t, past, work):
            tally[UPDATES] += 1.0
        tally[MISTAKES] = rep.own[0, slots.COPY_MISTAKES]
        tally[STEPS] += 1.0
        tally[ROUNDS] += 1.0
        rep.shared[slots.COPY_ROUNDS] = tally[ROUNDS]
    return stop


@helper()
def learn_packed(rule, task, rep, size, t, past, work):
    """Let every copy learn the packed row t, scored already; True if one of them made a step."""
    y = task.ledger[CODES, t]
    length, steps, energy, mean, reach = length_of(rep, size), 0, -1.0, 0.0, 0.0
    usual = rep.shared[slots.LENGTH] / rep.shared[slots.ROWS] if rep.shared[slots.ROWS] > 0.0 else length
    for s in range(rep.own.shape[0]):
        judge_heads(task, rep, s, y)
        first, own = 2 * s * rep.block, rep.own[s]
        for r in range(width(task)):
            work[SCORES, r] = rep.scores[first + r]
        mistake = margin_of(task, t, work[SCORES]) <= 0.0
        margin = max(LEAST_MARGIN, length / usual) if rule.settings[s, BY_LENGTH] != 0.0 and usual > 0.0 else 1.0
        moves, share, squares = find_shares(task, width(task), y, margin, rule.settings[s, CAP], work)
        answered = False
        if moves > 0:
            if energy < 0.0:
                # The direction of the row is the same for all copies.
                energy, reach = find_direction(rep, size)
                energy = energy if isfinite(energy) else 0.0
                mean = mean_energy(rep, energy) if energy > 0.0 else 0.0
            if energy > 0.0:
                divisor = energy + rule.settings[s, DAMPING] * mean
                answered = list_step(rep, first, moves, steps, past, divisor, reach, work)
        if answered:
            steps += 2 * moves
            own[slots.COPY_STEPS] += 1.0
            squares *= 2.0 - share * energy / divisor
            own[slots.COPY_GAIN] = min(own[slots.COPY_GAIN] + squares / divisor, HUGE)
        if mistake:
            own[slots.COPY_MISTAKES] += 1.0
            # The least that a mistake gains. Very large scores may have swallowed the margin, and products of small
            # numbers underflow.
            least = (0.5 if width(task) == 1 else 0.25) * min(1.0, rule.settings[s, CAP]) * margin * margin
            known = answered and squares >= max(TINY, (1.0 - GAIN_SLACK) * least)
            if known and min(squares / divisor, divisor / (margin * margin)) >= TINY:
                own[slots.PRICE] = min(own[slots.PRICE] + divisor / (margin * margin), HUGE)
            else:
                own[slots.UNANSWERED] += 1.0
    if steps > 0:
        add_step(rep, size, steps)
    if energy > 0.0:
        absorb_row(rep, length, energy)
    return steps > 0


@helper()
def judge_heads(task, rep, s, y):
    """Record whether the heads of copy s were right."""
    for place in range(2):
        wrong = 1.0 if winner(task, rep.scores[(2 * s + place) * rep.block :]) != y else 0.0
        rep.own[s, slots.BAD_LAST + place] = MISTAKE_MEMORY * rep.own[s, slots.BAD_LAST + place] + wrong


@helper()
def list_step(rep, first, moves, steps, past, divisor, reach, work):  # noqa: PLR0913 (one step, all of it)
    """List the moves in ``work`` as columns to change, from ``steps`` on; False if they are too long."""
    largest = 0.0
    for m in range(moves):
        largest = max(largest, abs(work[TAU, m]) / divisor)
    if not largest * reach < LONGEST:
        return False
    for m in range(moves):
        r, step = first + int(work[WHO, m]), work[TAU, m] / divisor
        rep.columns[steps + 2 * m], rep.step[steps + 2 * m] = r, step
        rep.columns[steps + 2 * m + 1], rep.step[steps + 2 * m + 1] = r + rep.block, past * step
    return True
