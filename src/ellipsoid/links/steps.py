"""Steps of weights behind a link: along a row, as far as the rule says or until the margin is the wanted one.

The margin after a step is monotone in its length, and can be evaluated without taking the step: only the coordinates of
the row change, and the sum over all others is computed once (``unmoved_part``). Steps of any length are tried, with a
shift chosen for each, because what dominates the sum before a step may be nothing after it.
"""

from math import exp, inf, log

import numpy as np

from ellipsoid.engine.generic import helper
from ellipsoid.engine.protocol import SCORES, TAU, WHO, absorb, norm2
from ellipsoid.engine.rows import row_span
from ellipsoid.engine.tally import FARTHEST, HELD, ROUNDS
from ellipsoid.representation.row_entries import entry_column, entry_value

from .functions import NORM, SIMPLEX
from .protocol import prolongation, record_rise
from .weights import (
    DIVISOR,
    FALLEN_SUM,
    HIGH,
    LARGEST_SUM,
    LEAST_SUM,
    LOW,
    PEAK_SUM,
    REACH,
    SHIFT,
    Linked,
    add_to_average,
    add_to_sum,
    conjugate,
    divisor_of,
    part_of_sum,
    renew,
    total_of,
    weight,
)

# A difference this small beside the sum has lost half of the 32 digits of its two numbers.
LEFT = 1e-16


@helper(inline=False)
def unmoved_part(rep, rows, t, moves, work):
    """The sum over the coordinates of a group that a step along row t does not move, and its shift.

    It is the group's sum less the parts of the others; where that cancels too much, it is summed directly.
    """
    numbers, g = rep.numbers, 0 if rep.joint else int(work[WHO, moves[0]])
    shift, high, low = numbers[g, SHIFT], numbers[g, HIGH], numbers[g, LOW]
    start, stop = row_span(rows, t)
    for m in range(moves[0], moves[1]):
        r = int(work[WHO, m])
        for k in range(start, stop + 1):
            j = entry_column(rows, k, stop)
            if j < rep.first or entry_value(rows, t, k, stop) == 0.0:
                continue
            old = -part_of_sum(rep, rep.V[j, r], rep.theta[j, r], shift)
            total = high + old
            back = total - high
            low += (high - (total - back)) + (old - back)
            high = total
    rest = max(0.0, high + low)
    if rest > 0.0 and rest >= LEFT * numbers[g, PEAK_SUM]:
        return rest, shift
    least = -inf if rep.kind == SIMPLEX else 0.0
    top = sum_unmoved(rep, rows, t, moves, work, least)[1]
    if top == least:
        return 0.0, least
    return sum_unmoved(rep, rows, t, moves, work, top)[0], top


@helper(inline=False)
def sum_unmoved(rep, rows, t, moves, work, shift):
    """The coordinates of a group that do not move: the sum of their parts under a shift, and the largest theta."""
    start, stop = row_span(rows, t)
    g = int(work[WHO, moves[0]])
    begin, end = (0, rep.functions) if rep.joint else (g, g + 1)
    rest, top = 0.0, -inf if rep.kind == SIMPLEX else 0.0
    for r in range(begin, end):
        moving = False
        for m in range(moves[0], moves[1]):
            moving = moving or int(work[WHO, m]) == r
        # The columns of a row rise, but for the constant feature's: that is its last place.
        k = start
        for j in range(rep.first, rep.columns):
            while k < stop and entry_column(rows, k, stop) < j:
                k += 1
            place = stop if j == 0 else k
            if moving and entry_column(rows, place, stop) == j and entry_value(rows, t, place, stop) != 0.0:
                continue
            theta = rep.theta[j, r]
            top = max(top, theta if rep.kind == SIMPLEX else abs(theta))
            if shift > 0.0 or (rep.kind != NORM and shift > -inf):
                rest += part_of_sum(rep, weight(rep, theta, shift), theta, shift)
    return rest, top


@helper()
def underflows(rep, shift, top):
    """Would the parts of coordinates up to ``top`` underflow with this shift?"""
    if rep.kind == NORM:
        return top > 0.0 and rep.p * log(shift / top) > 0.5 * REACH
    return shift - top > 0.5 * REACH


@helper(inline=False)
def margin_at(rep, rows, t, moves, work, alpha, unmoved):
    """<z, grad G(theta + alpha z)> for the step's direction z; changes nothing.

    ``moves`` is the range of the moves of one group, their TAU the entries +-1 of the direction; ``unmoved`` is the
    ``unmoved_part`` of the coordinates that do not move.
    """
    shift = rep.numbers[0 if rep.joint else int(work[WHO, moves[0]]), SHIFT]
    start, stop = row_span(rows, t)
    top = unmoved[1]
    for m in range(moves[0], moves[1]):
        r, sign = int(work[WHO, m]), work[TAU, m]
        for k in range(start, stop + 1):
            j = entry_column(rows, k, stop)
            if j >= rep.first:
                moved = rep.theta[j, r] + alpha * sign * entry_value(rows, t, k, stop)
                top = max(top, moved if rep.kind == SIMPLEX else abs(moved))
    if not underflows(rep, shift, top):
        top = max(top, shift)
    # First the coordinates that move; those that do not are added in units of the new shift.
    E, along = 0.0, 0.0
    for m in range(moves[0], moves[1]):
        r, sign = int(work[WHO, m]), work[TAU, m]
        for k in range(start, stop + 1):
            j = entry_column(rows, k, stop)
            x = entry_value(rows, t, k, stop)
            if j < rep.first or x == 0.0:
                continue
            moved = rep.theta[j, r] + alpha * sign * x
            V = weight(rep, moved, top)
            E += part_of_sum(rep, V, moved, top)
            along += sign * x * V
    if unmoved[0] > 0.0:
        E += unmoved[0] * ((unmoved[1] / top) ** rep.p if rep.kind == NORM else exp(unmoved[1] - top))
    return along / divisor_of(rep, E, top)


@helper(inline=False)
def prolonged(rep, rows, t, moves, work, base, goal, cap):  # noqa: PLR0913 (the step and its two ends)
    """The alpha in [base, cap] at which the margin reaches ``goal``; at ``base`` it is not beyond it."""
    low, high = base, cap
    if rep.kind == NORM:
        # |theta + a z| >= a |z| - |theta| bounds the answer: a >= 2 (goal + |theta| |z|) / |z|^2 has reached the goal.
        pair = 2.0 ** (2.0 / rep.p) if moves[1] - moves[0] == 2 else 1.0
        energy = pair * norm2(rep, rows, t) / (rep.p - 1.0)
        numbers, g = rep.numbers, 0 if rep.joint else int(work[WHO, moves[0]])
        length = numbers[g, SHIFT] * (numbers[g, HIGH] + numbers[g, LOW]) ** (1.0 / rep.p)
        high = min(high, 2.0 * (goal / energy + length / np.sqrt(energy)))
    if high <= low:
        return min(low, cap)
    unmoved = unmoved_part(rep, rows, t, moves, work)
    above = margin_at(rep, rows, t, moves, work, high, unmoved) - goal
    if above <= 0.0:
        return high
    below = margin_at(rep, rows, t, moves, work, low, unmoved) - goal
    if below >= 0.0:
        return low
    # Regula falsi in the Illinois variant, with a bisection every fourth time.
    side = 0
    for i in range(200):
        apart = above - below
        middle = (low * above - high * below) / apart if i % 4 != 3 and apart > 0.0 else 0.5 * (low + high)
        if not low < middle < high:
            middle = 0.5 * (low + high)
            if not low < middle < high:
                break
        found = margin_at(rep, rows, t, moves, work, middle, unmoved) - goal
        if found == 0.0:
            return middle
        if found < 0.0:
            low, below = middle, found
            above = 0.5 * above if side < 0 else above
            side = -1
        else:
            high, above = middle, found
            below = 0.5 * below if side > 0 else below
            side = 1
        if high - low <= 2.3e-16 * high:
            break
    return low


@helper(inline=False)
def advance(rep, rows, t, moves, work):
    """theta += TAU x for the moves of one group, and the group's sum, shift and divisor.

    Returns the largest change of an entry, and the largest of the changed entries.
    """
    numbers, theta, V = rep.numbers, rep.theta, rep.V
    g = 0 if rep.joint else int(work[WHO, moves[0]])
    shift = numbers[g, SHIFT]
    start, stop = row_span(rows, t)
    top, longest, peak = -inf, 0.0, 0.0
    for m in range(moves[0], moves[1]):
        r, tau = int(work[WHO, m]), work[TAU, m]
        for k in range(start, stop + 1):
            j = entry_column(rows, k, stop)
            x = entry_value(rows, t, k, stop)
            if j >= rep.first and x != 0.0:
                add_to_sum(numbers, g, -part_of_sum(rep, V[j, r], theta[j, r], shift))
                theta[j, r] += tau * x
                longest, peak = max(longest, abs(tau * x)), max(peak, abs(theta[j, r]))
                top = max(top, theta[j, r] if rep.kind == SIMPLEX else abs(theta[j, r]))
    if rep.kind == NORM:
        far = top > 0.0 and rep.p * log(top / shift) > REACH
    else:
        far = top - shift > REACH
    if not far:
        for m in range(moves[0], moves[1]):
            r = int(work[WHO, m])
            for k in range(start, stop + 1):
                j = entry_column(rows, k, stop)
                if j >= rep.first and entry_value(rows, t, k, stop) != 0.0:
                    V[j, r] = weight(rep, theta[j, r], shift)
                    add_to_sum(numbers, g, part_of_sum(rep, V[j, r], theta[j, r], shift))
    E = numbers[g, HIGH] + numbers[g, LOW]
    total = total_of(rep, E, shift)
    numbers[g, PEAK_SUM] = max(numbers[g, PEAK_SUM], abs(numbers[g, HIGH]))
    if far or not LEAST_SUM < total < LARGEST_SUM or total < FALLEN_SUM * numbers[g, PEAK_SUM]:
        renew(rep, g)
    else:
        numbers[g, DIVISOR] = divisor_of(rep, E, shift)
    return longest, peak


@helper()
def conjugate_of_group(rep, g):
    """G of a group as it is."""
    return conjugate(rep, rep.numbers[g, HIGH] + rep.numbers[g, LOW], rep.numbers[g, SHIFT])


@absorb.register(Linked)
def _(rep, rule, rows, t, moves, work, tally):
    goal, cap = prolongation(rule)
    start = 0
    while start < moves:
        group = (start, moves if rep.joint else start + 1)
        g = 0 if rep.joint else int(work[WHO, start])
        alpha = abs(work[TAU, start])
        if alpha == 0.0:
            start = group[1]
            continue
        if rep.U.shape[0] > 0:
            add_to_average(rep, g, tally[ROUNDS])
        before = conjugate_of_group(rep, g)
        margin = 0.0
        for m in range(group[0], group[1]):
            margin += work[TAU, m] / alpha * work[SCORES, int(work[WHO, m])]
        if cap > 0.0:
            for m in range(group[0], group[1]):
                work[TAU, m] = 1.0 if work[TAU, m] > 0.0 else -1.0
            alpha = prolonged(rep, rows, t, group, work, alpha, goal, cap)
            for m in range(group[0], group[1]):
                work[TAU, m] *= alpha
        longest, peak = advance(rep, rows, t, group, work)
        tally[HELD] += longest
        tally[FARTHEST] = max(tally[FARTHEST], peak)
        record_rise(rule, margin, alpha, conjugate_of_group(rep, g) - before, tally)
        start = group[1]
    return True
