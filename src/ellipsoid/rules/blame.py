"""The error set of a multiclass round, which classes scored too high, and how these share the step.

    E = { r != y : B_r >= B_y - margin },   tau_y = 1,   tau_r <= 0 on E,   sum tau = 0

``uniform`` divides it equally, ``max`` gives all to the highest rival, ``proportional`` divides it in proportion to the
excesses B_r - (B_y - margin). Ties belong to E.

Crammer & Singer (JMLR 2003), section 4.
"""

from ellipsoid.engine.generic import helper
from ellipsoid.engine.protocol import SCORES, TAU, WHO

UNIFORM, MAX, PROPORTIONAL = range(3)
SHARINGS = {"uniform": UNIFORM, "max": MAX, "proportional": PROPORTIONAL}


@helper()
def share_blame(sharing, margin, n, y, work):
    """Write tau_y = 1 and the shares of the error set; returns the number of moves, 0 if the set is empty."""
    scores, tau, who = work[SCORES], work[TAU], work[WHO]
    floor = scores[y] - margin
    who[0], tau[0] = y, 1.0
    moves, total, worst = 1, 0.0, -1
    for r in range(n):
        if r != y and scores[r] >= floor:
            who[moves], tau[moves] = r, floor - scores[r]
            total -= tau[moves]
            moves += 1
            if worst < 0 or scores[r] > scores[worst]:
                worst = r
    if moves == 1:
        return 0
    if sharing == MAX:
        who[1], tau[1] = worst, -1.0
        return 2
    for k in range(1, moves):
        # Where all of E ties exactly with the floor there are no excesses to be proportional to.
        tau[k] = tau[k] / total if sharing == PROPORTIONAL and total > 0.0 else -1.0 / (moves - 1)
    return moves
