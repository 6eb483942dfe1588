"""Weights behind a link: theta takes the steps, w = grad G(theta) is what scores, and a step costs its non-zeros.

Each coordinate has an unnormalised weight V_i that depends on theta_i alone, and a part of one sum E; a score is a
sparse product with V over a divisor that depends on E alone. S is a shift (for the norm: a scale) that is kept while
all numbers stay in range:

    link       V_i                            part of E                divisor              G
    balanced   e^-S sinh theta_i              e^-S (cosh theta_i - 1)  E + n e^-S           S + log((E + n e^-S) / n)
    simplex    exp(theta_i - S)               V_i                      E                    S + log(E / n)
    norm       sign(theta_i) (|theta_i|/S)^(p-1)   (|theta_i|/S)^p     E^((p-2)/p) / S      S^2 E^(2/p) / 2

A step subtracts the old parts of the coordinates it touches from E and adds the new ones. E is kept in two float64
numbers, so that subtractions leave no rounding behind, and is summed anew where it has fallen by ten orders of
magnitude, or where a coordinate leaves the range of the shift. All of this depends on the rows alone, never on chunks.

``first`` is 0 where the constant feature counts as a coordinate; functions share a sum where ``joint`` is 1. The steps
are in `steps`.
"""

from math import exp, expm1, inf, log, log1p
from typing import NamedTuple

import numpy as np

from ellipsoid.engine.generic import FUSE, helper
from ellipsoid.engine.native.memory import prefetch
from ellipsoid.engine.protocol import norm2, score
from ellipsoid.engine.rows import CSR, Dense, row_span
from ellipsoid.representation.linear import AHEAD, CACHE_LINE
from ellipsoid.representation.row_entries import entry_column, entry_value

from .functions import BALANCED, NORM, SIMPLEX

SHIFT, HIGH, LOW, PEAK_SUM, DIVISOR, SINCE_ROUND = range(6)
GROUP_NUMBERS = 6

# Largest |theta| beside the shift, and the smallest and largest sums; e^300 squared is still a float64.
REACH, LEAST_SUM, LARGEST_SUM = 300.0, 1e-130, 1e200
# A sum that has fallen to this share of its peak is summed anew.
FALLEN_SUM = 1e-10


class Linked(NamedTuple):
    """``theta[1 + j, r]`` and ``V[1 + j, r]`` for feature j and function r; ``numbers`` has one row per group."""

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
            for r in range(0, n, CACHE_LINE):
                prefetch(V, coming, r)
        j = 1 + np.uint64(rows.indices[k])
        x = np.float64(rows.data[k])
        for r in range(n):
            scores[r] += V[j, r] * x
    for r in range(n):
        scores[r] /= rep.numbers[0 if rep.joint else r, DIVISOR]


@norm2.register(Linked, Dense | CSR)
def _(rep, rows, t):
    """kappa(x): the largest curvature of G along the row; positive for every row but the zero row."""
    start, stop = row_span(rows, t)
    low, high, largest, seen = inf, -inf, 0.0, 0
    for k in range(start, stop + 1):
        if entry_column(rows, k, stop) < rep.first:
            continue
        x = entry_value(rows, t, k, stop)
        low, high, largest, seen = min(low, x), max(high, x), max(largest, abs(x)), seen + 1
    if largest == 0.0:
        return 0.0
    if rep.kind == NORM:
        total = 0.0
        for k in range(start, stop + 1):
            x = abs(entry_value(rows, t, k, stop))
            if x > 0.0:
                total += (x / largest) ** rep.p
        return (rep.p - 1.0) * largest * largest * total ** (2.0 / rep.p)
    if rep.kind == SIMPLEX and (rep.functions == 1 or not rep.joint):
        if seen < rep.columns - rep.first:
            low, high = min(low, 0.0), max(high, 0.0)
        # A constant row shifts all of theta and has no curvature, but it must not count as a zero row.
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
def part_of_sum(rep, V, theta, shift):
    """The part of a coordinate in E; computed from V, so that exactly the number that was added is subtracted."""
    if rep.kind == SIMPLEX:
        return V
    if rep.kind == BALANCED:
        unit, square = exp(-shift), V * V
        return square / (np.sqrt(square + unit * unit) + unit) if square > 0.0 else 0.0
    return abs(V) * (abs(theta) / shift)


@helper()
def count_coordinates(rep):
    """n: how many coordinates share a sum."""
    return (rep.columns - rep.first) * (rep.functions if rep.joint else 1)


@helper()
def total_of(rep, E, shift):
    """The normaliser: E, plus the parts of zeros for the balanced link."""
    return E + count_coordinates(rep) * exp(-shift) if rep.kind == BALANCED else E


@helper()
def conjugate(rep, E, shift):
    """G of a group."""
    if rep.kind == NORM:
        return 0.5 * shift * shift * E ** (2.0 / rep.p)
    n = count_coordinates(rep)
    if rep.kind == BALANCED and shift == 0.0:
        return log1p(E / n)
    return shift + log(total_of(rep, E, shift) / n)


@helper()
def divisor_of(rep, E, shift):
    """V over this is the weights. A division, so that weights that sum to one score a constant row exactly."""
    if rep.kind == NORM:
        return E ** ((rep.p - 2.0) / rep.p) / shift if E > 0.0 else 1.0
    return total_of(rep, E, shift)


@helper()
def add_to_sum(numbers, g, amount):
    """Add to the sum of a group; its second number collects the rounding errors of the first."""
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
            add_to_sum(numbers, g, part_of_sum(rep, V[j, r], theta[j, r], shift))
    E = numbers[g, HIGH] + numbers[g, LOW]
    numbers[g, PEAK_SUM] = abs(numbers[g, HIGH])
    numbers[g, DIVISOR] = divisor_of(rep, E, shift)


@helper(inline=False)
def add_to_average(rep, g, rounds):
    """Add the present weights of a group, times the rounds they lasted, to the sums of the average."""
    numbers, U, V = rep.numbers, rep.U, rep.V
    lasted = (rounds - numbers[g, SINCE_ROUND]) / numbers[g, DIVISOR]
    numbers[g, SINCE_ROUND] = rounds
    start, stop = (0, rep.functions) if rep.joint else (g, g + 1)
    for j in range(rep.first, rep.columns):
        for r in range(start, stop):
            U[j, r] += lasted * V[j, r]
