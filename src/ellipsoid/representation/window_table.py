"""The growing arrays of a window of examples: the Python side of ``window.py``."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ellipsoid.engine.rows import CSR, Dense
from ellipsoid.rules.window_ascent import WindowDual

from .tables import Floats, LinearTable
from .window import (
    BLOCK,
    NUMBERS,
    RIVAL,
    RIVAL_SIGN,
    SEEN,
    SIGN,
    TAIL,
    UNDONE,
    Window,
)

# A window that takes in everything: more examples than there will ever be.
ALL = 1 << 62
# Slots to begin with; and the most alphas that one Newton step moves: beyond, coordinate steps go on alone.
FIRST, NEWTON = 16, 512

# Arrays with a row for each slot, and the shape of a row.
PER_SLOT: dict[str, tuple[int, ...]] = {"alpha": (), "gradient": (), "own": (), "pairs": (4,), "known": ()}


class WindowTable:
    """A linear table and the last ``window`` examples with their alphas.

    >>> table = WindowTable(LinearTable(by_class=True, average=False), window=3, constant=1.0)
    >>> table.reserve(1, 5), table.slots
    (True, 3)
    """

    def __init__(self, linear: LinearTable, *, window: int, constant: float) -> None:
        self.linear, self.window, self.constant = linear, window, constant
        self.numbers: Floats = np.zeros(NUMBERS)
        self.slots = min(window, FIRST)
        self.arrays: dict[str, Floats] = {name: np.zeros((self.slots, *row)) for name, row in PER_SLOT.items()}
        self.arrays["gram"] = np.zeros((self.slots, self.slots))
        self.arrays["known"][:] = -1.0
        if self.by_class:
            self.X: Floats = np.zeros((self.slots, 0))
        else:
            self.data: Floats = np.zeros(0)
            self.indices: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
            self.indptr: NDArray[np.int64] = np.zeros(2 * self.slots, dtype=np.int64)
        self._bind()

    @property
    def by_class(self) -> bool:
        """Are the rows of the window dense, and each function's weights together?"""
        return self.linear.by_class

    @property
    def width(self) -> int:
        """Number of features."""
        return self.linear.width

    @property
    def members(self) -> int:
        """Examples in the window now."""
        return min(int(self.numbers[SEEN]), self.slots)

    def _bind(self) -> None:
        arrays, slots = self.arrays, self.slots
        small = min(slots, NEWTON)
        self.ring: Any = (
            Dense(self.X, self.constant)
            if self.by_class
            else CSR(self.data, self.indices, self.indptr, self.constant, self.width)
        )
        dual = WindowDual(
            arrays["alpha"], arrays["gradient"], arrays["own"], arrays["gram"], np.zeros(slots),
            np.zeros((small, small)), np.zeros(small), np.zeros(slots), np.zeros(small),
        )  # fmt: skip
        self.rep: Any = Window(
            self.linear.rep, self.ring, dual, self.window, self.numbers, arrays["pairs"], arrays["known"],
            np.zeros(self.width),
        )  # fmt: skip

    # -- growing -----------------------------------------------------------------------------------------------

    def reserve(self, scores: int, width: int) -> bool:
        """Make room for this many scores and features; True if arrays moved."""
        before = self.width
        moved = self.linear.reserve(scores, width)
        if self.width > before and self.by_class:
            # The window's rows have no columns to spare: the order of a sum must not depend on them.
            wider = np.zeros((self.slots, self.width))
            wider[:, :before] = self.X
            self.X = wider
        if moved or self.width > before:
            self._bind()
            moved = True
        return moved

    def grow(self, rows: Any, t: int) -> None:
        """Double what is full."""
        if self.numbers[SEEN] >= self.slots and self.slots < self.window:
            self._add_slots(min(self.window, 2 * self.slots))
        if not self.by_class:
            length = int(rows.indptr[t + 1] - rows.indptr[t]) if isinstance(rows, CSR) else rows.X.shape[1]
            needed = 2 * (int((self.indptr[1::2] - self.indptr[::2]).sum()) + length)
            if needed > len(self.data):
                capacity = max(256, 2 * len(self.data), needed)
                self.data = np.concatenate([self.data, np.zeros(capacity - len(self.data))])
                extra = np.zeros(capacity - len(self.indices), dtype=np.int64)
                self.indices = np.concatenate([self.indices, extra])
        self._bind()

    def _add_slots(self, slots: int) -> None:
        old, self.slots = self.slots, slots
        for name, row in PER_SLOT.items():
            wider = np.full((slots, *row), -1.0 if name == "known" else 0.0)
            wider[:old] = self.arrays[name]
            self.arrays[name] = wider
        gram = np.zeros((slots, slots))
        gram[:old, :old] = self.arrays["gram"]
        self.arrays["gram"] = gram
        if self.by_class:
            self.X = np.concatenate([self.X, np.zeros((slots - old, self.width))])
        else:
            self.indptr = np.concatenate([self.indptr, np.zeros(2 * (slots - old), dtype=np.int64)])

    def prepare(self) -> None:
        """Nothing is left to choose before the first row."""

    def settle(self) -> None:
        """Nothing is left to do after a run."""

    def split(self, factor: float) -> None:
        """Turn a binary run into the same run with two opposite functions: z grows by a second block, alpha halves."""
        self.linear.split(factor)
        arrays, pairs = self.arrays, self.arrays["pairs"]
        sign = pairs[:, SIGN].copy()
        pairs[:, BLOCK], pairs[:, RIVAL] = sign > 0.0, sign < 0.0
        pairs[:, SIGN], pairs[:, RIVAL_SIGN] = np.abs(sign), -np.abs(sign)
        arrays["gram"] *= 2.0
        arrays["own"] *= 2.0
        arrays["alpha"] *= factor
        # What rested at C may rise again.
        self.numbers[UNDONE] = 1.0
        self._bind()

    # -- reading -----------------------------------------------------------------------------------------------

    def weights(self, scores: int, rounds: int) -> Floats:
        """The first ``scores`` functions as rows (constant first); the average over ``rounds`` where one is kept."""
        return self.linear.weights(scores, rounds)

    def predictor(self, rounds: int) -> Any:
        """What predictions are scored with: the weights alone."""
        return self.linear.predictor(rounds)

    def alphas(self) -> Floats:
        """The alphas of the window, the oldest first."""
        seen = int(self.numbers[SEEN])
        order = np.arange(seen - self.members, seen) % self.slots
        alphas: Floats = self.arrays["alpha"][order]
        return alphas

    # -- files -------------------------------------------------------------------------------------------------

    def state(self, scores: int) -> dict[str, NDArray[Any]]:
        """Arrays that hold everything, trimmed of spare capacity."""
        m = self.members
        arrays: dict[str, NDArray[Any]] = {name: self.arrays[name][:m].copy() for name in PER_SLOT}
        arrays["gram"] = self.arrays["gram"][:m, :m].copy()
        numbers = self.numbers.copy()
        numbers[TAIL] = 0.0
        if self.by_class:
            arrays["X"] = self.X[:m].copy()
        else:
            spans = [slice(self.indptr[2 * i], self.indptr[2 * i + 1]) for i in range(m)]
            empty = slice(0, 0)
            arrays["data"] = np.concatenate([self.data[span] for span in [empty, *spans]])
            arrays["indices"] = np.concatenate([self.indices[span] for span in [empty, *spans]])
            arrays["lengths"] = np.array([span.stop - span.start for span in spans], dtype=np.int64)
        return {**self.linear.state(scores), **arrays, "numbers": numbers}

    def restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Take back what ``state`` gave."""
        numbers, m = arrays["numbers"], len(arrays["alpha"])
        if numbers.shape != self.numbers.shape or not np.isfinite(numbers).all():
            raise ValueError("the numbers of its window are not sound")
        seen = int(numbers[SEEN])
        if m != min(seen, self.window) or seen != numbers[SEEN] or arrays["gram"].shape != (m, m):
            raise ValueError("its window has another size than its parameters say")
        if any(arrays[name].shape != (m, *row) for name, row in PER_SLOT.items()):
            raise ValueError("its window has wrong shapes")
        who = arrays["pairs"][:, [BLOCK, RIVAL]]
        if m and not (who.min() >= -1.0 and who.max() < len(arrays["W"]) and (who == np.floor(who)).all()):
            raise ValueError("its window names unknown classes")
        self.linear.restore(arrays)
        self.numbers[:] = numbers
        if m > self.slots:
            self._add_slots(min(self.window, max(m, FIRST)))
        for name in PER_SLOT:
            self.arrays[name][:m] = arrays[name]
        self.arrays["gram"][:m, :m] = arrays["gram"]
        self._restore_rows(arrays, m, seen)
        self._bind()

    def _restore_rows(self, arrays: dict[str, NDArray[Any]], m: int, seen: int) -> None:
        if self.by_class:
            if arrays["X"].shape != (m, self.width):
                raise ValueError("the examples of its window are not sound")
            self.X[:m] = arrays["X"]
            return
        data, indices, lengths = arrays["data"], arrays["indices"], arrays["lengths"]
        sound = (
            lengths.shape == (m,) and data.shape == indices.shape == (int(lengths.sum()),)
            and bool((lengths >= 0).all()) and bool(((indices >= 0) & (indices < self.width)).all())
        )  # fmt: skip
        if not sound:
            raise ValueError("the examples of its window are not sound")
        # In the order of their observations, which moving them to the front relies on.
        starts = np.concatenate([[0], np.cumsum(lengths)])
        order = np.arange(seen - m, seen) % max(1, self.slots)
        self.data = np.concatenate([data[:0], *(data[starts[i] : starts[i + 1]] for i in order)]).astype(np.float64)
        self.indices = np.concatenate([indices[:0], *(indices[starts[i] : starts[i + 1]] for i in order)]).astype(
            np.int64
        )
        ends = np.cumsum(lengths[order])
        self.indptr[2 * order + 1] = ends
        self.indptr[2 * order] = ends - lengths[order]
        self.numbers[TAIL] = len(self.data)

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in self.__dict__.items() if key not in ("rep", "ring")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._bind()
