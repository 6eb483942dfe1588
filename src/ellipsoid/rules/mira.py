"""MIRA: the smallest move of the whole prototype matrix that makes the error set agree, each example worth at most 1.

    min_tau  |M + tau x'|^2 - 2 margin tau_y   s.t.  tau_r <= [r = y],  sum tau = 0

Solved exactly. With the excesses e_r = B_r - (B_y - margin) sorted downwards and S_j their partial sums,

    phi = S_j / (j + 1), j the largest with (j + 1) e_(j) > S_j;   if phi > |x|^2 (the cap binds):
    phi = (S_j - |x|^2) / j, j the largest with j e_(j) > S_j - |x|^2;
    tau_r = -max(0, e_r - phi) / |x|^2,   tau_y = -(sum of the others).

(To project B / |x|^2 + e_y on the simplex instead would lose the margin in rounding when |x|^2 is large.)
Binary (M_1 = w, M_2 = -w): tau = min(1, max(0, margin / 2 - y <w, x>) / |x|^2).

Crammer & Singer (JMLR 2003), section 5.
"""

from typing import NamedTuple

from ellipsoid.engine.generic import helper
from ellipsoid.engine.native.vector_sums import highest_but
from ellipsoid.engine.protocol import SCORES, SPARE, TAU, WHO, share, step

# Steps at the cap whose sum differs from one by less than this are left as they are.
UNEVEN_SUM = 1e-13


class MIRARule(NamedTuple):
    """``margin`` > 0: with a zero start and margin 0 the rule would never move."""

    margin: float


@step.register(MIRARule)
def _(rule, margin, energy):
    return min(1.0, max(0.0, 0.5 * rule.margin - margin) / energy)


@share.register(MIRARule)
def _(rule, n, y, energy, work):
    scores, tau, who, heap = work[SCORES], work[TAU], work[WHO], work[SPARE]
    floor = scores[y] - rule.margin
    size = 0
    for r in range(n):
        if r != y and scores[r] - floor > 0.0:
            size += 1
            who[size] = r
            heap[size - 1] = scores[r] - floor
    phi, capped = threshold(heap, size, energy)
    moves, moved = 1, 0.0
    for k in range(1, size + 1):
        excess = scores[int(who[k])] - floor - phi
        if excess > 0.0:
            who[moves], tau[moves] = who[k], -excess / energy
            moved -= tau[moves]
            moves += 1
    if capped and abs(moved - 1.0) > UNEVEN_SUM:
        # The moves of a small row are small differences, which rounding may destroy. Their sum must be one; a move
        # against the highest rival alone is as good up to terms in |x|^2.
        if not 0.5 < moved < 2.0:
            who[1], _ = highest_but(scores, n, y)
            tau[1], moves, moved = -1.0, 2, 1.0
        for k in range(1, moves):
            tau[k] /= moved
        moved = 1.0
    who[0], tau[0] = y, moved
    return moves if moved > 0.0 else 0


@helper()
def threshold(heap, size, energy):
    """phi of the exact solution, and whether the cap binds; ``heap[:size]``, the positive excesses, is used up."""
    for node in range(size // 2 - 1, -1, -1):
        _sift(heap, node, size)
    # Largest excesses are popped to the end of the array, only as many as are active.
    total, active = 0.0, 0
    while active < size and (active + 2) * heap[0] > total + heap[0]:
        largest = heap[0]
        total += largest
        active += 1
        heap[0] = heap[size - active]
        heap[size - active] = largest
        _sift(heap, 0, size - active)
    phi = total / (active + 1)
    if phi <= energy:
        return phi, False
    total = 0.0
    for j in range(1, size + 1):
        excess = heap[size - j]
        total += excess
        if j * excess <= total - energy:
            break
        phi = (total - energy) / j
    return phi, True


@helper()
def _sift(heap, node, size):
    while 2 * node + 1 < size:
        child = 2 * node + 1
        if child + 1 < size and heap[child + 1] > heap[child]:
            child += 1
        if heap[child] <= heap[node]:
            return
        heap[node], heap[child] = heap[child], heap[node]
        node = child
