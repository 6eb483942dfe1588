"""Bounds of passive-aggressive regression, from sums kept while learning.

A step of size tau >= 0 on a row whose score is off by e, |e| = l + tube, adds tau sign(e) x. With A the sum of steps,
B that of tau sign(e) y, and the weights w in the end,

    sum tau (2 l - tau |x|^2) = 2 (B - tube A) - |w|^2,

by adding up |w|^2 step by step. No step is longer than l / |x|^2, so that the left side is at least sum tau l; and for
every u the right side is at most G = |u|^2 + 2 (B - tube A - <u, w>), which is more by |u - w|^2. So

    sum tau l <= G,     hard: sum l^2 <= R^2 G,     II: sum l^2 <= (R^2 + 1 / (2 C)) G.

PA-I ascends the dual of min |u|^2 / 2 + C sum k loss(u), whose value is B - tube A - |w|^2 / 2: no u can do better.

Rounding. A loss is off by the rounding of <w, x>, at most |w| |x|, and |w| is at most the length PATH of all steps;
each of the sums is off by a share of the sum of the absolute values of its terms. All of it is added to G. For merged
models it is bounded by the sums of all shards. A term of B is capped at 1e290, and nothing is bounded where one was.
"""

from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ellipsoid.engine import tally as tallies

from .certificate import Certificate, unproved
from .rounding import LEAST, Span, length, product, relative_error

# Half of the cap of a term, since the sums of shards are rounded when they are merged.
MOST_SWAY = 5e289


def tube_bounds(
    tally: NDArray[np.float64], whole: NDArray[np.float64], weights: NDArray[np.float64],
    comparator: NDArray[np.float64], tube: float, rule: Any, terms: int,
) -> list[Certificate]:  # fmt: skip
    """Bounds on the losses before the steps.

    ``whole`` are the plain sums over all shards; the ``cap`` and the ``ridge`` of the rule define the variant.
    """
    steps, path, sway = (float(whole[slot]) for slot in (tallies.STEPS, tallies.PATH, tallies.SWAY))
    size = length(comparator)
    share = 8.0 * relative_error(4.0 * steps + 2.0 * terms + 32.0)
    spilled = share * (sway + tube * float(whole[tallies.PUSH]) + path * path + size.high * path)
    spilled = inf if sway >= MOST_SWAY else spilled
    # Products of tiny numbers underflow, an absolute error.
    spilled += LEAST * (8.0 * steps + terms)
    gain = Span.exactly(float(tally[tallies.GAIN])) - Span.exactly(tube) * float(tally[tallies.PUSH])
    bound = size.square() + 2.0 * (gain - product(comparator.ravel(), weights.ravel()))
    G = bound.widened(spilled).at_least(0.0)
    observed = Span.about(float(tally[tallies.WEIGHT]), 4.0 * steps + terms).widened(spilled).at_least(0.0)
    found = [Certificate("steps times losses", observed.low, G.high, "always")]
    squares = Span.about(float(tally[tallies.LOSS2]), 4.0 * steps + terms).widened(spilled).at_least(0.0)
    if rule.cap == inf:
        radius2 = Span.about(float(tally[tallies.RADIUS2]), terms + 2.0)
        most = ((radius2 + rule.ridge) * G).high if tally[tallies.ZEROS] == 0.0 else inf
        second = [Certificate("squared losses", squares.low, most, "no row is zero")]
        found += unproved(second) if tally[tallies.WEIGHED] and rule.ridge > 0.0 else second
    return found
