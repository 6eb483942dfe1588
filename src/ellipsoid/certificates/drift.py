"""How far rounding can have taken a run of dual ascent from the exact run that the proofs speak of.

theta is a sum of alpha z, rounded at every addition: ``drift`` bounds, in the dual norm, how far it is from the sum of
the alphas that are kept. Scores are computed from it, and increases of the dual from the scores: ``lost`` bounds by how
much all the increases together can be wrong. Both follow from few sums of a run: how long its way was, the sum of
``|d alpha| |z|`` over all steps, and how long theta can have been at any time. The latter is bounded by the way itself;
where no round lowers the dual also by ``|theta|^2 <= 2 margin A``, but for what was lost, so that a few rounds of
substitution improve the bound.

The factors in front of the roundings are generous; that costs nothing beside rows of ordinary size.
"""

from math import inf, isnan, sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ellipsoid.engine import tally as tallies

from .rounding import LEAST, UNIT, lost


class Lost(NamedTuple):
    """What rounding can have done to a run: ``drift`` of theta, and ``lost`` by its increases; ``reach`` of theta."""

    drift: float
    lost: float
    reach: float


UNKNOWN = Lost(inf, inf, inf)

# The way of a run that is not known from its beginning: longer than any, and finite, as the sums of a file are.
UNKNOWN_WAY = 1e300


def known(tally: NDArray[np.float64], slot: int = tallies.PATH) -> bool:
    """Is the way of a run known from its beginning? Files of earlier versions do not tell it."""
    return bool(tally[slot] < UNKNOWN_WAY and (tally[tallies.STEPS] > 0.0 or tally[tallies.UPDATES] == 0.0))


class Way(NamedTuple):
    """The way of a run: ``path`` = sum of |d alpha| |z|, ``sway`` = sum of |d alpha|, ``steps`` their number.

    ``held`` is the sum of the lengths that a step rounds beside its own: the alpha that moves, and what moves with it;
    ``terms`` is how many products a score sums up, ``goal`` the margin of the loss.
    """

    path: float
    sway: float
    steps: float
    terms: float
    goal: float
    held: float = 0.0


def quadratic(way: Way, most: float, power: float = 2.0) -> Lost:
    """A run whose G is half a squared p-norm; ``most`` bounds the square of that norm of theta but for rounding."""
    path, steps = way.path, way.steps
    if not (path < inf and way.sway < inf):
        return UNKNOWN
    # Products of tiny numbers vanish, whatever their share.
    faint = 4.0 * LEAST * (steps + 1.0) * way.terms
    reach, drift, gone = path, inf, inf
    for _ in range(4):
        drift = 4.0 * lost(2) * (steps * reach + 8.0 * path + way.held) + faint
        score = lost(way.terms + 8.0 * power) * (reach + path) + lost(steps) * reach + 4.0 * lost(2) * way.held + faint
        blur = power * drift + 2.0 * power * score
        gone = 4.0 * (blur * path + lost(steps + 8) * way.goal * way.sway) + LEAST
        if power != 2.0:
            # The increase is a difference of two values of G.
            gone += steps * lost(8.0 + 4.0 * power) * reach * reach
        reach = min(reach, sqrt(max(0.0, most) + 2.0 * gone))
    return Lost(drift, gone, reach) if not isnan(gone + drift) else UNKNOWN


def entropic(way: Way, peak: float, start: float) -> Lost:
    """A run behind an exponential link: ``peak`` is the largest |theta_i| at any time, ``path`` has |z| = max |x_i|.

    ``start`` is 0 where G and what it is made of vanish with theta, 1 where they tend to sums of ones.
    """
    if not (way.path < inf and peak < inf and way.sway < inf):
        return UNKNOWN
    drift = 8.0 * UNIT * (way.steps * peak + way.path) + 4.0 * LEAST * (way.steps + 1.0)
    # Weights are exponentials of theta, whose error becomes a relative one; they sum to one whatever theta is.
    score = min(2.0, 16.0 * UNIT * (way.terms + 8.0 + peak) + drift)
    gone = 2.0 * score * way.path + 32.0 * UNIT * way.steps * max(start, min(peak, 1.0), peak)
    gone += 4.0 * lost(way.steps + 8) * way.goal * way.sway
    return Lost(drift, gone, peak)
