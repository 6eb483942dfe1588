"""Growing arrays for copies of a learner that learn side by side, and the choice of the form of their metric."""

import numpy as np

from ..linear import CACHE_LINE
from ..table_protocol import Floats, StoredArrays, Table
from ..tables import whole_blocks, zeros
from .copies import COPY_ROUNDS, ENERGY, OWN, SHAPED, SHARED, Copies, leading_head, weight_of_past

# Up to so many features the full form pays.
NARROW = 64


class CopiesTable(Table):
    """Weights and metrics of ``copies`` copies of a learner.

    ``form`` is that of the metric: "full", "diagonal", or "auto" for the full one up to NARROW features. A table that
    grows beyond them changes to the diagonal form, for which it has kept what is needed.

    >>> table = CopiesTable(copies=3, heads=0, form="auto")
    >>> _ = table.reserve(1, 64)
    >>> table.full, table.reserve(1, 65), table.full
    (True, True, False)
    """

    by_class = False
    predicts_in_loop = True

    def __init__(self, *, copies: int, heads: int, form: str) -> None:
        self.copies, self.heads, self.form = copies, heads, form
        self.width = 0
        self.functions = 1
        self.shared: Floats = np.zeros(SHARED)
        self.own: Floats = np.zeros((copies, OWN))
        self.W: Floats = zeros((1, self._columns_of(1)))
        self.P: Floats = np.zeros((0, 0))
        self._shape_for(0)
        self._bind()

    @property
    def full(self) -> bool:
        """Is the metric a full matrix?"""
        return bool(len(self.P) > 0)

    def _columns_of(self, functions: int) -> int:
        """How many numbers one column of the rows needs in ``W``: its weights, and two of the metric.

        Beyond one cache line they are whole lines, so that no block of weights begins in the middle of one.
        """
        needed = whole_blocks(2 * self.copies * whole_blocks(functions) + 2)
        return needed if needed < CACHE_LINE else -(-needed // CACHE_LINE) * CACHE_LINE

    def _bind(self) -> None:
        # One place more than there are columns: `pack` writes an entry before it decides whether to count it.
        room, every = len(self.W) + 1, self.W.shape[1]
        self.rep = Copies(
            self.W, self.P, self.shared, self.own,
            positions=np.zeros(room, dtype=np.int64), value=np.zeros(room), direction=np.zeros(room),
            scores=np.zeros(every), columns=np.zeros(every, dtype=np.int64), step=np.zeros(every),
            block=whole_blocks(self.functions), heads=self.heads,
        )  # fmt: skip

    def _blocks(self, W: Floats, functions: int) -> Floats:
        """A view of ``W`` as (column, copy, last or sums, function)."""
        block = whole_blocks(functions)
        return W[:, : 2 * self.copies * block].reshape(len(W), self.copies, 2, block)

    def reserve(self, scores: int, width: int) -> bool:
        before, room, functions = (self.W, self.P), len(self.W), max(self.functions, scores)
        if width > self.width:
            self.width = width
            self._shape_for(width)
        if whole_blocks(functions) > whole_blocks(self.functions) or 1 + width > room:
            if 1 + width > room:
                # The first reservation is exact; only growth in mid-stream doubles.
                room = 1 + width if room == 1 else max(1 + width, 2 * room)
            W = zeros((room, self._columns_of(functions)))
            # The blocks of one table may be longer than those of the other: what lies beyond is zero.
            old = self._blocks(self.W, self.functions)
            self._blocks(W, functions)[: len(old), :, :, : old.shape[3]] = old
            W[: len(old), -2:] = self.W[:, -2:]
            self.W = W
        self.functions = functions
        moved = self.W is not before[0] or self.P is not before[1]
        if moved:
            self._bind()
        return moved

    def _shape_for(self, width: int) -> None:
        """Give the metric so many features, and the form that fits them."""
        if self.form == "full" or (self.form == "auto" and width <= NARROW):
            self.P = np.pad(self.P, (0, 1 + width - len(self.P)))
        elif self.full:
            self.P = np.zeros((0, 0))
            # Energies are summed afresh: those of the full form mean something else.
            self.shared = self.shared.copy()
            self.shared[[ENERGY, SHAPED]] = 0.0

    def head(self) -> tuple[int, int]:
        """Which copy predicts, and whether by its last weights (0) or their average (1)."""
        return leading_head(self.rep)

    def weights(self, scores: int, rounds: int) -> Floats:
        return self.weights_of(*self.head(), scores)

    def weights_of(self, copy: int, place: int, scores: int) -> Floats:
        """The weights of one head."""
        own = self._blocks(self.W, self.functions)[: 1 + self.width, copy, :, :scores]
        past = weight_of_past(float(self.shared[COPY_ROUNDS]))
        found: Floats = own[:, 0] - own[:, 1] / past if place == 1 and past > 0.0 else own[:, 0]
        return np.ascontiguousarray(found.T)

    def split(self, factor: float) -> None:
        self.reserve(2, self.width)
        view = self._blocks(self.W, self.functions)
        view[..., 1] = factor * view[..., 0]
        view[..., 0] = 0.0 - view[..., 1]  # never -0.0

    def state(self, scores: int) -> StoredArrays:
        own = self._blocks(self.W, self.functions)[: 1 + self.width, :, :, :scores]
        arrays = {
            "W": own.reshape(len(own), -1).T.copy(), "M": self.W[: 1 + self.width, -2:].copy(),
            "shared": self.shared.copy(), "own": self.own.copy(),
        }  # fmt: skip
        return {**arrays, "P": self.P.copy()} if self.full else arrays

    def restore(self, arrays: StoredArrays) -> None:
        columns, scores = 1 + self.width, self.functions
        expected = {
            "W": (2 * self.copies * scores, columns), "M": (columns, 2),
            "shared": self.shared.shape, "own": self.own.shape,
        }  # fmt: skip
        if self.full:
            expected["P"] = self.P.shape
        for name, shape in expected.items():
            if arrays[name].shape != shape or arrays[name].dtype != np.float64:
                raise ValueError(f"its array {name!r} has a wrong shape")
        if any((arrays[name] < 0.0).any() for name in ("M", "shared", "own")):
            raise ValueError("a count, a size or a sum of squares is negative")
        own = arrays["W"].T.reshape(columns, self.copies, 2, scores)
        self._blocks(self.W, self.functions)[:columns, :, :, :scores] = own
        self.W[:columns, -2:] = arrays["M"]
        self.shared[:], self.own[:] = arrays["shared"], arrays["own"]
        if self.full:
            self.P[:] = arrays["P"]
