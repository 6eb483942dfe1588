"""Linear weights with a window of examples: growing arrays for the compiled part in `linear`."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ellipsoid.engine.rows import CSR, Dense

from ..table_protocol import Floats, StoredArrays
from ..tables import AroundLinear, LinearTable, doubled, widened
from .linear import TAIL, Window
from .slots import Slots


class WindowTable(AroundLinear):
    """A linear table and the last ``window`` examples with their alphas, as dense rows if it is ``by_class``.

    >>> table = WindowTable(LinearTable(by_class=True, average=False), window=3, constant=1.0, cap=1.0)
    >>> table.reserve(1, 5), table.slots.count, table.X.shape
    (True, 3, (3, 5))
    """

    def __init__(self, linear: LinearTable, *, window: int, constant: float, cap: float) -> None:
        self.linear, self.slots, self.constant = linear, Slots(window, cap), constant
        self.X: Floats = np.zeros((self.slots.count if self.by_class else 0, 0))
        self.data: Floats = np.zeros(0)
        self.indices: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        self.indptr: NDArray[np.int64] = np.zeros(0 if self.by_class else 2 * self.slots.count, dtype=np.int64)
        self._bind()

    def mutable_parts(self) -> list[Any]:
        return [*super().mutable_parts(), self.slots]

    def _bind(self) -> None:
        if self.by_class:
            self.ring: Any = Dense(self.X, self.constant)
        else:
            self.ring = CSR(self.data, self.indices, self.indptr, self.constant, self.width)
        slots, old = self.slots, self.__dict__.get("rep")
        # Scratch is zero between rounds, and kept: features may appear with every row.
        dual = old.dual if old is not None and old.dual.alpha is slots.arrays["alpha"] else slots.dual()
        x = np.zeros(0) if old is None else old.x
        if len(x) < self.width:
            x = np.zeros(max(self.width, 2 * len(x)))
        self.rep: Any = Window(
            self.linear.rep, self.ring, dual, slots.window, slots.numbers, slots.arrays["pairs"],
            slots.arrays["known"], x,
        )  # fmt: skip

    # -- growing -----------------------------------------------------------------------------------------------

    def reserve(self, scores: int, width: int) -> bool:
        before = self.width
        moved = self.linear.reserve(scores, width)
        if self.width > before and self.by_class:
            # The window's rows have no columns to spare: the order of a sum must not depend on them.
            self.X = widened(self.X, self.width)
        if moved or self.width > before:
            self._bind()
            moved = True
        return moved

    def grow(self, rows: Any, t: int) -> None:
        self.slots.grow(self.slots.seen + 1)
        self._make_rows()
        if not self.by_class:
            length = int(rows.indptr[t + 1] - rows.indptr[t]) if isinstance(rows, CSR) else rows.X.shape[1]
            needed = 2 * (int((self.indptr[1::2] - self.indptr[::2]).sum()) + length)
            if needed > len(self.data):
                room = max(256, needed)
                self.data, self.indices = doubled(self.data, room), doubled(self.indices, room)
        self._bind()

    def _make_rows(self) -> None:
        """A row for each slot."""
        if self.by_class:
            self.X = np.concatenate([self.X, np.zeros((self.slots.count - len(self.X), self.width))])
        else:
            more = 2 * self.slots.count - len(self.indptr)
            self.indptr = np.concatenate([self.indptr, np.zeros(more, dtype=np.int64)])

    def split(self, factor: float) -> None:
        self.linear.split(factor)
        self.slots.split(factor)
        self._bind()

    # -- reading -----------------------------------------------------------------------------------------------

    def predictor(self, rounds: int) -> Any:
        return self.linear.predictor(rounds)

    # -- files -------------------------------------------------------------------------------------------------

    def state(self, scores: int) -> StoredArrays:
        m = self.slots.members
        arrays: StoredArrays = {**self.linear.state(scores), **self.slots.state()}
        if self.by_class:
            return {**arrays, "window_X": self.X[:m].copy()}
        spans = [slice(self.indptr[2 * i], self.indptr[2 * i + 1]) for i in range(m)]
        return {
            **arrays,
            "window_data": np.concatenate([self.data[:0], *(self.data[span] for span in spans)]),
            "window_indices": np.concatenate([self.indices[:0], *(self.indices[span] for span in spans)]),
            "window_lengths": np.array([span.stop - span.start for span in spans], dtype=np.int64),
        }

    def restore(self, arrays: StoredArrays) -> None:
        self.slots.restore(arrays, len(arrays["W"]))
        self.linear.restore(arrays)
        self._make_rows()
        if self.by_class:
            X = arrays["window_X"]
            if X.shape != (self.slots.members, self.width):
                raise ValueError("the examples of its window have the wrong shape")
            self.X[: len(X)] = X
        else:
            self._restore_sparse(*(arrays[f"window_{name}"] for name in ("data", "indices", "lengths")))
        self._bind()

    def _restore_sparse(self, data: NDArray[Any], indices: NDArray[Any], lengths: NDArray[Any]) -> None:
        sound = (
            lengths.shape == (self.slots.members,) and bool((lengths >= 0).all())
            and data.shape == indices.shape == (int(lengths.sum()),)
            and bool(((indices >= 0) & (indices < self.width)).all())
        )  # fmt: skip
        if not sound:
            raise ValueError("the examples of its window are not sound")
        # In the order of their observations, which moving them to the front relies on.
        starts, order = np.concatenate([[0], np.cumsum(lengths)]), self.slots.order
        spans = [slice(starts[i], starts[i + 1]) for i in order]
        self.data = np.concatenate([np.zeros(0), *(data[span] for span in spans)])
        self.indices = np.concatenate([self.indices[:0], *(indices[span] for span in spans)]).astype(np.int64)
        ends = np.cumsum(lengths[order])
        self.indptr[2 * order + 1] = ends
        self.indptr[2 * order] = ends - lengths[order]
        self.slots.numbers[TAIL] = len(self.data)

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in super().__getstate__().items() if key != "ring"}
