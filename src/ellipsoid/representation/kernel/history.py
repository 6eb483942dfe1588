"""The updates of an expansion in their order, for voting and for bringing kept scores up to date.

Voted (Freund & Schapire 1999): the hypothesis after round t has one vote for every round it survives, the round that
made it included; the label with most votes is predicted.
"""

from typing import Any

import numpy as np

from ellipsoid.engine.compile import call, compiled

from ..table_protocol import Floats
from ..tables import doubled, widened
from .pattern_index import Places


def add_to(target: Floats, slots: Places, moved: Floats) -> None:
    """Add each row of ``moved`` to the row of the target with the number in ``slots``; numbers may repeat."""
    call(_add_rows, target, slots, moved)


@compiled
def _add_rows(target, slots, moved):
    for u in range(moved.shape[0]):
        for r in range(moved.shape[1]):
            target[slots[u], r] += moved[u, r]


def summed(slots: Places, moved: Floats) -> tuple[Places, Floats]:
    """The patterns that some updates changed, in ascending order, and their total changes."""
    places, where = np.unique(slots, return_inverse=True)
    change = np.zeros((len(places), moved.shape[1]))
    add_to(change, where, moved)
    return places, change


class History:
    """Update u added ``moved[u]`` to the coefficients of pattern ``slots[u]`` in round ``when[u]``, counted from 1.

    >>> history = History(2)
    >>> history.extend(np.array([0, 1, 0]), np.array([1.0, 2.0, 5.0]), np.array([[1.0, -1.0], [0.5, 0.0], [2.0, 0.0]]))
    >>> history.since(1, 2)
    (array([0, 1]), array([[2. , 0. ],
           [0.5, 0. ]]))
    """

    def __init__(self, scores: int) -> None:
        self.count = 0
        self.slots: Places = np.zeros(0, dtype=np.int64)
        self.when: Floats = np.zeros(0)
        self.moved: Floats = np.zeros((0, scores))

    def widen(self, scores: int) -> None:
        """Make room for more functions."""
        self.moved = widened(self.moved, scores)

    def split(self, factor: float) -> None:
        """Turn one binary function into two opposite ones."""
        self.moved[:, 1] = factor * self.moved[:, 0]
        self.moved[:, 0] = 0.0 - self.moved[:, 1]

    def extend(self, slots: Places, when: Floats, moved: Floats) -> None:
        """Append updates."""
        end = self.count + len(slots)
        self.slots, self.when, self.moved = (doubled(a, end) for a in (self.slots, self.when, self.moved))
        self.slots[self.count : end], self.when[self.count : end] = slots, when
        self.moved[self.count : end, : moved.shape[1]] = moved
        # Updates that were taken back may have moved more functions than there are now.
        self.moved[self.count : end, moved.shape[1] :] = 0.0
        self.count = end

    def drop(self, count: int) -> None:
        """Forget the first updates."""
        kept = slice(count, self.count)
        self.slots, self.when, self.moved = self.slots[kept].copy(), self.when[kept].copy(), self.moved[kept].copy()
        self.count -= count

    def since(self, start: int, scores: int) -> tuple[Places, Floats]:
        """The patterns changed from update ``start`` on, and their total changes."""
        return summed(self.slots[start : self.count], self.moved[start : self.count, :scores])

    def votes(self, values: Floats, labels: int, rounds: Any, scores: int) -> Floats:
        """Votes for each label by all hypotheses of so many rounds, for rows with these kernel values.

        They have a column for each pattern; ``rounds`` is one number, or one for each row.
        """
        out = np.zeros((len(values), labels))
        moved = np.ascontiguousarray(self.moved[: self.count, :scores])
        each = np.full(len(values), rounds, dtype=np.float64)
        call(_vote, values, self.slots[: self.count], self.when[: self.count], moved, each, out)
        return out


@compiled(nogil=True)
def _vote(values, slots, when, moved, rounds, out):
    scores = moved.shape[1]
    B = np.zeros(scores)
    for b in range(values.shape[0]):
        updates = 0
        while updates < moved.shape[0] and when[updates] <= rounds[b]:
            updates += 1
        for r in range(scores):
            B[r] = 0.0
        # Before the first update all labels tie, and the smallest is predicted.
        out[b, 0] += (when[0] if updates else rounds[b] + 1.0) - 1.0
        for u in range(updates):
            best = 0
            for r in range(scores):
                B[r] += moved[u, r] * values[b, slots[u]]
                if B[r] > B[best]:
                    best = r
            if scores == 1:
                best = 1 if B[0] > 0.0 and out.shape[1] > 1 else 0
            out[b, best] += (when[u + 1] if u + 1 < updates else rounds[b] + 1.0) - when[u]
