"""The running sums of a stream: one float64 vector, so that counting costs no allocation and saves as an array.

``ROUNDS`` counts examples seen, ``MISTAKES`` those with margin <= 0, ``UPDATES`` those that changed the hypothesis,
``PARTS`` the single learners that moved (one-vs-rest). The rest feeds the certificates; sums run over updates:
``RADIUS2`` largest squared norm, ``PUSH`` sum of tau_y, ``LOSS2`` sum of squared hinge losses, each counted as 1e290 at
most (a file holds no infinite sum).
``ZEROS`` counts zero rows that asked for an update in vain.

Dual ascent: ``WEIGHT`` sum of all alphas, ``LARGEST`` the largest, ``GAIN`` what mistakes have added to the dual.

What rounding can have done to a run is bounded by its way: ``PATH`` sum of ``tau |x|``, ``STEPS`` their number.
Where alphas move again and again (a window), both are of all moves, ``SWAY`` is the sum of ``|d alpha|``, ``HELD`` that
of the lengths that a move rounds beside its own, ``FARTHEST`` the largest squared length of theta. Behind a link
``HELD`` is the sum of the largest changes of an entry of theta, ``FARTHEST`` the largest entry. For ROMMA ``HELD`` is
the sum of ``|X|^2`` over what of it is not along M.
"""

ROUNDS, MISTAKES, UPDATES, PARTS, RADIUS2, PUSH, LOSS2, ZEROS, WEIGHT, LARGEST, GAIN = range(11)
PATH, SWAY, STEPS, HELD, FARTHEST = range(11, 16)
SIZE = 16
