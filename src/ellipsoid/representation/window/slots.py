"""The dual side of a window: alphas, gradients, signed pairs and products of its examples, a slot for each."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..signed_pairs import PAIR_BLOCK, PAIR_RIVAL, PAIR_RIVAL_SIGN, PAIR_SIGN
from ..table_protocol import Floats
from .ascent import WindowDual
from .linear import SEEN, SQUARE, STEP_SUMS, TAIL, UNDONE, WINDOW_NUMBERS

# A window that takes in everything: more examples than there will ever be.
ALL = 1 << 62
# Slots to begin with; and the most alphas that one Newton step moves: beyond, coordinate steps go on alone.
FIRST_SLOTS, NEWTON = 16, 512

# Arrays with a row for each slot, and the shape of a row.
PER_SLOT: dict[str, tuple[int, ...]] = {"alpha": (), "gradient": (), "own": (), "pairs": (4,), "known": (), "cap": ()}


class Slots:
    """Everything about the last ``window`` examples but the examples themselves; ``more`` names numbers to keep too.

    ``usual`` is the cap of an example of weight 1: a file holds caps where there are others.

    >>> slots = Slots(40, 1.0)
    >>> slots.count, slots.members
    (16, 0)
    >>> slots.grow(100)
    >>> slots.count
    40
    """

    def __init__(self, window: int, usual: float, *more: str) -> None:
        self.window, self.usual = window, usual
        self.per_slot = {**PER_SLOT, **dict.fromkeys(more, ())}
        self.numbers: Floats = np.zeros(WINDOW_NUMBERS)
        self.count = min(window, FIRST_SLOTS)
        self.arrays: dict[str, Floats] = {name: np.zeros((self.count, *row)) for name, row in self.per_slot.items()}
        self.arrays["gram"] = np.zeros((self.count, self.count))
        self.arrays["known"][:] = -1.0

    @property
    def seen(self) -> int:
        """Examples that have been in the window, those that are included."""
        return int(self.numbers[SEEN])

    @property
    def members(self) -> int:
        """Examples in the window now."""
        return min(self.seen, self.count)

    @property
    def order(self) -> NDArray[np.int64]:
        """The slots in use, the oldest example's first."""
        return np.arange(self.seen - self.members, self.seen) % self.count

    def alphas(self) -> Floats:
        """The alphas of the window, the oldest first."""
        return self.arrays["alpha"][self.order]

    def dual(self) -> WindowDual:
        """What the ascent works on, with scratch of its own."""
        arrays, small = self.arrays, min(self.count, NEWTON)
        return WindowDual(
            arrays["alpha"], arrays["gradient"], arrays["own"], arrays["gram"], arrays["cap"],
            np.zeros(self.count),
            np.zeros((small, small)), np.zeros(small), np.zeros(self.count), np.zeros(small), np.zeros(STEP_SUMS),
        )  # fmt: skip

    def grow(self, needed: int) -> None:
        """Make room for so many examples, or for the whole window: at least twice as many as before."""
        if needed <= self.count or self.count == self.window:
            return
        old, count = self.count, min(self.window, max(needed, 2 * self.count))
        grown = {"gram": np.zeros((count, count))}
        grown["gram"][:old, :old] = self.arrays["gram"]
        for name, row in self.per_slot.items():
            grown[name] = np.full((count, *row), -1.0 if name == "known" else 0.0)
            grown[name][:old] = self.arrays[name]
        # New arrays: a rollback may need the old ones.
        self.count, self.arrays = count, grown

    def split(self, factor: float) -> None:
        """Turn a binary run into the same run with two opposite functions: z grows by a second block, alpha halves."""
        arrays, pairs = self.arrays, self.arrays["pairs"]
        sign = pairs[:, PAIR_SIGN].copy()
        pairs[:, PAIR_BLOCK], pairs[:, PAIR_RIVAL] = sign > 0.0, sign < 0.0
        pairs[:, PAIR_SIGN], pairs[:, PAIR_RIVAL_SIGN] = np.abs(sign), -np.abs(sign)
        arrays["gram"] *= 2.0
        arrays["own"] *= 2.0
        arrays["alpha"] *= factor
        self.numbers[SQUARE] *= 2.0 * factor * factor
        # Alphas at the cap may grow again.
        self.numbers[UNDONE] = 1.0

    def state(self) -> dict[str, NDArray[Any]]:
        """Arrays that hold everything, trimmed of spare capacity."""
        m = self.members
        arrays = {f"window_{name}": self.arrays[name][:m].copy() for name in self.per_slot}
        if (arrays["window_cap"] == self.usual).all():
            del arrays["window_cap"]
        arrays["window_gram"] = self.arrays["gram"][:m, :m].copy()
        numbers = self.numbers.copy()
        numbers[TAIL] = 0.0
        return {**arrays, "window_numbers": numbers}

    def restore(self, arrays: dict[str, NDArray[Any]], functions: int) -> None:
        """Take back what ``state`` gave, for a hypothesis of so many functions."""
        numbers, m = arrays["window_numbers"], len(arrays["window_alpha"])
        if numbers.shape != self.numbers.shape:
            raise ValueError("the numbers of its window have the wrong shape")
        arrays = {"window_cap": np.full(m, self.usual), **arrays}
        seen = int(numbers[SEEN]) if 0.0 <= numbers[SEEN] < 2.0**53 else -1
        if m != min(seen, self.window) or seen != numbers[SEEN]:
            raise ValueError("its window has another size than its parameters say")
        shapes = {**{name: (m, *row) for name, row in self.per_slot.items()}, "gram": (m, m)}
        for name, shape in shapes.items():
            if arrays[f"window_{name}"].shape != shape:
                raise ValueError(f"its array 'window_{name}' has the wrong shape {arrays[f'window_{name}'].shape}")
        if not ((arrays["window_own"] >= 0.0).all() and (arrays["window_alpha"] >= 0.0).all()):
            raise ValueError("its window holds a negative square or alpha")
        if not ((arrays["window_cap"] >= 0.0) & (arrays["window_alpha"] <= arrays["window_cap"])).all():
            raise ValueError("the alphas of its window are beyond their caps")
        who = arrays["window_pairs"][:, [PAIR_BLOCK, PAIR_RIVAL]]
        if m and not (who.min() >= -1.0 and who.max() < functions and (who == np.floor(who)).all()):
            raise ValueError("its window holds examples of classes that are not there")
        if m and not (arrays["window_pairs"][:, PAIR_BLOCK] >= 0.0).all():
            raise ValueError("its window holds examples of no class")
        self.numbers[:] = numbers
        self.grow(m)
        for name in self.per_slot:
            self.arrays[name][:m] = arrays[f"window_{name}"]
        self.arrays["gram"][:m, :m] = arrays["window_gram"]
