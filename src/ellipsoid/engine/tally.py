"""The running sums of a stream: one float64 vector, which needs no allocation and is saved as an array.

``ROUNDS`` counts examples seen, ``MISTAKES`` those with margin <= 0, ``UPDATES`` those that changed the hypothesis,
``PARTS`` the binary learners that moved (one-vs-rest). The rest is for the certificates; sums run over updates:
``RADIUS2`` largest squared norm, also of mistakes whose step was too small for an update, ``PUSH`` sum of tau_y,
``LOSS2`` sum of squared hinge losses, each counted as 1e290 at most (a file holds no infinite sum).
``ZEROS`` counts zero rows, which no update can correct.

Dual ascent: ``WEIGHT`` sum of all alphas, ``LARGEST`` the largest, ``GAIN`` what mistakes have added to the dual.

Bounds on rounding: ``PATH`` sum of ``tau |x|``, ``STEPS`` number of steps. In a window, where alphas change repeatedly,
both are of all changes, ``SWAY`` is the sum of ``|d alpha|``, ``HELD`` that of the other lengths that a change rounds,
``FARTHEST`` the largest squared length of theta. Behind a link ``HELD`` is the sum of the largest changes of an entry
of theta, ``FARTHEST`` the largest entry. For ROMMA ``HELD`` is the sum of ``|X|^2 / f``,
f being what of X is not along M.

Regression: ``GAIN`` is the sum of signed steps times the targets, ``SWAY`` that of the absolute values of these,
``WEIGHT`` the sum of steps times losses.

Weights: ``WEIGHED`` counts the examples of another weight than 1, ``EXCESS`` is the sum over mistakes of the weight
less 1, ``HEAVY`` the largest of weight times squared norm, over the same rows. Without weights they add nothing, and
are left out of files.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

ROUNDS, MISTAKES, UPDATES, PARTS, RADIUS2, PUSH, LOSS2, ZEROS, WEIGHT, LARGEST, GAIN = range(11)
PATH, SWAY, STEPS, HELD, FARTHEST = range(11, 16)
WEIGHED, EXCESS, HEAVY = range(16, 19)
SIZE = 19


def trimmed(tally: NDArray[np.float64]) -> NDArray[np.float64]:
    """The sums as a file holds them."""
    return tally if tally[WEIGHED] else tally[:WEIGHED]


def completed(sums: NDArray[Any]) -> NDArray[np.float64]:
    """The sums of a file, with those that a run without weights leaves out."""
    if sums.shape not in ((WEIGHED,), (SIZE,)):
        raise ValueError("its sums have a wrong shape")
    tally = np.zeros(SIZE)
    tally[: len(sums)] = sums
    if len(sums) == WEIGHED:
        tally[HEAVY] = tally[RADIUS2]
    return tally
