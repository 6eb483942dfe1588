"""Dual coordinate ascent in features: compiled passes over single points and over blocks of points.

With a proximal term on the bias too, mu_b (b - b_k)^2, the equality constraint disappears and one multiplier at a time
can move. For coordinate i, u = P phi_i with P = M^{-1}, omega = r c_i phi_i.u, z = phi_i.v, q = |v|^2:

    U'(s) = omega/(1 + s omega/r) - (y_i z + s K_ii)/(2 gamma(s)) - y_i (sig + s y_i)/(2 mu_b) - b_k y_i
    gamma(s) = max(sqrt(q + 2 s y_i z + s^2 K_ii)/2, mu),     -alpha_i <= s <= C_i - alpha_i

decreasing in s. Then alpha_i += s, v += s y_i phi_i, sig += s y_i and a rank-one change of P. For many features the
O(m^2) work is done for a block of points at once, in BLAS-3 calls, and the coordinates move on the block's Gram
matrices.

The certificate recomputes everything from alpha, so sums may be reassociated here.
"""

from typing import NamedTuple

import numpy as np

from ellipsoid.engine.compile import compiled
from ellipsoid.engine.generic import SUM, helper


class Weights(NamedTuple):
    """The constants of one pass: r, the proximal weights of w and of the bias, and the bias they pull to."""

    r: float
    mu: float
    mu_b: float
    bias: float


class Points(NamedTuple):
    """Constants of the points: labels, margin weights, slack costs, squared norms."""

    y: np.ndarray
    c: np.ndarray
    C: np.ndarray
    norms: np.ndarray


@helper(inline=False)
def _slope(s, omega, yz, norm, q, pull, weights):
    """U'(s) and U''(s); ``pull`` is y_i times the bias now."""
    r, mu, mu_b, _ = weights
    inflated = omega / (1.0 + s * omega / r)
    qs = max(q + s * (2.0 * yz + s * norm), 0.0)
    along = yz + s * norm
    root = np.sqrt(qs)
    if root > 2.0 * mu:
        first = along / root
        second = (norm - along * along / qs) / root
    else:
        first = along / (2.0 * mu)
        second = norm / (2.0 * mu)
    half = 0.5 / mu_b
    return inflated - first - pull - s * half, -inflated * inflated / r - second - half


@helper(inline=False)
def _best_move(omega, yz, norm, q, pull, weights, low, high):
    """The zero of U' on [low, high], low <= 0 <= high, high perhaps infinite."""
    at_zero, bend = _slope(0.0, omega, yz, norm, q, pull, weights)
    if at_zero > 0.0:
        if high <= 0.0:
            return 0.0
        low = 0.0
        if np.isinf(high):
            high = -2.0 * at_zero / bend
            for _ in range(200):
                if _slope(high, omega, yz, norm, q, pull, weights)[0] <= 0.0:
                    break
                low = high
                high *= 2.0
            else:
                return high
        elif _slope(high, omega, yz, norm, q, pull, weights)[0] >= 0.0:
            return high
    elif at_zero < 0.0:
        if low >= 0.0:
            return 0.0
        high = 0.0
        if _slope(low, omega, yz, norm, q, pull, weights)[0] <= 0.0:
            return low
    else:
        return 0.0
    s = min(max(-at_zero / bend, low), high)
    for _ in range(60):
        first, second = _slope(s, omega, yz, norm, q, pull, weights)
        if first > 0.0:
            low = s
        else:
            high = s
        step = s - first / second
        if not (low < step < high):
            step = 0.5 * (low + high)
        if abs(step - s) <= 1e-12 * abs(s) or high - low <= 1e-15 * max(abs(low), abs(high)):
            return step
        s = step
    return s


@helper(SUM, inline=False)
def _apply(inverse, row, out):
    """out = P row, skipping the zeros of the row; returns row.out."""
    m = row.shape[0]
    for j in range(m):
        out[j] = 0.0
    for k in range(m):
        value = row[k]
        if value != 0.0:
            for j in range(m):
                out[j] += value * inverse[k, j]
    total = 0.0
    for j in range(m):
        total += row[j] * out[j]
    return total


@helper(SUM, inline=False)
def _dot(a, b):
    total = 0.0
    for j in range(a.shape[0]):
        total += a[j] * b[j]
    return total


@helper(SUM, inline=False)
def _shrink_inverse(inverse, direction, weight):
    """P -= weight u u'."""
    m = direction.shape[0]
    for k in range(m):
        value = weight * direction[k]
        if value != 0.0:
            for j in range(m):
                inverse[k, j] -= value * direction[j]


@compiled(error_model="numpy")
def point_pass(order, phi, points, alpha, inverse, v, state, weights, shrunk, threshold):
    """One pass over the points of ``order``, one coordinate at a time; ``state`` = [q, sig, largest violation].

    A point at a bound whose slope holds it there by more than ``threshold`` is marked in ``shrunk``.
    """
    u = np.empty(phi.shape[1])
    for i in order:
        row = phi[i]
        y = points.y[i]
        gram = _apply(inverse, row, u)
        omega = weights.r * points.c[i] * gram
        yz = y * _dot(row, v)
        pull = y * (weights.bias + state[1] / (2.0 * weights.mu_b))
        slope = omega - yz / max(np.sqrt(state[0]), 2.0 * weights.mu) - pull
        shrunk[i] = False
        if alpha[i] <= 0.0 and slope <= 0.0:
            shrunk[i] = slope < -threshold
            continue
        if alpha[i] >= points.C[i] and slope >= 0.0:
            shrunk[i] = slope > threshold
            continue
        state[2] = max(state[2], abs(slope))
        s = _best_move(omega, yz, points.norms[i], state[0], pull, weights, -alpha[i], points.C[i] - alpha[i])
        if s == 0.0:
            continue
        before = alpha[i]
        alpha[i] = 0.0 if s <= -before else min(before + s, points.C[i])
        state[0] = max(state[0] + s * (2.0 * yz + s * points.norms[i]), 0.0)
        state[1] += s * y
        for j in range(v.shape[0]):
            v[j] += s * y * row[j]
        weight = s * points.c[i]
        _shrink_inverse(inverse, u, weight / (1.0 + weight * gram))


@compiled(error_model="numpy")
def block_sweeps(points, alpha, products, state, weights, shrunk, threshold, sweeps):
    """Coordinate sweeps on one block; ``products`` = (Phi_W P Phi_W', Phi_W Phi_W', Phi_W v), changed in place."""
    gram, kernel, z = products
    p = alpha.shape[0]
    for sweep in range(sweeps):
        moved = False
        for i in range(p):
            y = points.y[i]
            omega = weights.r * points.c[i] * gram[i, i]
            yz = y * z[i]
            pull = y * (weights.bias + state[1] / (2.0 * weights.mu_b))
            low, high = -alpha[i], points.C[i] - alpha[i]
            if sweep == 0:
                slope = omega - yz / max(np.sqrt(state[0]), 2.0 * weights.mu) - pull
                held = (low >= 0.0 and slope <= 0.0) or (high <= 0.0 and slope >= 0.0)
                shrunk[i] = held and abs(slope) > threshold
                if not held:
                    state[2] = max(state[2], abs(slope))
            s = _best_move(omega, yz, points.norms[i], state[0], pull, weights, low, high)
            if s == 0.0:
                continue
            moved = True
            alpha[i] = 0.0 if s <= low else min(alpha[i] + s, points.C[i])
            state[0] = max(state[0] + s * (2.0 * yz + s * points.norms[i]), 0.0)
            state[1] += s * y
            weight = s * points.c[i]
            weight /= 1.0 + weight * gram[i, i]
            for a in range(p):
                z[a] += s * y * kernel[i, a]
            column = gram[i].copy()
            for a in range(p):
                value = weight * column[a]
                for b in range(p):
                    gram[a, b] -= value * column[b]
        if not moved:
            break
