"""Weights behind a link: theta takes the steps, w = grad G(theta) is what scores, and a step costs its non-zeros.

Each coordinate has an unnormalised weight V_i that depends on theta_i alone, and a part of one sum E; a score is a
sparse product with V over a divisor that depends on E alone. With S a shift (for the norm: a scale), kept while all
stays in range:

    link       V_i                            part of E                divisor              G
    balanced   e^-S sinh theta_i              e^-S (cosh theta_i - 1)  E + n e^-S           S + log((E + n e^-S) / n)
    simplex    exp(theta_i - S)               V_i                      E                    S + log(E / n)
    norm       sign(theta_i) (|theta_i|/S)^(p-1)   (|theta_i|/S)^p     E^((p-2)/p) / S      S^2 E^(2/p) / 2

A step takes the old parts of the coordinates it touches out of E and puts the new ones in. E is kept in two float64
numbers, so that what is taken out leaves no rounding behind, and is summed anew where it has fallen by ten orders of
magnitude, or where a coordinate leaves the range of the shift. All of this depends on the rows alone, never on chunks.

``first`` is 0 where the constant feature counts as a coordinate; functions share a sum where ``joint`` is 1.
"""

from math import exp, expm1, inf, log, log1p
from typing import NamedTuple

import numpy as np

from ellipsoid.engine.generic import FUSE, helper
from ellipsoid.engine.machine import fetch
from ellipsoid.engine.protocol import SCORES, TAU, WHO, absorb, norm2, room, score
from ellipsoid.engine.rows import CSR, Dense
from ellipsoid.engine.tally import FARTHEST, HELD, ROUNDS
from ellipsoid.representation.linear import AHEAD, LINE

from .links import BALANCED, NORM, SIMPLEX
from .protocol import risen, search
from .touched import column, stretch, value

SHIFT, HIGH, LOW, PEAK, DIVISOR, SINCE = range(6)
NUMBERS = 6

# Largest |theta| beside the shift, and the smallest and largest sums; e^300 squared is still a float64.
REACH, FLOOR, CEILING = 300.0, 1e-130, 1e200
# A sum that has fallen to this share of its peak is summed anew.
FALLEN = 1e-10
# How far below the shift all coordinates may lie together before another unit is chosen for them.
DEEP = 20.0


class Linked(NamedTuple):
    """``theta[1 + j, r]`` and ``V[1 + j, r]`` for feature j and function r; ``numbers`` has a row a group."""

    theta: np.ndarray
    V: np.ndarray
    U: np.ndarray
    numbers: np.ndarray
    p: float
    kind: int
    joint: int
    columns: int
    functions: int
    first: int


@room.register(Linked)
def _(rep, rows, t):
    return True


@score.register(Linked, Dense, fast=FUSE)
def _(rep, rows, t, n, scores):
    V, X = rep.V, rows.X
    for r in range(n):
        scores[r] = V[0, r] * rows.constant
    for j in range(X.shape[1]):
        x = np.float64(X[t, j])
        for r in range(n):
            scores[r] += V[1 + j, r] * x
    for r in range(n):
        scores[r] /= rep.numbers[0 if rep.joint else r, DIVISOR]


@score.register(Linked, CSR, fast=FUSE)
def _(rep, rows, t, n, scores):
    V = rep.V
    for r in range(n):
        scores[r] = V[0, r] * rows.constant
    for k in range(rows.indptr[t], rows.indptr[t + 1]):
        if k + AHEAD < rows.indices.shape[0]:
            coming = 1 + np.uint64(rows.indices[k + AHEAD])
            for r in range(0, n, LINE):
                fetch(V, coming, r)
        j = 1 + np.uint64(rows.indices[k])
        x = np.float64(rows.data[k])
        for r in range(n):
            scores[r] += V[j, r] * x
    for r in range(n):
        scores[r] /= rep.numbers[0 if rep.joint else r, DIVISOR]


@norm2.register(Linked, Dense)
@norm2.register(Linked, CSR)
def _(rep, rows, t):
    """kappa(x): the largest curvature of G along the row; positive for every row but zero."""
    start, stop = stretch(rows, t)
    low, high, largest, seen = inf, -inf, 0.0, 0
    for k in range(start, stop + 1):
        if column(rows, k, start, stop) < rep.first:
            continue
        x = value(rows, t, k, stop)
        low, high, largest, seen = min(low, x), max(high, x), max(largest, abs(x)), seen + 1
    if largest == 0.0:
        return 0.0
    if rep.kind == NORM:
        total = 0.0
        for k in range(start, stop + 1):
            x = abs(value(rows, t, k, stop))
            if x > 0.0:
                total += (x / largest) ** rep.p
        return (rep.p - 1.0) * largest * largest * total ** (2.0 / rep.p)
    if rep.kind == SIMPLEX and (rep.functions == 1 or not rep.joint):
        if seen < rep.columns - rep.first:
            low, high = min(low, 0.0), max(high, 0.0)
        # A constant row shifts all of theta: it has no curvature, and is none the less no zero row.
        return max(0.25 * (high - low) * (high - low), min(1e-299, largest * largest))
    return largest * largest


@helper()
def weight(rep, theta, shift):
    """V of a coordinate."""
    if rep.kind == SIMPLEX:
        return exp(theta - shift)
    if theta == 0.0:
        return 0.0
    size = abs(theta)
    if rep.kind == BALANCED:
        lost = -expm1(-size)
        found = 0.5 * exp(size - shift) * lost * (2.0 - lost)
    else:
        found = (size / shift) ** (rep.p - 1.0)
    return found if theta > 0.0 else -found


@helper()
def part(rep, V, theta, shift):
    """What a coordinate adds to E; from V, so that the same number is taken out as was put in."""
    if rep.kind == SIMPLEX:
        return V
    if rep.kind == BALANCED:
        unit, square = exp(-shift), V * V
        return square / (np.sqrt(square + unit * unit) + unit) if square > 0.0 else 0.0
    return abs(V) * (abs(theta) / shift)


@helper()
def size_of(rep):
    """n: how many coordinates share a sum."""
    return (rep.columns - rep.first) * (rep.functions if rep.joint else 1)


@helper()
def whole(rep, E, shift):
    """The normaliser: E, and for the balanced link the share of the zeros."""
    return E + size_of(rep) * exp(-shift) if rep.kind == BALANCED else E


@helper()
def conjugate(rep, E, shift):
    """G of a group."""
    if rep.kind == NORM:
        return 0.5 * shift * shift * E ** (2.0 / rep.p)
    n = size_of(rep)
    if rep.kind == BALANCED and shift == 0.0:
        return log1p(E / n)
    return shift + log(whole(rep, E, shift) / n)


@helper()
def divisor_of(rep, E, shift):
    """What turns V into weights; by division, so that weights that sum to one score a constant row exactly."""
    if rep.kind == NORM:
        return E ** ((rep.p - 2.0) / rep.p) / shift if E > 0.0 else 1.0
    return whole(rep, E, shift)


@helper()
def put(numbers, g, amount):
    """Add to the sum of a group; the second number keeps what the first rounds away."""
    high = numbers[g, HIGH]
    total = high + amount
    back = total - high
    numbers[g, LOW] += (high - (total - back)) + (amount - back)
    numbers[g, HIGH] = total


@helper(inline=False)
def renew(rep, g):
    """Choose the shift of a group anew, and sum its parts from theta."""
    numbers, theta, V = rep.numbers, rep.theta, rep.V
    start, stop = (0, rep.functions) if rep.joint else (g, g + 1)
    top = -inf
    for j in range(rep.first, rep.columns):
        for r in range(start, stop):
            top = max(top, theta[j, r] if rep.kind == SIMPLEX else abs(theta[j, r]))
    if rep.kind == NORM:
        shift = top if top > 0.0 and abs(rep.p * log(top)) > 0.5 * REACH else 1.0
    else:
        shift = top if abs(top) > 0.5 * REACH else 0.0
    numbers[g, SHIFT], numbers[g, HIGH], numbers[g, LOW] = shift, 0.0, 0.0
    for j in range(rep.first, rep.columns):
        for r in range(start, stop):
            V[j, r] = weight(rep, theta[j, r], shift)
            put(numbers, g, part(rep, V[j, r], theta[j, r], shift))
    E = numbers[g, HIGH] + numbers[g, LOW]
    numbers[g, PEAK] = abs(numbers[g, HIGH])
    numbers[g, DIVISOR] = divisor_of(rep, E, shift)


@helper(inline=False)
def flush(rep, g, rounds):
    """Add the present weights of a group, times the rounds they lasted, to the sums of the average."""
    numbers, U, V = rep.numbers, rep.U, rep.V
    lasted = (rounds - numbers[g, SINCE]) / numbers[g, DIVISOR]
    numbers[g, SINCE] = rounds
    start, stop = (0, rep.functions) if rep.joint else (g, g + 1)
    for j in range(rep.first, rep.columns):
        for r in range(start, stop):
            U[j, r] += lasted * V[j, r]


@helper(inline=False)
def margin_at(rep, rows, t, moves, work, alpha):
    """<z, grad G(theta + alpha z)> for the step's direction z, without changing anything.

    ``moves`` are the first and the last but one of the moves of one group, their TAU the entries +-1 of the direction.
    """
    g = 0 if rep.joint else int(work[WHO, moves[0]])
    shift, numbers = rep.numbers[g, SHIFT], rep.numbers
    start, stop = stretch(rows, t)
    top, highest, touched = shift, -inf, 0
    for m in range(moves[0], moves[1]):
        r, sign = int(work[WHO, m]), work[TAU, m]
        for k in range(start, stop + 1):
            j = column(rows, k, start, stop)
            if j >= rep.first:
                x = value(rows, t, k, stop)
                moved = rep.theta[j, r] + alpha * sign * x
                highest, touched = max(highest, moved), touched + (1 if x != 0.0 else 0)
                top = max(top, moved if rep.kind == SIMPLEX else abs(moved))
    # Where all coordinates go down together nothing else is left, and exponentials in the old unit may vanish.
    alone = rep.kind == SIMPLEX and touched == size_of(rep) and highest < shift - DEEP
    top = highest if alone else top
    # What the untouched coordinates have, in units of the new shift; then the touched ones.
    high, low = numbers[g, HIGH], numbers[g, LOW]
    E, along = 0.0, 0.0
    for m in range(moves[0], moves[1]):
        r, sign = int(work[WHO, m]), work[TAU, m]
        for k in range(start, stop + 1):
            j = column(rows, k, start, stop)
            x = value(rows, t, k, stop)
            if j < rep.first or x == 0.0:
                continue
            old = -part(rep, rep.V[j, r], rep.theta[j, r], shift)
            total = high + old
            back = total - high
            low += (high - (total - back)) + (old - back)
            high = total
            moved = rep.theta[j, r] + alpha * sign * x
            V = weight(rep, moved, top)
            E += part(rep, V, moved, top)
            along += sign * x * V
    rest = 0.0 if alone else max(0.0, high + low)
    E += rest * ((shift / top) ** rep.p if rep.kind == NORM else exp(shift - top))
    divisor = divisor_of(rep, E, top)
    # Where all has vanished beside the old unit nothing is known; such a step must not be taken for one that is short.
    return along / divisor if divisor > 0.0 else inf


@helper(inline=False)
def prolonged(rep, rows, t, moves, work, base, goal, cap):  # noqa: PLR0913 (the step and its two ends)
    """The alpha in [base, cap] at which the margin reaches ``goal``, which the one at ``base`` does not pass."""
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
    above = margin_at(rep, rows, t, moves, work, high) - goal
    if above <= 0.0:
        return high
    below = margin_at(rep, rows, t, moves, work, low) - goal
    if below >= 0.0:
        return low
    # Regula falsi that halves the weight of an end that stays (Illinois), with a bisection where that is slow.
    side = 0
    for i in range(200):
        middle = 0.5 * (low + high) if i % 4 == 3 else (low * above - high * below) / (above - below)
        if not low < middle < high:
            middle = 0.5 * (low + high)
            if not low < middle < high:
                break
        found = margin_at(rep, rows, t, moves, work, middle) - goal
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
    start, stop = stretch(rows, t)
    top, longest, peak = -inf, 0.0, 0.0
    for m in range(moves[0], moves[1]):
        r, tau = int(work[WHO, m]), work[TAU, m]
        for k in range(start, stop + 1):
            j = column(rows, k, start, stop)
            x = value(rows, t, k, stop)
            if j >= rep.first and x != 0.0:
                put(numbers, g, -part(rep, V[j, r], theta[j, r], shift))
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
                j = column(rows, k, start, stop)
                if j >= rep.first and value(rows, t, k, stop) != 0.0:
                    V[j, r] = weight(rep, theta[j, r], shift)
                    put(numbers, g, part(rep, V[j, r], theta[j, r], shift))
    E = numbers[g, HIGH] + numbers[g, LOW]
    total = whole(rep, E, shift)
    numbers[g, PEAK] = max(numbers[g, PEAK], abs(numbers[g, HIGH]))
    if far or not FLOOR < total < CEILING or total < FALLEN * numbers[g, PEAK]:
        renew(rep, g)
    else:
        numbers[g, DIVISOR] = divisor_of(rep, E, shift)
    return longest, peak


@helper()
def state_of(rep, g):
    """G of a group as it is."""
    return conjugate(rep, rep.numbers[g, HIGH] + rep.numbers[g, LOW], rep.numbers[g, SHIFT])


@absorb.register(Linked)
def _(rep, rule, rows, t, moves, work, tally):
    goal, cap = search(rule)
    start = 0
    while start < moves:
        group = (start, moves if rep.joint else start + 1)
        g = 0 if rep.joint else int(work[WHO, start])
        alpha = abs(work[TAU, start])
        if alpha == 0.0:
            start = group[1]
            continue
        if rep.U.shape[0] > 0:
            flush(rep, g, tally[ROUNDS])
        before = state_of(rep, g)
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
        risen(rule, margin, alpha, state_of(rep, g) - before, tally)
        start = group[1]
    return True
