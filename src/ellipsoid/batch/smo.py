"""Sequential minimal optimisation of the ellipsoidal SVM's dual: exact steps on pairs of multipliers.

    max  r log|I + A^{1/2} Kc A^{1/2}/(1-r)| - h(q)    s.t. 0 <= alpha <= C,  y'alpha = 0;  q = |v0 + sum alpha y phi|^2

with ``h(q) = sqrt(q)`` where sqrt(q) >= 2 mu and ``q/(4 mu) + mu`` below: the dual of the proximal problem (see
``proximal``); mu = 0 is the plain dual. Moving alpha_i by s and alpha_j by -y_i y_j s changes the objective by

    U(s) = r log(1 + a1 s + a2 s^2) - h(q + 2 g s + k s^2),

a concave function of one variable, maximised to the last digit by a safeguarded Newton iteration (the paper solves a
cubic): Momma, Hatano, Nakayama, section 3, with the coefficients corrected.

The same compiled loop solves the whole problem (on all points) and one block of the block decomposition (on a copy that
fits the cache).
"""

from typing import NamedTuple

import numpy as np

from ellipsoid.engine.compile import compiled
from ellipsoid.engine.generic import helper


class Curvature(NamedTuple):
    """The constants of the objective: the weight of the log-determinant and of the proximal term."""

    r: float
    mu: float


class Box(NamedTuple):
    """The feasible set: labels and upper bounds."""

    y: np.ndarray
    C: np.ndarray


class PairState(NamedTuple):
    """Arrays of a step: alpha, z = phi.(v0 + sum alpha y phi), Omega = r((1-r)I + Kc A)^{-1}Kc, constant K."""

    alpha: np.ndarray
    z: np.ndarray
    omega: np.ndarray
    kernel: np.ndarray


@helper(inline=False)
def _slope(s, a1, a2, g, k, q, terms):
    """U'(s) and U''(s)."""
    r, mu = terms
    det = 1.0 + s * (a1 + a2 * s)
    if det <= 0.0:
        # Outside the domain because of rounding: the step is too long.
        return -np.inf if s > 0.0 else np.inf, -1.0
    ddet = a1 + 2.0 * a2 * s
    qs = max(q + s * (2.0 * g + k * s), 0.0)
    root = np.sqrt(qs)
    pull = g + k * s
    ratio = ddet / det
    if root >= 2.0 * mu and root > 0.0:
        first = r * ratio - pull / root
        second = r * (2.0 * a2 / det - ratio * ratio) - (k - pull * pull / qs) / root
    elif mu > 0.0:
        first = r * ratio - pull / (2.0 * mu)
        second = r * (2.0 * a2 / det - ratio * ratio) - k / (2.0 * mu)
    else:
        first = r * ratio
        second = 0.0
    return first, second


@helper(inline=False)
def _maximise(a1, a2, g, k, q, terms, bound):
    """The maximiser of U between 0 and ``bound`` (of either sign, perhaps infinite), where U increases at 0."""
    sign = 1.0 if bound > 0.0 else -1.0
    near = 0.0
    if np.isinf(bound):
        far = sign / max(abs(a1), 1e-300)
        for _ in range(200):
            if sign * _slope(far, a1, a2, g, k, q, terms)[0] <= 0.0:
                break
            near = far
            far *= 2.0
        else:
            return far
    else:
        far = bound
        if sign * _slope(far, a1, a2, g, k, q, terms)[0] >= 0.0:
            return bound
    # Newton from the near end overshoots only into the bracket's far part, where bisection takes over.
    s = near
    for _ in range(100):
        first, second = _slope(s, a1, a2, g, k, q, terms)
        if sign * first > 0.0:
            near = s
        elif first == 0.0:
            return s
        else:
            far = s
        step = s - first / second if second < 0.0 else far
        if (step - near) * (step - far) >= 0.0:
            step = 0.5 * (near + far)
        if abs(step - s) <= 1e-15 * abs(s) or abs(far - near) <= 1e-15 * abs(far):
            return step
        s = step
    return s


@helper(inline=False)
def extremes(alpha, z, diagonal, box, two_gamma):
    """The lowest H over I_up and the highest over I_low, and where; the KKT violation is their difference."""
    lowest, highest = np.inf, -np.inf
    i, j = -1, -1
    for n in range(alpha.shape[0]):
        h = z[n] / two_gamma - box.y[n] * diagonal[n]
        positive = box.y[n] > 0.0
        free_up = alpha[n] < box.C[n]
        free_down = alpha[n] > 0.0
        if h < lowest and ((positive and free_up) or (not positive and free_down)):
            lowest, i = h, n
        if h > highest and ((positive and free_down) or (not positive and free_up)):
            highest, j = h, n
    return lowest, highest, i, j


@helper(inline=False)
def _partner(i, lowest, state, box, two_gamma, r):
    """The j of I_low with the largest second-order gain against i."""
    alpha, z, omega, kernel = state
    best, j = -1.0, -1
    for n in range(alpha.shape[0]):
        positive = box.y[n] > 0.0
        if (positive and alpha[n] <= 0.0) or (not positive and alpha[n] >= box.C[n]):
            continue
        rise = z[n] / two_gamma - box.y[n] * omega[n, n] - lowest
        if rise <= 0.0:
            continue
        bend = (kernel[i, i] + kernel[n, n] - 2.0 * kernel[i, n]) / two_gamma
        cross = 2.0 * box.y[i] * box.y[n] * omega[i, n] * omega[i, n]
        bend += (omega[i, i] * omega[i, i] + omega[n, n] * omega[n, n] - cross) / r
        gain = rise * rise / max(bend, 1e-300)
        if gain > best:
            best, j = gain, n
    return j


@helper(inline=False)
def _room(a, C, down):
    """How far a multiplier may move: down to 0 or up to C."""
    return a if down else C - a


@helper(inline=False)
def _rank_two(omega, i, j, di, dj, r, wi, wj):
    """Omega after alpha_i += di, alpha_j += dj; wi, wj are scratch for the two columns."""
    n = omega.shape[0]
    for a in range(n):
        wi[a] = omega[i, a]
        wj[a] = omega[j, a]
    # Z = D (I + Omega_WW D / r)^{-1} / r for the 2 x 2 block W = {i, j}
    m00, m01 = 1.0 + wi[i] * di / r, wi[j] * dj / r
    m10, m11 = wi[j] * di / r, 1.0 + wj[j] * dj / r
    det = (m00 * m11 - m01 * m10) * r
    z00, z01, z11 = di * m11 / det, -di * m01 / det, dj * m00 / det
    for a in range(n):
        ca = z00 * wi[a] + z01 * wj[a]
        cb = z01 * wi[a] + z11 * wj[a]
        for b in range(n):
            omega[a, b] -= ca * wi[b] + cb * wj[b]


@compiled(error_model="numpy")
def pair_steps(state, box, terms, q, tol, max_steps):
    """Pair steps until the KKT violation is at most ``tol``.

    Returns q, the growth of the log-determinant, the steps taken and the violation left.
    """
    alpha, z, omega, kernel = state
    r, mu = terms
    n = alpha.shape[0]
    wi, wj, diagonal = np.empty(n), np.empty(n), np.empty(n)
    violation, growth = np.inf, 0.0
    for step in range(max_steps + 1):
        two_gamma = max(np.sqrt(q), 2.0 * mu)
        for a in range(n):
            diagonal[a] = omega[a, a]
        lowest, highest, i, j = extremes(alpha, z, diagonal, box, max(two_gamma, 1e-300))
        if i < 0 or j < 0:
            return q, growth, step, 0.0
        violation = highest - lowest
        if violation <= tol or step == max_steps:
            return q, growth, step, violation
        j = _partner(i, lowest, state, box, two_gamma, r)
        p = box.y[i] * box.y[j]
        # U'(0) = y_i (H_j - H_i): alpha_i goes up for a positive point, down for a negative one.
        down_i, down_j = box.y[i] < 0.0, box.y[j] > 0.0
        room_i, room_j = _room(alpha[i], box.C[i], down_i), _room(alpha[j], box.C[j], down_j)
        room = min(room_i, room_j)
        a1 = (omega[i, i] - p * omega[j, j]) / r
        a2 = p * (omega[i, j] * omega[i, j] - omega[i, i] * omega[j, j]) / (r * r)
        g = box.y[i] * (z[i] - z[j])
        k = max(kernel[i, i] + kernel[j, j] - 2.0 * kernel[i, j], 0.0)
        s = _maximise(a1, a2, g, k, q, terms, -room if down_i else room)
        if s == 0.0:
            return q, growth, step, violation
        di, dj = s, -p * s
        # Only the variable whose own bound was hit is put exactly on it; y'alpha = 0 must survive.
        size = abs(s)
        alpha[i] = (0.0 if down_i else box.C[i]) if size >= room_i else alpha[i] + di
        alpha[j] = (0.0 if down_j else box.C[j]) if size >= room_j else alpha[j] + dj
        q = max(q + s * (2.0 * g + k * s), 0.0)
        growth += np.log(1.0 + s * (a1 + a2 * s))
        for a in range(n):
            z[a] += box.y[i] * s * (kernel[i, a] - kernel[j, a])
        _rank_two(omega, i, j, di, dj, r, wi, wj)
    return q, growth, max_steps, violation
