"""Slabs: an ellipsoid that contains every function that fits all rows to within a noise, also one that moves.

By a row the truth u lies between two parallel planes, |y - <u, x>| <= noise (a number), or on one side of
a plane, <u, z> >= threshold (a label). With g = sqrt(x'Px) and e = y - <w, x>, in units of the ellipsoid,

    lo, hi = (e -+ noise) / g    clipped to [-1, 1];    of a label lo = (threshold - <w, z>) / g and hi = 1.

lo > 1 or hi < -1: no u is left, a proof. lo hi <= -1/d: no smaller ellipsoid holds what is left. Else the one of least
volume is, with s = lo + hi and rho = sqrt(4 (1 - lo^2)(1 - hi^2) + d^2 s^2 (hi - lo)^2),

    sigma = (d + 2 (1 - d^2 (hi - lo)^2 / 4) / (1 + lo hi + rho / 2)) / (d + 1),     tau = sigma s / 2,
    delta = d^2 / (d^2 - 1) (1 - (lo^2 + hi^2 - rho / d) / 2),
    w <- w + tau Px / g,     P <- delta (P - sigma Px x'P / g^2).

(The usual quotient for sigma cancels where s is small; this is the same number. A g that is rounded up makes the new
ellipsoid no smaller: for one sigma the delta that is needed falls with x'Px / g^2. In one dimension the interval from
lo to hi is left.) A truth that may move by ``drift`` before the next row stays inside with

    P <- (1 + b / a) P + (1 + a / b) drift^2 I,     a = sqrt(tr P),  b = sqrt(d) drift.

Rounding is treated as a move too: after every cut P grows as for a drift of some units in the last place of P and of w,
before and after, and the error of a score is added to the noise; a drift is enlarged by such units of P, which might
hide it. So P stays positive, however long the stream.

Fogel and Huang (Automatica 1982); Bland, Goldfarb and Todd (Operations Research 1981) for parallel cuts; Kurzhanski and
Valyi (1997) for sums of ellipsoids.
"""

from math import sqrt
from typing import Any, NamedTuple

import numpy as np

from ellipsoid.ellipsoids.state import ASKED, CUTS, DIM, EMPTY_COUNT, HALT, OUTSIDE
from ellipsoid.engine import compiled
from ellipsoid.engine.generic import generic, helper
from ellipsoid.engine.native.memory import borrowed
from ellipsoid.engine.protocol import SCORES, margin_of, score, winner
from ellipsoid.engine.rows import CSR, HUGE, TINY, Dense, count, flaw
from ellipsoid.engine.tally import HEAVY, MISTAKES, RADIUS2, ROUNDS, STEPS, UPDATES
from ellipsoid.engine.tasks import (
    CODES,
    ORDER,
    ORDERED,
    PAIRED,
    PREDICTED,
    PREDICTED_SCORES,
    WATCHED,
    Binary,
    Regression,
)
from ellipsoid.representation.row_entries import unpack_row

from .cellip import FREEZE, refute

SPACING = 2.0**-52
# Along a row an ellipsoid flatter than this, relatively, cannot be told from rounding.
FLAT = 1e-13
# The square of a shorter axis underflows.
SHORTEST = 1e-150


class SlabRule(NamedTuple):
    """``reach`` is the noise of numbers, or the margin asked of labels; rows beyond ``margin`` are not cut.

    ``radius`` is that of the start ball, ``policy`` what an empty intersection leads to, see `cellip`.
    """

    margin: float
    reach: float
    drift: float
    radius: float
    policy: int


class Slab(NamedTuple):
    """``P`` is the matrix of the ellipsoid around the weights of ``base``."""

    base: Any
    P: np.ndarray
    state: np.ndarray
    x: np.ndarray
    Px: np.ndarray


@score.register(Slab, Dense | CSR)
def _(rep, rows, t, n, scores):
    score(rep.base, rows, t, n, scores)


@generic(1)
def ends(task: Any, rule: Any, t: int, centre: float, error: float) -> tuple[float, float, float]:
    """Task: the bounds of <u - w, x>, and the sign of the row; ``error`` bounds the rounding error of the score."""


@ends.register(Regression)
def _(task, rule, t, centre, error):
    off = task.ledger.view(np.float64)[CODES, t] - centre
    noise = rule.reach + error + 4.0 * SPACING * (abs(off) + abs(centre))
    return off - noise, off + noise, 1.0


@ends.register(Binary)
def _(task, rule, t, centre, error):
    sign = 1.0 if task.ledger[CODES, t] == 1 else -1.0
    return rule.reach - sign * centre - error, np.inf, sign


@helper()
def make_room(P, drift, dim):
    """Make room for a move of the truth by so much."""
    trace = 0.0
    for i in range(P.shape[0]):
        trace += P[i, i]
    a, b = sqrt(trace), sqrt(dim) * drift
    if not b > 0.0:
        return
    if a == 0.0:
        a = b
    grown, added = 1.0 + b / a, (1.0 + a / b) * drift * drift
    for i in range(P.shape[0]):
        for j in range(P.shape[0]):
            P[i, j] *= grown
        # The constant coordinate stays what it is where it is not counted.
        if i >= P.shape[0] - dim:
            P[i, i] += added


@helper()
def measured(rep):
    """x'Px, and the trace of P; leaves Px behind."""
    P, x, Px, total, trace = rep.P, rep.x, rep.Px, 0.0, 0.0
    for i in range(P.shape[0]):
        part = 0.0
        for j in range(P.shape[0]):
            part += P[i, j] * x[j]
        Px[i] = part
        total += part * x[i]
        trace += P[i, i]
    return total, trace


@helper()
def euclidean_length(x):
    """|x|, also where squares overflow or underflow."""
    largest, total = 0.0, 0.0
    for j in range(x.shape[0]):
        largest = max(largest, abs(x[j]))
    if largest == 0.0:
        return 0.0
    for j in range(x.shape[0]):
        total += (x[j] / largest) * (x[j] / largest)
    return largest * sqrt(total)


@helper()
def shrink_between(rep, dim, lo, hi, g, sign, square, rounding):  # noqa: PLR0913 (a cut in numbers)
    """Shrink to the least ellipsoid around what lies between two planes; False where that is the present one."""
    P, Px, W = rep.P, rep.Px, rep.base.W
    if dim == 1.0:
        # The interval from lo to hi times g, which is a little more than the root of x'Px.
        wide = g * g / square
        tau, sigma, delta = 0.5 * (lo + hi) * wide, 0.0, (0.5 * (hi - lo)) ** 2 * wide
    elif lo * hi <= -1.0 / dim:
        return False
    else:
        s, gap = lo + hi, hi - lo
        rho = sqrt(max(0.0, 4.0 * (1.0 - lo * lo) * (1.0 - hi * hi)) + (dim * s * gap) ** 2)
        below = 1.0 + lo * hi + 0.5 * rho
        sigma = 1.0
        if below > 0.0:
            sigma = min(1.0, (dim + 2.0 * (1.0 - 0.25 * (dim * gap) ** 2) / below) / (dim + 1.0))
        tau = 0.5 * sigma * s
        delta = dim * dim / (dim * dim - 1.0) * (1.0 - 0.5 * (lo * lo + hi * hi - rho / dim))
    delta = max(delta, 0.0)
    for i in range(P.shape[0]):
        W[0, i] += sign * tau * (Px[i] / g)
    for i in range(P.shape[0]):
        one, lost = Px[i] / g, rounding * P[i, i]
        for j in range(P.shape[0]):
            P[i, j] = delta * (P[i, j] - sigma * (one * (Px[j] / g)))
        # An axis that becomes short keeps the rounding errors of its former length.
        P[i, i] += delta * lost
    return True


@helper()
def cut_slab(rule, task, rep, t, centre, size, length, half, square, trace, rounds):  # noqa: PLR0913
    """Cut the ellipsoid by row t; True if it changed. ``half`` is the half width of the scores in it; ``square`` and
    ``trace`` were measured before it grew by a drift.
    """
    state, dim = rep.state, rep.state[DIM]
    if rule.policy == FREEZE and state[EMPTY_COUNT] > 0.0:
        return False
    if rule.drift > 0.0:
        square, trace = measured(rep)
    rounding = 8.0 * SPACING * (dim + 4.0)
    low, high, sign = ends(task, rule, t, centre, rounding * size * length)
    g = sqrt(max(0.0, square) + rounding * length * length * trace)
    # ``half`` is tight: it adds the drift to the width, and the ellipsoid after the drift is wider than that.
    if low > half or high < -half:
        state[OUTSIDE] += 1.0
        refute(rule, state, rounds)
        return False
    if min(square, length * length) < TINY or not FLAT * length * length * trace < square < HUGE:
        return False
    lo, hi = max(-1.0, low / g), min(1.0, high / g)
    if not shrink_between(rep, dim, lo, hi, g, sign, square, rounding):
        return False
    reach, size = 0.0, max(size, euclidean_length(rep.base.W[0]))
    for j in range(rep.P.shape[0]):
        reach += rep.P[j, j]
    make_room(rep.P, rounding * (size + sqrt(reach)) + SHORTEST, dim)
    state[CUTS] += 1.0
    return True


@compiled
def learn_slabs(rule, task, rep, rows, tally, work, start, stop, weights):  # noqa: PLR0913 (the engine's own)
    """Learn rows start..stop as ``engine.learn`` does: predict where that is asked for, then cut."""
    if count(rows) == 1:
        found = flaw(rows, 0)
        if found:
            return -1 - found
    task, rep, rows, tally, work = borrowed(task), borrowed(rep), borrowed(rows), borrowed(tally), borrowed(work)
    W, x, state = rep.base.W, rep.x, rep.state
    for i in range(start, stop):
        t = task.ledger[ORDER, i] if task.mode == ORDERED else i
        if state[HALT] != 0.0:
            return i
        unpack_row(rows, t, x)
        score(rep, rows, t, 1, work[SCORES])
        centre, size, length = work[SCORES, 0], euclidean_length(W[0]), euclidean_length(x)
        only = task.mode == PAIRED and t % 2 == 0
        square, trace = measured(rep)
        rounding = 8.0 * SPACING * (x.shape[0] + 4.0)
        half = sqrt(max(0.0, square) + rounding * length * length * trace)
        if min(square, length * length) < TINY:
            half = sqrt(trace) * length
        # A score may be off by a few of the smallest floats.
        half = (half + rule.drift * length) * (1.0 + 1e-12) + TINY
        if task.mode == WATCHED or only:
            task.ledger[PREDICTED, t] = winner(task, work[SCORES])
            if task.ledger.shape[0] > PREDICTED_SCORES:
                task.ledger.view(np.float64)[PREDICTED_SCORES, t] = centre
            if task.ledger.shape[0] > PREDICTED_SCORES + 1:
                # The rounding error of the score widens the interval.
                task.ledger.view(np.float64)[PREDICTED_SCORES + 1, t] = half + rounding * size * length
        if only:
            continue
        margin = margin_of(task, t, work[SCORES])
        if margin <= 0.0:
            tally[MISTAKES] += 1.0
        state[ASKED] += 1.0
        if rule.drift > 0.0:
            make_room(rep.P, rule.drift + rounding * sqrt(trace), state[DIM])
        if margin <= rule.margin and cut_slab(
            rule, task, rep, t, centre, size, length, half, square, trace, tally[ROUNDS]
        ):
            tally[UPDATES] += 1.0
            tally[STEPS] += 1.0
            tally[RADIUS2] = tally[HEAVY] = max(tally[RADIUS2], length * length)
        tally[ROUNDS] += 1.0
    return stop
