"""Ascent of the dual over a window of examples: one alpha or two in closed form, more by coordinates.

    max  b'a - a'K a / 2   over 0 <= a_i <= cap_i,    with the gradient g = b - K a kept as a moves

Every step raises the dual, and the newest alpha makes its exact step first, which alone gives the increase C mu(loss)
of the theory: any early stop keeps every guarantee. Sweeps of exact coordinate steps find out which alphas stay at 0 or
C; Newton steps on the others then finish what coordinate steps would need hundreds of sweeps for. A Newton step ends at
the first bound that it reaches, and therefore raises the dual too.

A row of K is computed when its alpha first moves (``complete``), and never if it does not.

Shalev-Shwartz and Singer (COLT 2006), section 5; Hsieh et al. (ICML 2008) for the coordinate steps.
"""

from math import inf, nan, sqrt
from typing import Any, NamedTuple

import numpy as np

from ellipsoid.engine.generic import SUM, generic, helper

# Where the largest projected gradient is at most this, in units of 1 + the largest gradient, the dual is maximal.
PRECISION = 1e-10
# Rounding of a gradient, in units of the products that it is the sum of.
GRADIENT_ROUNDING = 1e-15
# A singular K may have no maximum where the cap is infinite: no round takes more sweeps.
MOST_SWEEPS = 200
# Sums over the steps of a round: of |d alpha| |z|, of |d alpha|, their number, and the lengths that were rounded.
SUM_PATH, SUM_CHANGES, SUM_STEPS, SUM_ROUNDED = range(4)
# A pivot below this share of its diagonal is that of a linearly dependent example.
DEPENDENT = 1e-12
# Products of two squared lengths below this, or beyond its inverse, are not to be relied on.
LEAST_PRODUCT = 1e-280


class WindowDual(NamedTuple):
    """For each example of a window its alpha, gradient ``margin - <z, theta>``, ``own`` = |z|^2, its row of K, and its
    cap, C times its weight.

    ``change`` is by how much this round has moved alpha. The rest is scratch: ``factor`` and ``step`` of a Newton step
    on the examples ``free``, ``slope`` its effect on the gradient. ``step_sums`` bound the rounding of the round.
    """

    alpha: np.ndarray
    gradient: np.ndarray
    own: np.ndarray
    gram: np.ndarray
    cap: np.ndarray
    change: np.ndarray
    factor: np.ndarray
    step: np.ndarray
    slope: np.ndarray
    free: np.ndarray
    step_sums: np.ndarray


@generic(1)
def complete(rep: Any, i: int) -> None:
    """Make row i of ``rep.dual.gram`` hold the products of example i with all that are in the window now."""


@helper()
def clip(a, cap):
    """The nearest number of [0, cap]."""
    return min(cap, max(0.0, a))


@helper()
def best_alpha(b, k, cap):
    """The best alpha of one example, all others fixed: maximise b a - k a^2 / 2 on [0, cap]."""
    if k > 0.0:
        return clip(b / k, cap)
    return cap if b > 0.0 else 0.0


@helper()
def dual_gain(d1, d2, g, K):
    """By how much changes d1, d2 of two alphas with gradients g raise the dual; K is (K11, K22, K12)."""
    product = d1 * d2
    # Alphas of very short or very long examples: their product has no room in a float64.
    both = product * K[2] if LEAST_PRODUCT < abs(product) < 1.0 / LEAST_PRODUCT else d1 * (d2 * K[2])
    return d1 * (g[0] - 0.5 * d1 * K[0]) + d2 * (g[1] - 0.5 * d2 * K[1]) - both


@helper()
def stationary(b1, b2, K):
    """Where both gradients vanish; NaN where K is singular."""
    squares = K[0] * K[1]
    if LEAST_PRODUCT < squares < 1.0 / LEAST_PRODUCT:
        det = squares - K[2] * K[2]
        if not det > DEPENDENT * K[0] * K[1]:
            return nan, nan
        return (b1 * K[1] - b2 * K[2]) / det, (b2 * K[0] - b1 * K[2]) / det
    if not (K[0] > 0.0 and K[1] > 0.0):
        return nan, nan
    # Examples scaled to length one: products of squared lengths have no room in a float64.
    u, v = 1.0 / sqrt(K[0]), 1.0 / sqrt(K[1])
    cosine = u * K[2] * v
    det = 1.0 - cosine * cosine
    if not det > DEPENDENT:
        return nan, nan
    return u * (b1 * u - b2 * v * cosine) / det, v * (b2 * v - b1 * u * cosine) / det


@helper()
def best_pair(a, g, K, caps):
    """Both alphas of a window of two, jointly, the newest second; returns them and the gain of the dual.

    A stationary point inside the box is the maximum. Where there is none, or where K is singular, the maximum lies on
    an edge of the box. With infinite caps and a singular K there may be none; the exact step of the newest is always
    among those compared.
    """
    b1, b2 = g[0] + K[0] * a[0] + K[2] * a[1], g[1] + K[1] * a[1] + K[2] * a[0]
    best1, best2 = a[0], best_alpha(g[1] + K[1] * a[1], K[1], caps[1])
    best = dual_gain(0.0, best2 - a[1], g, K)
    a1, a2 = stationary(b1, b2, K)
    # NaN is nowhere inside.
    if 0.0 <= a1 <= caps[0] and 0.0 <= a2 <= caps[1]:
        gain = dual_gain(a1 - a[0], a2 - a[1], g, K)
        return (a1, a2, gain) if gain > best else (best1, best2, best)
    for side in range(2 if caps[0] == inf else 4):
        bound = 0.0 if side < 2 else caps[side % 2]
        if side % 2 == 0:
            a1, a2 = bound, best_alpha(b2 - K[2] * bound, K[1], caps[1])
        else:
            a1, a2 = best_alpha(b1 - K[2] * bound, K[0], caps[0]), bound
        gain = dual_gain(a1 - a[0], a2 - a[1], g, K)
        if gain > best:
            best1, best2, best = a1, a2, gain
    return best1, best2, best


@helper()
def projected(gradient, a, cap):
    """How much the dual would gain from a small move of an alpha that may not leave [0, cap]."""
    if a <= 0.0:
        return max(0.0, gradient)
    return min(0.0, gradient) if a >= cap else gradient


@helper()
def set_alpha(dual, i, new, members):
    """Give alpha_i a new value, and update the gradients."""
    change = new - dual.alpha[i]
    gradient, row = dual.gradient, dual.gram[i]
    for j in range(members):
        gradient[j] -= change * row[j]
    dual.change[i] += change
    dual.alpha[i] = new
    sums = dual.step_sums
    sums[SUM_PATH] += abs(change) * sqrt(dual.own[i])
    sums[SUM_CHANGES] += abs(change)
    sums[SUM_STEPS] += 1.0
    sums[SUM_ROUNDED] += (new + abs(change)) * sqrt(dual.own[i])


@helper()
def precision(dual, members):
    """The projected gradient at which to stop: below it lies the rounding of its own sum."""
    largest, longest, reach = 0.0, 0.0, 0.0
    for i in range(members):
        length = sqrt(dual.own[i])
        largest, longest = max(largest, abs(dual.gradient[i])), max(longest, length)
        reach += length * dual.alpha[i]
    return max(PRECISION * (1.0 + largest), GRADIENT_ROUNDING * longest * reach)


@helper()
def list_free(dual, members):
    """List the examples with alphas strictly between 0 and their caps, if there is room for them; returns how many."""
    count = 0
    for i in range(members):
        if 0.0 < dual.alpha[i] < dual.cap[i]:
            if count == dual.free.shape[0]:
                return 0
            dual.free[count] = i
            count += 1
    return count


@helper(fast=SUM)
def newton_step(dual, count, enough):
    """Write the step of the free alphas to ``dual.step``; returns how many take part, and whether it is unbounded.

    Newton's step solves K d = g, by Cholesky. An example that depends on those before it adds a direction without
    curvature; where the dual climbs along one, that is the step, and only the box ends it.
    """
    L, step, free = dual.factor, dual.step, dual.free
    for p in range(count):
        i = int(free[p])
        for q in range(p):
            total = dual.gram[i, int(free[q])]
            for r in range(q):
                total -= L[p, r] * L[q, r]
            L[p, q] = total * L[q, q]
        pivot, slope = dual.own[i], dual.gradient[i]
        for r in range(p):
            pivot -= L[p, r] * L[p, r]
            slope -= L[p, r] * step[r]
        # L has the inverses of its pivots on the diagonal; 0 leaves a dependent example where it is.
        L[p, p] = 1.0 / sqrt(pivot) if pivot > DEPENDENT * dual.own[i] else 0.0
        step[p] = slope * L[p, p]
        if L[p, p] == 0.0 and abs(slope) > enough:
            sign = 1.0 if slope > 0.0 else -1.0
            for q in range(p):
                step[q] = -sign * L[p, q]
            backward(L, step, p)
            step[p] = sign
            for q in range(p):
                # Rounding of a zero would be carried on for ever.
                step[q] = step[q] if abs(step[q]) > DEPENDENT else 0.0
            return p + 1, True
    backward(L, step, count)
    return count, False


@helper(fast=SUM)
def backward(L, step, count):
    """Solve L'd = step in place."""
    for p in range(count - 1, -1, -1):
        total = step[p]
        for r in range(p + 1, count):
            total -= L[r, p] * step[r]
        step[p] = total * L[p, p]


@helper()
def newton(dual, count, members):
    """One step of the ``count`` free alphas; returns the gain of the dual, and whether the box stopped it."""
    alpha, free, step, slope = dual.alpha, dual.free, dual.step, dual.slope
    count, endless = newton_step(dual, count, precision(dual, members))
    far, first, push = inf if endless else 1.0, -1, 0.0
    for j in range(members):
        slope[j] = 0.0
    for p in range(count):
        i, d = int(free[p]), step[p]
        if d == 0.0:
            continue
        row = dual.gram[i]
        for j in range(members):
            slope[j] += d * row[j]
        push += d * dual.gradient[i]
        room = (dual.cap[i] - alpha[i]) if d > 0.0 else -alpha[i]
        if abs(room) < abs(d) * far:
            far, first = room / d, p
    bend = 0.0
    for p in range(count):
        bend += step[p] * slope[int(free[p])]
    gain = far * (push - 0.5 * far * bend) if far < inf else 0.0
    if not gain > 0.0:
        return 0.0, False
    for j in range(members):
        dual.gradient[j] -= far * slope[j]
    for p in range(count):
        i, d = int(free[p]), step[p]
        new = clip(alpha[i] + far * d, dual.cap[i])
        if p == first:
            new = dual.cap[i] if d > 0.0 else 0.0
        change, length = abs(new - alpha[i]), sqrt(dual.own[i])
        dual.step_sums[SUM_PATH] += change * length
        dual.step_sums[SUM_CHANGES] += change
        dual.step_sums[SUM_STEPS] += 1.0
        dual.step_sums[SUM_ROUNDED] += (new + alpha[i] + count * change) * length
        dual.change[i] += new - alpha[i]
        alpha[i] = new
    return gain, first >= 0


@helper()
def joint_step(rep, newest):
    """The joint step of a window of two; returns the gain of the dual."""
    dual, other = rep.dual, 1 - newest
    for i in range(2):
        complete(rep, i)
    a, g = (dual.alpha[other], dual.alpha[newest]), (dual.gradient[other], dual.gradient[newest])
    caps = dual.cap[other], dual.cap[newest]
    old, new, gain = best_pair(a, g, (dual.own[other], dual.own[newest], dual.gram[newest, other]), caps)
    set_alpha(dual, other, old, 2)
    set_alpha(dual, newest, new, 2)
    return gain


@helper()
def sweep(rep, newest, members, first):
    """Exact steps of all alphas that can gain by one, newest first; returns the gain, and whether there were none."""
    dual = rep.dual
    enough, gain, content = precision(dual, members), 0.0, True
    for n in range(members):
        i = newest - n if n <= newest else newest - n + members
        gradient, own, old, cap = dual.gradient[i], dual.own[i], dual.alpha[i], dual.cap[i]
        violation = abs(projected(gradient, old, cap))
        # The newest makes its first step in any case.
        if violation > enough or (first and n == 0):
            content &= violation <= enough
            new = best_alpha(gradient + own * old, own, cap) if own > 0.0 else old
            if new != old:
                complete(rep, i)
                set_alpha(dual, i, new, members)
                gain += (new - old) * (gradient - 0.5 * (new - old) * own)
    return gain, content


@helper()
def ascend(rep, newest, members):
    """Maximise the dual over the window; returns its gain, and whether it stopped before the maximum."""
    if members == 2 == rep.window:
        return joint_step(rep, newest), False
    gain = 0.0
    for n in range(MOST_SWEEPS):
        more, content = sweep(rep, newest, members, n == 0)
        gain += more
        if content or members == 1:
            return gain, False
        # On to the maximum of the face: each step but the last sends an alpha to its bound.
        going = True
        while going:
            count = list_free(rep.dual, members)
            for p in range(count):
                complete(rep, int(rep.dual.free[p]))
            more, going = newton(rep.dual, count, members) if count > 1 else (0.0, False)
            gain += more
    return gain, True
