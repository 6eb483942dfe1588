"""The scalars of a running ellipsoid P = s B, kept in one float64 vector.

Both ellipsoid methods shrink B by the same scale-free downdate B <- B - kappa (Bz)(Bz)' / (z'Bz) and multiply the scale
s, so that log det P = dim log s + sum log(1 - kappa) is known in O(1), whatever form B is kept in.
"""

from collections.abc import Mapping
from math import inf, log
from typing import Any

import numpy as np
from numpy.typing import NDArray

# The ellipsoid.
LOG_SCALE = 0  # log s
LOG_KEPT = 1  # sum of log(1 - kappa) over the downdates: what they have kept of the volume
DIM = 2  # the dimension
CUTS = 3  # number of updates
STORED = 4  # number of downdates that the form holds
COMPLETE = 5  # 1 when no further downdate will come
# For certificates.
MARGIN_WEIGHT = 6  # IELLIP: sum of the a_k with which updates count in the margin certificate
LEAST_SLICE = 7  # CELLIP: the least half width of what a cut has left along its z, (1 - alpha) sqrt(z'Pz) / (2 |z|)
LAST_PROOF = MARGIN_WEIGHT  # CELLIP: the round of the last empty intersection, counted from 1
# Flags of CELLIP.
EMPTY_COUNT = 8  # number of empty intersections
EMPTY_ROUND = 9  # round of the first of them, counted from 1
EXHAUSTED = 10  # 1 when the ellipsoid is a point, as far as rounding can tell
HALT = 11  # 1 when the loop must return to Python before the next row
# Counts.
ASKED = 12  # labels asked for, by selective sampling
FEATURES_USED = 13  # the Gram form of sparse rows: features of stored examples
# The full form: a matrix whose downdates never end is multiplied before it underflows.
LIFTED = 14  # it holds exp(LIFTED) B
LIFT_AT = 15  # the LOG_KEPT at which that is due next
# The column form, which postpones part of its updates.
UPDATE_RATE = 16  # the recent rate of updates
LAST_CUTS = 17  # CUTS as it was one row ago
DEFERRED = 18  # 1 while part of the weights is kept apart, as a debt
# Norms for the bounds on rounding, see `rounding`.
INVERSE_NORM = 19  # L - 1, where L bounds the norm of the inverse of B
TERM_SUM = 20  # sum of |h|^2 of the column form, of |T| of the product form, of |S_ij| |z_i| |z_j| of the Gram forms
ROOT_SQUARES = 21  # |J|^2 of the full form
PARTS_BOUND = 22  # a bound on the parts of w that are kept apart
WIDENED = 23  # what LOG_SCALE was raised by to cover rounding
RELATIVE_EXCESS = 24  # WIDENED relative to the present s: a cut makes s smaller and leaves the excess as it is
# 1 after a mistake whose cut was lost in rounding, or after the shape was: then nothing bounds the mistakes. GREW_LATE
# when coordinates came after a cut of least volume, which is none in more dimensions: no bound on the mistakes so far.
UNBOUNDED = 25
GREW_LATE = 2.0
TOTAL_EXCESS = 26  # what s itself was raised by to cover rounding, in all
STATE_SIZE = 27
# Rules that keep a Gaussian (such as AROW) promise no version space: their own numbers reuse some of those places.
SHARE_LEFT = EMPTY_COUNT  # 1 - kappa of the last downdate
MARGIN_UPDATES = EMPTY_ROUND  # number of updates that were no mistakes
SQUARED_LOSS = RELATIVE_EXCESS  # AROW: sum of the squared losses before the updates, each times its 1 - kappa
NEGATIVE_WEIGHT = UNBOUNDED  # 1 once an update had a weight <= 0 in S^{-1} w
DROPPED = TOTAL_EXCESS  # what a sketch has dropped of B^{-1}, along any direction
DRIFTED = LIFTED  # random walks: the round up to which the matrix includes the drift
CAPPED = EXHAUSTED  # random walks: 1 once a variance has reached its ceiling
OUTSIDE = LEAST_SLICE  # slabs: rows whose number was outside its interval
RESOLUTION = WIDENED  # up to this share of |z|^2 a z'Bz may be nothing but rounding
FACTORED = ROOT_SQUARES  # Gram forms: 1 where they hold the Cholesky factor of the inverse of S in place of S
# That share for forms in which B is a difference of numbers of size 1.
COARSE_RESOLUTION = 1e-12
# Files of the first version have fewer numbers.
OLD_STATE_SIZE = 20

# Beyond this rounding swallows what an update adds to a log volume: a loop that waits for it to fall would never end.
LARGEST_LOG_VOLUME = 1e12
# Below this product of (1 - kappa) a difference I - U U' has lost three digits, and a product form takes over.
LEAST_KEPT = 1e-3
LOG_LEAST_KEPT = log(LEAST_KEPT)


def check_changes(changes: NDArray[np.float64], proofs: float) -> None:
    """Raise ``ValueError`` unless rounds of a file can be those of so many proofs."""
    if changes.ndim != 1 or len(changes) > proofs or (np.diff(changes) <= 0.0).any():
        raise ValueError("its rounds of proofs are not those of a stream")


def complete_numbers(numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    """The scalars of a file, with zeros for those that older files do not have."""
    return np.concatenate([numbers, np.zeros(STATE_SIZE - len(numbers))])


def checked_numbers(arrays: Mapping[str, NDArray[Any]], rounds: int, columns: float) -> NDArray[np.float64]:
    """The scalars of a file with so many rounds of updates, or a ``ValueError`` where no run could have them.

    ``columns`` is the most downdates that the rule makes; only one that stops making them asks for no more room.
    Compiled loops do not check bounds: a forged count would make them read or write foreign memory. Other values are
    free, as any numbers make some ellipsoid, except those that a loop waits for.
    """
    numbers = arrays["numbers"]
    if numbers.shape not in ((OLD_STATE_SIZE,), (STATE_SIZE,)):
        raise ValueError(f"its array 'numbers' has the wrong shape {numbers.shape}")
    counts = numbers[[CUTS, STORED, FEATURES_USED, DIM]]
    if not (np.isfinite(counts) & (counts >= 0) & (counts == np.floor(counts))).all():
        raise ValueError("its counts are not all whole and non-negative")
    if arrays["rounds"].ndim != 1 or numbers[CUTS] != rounds:
        raise ValueError(f"it counts {numbers[CUTS]:g} updates and lists {rounds}")
    for slot in (LOG_KEPT, LOG_SCALE):
        if not abs(numbers[slot]) <= LARGEST_LOG_VOLUME:
            raise ValueError(f"the log volume of its ellipsoid cannot be {numbers[slot]:g}")
    if numbers[COMPLETE] not in (0.0, 1.0) or (numbers[COMPLETE] and columns == inf):
        raise ValueError("it says that its ellipsoid shrinks no more, which no such learner comes to")
    if numbers[HALT]:
        raise ValueError("it was written in the middle of a step")
    return numbers
