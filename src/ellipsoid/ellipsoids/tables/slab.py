"""The table of `rules.slab`: weights with an ellipsoid of all functions that fit every row to within a noise.

The weights of features that come later began in the start ball and moved by ``drift`` a row, so that their length is at
most some r. If the d known weights lie in the ellipsoid P, all weights lie in

    diag(t P, t / (t - 1) r^2 I),     t = 1 + n / d  for n new ones, which gives the least volume,

because the two squared distances, each at most 1, count 1 / t and 1 - 1 / t. Whether features come one by one or all at
once, P grows by the ratio of the dimensions. (The same cuts in the larger space would enlarge it without end.)
"""

from math import inf
from typing import Any

import numpy as np

from ellipsoid.engine.rows import TINY
from ellipsoid.representation.table_protocol import Floats, StoredArrays
from ellipsoid.representation.tables import LinearTable

from .. import state as slots
from ..forms.form import FormArrays
from .around_weights import EmptyVersionSpace
from .drift import DriftTable

# A few operations, rounded upwards.
OUTWARDS = 1.0 + 2.0**-48


class SlabTable(DriftTable):
    """One function in an ellipsoid, which starts as a ball; ``part`` is what the loop works on.

    ``raises`` makes an empty intersection an error where the rule halts on it, instead of a new start.
    """

    form_name = "slab"
    predicts_in_loop = True

    def __init__(
        self, linear: LinearTable, *, part: Any, constant: bool, radius: float, drift: float, raises: bool
    ) -> None:
        self.part, self.radius, self.raises = part, radius, raises
        self.changes: Floats = np.zeros(0)
        super().__init__(linear, constant=constant, drift=drift, ceiling=inf)

    def _fill(self) -> None:
        super()._fill()
        if not self.constant:
            self.B[0, 0] = 0.0

    @property
    def longest(self) -> float:
        """The largest length that the truth can have by now."""
        return float(self.radius + self.numbers[slots.ASKED] * self.drift)

    def newcomers(self, known: int, new: int) -> tuple[float, float]:
        """See above; before the first cut the ball simply gets more coordinates."""
        square = max(self.longest**2, TINY) * OUTWARDS
        known -= 0 if self.constant else 1
        if known < 1 or not self.numbers[slots.CUTS]:
            return 1.0, square
        return (1.0 + new / known) * OUTWARDS, (1.0 + known / new) * square * OUTWARDS

    def _bind(self) -> None:
        self.rep = self.part(self.linear.rep, self.B, self.numbers, self.x, self.Bz)

    def settle(self) -> None:
        """Raise or start again, where the rule has halted on an empty intersection."""
        if not self.numbers[slots.HALT]:
            return
        proof = self.numbers[slots.LAST_PROOF]
        if self.raises:
            self.numbers[slots.HALT] = 0.0
            raise EmptyVersionSpace(
                "no function that fits the assumptions agrees with all examples seen: round "
                f"{int(proof)} left none; assume "
                "less, or choose on_infeasible='skip' or 'restart'"
            )
        if proof not in self.changes[-1:]:
            self.changes = np.append(self.changes, proof)
        self.linear.clear()
        self.B[:] = np.eye(len(self.B)) * max(self.radius**2, TINY)
        if not self.constant:
            self.B[0, 0] = 0.0
        # HALT is cleared last: if this is interrupted, it is done again.
        self.numbers[slots.HALT] = 0.0

    def state(self, scores: int) -> StoredArrays:
        more = {"changes": self.changes.copy()} if len(self.changes) else {}
        return {**super().state(scores), **more}

    def check(self, arrays: FormArrays, name: Any) -> None:
        super().check(arrays, name)
        slots.check_changes(arrays.get("changes", np.zeros(0)), arrays["numbers"][slots.EMPTY_COUNT])

    def restore(self, arrays: StoredArrays, form: str | None = None) -> None:
        super().restore(arrays)
        self.changes = np.array(arrays.get("changes", self.changes))
