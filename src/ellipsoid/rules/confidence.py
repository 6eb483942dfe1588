"""Confidence-weighted learning: the least change of N(w, S) that makes an example right with a wanted probability.

    CW stdev      minimise KL                                          subject to <w, z> >= phi sqrt(z'Sz)
    CW variance   minimise KL                                          subject to <w, z> >= phi z'Sz
    SCW-I, II     minimise KL + C max(0, phi sqrt(z'Sz) - <w, z>)^p    p = 1, 2

phi is the normal quantile of the wanted probability eta. In units of the deviation, mu = m / sqrt(v), the step
a = alpha sqrt(v) solves a quadratic equation; with psi = 1 + phi^2 / 2 and xi = 1 + phi^2

    CW stdev      a = (-mu psi + sqrt(mu^2 phi^4 / 4 + phi^2 xi)) / xi
    SCW-I         a = min(C sqrt(v), that)
    SCW-II        a = (-mu (2 n + phi^2) + phi sqrt(phi^2 mu^2 + 4 n (n + phi^2))) / (2 n (n + phi^2)),
                  n = 1 + 1 / (2 C v)
    all three     1 - kappa = exp(-2 asinh(phi a / 2))

    CW variance   alpha = (-b + sqrt(b^2 - 8 phi (m - phi v))) / (4 phi v),  b = 1 + 2 phi m;  omega = 2 alpha phi v

Where both terms of a numerator have the same size it is multiplied by its conjugate, so that no digit is lost.

Dredze, Crammer, Pereira (ICML 2008), variance; Crammer, Dredze, Pereira (NIPS 2008), stdev; Crammer, Dredze, Kulesza
(EMNLP 2009), several classes; Wang, Zhao, Hoi (ICML 2012), SCW.
"""

from math import asinh, exp, expm1, hypot, inf, log1p, sqrt

from ellipsoid.engine.generic import helper
from ellipsoid.engine.rows import HUGE

from .gaussian_sums import add_weight, note_update

# The kinds of steps.
VARIANCE, SQUARED, STDEV = range(3)
# A margin that no row reaches, and whose square is finite: when the rule is passive depends on the variance.
UNREACHED = 1e140
# Beyond this the divergence is negligible beside a loss.
LARGEST_PRICE = 1e280
# A weight that is less than this share of the numbers it is the difference of is not accurate enough for a bound.
LEAST_WEIGHT = 1e-6


@helper()
def cut_of_confidence(kind, phi, C, margin, v, scale, tilt, state):  # noqa: PLR0913 (a step, and what it leaves)
    """alpha s and kappa; zero where there is nothing to do. ``C`` is infinite for CW."""
    # ``ratio`` is the example's weight in S^{-1} w over alpha, ``lost`` the size of the terms that cancel in it.
    if kind == VARIANCE:
        alpha = to_variance(margin, v, phi)
        omega = min(2.0 * alpha * phi * v, HUGE)
        left, log_left, kappa = 1.0 / (1.0 + omega), -log1p(omega), omega / (1.0 + omega)
        ratio, lost = 1.0 + 2.0 * phi * phi * v * left, 0.0
    else:
        deviation = sqrt(v)
        mu = margin / deviation
        wanted = to_deviation(mu, phi) if kind == STDEV else to_square(mu, phi, C * v)
        a = min(wanted, C * deviation) if kind == STDEV else wanted
        alpha = a / deviation
        half = asinh(0.5 * phi * a)
        left, log_left, kappa = exp(-2.0 * half), -2.0 * half, -expm1(-2.0 * half)
        omega = min(phi * a * exp(half), HUGE)
        ratio, lost = 1.0 + phi * phi, 0.0
        if inf > C and (kind == SQUARED or a < wanted):
            ratio, lost = 1.0 + phi * (mu + a) * exp(half), phi * abs(mu) * exp(half)
    if not 0.0 < alpha * scale < HUGE:
        return 0.0, 0.0
    note_update(state, margin, left, log_left, omega, tilt)
    add_weight(state, min(alpha * scale * ratio, HUGE) if ratio > LEAST_WEIGHT * lost else 0.0)
    return alpha * scale, kappa


@helper()
def to_variance(margin, v, phi):
    """alpha that makes the margin phi times the variance left; 0 where it is that already."""
    short = phi * v - margin
    if short <= 0.0:
        return 0.0
    b = 1.0 + 2.0 * phi * margin
    root = hypot(b, sqrt(8.0 * phi) * sqrt(short))
    return 2.0 * (short / v) / (b + root) if b > 0.0 else (root - b) / (4.0 * phi * v)


@helper()
def to_deviation(mu, phi):
    """alpha sqrt(v) that makes the margin phi deviations; 0 where it is that already."""
    if mu >= phi:
        return 0.0
    psi, xi = 1.0 + 0.5 * phi * phi, 1.0 + phi * phi
    root = hypot(0.5 * mu * phi * phi, phi * sqrt(xi))
    return (phi - mu) * (phi + mu) / (mu * psi + root) if mu > 0.0 else (root - mu * psi) / xi


@helper()
def to_square(mu, phi, price):
    """alpha sqrt(v) of the squared loss at ``price`` = C v."""
    if mu >= phi:
        return 0.0
    n = 1.0 + min(0.5 / max(price, 0.5 / LARGEST_PRICE), LARGEST_PRICE)
    whole, b = n + phi * phi, mu * (2.0 * n + phi * phi)
    root = phi * hypot(phi * mu, 2.0 * sqrt(n) * sqrt(whole))
    return 2.0 * (phi - mu) * (phi + mu) / (b + root) if mu > 0.0 else (root - b) / n / (2.0 * whole)
