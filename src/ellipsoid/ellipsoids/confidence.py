"""The confidence of a Gaussian N(w, S) over weight vectors in its prediction for a row: a lead and its variance.

The score of a direction z has mean <w, z> and variance z'Sz, so that the winner beats its first rival with probability
Phi(lead / sqrt(z'Sz)), z = (e_winner - e_rival) (x) x. For label sets the lead is that of the label whose score is
nearest to zero, the line between right and wrong.
"""

from math import exp
from typing import Any

from ellipsoid.engine.compile import compiled
from ellipsoid.engine.generic import generic, helper
from ellipsoid.engine.native.memory import borrowed
from ellipsoid.engine.protocol import SCORES, TAU, WHO, norm2, score, width, winner
from ellipsoid.engine.rows import count
from ellipsoid.engine.tasks import Binary, Multiclass, MultiLabel

from .protocol import probe, squared_length
from .state import LOG_SCALE


@generic(1)
def write_lead(task: Any, work: Any) -> tuple[float, int]:
    """By how much the winner of a scored row leads; writes the direction of that as moves, and returns how many."""


@write_lead.register(Binary)
def _(task, work):
    work[WHO, 0], work[TAU, 0] = 0.0, 1.0
    return abs(work[SCORES, 0]), 1


@write_lead.register(Multiclass)
def _(task, work):
    # One label known is no reason to be sure of it: others may exist.
    if task.classes < 2:
        return 0.0, 0
    best = winner(task, work[SCORES])
    rival = 1 if best == 0 else 0
    for r in range(task.classes):
        if r != best and work[SCORES, r] > work[SCORES, rival]:
            rival = r
    work[WHO, 0], work[TAU, 0] = best, 1.0
    work[WHO, 1], work[TAU, 1] = rival, -1.0
    return work[SCORES, best] - work[SCORES, rival], 2


@write_lead.register(MultiLabel)
def _(task, work):
    nearest = 0
    for r in range(task.classes):
        if abs(work[SCORES, r]) < abs(work[SCORES, nearest]):
            nearest = r
    work[WHO, 0], work[TAU, 0] = nearest, 1.0
    return abs(work[SCORES, nearest]), 1


@helper()
def lead_and_variance(task, rep, rows, t, work):
    """By how much the winner of the scored row t leads, and the variance z'Sz of that."""
    lead, moves = write_lead(task, work)
    if moves == 0:
        return lead, 0.0
    length = squared_length(moves, work, norm2(rep, rows, t))
    return lead, exp(rep.state[LOG_SCALE]) * max(0.0, probe(rep, rows, t, moves, work, length))


@compiled
def measure_leads(task, rep, rows, work, out):
    """Write the lead and its variance for each row."""
    task, rep, rows, work, out = borrowed(task), borrowed(rep), borrowed(rows), borrowed(work), borrowed(out)
    for t in range(count(rows)):
        score(rep, rows, t, width(task), work[SCORES])
        out[t, 0], out[t, 1] = lead_and_variance(task, rep, rows, t, work)
    return True
