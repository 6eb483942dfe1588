"""Rows on which the classifiers inside an ellipsoid E disagree.

They all give row x the same label when the margin of the centre exceeds the width of E: binary |<w, x>| > sqrt(x'Px);
multiclass, for every rival r of the winner, <w, z_r> > sqrt(z_r'P z_r) with z_r = (e_winner - e_r) (x) x. A row where
rounding could hide a disagreement counts as one. ``radius`` is that of the start ball.
"""

from math import sqrt
from typing import Any

from ellipsoid.engine.compile import compiled
from ellipsoid.engine.generic import generic, helper
from ellipsoid.engine.native.memory import borrowed
from ellipsoid.engine.protocol import SCORES, TAU, WHO, norm2, score, width, winner
from ellipsoid.engine.rows import count
from ellipsoid.engine.tasks import Binary, Multiclass, MultiLabel

from .forms.rounding import width_bound
from .protocol import probe, squared_length


@generic(1)
def disagreement(task: Any, rep: Any, rows: Any, t: int, work: Any, radius: float) -> bool:
    """Do two classifiers of the ellipsoid give the scored row t different labels?"""


@disagreement.register(Binary)
def _(task, rep, rows, t, work, radius):
    work[WHO, 0], work[TAU, 0] = 0.0, 1.0
    return abs(work[SCORES, 0]) <= direction_width(rep, rows, t, 1, work, radius)


@disagreement.register(Multiclass)
def _(task, rep, rows, t, work, radius):
    # One label known is no reason to be certain of it: others may exist.
    if task.classes < 2:
        return True
    best = winner(task, work[SCORES])
    for r in range(task.classes):
        if r != best:
            work[WHO, 0], work[TAU, 0] = best, 1.0
            work[WHO, 1], work[TAU, 1] = r, -1.0
            if work[SCORES, best] - work[SCORES, r] <= direction_width(rep, rows, t, 2, work, radius):
                return True
    return False


@disagreement.register(MultiLabel)
def _(task, rep, rows, t, work, radius):
    # A ranking has no single label to agree on: every row counts.
    return True


@helper(inline=False)
def direction_width(rep, rows, t, moves, work, radius):
    """sqrt(z'Pz) for the direction in ``work``, plus bounds on its rounding error and on that of the score."""
    length = squared_length(moves, work, norm2(rep, rows, t))
    return width_bound(rep, rows, t, sqrt(length), probe(rep, rows, t, moves, work, length), radius)


@compiled
def mark_disagreements(task, rep, rows, work, radius, out):
    """Write for each row whether the ellipsoid's classifiers disagree on it."""
    task, rep, rows, work, out = borrowed(task), borrowed(rep), borrowed(rows), borrowed(work), borrowed(out)
    for t in range(count(rows)):
        score(rep, rows, t, width(task), work[SCORES])
        out[t] = disagreement(task, rep, rows, t, work, radius)
    return True
