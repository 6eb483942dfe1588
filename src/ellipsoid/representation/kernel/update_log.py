"""Coefficients of an earlier round and the updates since, so that scores do not depend on how a stream is cut.

A score is a rounded sum, and depends on the order of its terms. Here the order follows from the rounds alone: first the
coefficients of a round on a fixed grid, pattern by pattern, then every update since, one by one. A block is scored by
the same terms in the same order whether some of the updates happened in it, in one before or in another process, and
whether other threads had computed the first sum before the last updates were known.

If no example repeats, this is the order of the patterns in any case. Otherwise a pattern has a term for each of its
updates since the last round of the grid.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..rollback import Mark
from ..tables import doubled, widened
from .history import Floats, History, Places, add_to


class Delayed:
    """``base[i]`` is the coefficient of pattern i before the updates of ``log``, zero from ``settled`` on.

    >>> delayed = Delayed(1)
    >>> delayed.extend(np.array([0, 1, 0]), np.array([1.0, 3.0, 4.0]), np.array([[1.0], [2.0], [0.5]]))
    >>> delayed.fold(3)
    >>> delayed.base[: delayed.settled].ravel(), delayed.updates(1)
    (array([1., 2.]), (array([0]), array([[0.5]])))
    """

    def __init__(self, scores: int) -> None:
        self.base: Floats = np.zeros((0, scores))
        self.settled = 0
        self.log = History(scores)

    def widen(self, scores: int) -> None:
        """Make room for more functions."""
        self.base = widened(self.base, scores)
        self.log.widen(scores)

    def extend(self, slots: Places, when: Floats, moved: Floats) -> None:
        """Append updates in the order of their rounds."""
        self.log.extend(slots, when, moved)

    def updates(self, scores: int) -> tuple[Places, Floats]:
        """The pattern of each update since, and its change."""
        count = self.log.count
        return self.log.slots[:count], np.ascontiguousarray(self.log.moved[:count, :scores])

    def fold(self, upto: float, mark: Mark | None = None) -> None:
        """Make the base that after round ``upto``; the mark saves what changes."""
        count = self._due(upto)
        if count:
            reach, slots = self._reach(count), self.log.slots[:count]
            self.base = doubled(self.base, reach)
            if mark is not None:
                mark.save(self.base, np.unique(slots))
            add_to(self.base, slots, self.log.moved[:count])
            self.settled = reach
            self.log.drop(count)

    def at(self, upto: float) -> tuple[Floats, Places]:
        """A copy of what the base will be after round ``upto``, and the patterns that will have changed."""
        count = self._due(upto)
        base = doubled(self.base[: self.settled].copy(), self._reach(count))[: self._reach(count)]
        add_to(base, self.log.slots[:count], self.log.moved[:count])
        return base, self.log.slots[:count]

    def rest(self, coef: Floats) -> None:
        """Start over from these coefficients of all patterns."""
        self.base, self.settled, self.log = coef.copy(), len(coef), History(coef.shape[1])

    def _due(self, upto: float) -> int:
        return int(np.searchsorted(self.log.when[: self.log.count], upto, side="right"))

    def _reach(self, count: int) -> int:
        return max(self.settled, int(self.log.slots[:count].max(initial=-1)) + 1)

    # -- files -------------------------------------------------------------------------------------------------

    def state(self, scores: int) -> dict[str, NDArray[Any]]:
        """The updates, and the base of the patterns they moved; nothing where there are none."""
        slots, moved = self.updates(scores)
        if not len(slots):
            return {}
        base = doubled(self.base, int(slots.max()) + 1)[np.unique(slots), :scores]
        when = self.log.when[: len(slots)]
        return {
            "delayed_slots": slots.copy(), "delayed_when": when.copy(), "delayed_moved": moved, "delayed_base": base
        }  # fmt: skip

    def restore(self, arrays: dict[str, NDArray[Any]], coef: Floats) -> None:
        """Take back what ``state`` gave, beside the present coefficients of all patterns."""
        self.rest(coef)
        if "delayed_slots" not in arrays:
            return
        slots, when, moved, base = (arrays[f"delayed_{name}"] for name in ("slots", "when", "moved", "base"))
        moving = np.unique(slots)
        if slots.ndim != 1 or not ((slots >= 0) & (slots < len(coef))).all() or when.shape != slots.shape:
            raise ValueError("its last updates are of no pattern")
        shapes = (moved, len(slots)), (base, len(moving))
        if any(a.ndim != 2 or len(a) != n or a.shape[1] > coef.shape[1] for a, n in shapes):
            raise ValueError("its last updates have a wrong shape")
        if not (np.isfinite(moved).all() and np.isfinite(base).all() and (np.diff(when) >= 0.0).all()):
            raise ValueError("its last updates are damaged")
        self.base[moving] = 0.0
        self.base[moving, : base.shape[1]] = base
        self.settled = int(np.flatnonzero(self.base.any(axis=1)).max(initial=-1)) + 1
        self.extend(slots, when, moved)
