"""NHERD, the normal herd: AROW's step for the mean, and twice its step for the covariance.

    alpha = (1 - m) / (v + g),     1 - kappa = (g / (v + g))^2,     g = 1 / C

The Gaussian is transformed by the linear map that minimises its cost plus C times the remaining squared hinge loss. The
map changes the mean as AROW does, and a root of S as AROW changes S itself.

No mistake bound: a comparator with margin exactly 1 on an example gains nothing from an update on it, however large the
loss. Crammer, Lee (NIPS 2010).
"""

from math import log1p

from ellipsoid.engine.generic import helper
from ellipsoid.engine.rows import HUGE

from .gaussian_sums import add_weight, note_update

# The largest ratio of a variance to g whose square is finite.
LARGEST_RATIO = 1e140


@helper()
def cut_of_nherd(g, margin, v, scale, tilt, state):
    """alpha s and kappa; zero where there is nothing to do."""
    whole = v + g
    alpha, root = (1.0 - margin) / whole, g / whole
    if not 0.0 < alpha < HUGE:
        return 0.0, 0.0
    ratio = min(v / g, LARGEST_RATIO)
    note_update(state, margin, root * root, -2.0 * log1p(ratio), ratio * (ratio + 2.0), tilt)
    add_weight(state, scale * min((1.0 + margin + ratio) / g, HUGE))
    return alpha * scale, v / whole * (1.0 + root)
