"""The sums for certificates that every update of a Gaussian N(w, S) adds to, whichever rule makes it.

S = s B, where s changes only when a third class turns one function into two.
"""

from ellipsoid.ellipsoids.state import (
    INVERSE_NORM,
    LOG_KEPT,
    MARGIN_UPDATES,
    MARGIN_WEIGHT,
    NEGATIVE_WEIGHT,
    RESOLUTION,
    SHARE_LEFT,
)
from ellipsoid.engine.generic import helper
from ellipsoid.engine.rows import HUGE, TINY


@helper()
def is_visible(state, v, quadratic, norm2):
    """Is the variance more than rounding, and large enough to divide by?"""
    return v >= TINY and quadratic > state[RESOLUTION] * norm2


@helper()
def note_update(state, margin, left, log_left, omega, tilt):
    """Add an update to the sums for certificates; ``tilt`` is |z|^2 / z'Bz."""
    state[SHARE_LEFT] = left
    state[LOG_KEPT] += log_left
    state[INVERSE_NORM] = min(state[INVERSE_NORM] + omega * min(tilt, HUGE / max(omega, 1.0)), HUGE)
    if margin > 0.0:
        state[MARGIN_UPDATES] += 1.0


@helper()
def add_weight(state, weight):
    """Add the weight that an example has in S^{-1} w, in units of B^{-1} w."""
    if weight > 0.0:
        state[MARGIN_WEIGHT] = min(state[MARGIN_WEIGHT] + weight, HUGE)
    else:
        state[NEGATIVE_WEIGHT] = 1.0
