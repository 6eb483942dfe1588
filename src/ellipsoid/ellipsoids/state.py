"""The scalars of a running ellipsoid P = s B, kept in one float64 vector.

Both ellipsoid methods shrink B by the same scale-free downdate B <- B - kappa (Bz)(Bz)' / (z'Bz) and multiply the scale
s, so that log det P = dim log s + sum log(1 - kappa) is known in O(1), whatever form B is kept in.
"""

import numpy as np
from numpy.typing import NDArray

# LOG_SCALE log s; LOG_KEPT sum of log(1 - kappa) over the downdates; DIM the dimension; CUTS the number of updates;
# STORED the number of downdates held by the form; DONE 1 when no further downdate will come.
LOG_SCALE, LOG_KEPT, DIM, CUTS, STORED, DONE = range(6)
# Certificates. WEIGHT sum of a_k (IELLIP); SLIM least (1 - alpha) sqrt(v) / (2 |z|) (CELLIP).
WEIGHT, SLIM = range(6, 8)
# CELLIP's flags. EMPTY counts empty intersections, EMPTY_ROUND is the round of the first one (counted from 1);
# EXHAUSTED 1 when the ellipsoid is a point; HALT 1 when the loop must return to Python before the next row.
EMPTY, EMPTY_ROUND, EXHAUSTED, HALT = range(8, 12)
# Selective sampling: labels asked for. USED: rows of the compact table of stored examples in use.
ASKED, USED = range(12, 14)
# A full matrix whose downdates never end is lifted before it underflows: it holds exp(LIFTED) B, and asks for the next
# lift where LOG_KEPT falls to LIFT_AT.
LIFTED, LIFT_AT = range(14, 16)
# The column form: the recent rate of updates, CUTS one row ago, and 1 while the weights owe something.
RATE, MARK, DEFERRED = range(16, 19)
# What bounds on rounding rest on, see `rounding`. STEEP L - 1, where L bounds the inverse of B; SUMMED is the sum of
# |h|^2 of the column form, of |T| of the product form, of |S_ij| |z_i| |z_j| of the Gram forms; SQUARES |J|^2 of the
# full form; MASS bounds the parts of w that are kept apart; WIDENED is what LOG_SCALE was raised by against rounding,
# UNSURE what that has become: the deeper a cut, the less it leaves of s, and of its excess it leaves all.
# GAINED is what s itself was raised by in all. UNCUT is 1 after a mistake that was too shallow, beside its rounding, to
# cut anything off, or a shape that was lost in rounding: then nothing bounds the mistakes.
STEEP, SUMMED, SQUARES, MASS, WIDENED, UNSURE, UNCUT, GAINED = range(19, 27)
SIZE = 27
# Gaussian rules (AROW and its kin) promise no version space and keep sums of their own in some of those places.
# LEFT 1 - kappa of the last downdate; NARROW updates that were no mistakes; FIT sum of squared losses before the
# updates, each times its 1 - kappa; UNSIGNED 1 once an update had a weight <= 0 in S^{-1} w; MISSING what a sketch has
# dropped of B^{-1}, along any direction; GRAIN the share of |z|^2 up to which a form knows z'Bz by its rounding only.
LEFT, NARROW, FIT, UNSIGNED, MISSING, GRAIN = EMPTY, EMPTY_ROUND, UNSURE, UNCUT, GAINED, SUMMED
# That share where B is a difference of numbers of the size of 1.
COARSE = 1e-12
# Older files have fewer numbers.
OLD_SIZE = 20

# Below this product of (1 - kappa) a difference I - U U' has lost three digits: a product form takes over.
LEAST_KEPT = 1e-3


def padded(numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    """The scalars of a file, with zeros for those that older files do not have."""
    return np.concatenate([numbers, np.zeros(SIZE - len(numbers))])
