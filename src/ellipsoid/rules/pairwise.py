"""The right label against its highest rival: how a binary step becomes a multiclass one.

With z = (e_y - e_s) (x) x a binary rule sees the margin B_y - B_s and the energy |z|^2 = 2 |x|^2.
"""

from ellipsoid.engine.generic import helper
from ellipsoid.engine.native.vector_sums import highest_but
from ellipsoid.engine.protocol import SCORES, TAU, WHO, step


@helper()
def against_highest_rival(rule, n, y, energy, work):
    """Write the two moves of the step; the number of moves, 0 where the rule is passive."""
    scores, tau, who = work[SCORES], work[TAU], work[WHO]
    rival, highest = highest_but(scores, n, y)
    size = step(rule, scores[y] - highest, 2.0 * energy)
    if size == 0.0:
        return 0
    who[0], tau[0] = y, size
    who[1], tau[1] = rival, -size
    return 2
