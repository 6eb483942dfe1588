"""The Bayes point by billiards: a ball that bounces inside the version space visits all of it equally.

The version space of points phi_i (of length one) with labels y_i is the part of the unit sphere where every
y_i w.phi_i >= 0; its centre of mass is the Bayes point. Herbrich, Graepel and Campbell, "Bayes Point Machines" (JMLR
2001), section 4, let a ball fly and reflect it at the planes w.phi_i = 0. Their ball flies along straight lines and is
projected; here it stays on the sphere and flies along great circles, where the uniform measure is exactly invariant,
every flight ends, and the integral over an arc is known:

    x(a) = p cos a + u sin a,    plane i is reached at a_i = atan2(d_i, -e_i),  d_i = y_i p.phi_i,  e_i = y_i u.phi_i,
    integral of x over [0, a] = p sin a + u (1 - cos a).

Products with all points are updated along the way, so a bounce costs O(N): one column of the kernel matrix. After equal
lengths of flight, in mid-air, a new direction is drawn, so that a regular orbit does not bias the average (at a wall
directions are not uniform, and a new one there would change the measure).

A cheap alternative from the same paper, section 4.4: perceptrons trained on permutations of the data end at points all
over the version space; their normalised average is near its centre.
"""

from typing import NamedTuple

import numpy as np

from ellipsoid.engine.compile import compiled

from .problem import Matrix, Vector


class Ball(NamedTuple):
    """Position p and direction u in features, and their products with all signed points."""

    p: np.ndarray
    u: np.ndarray
    d: np.ndarray
    e: np.ndarray


@compiled(error_model="numpy")
def _fly(ball, phi, gram, total, reach, most):
    """Fly for the length ``reach`` or ``most`` bounces; add the integral to ``total``; returns length and bounces."""
    p, u, d, e = ball
    n, m = phi.shape
    length = 0.0
    last = -1
    for bounce in range(most):
        # The smallest angle has the largest cotangent, -e/d.
        steepest, hit = -np.inf, -1
        for i in range(n):
            cotangent = -e[i] / max(d[i], 1e-300)
            if cotangent > steepest and i != last:
                steepest, hit = cotangent, i
        if hit < 0:
            return length, bounce
        angle = np.arctan2(max(d[hit], 0.0), -e[hit])
        final = length + angle >= reach
        if final:
            angle = reach - length
        c, s = np.cos(angle), np.sin(angle)
        bend = 0.0 if final else 2.0 * (e[hit] * c - d[hit] * s)
        for j in range(m):
            total[j] += s * p[j] + (1.0 - c) * u[j]
            p[j], u[j] = c * p[j] + s * u[j], c * u[j] - s * p[j] - bend * phi[hit, j]
        length += angle
        if final:
            return length, bounce
        for i in range(n):
            d[i], e[i] = c * d[i] + s * e[i], c * e[i] - s * d[i] - bend * gram[hit, i]
        last = hit
    return length, most


def _aim(ball: Ball, phi: Matrix, rng: np.random.Generator) -> Ball:
    """The ball with a new random direction, and all four vectors free of accumulated rounding."""
    p = ball.p / np.linalg.norm(ball.p)
    u = rng.standard_normal(len(p))
    u -= (u @ p) * p
    u /= np.linalg.norm(u)
    return Ball(p, u, phi @ p, phi @ u)


def billiard(
    signed: Matrix, inside: Vector, *, max_bounces: int, tol: float, rng: np.random.Generator
) -> tuple[Vector, int, float]:
    """The centre of mass of {w : signed w >= 0, |w| = 1}, from a point inside; also the bounces and the last change.

    ``signed`` has the rows y_i phi_i, of length one. The number of bounces doubles until its values at the points
    turn by less than ``tol`` (an angle in radians), so that directions orthogonal to all points do not count.
    """
    if signed.shape[1] == 1:
        # On a line the sphere is two points, and one of them is the version space.
        return inside / np.linalg.norm(inside), 0, 0.0
    gram = signed @ signed.T
    ball = Ball(inside, inside, inside, inside)
    total = np.zeros(signed.shape[1])
    # A first stretch from the starting point measures the length of flights, and does not enter the average.
    stretch = max(10, len(signed) // 2)
    ball = _aim(ball, signed, rng)
    reach = _fly(ball, signed, gram, np.zeros_like(total), np.inf, stretch)[0]
    # Directions change a few hundred times before the first comparison, so that the orbits have mixed.
    done, goal, change = 0, 256 * stretch, np.inf
    before = np.zeros(len(signed))
    while True:
        while done < min(goal, max_bounces):
            ball = _aim(ball, signed, rng)
            done += 1 + _fly(ball, signed, gram, total, reach, 100 * stretch)[1]
        values = signed @ total
        values /= np.linalg.norm(values)
        change = float(np.arccos(np.clip(before @ values, -1.0, 1.0)))
        before = values
        if change <= tol or done >= max_bounces:
            return total / np.linalg.norm(total), done, change
        goal *= 2


@compiled(error_model="numpy")
def _perceptron(gram, order, counts, max_iter):
    """Mistake counts of a perceptron in the order given, until a pass is clean; returns how many passes, or 0."""
    n = gram.shape[0]
    image = np.zeros(n)
    for passes in range(1, max_iter + 1):
        clean = True
        for i in order:
            if image[i] <= 0.0:
                clean = False
                counts[i] += 1.0
                for j in range(n):
                    image[j] += gram[i, j]
        if clean:
            return passes
    return 0


def perceptrons(signed: Matrix, *, count: int, max_iter: int, rng: np.random.Generator) -> tuple[Vector, int, int]:
    """The average of ``count`` normalised perceptrons on permutations of the data.

    Also returns how many of them separate the data, and the most passes that one of these needed.
    """
    gram = signed @ signed.T
    total, separating, most = np.zeros(signed.shape[1]), 0, 0
    for _ in range(count):
        counts = np.zeros(len(signed))
        passes = _perceptron(gram, rng.permutation(len(signed)), counts, max_iter)
        if passes:
            w = counts @ signed
            total += w / np.linalg.norm(w)
            separating, most = separating + 1, max(most, passes)
    return total, separating, most
