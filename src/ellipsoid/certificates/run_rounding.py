"""Bounds on how far rounding can have taken a run of dual ascent from the exact run of the proofs.

theta is a sum of alpha z, rounded at every addition: ``drift`` bounds, in the dual norm, its distance from the exact
sum with the alphas that are kept. Scores are computed from theta, and increases of the dual from the scores: ``lost``
bounds the error of all increases together. Both follow from a few sums of a run: the length of its path, the sum of
``|d alpha| |z|`` over all steps, and the largest norm of theta at any time. The latter is bounded by the path itself;
where no round lowers the dual also by ``|theta|^2 <= 2 margin A``, up to ``lost``, so that a few rounds of substitution
improve the bound.

The factors in front of the roundings are generous, which makes no difference for rows of ordinary size.
"""

from math import inf, isnan, sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ellipsoid.engine import tally as tallies

from .rounding import LEAST, UNIT, relative_error


class RunErrors(NamedTuple):
    """Errors of theta (``drift``) and of the increases (``lost``) in a run; ``reach`` bounds the norm of theta."""

    drift: float
    lost: float
    reach: float


UNKNOWN_ERRORS = RunErrors(inf, inf, inf)

# Stands for a path whose beginning is unknown: longer than any, but finite, as the sums in a file must be.
UNKNOWN_PATH = 1e300


def path_known(tally: NDArray[np.float64], slot: int = tallies.PATH) -> bool:
    """Whether the path of a run is known from its beginning; files of earlier versions do not hold it."""
    return bool(tally[slot] < UNKNOWN_PATH and (tally[tallies.STEPS] > 0.0 or tally[tallies.UPDATES] == 0.0))


class RunPath(NamedTuple):
    """The steps of a run: ``path`` = sum of |d alpha| |z|, ``sway`` = sum of |d alpha|, ``steps`` their number.

    ``held`` is the sum over the steps of the lengths that are rounded besides the step itself, such as alpha |z|;
    ``terms`` is the number of products in a score, ``goal`` the margin of the loss.
    """

    path: float
    sway: float
    steps: float
    terms: float
    goal: float
    held: float = 0.0


def quadratic(run: RunPath, most: float, power: float = 2.0) -> RunErrors:
    """A run whose G is half a squared p-norm; ``most`` bounds the square of that norm of theta but for rounding."""
    path, steps = run.path, run.steps
    if not (path < inf and run.sway < inf):
        return UNKNOWN_ERRORS
    # Products of tiny numbers underflow, an absolute error.
    faint = 4.0 * LEAST * (steps + 1.0) * run.terms
    reach, drift, gone = path, inf, inf
    for _ in range(4):
        drift = 4.0 * relative_error(2) * (steps * reach + 8.0 * path + run.held) + faint
        score = (
            relative_error(run.terms + 8.0 * power) * (reach + path)
            + relative_error(steps) * reach
            + 4.0 * relative_error(2) * run.held
            + faint
        )
        blur = power * drift + 2.0 * power * score
        gone = 4.0 * (blur * path + relative_error(steps + 8) * run.goal * run.sway) + LEAST
        if power != 2.0:
            # The increase is a difference of two values of G.
            gone += steps * relative_error(8.0 + 4.0 * power) * reach * reach
        reach = min(reach, sqrt(max(0.0, most) + 2.0 * gone))
    return RunErrors(drift, gone, reach) if not isnan(gone + drift) else UNKNOWN_ERRORS


def entropic(run: RunPath, peak: float, start: float) -> RunErrors:
    """A run behind an exponential link: ``peak`` is the largest |theta_i| at any time, ``path`` has |z| = max |x_i|.

    ``start`` is 0 where G and its terms vanish with theta, 1 where the terms tend to ones.
    """
    if not (run.path < inf and peak < inf and run.sway < inf):
        return UNKNOWN_ERRORS
    drift = 8.0 * UNIT * (run.steps * peak + run.path) + 4.0 * LEAST * (run.steps + 1.0)
    # Weights are exponentials of theta, whose error becomes a relative one; they sum to one whatever theta is.
    score = min(2.0, 16.0 * UNIT * (run.terms + 8.0 + peak) + drift)
    gone = 2.0 * score * run.path + 32.0 * UNIT * run.steps * max(start, min(peak, 1.0), peak)
    gone += 4.0 * relative_error(run.steps + 8) * run.goal * run.sway
    return RunErrors(drift, gone, peak)
