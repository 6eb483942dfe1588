"""What the rules have in common that keep a Gaussian N(w, S) over weight vectors.

    w <- w + alpha S z,     S <- S - kappa (Sz)(Sz)' / v,     v = z'Sz,     0 <= kappa < 1

A rule is two numbers, alpha and kappa, for a margin m = <w, z> and a variance v. S = s B, where s changes only when a
third class turns one function into two; so the step along Bz is alpha s. In the other direction

    S^{-1} <- S^{-1} + (omega / v) zz',     omega = kappa / (1 - kappa),
    S^{-1} w <- S^{-1} w + weight z,        weight = alpha + (omega / v) (m + alpha v).
"""

from math import sqrt

from ellipsoid.ellipsoids.lead import lead_and_variance
from ellipsoid.ellipsoids.state import (
    ASKED,
    LOG_KEPT,
    MARGIN_UPDATES,
    MARGIN_WEIGHT,
    RESOLUTION,
    SHARE_LEFT,
    STEEP,
    UNSIGNED,
)
from ellipsoid.engine.generic import helper
from ellipsoid.engine.rows import HUGE, TINY


@helper()
def asks_for_label(doubt, task, rep, rows, t, work):
    """Is the label of a scored row wanted? It is where the lead is at most ``doubt`` deviations; 0: always."""
    if doubt > 0.0:
        lead, variance = lead_and_variance(task, rep, rows, t, work)
        if lead > doubt * sqrt(variance):
            return False
    rep.state[ASKED] += 1.0
    return True


@helper()
def is_visible(state, v, quadratic, norm2):
    """Is the variance more than rounding, and large enough to divide by?"""
    return v >= TINY and quadratic > state[RESOLUTION] * norm2


@helper()
def note_update(state, margin, left, log_left, omega, tilt):
    """Keep what certificates need of an update; ``tilt`` is |z|^2 / z'Bz."""
    state[SHARE_LEFT] = left
    state[LOG_KEPT] += log_left
    state[STEEP] = min(state[STEEP] + omega * min(tilt, HUGE / max(omega, 1.0)), HUGE)
    if margin > 0.0:
        state[MARGIN_UPDATES] += 1.0


@helper()
def add_weight(state, weight):
    """Add the weight that an example has in S^{-1} w, in units of B^{-1} w."""
    if weight > 0.0:
        state[MARGIN_WEIGHT] = min(state[MARGIN_WEIGHT] + weight, HUGE)
    else:
        state[UNSIGNED] = 1.0
