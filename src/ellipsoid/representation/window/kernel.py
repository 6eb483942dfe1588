"""A kernel expansion with a window of examples, whose coefficients may still change.

The table holds the examples that have left the window, with their final coefficients, in the order in which they left;
those of the window are kept apart, as alphas. ``reading`` returns both together.
"""

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..kernel.expansion import ExpansionTable, KernelSpec
from ..kernel.functions import Function, from_products
from ..kernel.history import add_to
from ..kernel.lookahead import KEEP, NORM2, PENDING, Lookahead
from ..kernel.norms import squared_row_norms
from ..kernel.packing import Values as TileValues
from ..kernel.pattern_index import END
from ..kernel.patterns import Block, Floats
from ..kernel.precomputed import ColumnPatterns
from ..kernel.threads import together
from ..rollback import Mark
from .linear import SQUARE, Window
from .prediction import Members, Reading
from .slots import Slots
from .values import WindowValues


class WindowExpansion(ExpansionTable):
    """Support patterns and coefficients, and the last ``window`` examples, oldest first, with their kernel values.

    ``mixed`` if it comes from a file of an earlier version, which holds the coefficients of both in one: they are
    separated when learning goes on.
    """

    moves_by_updates = False

    def __init__(
        self, kernel: KernelSpec, *, average: bool, constant: float, sparse: bool, window: int, cap: float
    ) -> None:
        super().__init__(kernel, average=average, constant=constant, sparse=sparse)
        self.constant, self.mixed = constant, False
        self.slots = Slots(window, cap, "late")
        self.recent = Block(self._no_rows(0), np.zeros(0), np.zeros(0, dtype=np.int64))
        self.recent_gram: Floats = np.zeros((0, 0))
        self._note()

    def mutable_parts(self) -> list[Any]:
        return [*super().mutable_parts(), self.slots]

    def block_arrays(self) -> list[Floats]:
        return [*super().block_arrays(), self.slots.numbers, *self.slots.arrays.values()]

    def _no_rows(self, count: int) -> Any:
        width = 0 if isinstance(self.patterns, ColumnPatterns) else self.width
        return sp.csr_matrix((count, width)) if self.patterns.sparse else np.zeros((count, width))

    def reserve(self, scores: int, width: int) -> bool:
        wider = width > self.width
        moved = super().reserve(scores, width)
        if wider and not isinstance(self.patterns, ColumnPatterns):
            old, rows = self.recent.matrix, self._no_rows(len(self.recent.norms))
            if self.patterns.sparse:
                rows = sp.csr_matrix((old.data, old.indices, old.indptr), shape=rows.shape)
            else:
                rows[:, : old.shape[1]] = old
            self.recent = self.recent._replace(matrix=rows)
        if moved:
            self._note()
        return moved

    def split(self, factor: float) -> None:
        super().split(factor)
        self.slots.split(factor)
        self.slots.arrays["late"] *= factor
        self._note()

    # -- reading -----------------------------------------------------------------------------------------------

    def _note(self) -> None:
        """Keep the state for ``reading``, which may be called while a block is learned, and must not see half of it."""
        order, arrays = self.slots.order if not self.mixed else slice(0, 0), self.slots.arrays
        block = self.recent if not self.mixed else self.recent._replace(norms=self.recent.norms[:0])
        self.members = Members(self.used, block, *(arrays[name][order] for name in ("alpha", "late", "pairs")))
        self.read: tuple[Members, Reading] | None = None

    def reading(self) -> Reading:
        """The hypothesis at this moment, with the window's alphas."""
        members, read = self.members, self.read
        if read is None or read[0] is not members:
            rest = ExpansionTable(self.kernel, average=False, constant=self.constant, sparse=self.patterns.sparse)
            self.read = read = members, Reading(self, rest, members)
        return read[1]

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "read": None}

    # -- learning ----------------------------------------------------------------------------------------------

    def front(self, block: Block) -> tuple[Block, Floats]:
        """The block with the window in front of it, and ``gram[s, t]`` of their rows, s <= t as they came."""
        kernel, m = self.make_kernel(), len(self.recent.norms)
        block = self.patterns.lay_out(kernel, block)
        gram = np.empty((m + len(block.norms),) * 2)
        gram[:m, :m] = self.recent_gram
        gram[m:, m:] = self.patterns.gram(kernel, block, self.constant2, half=True)
        if m:
            gram[:m, m:] = self._between(kernel, block)
        # Of a row of given values its column is all that is kept; other rows have no column.
        if isinstance(self.patterns, ColumnPatterns):
            return _joined(self.recent, block._replace(matrix=self._no_rows(len(block.norms)))), gram
        return _joined(self.recent, block._replace(columns=block.columns[:0])), gram

    def _between(self, kernel: Any, block: Block) -> Floats:
        """K + constant2 of the rows of the window with those of a block."""
        recent, out = self.recent, np.empty((len(self.recent.norms), len(block.norms)))
        if block.tiles is not None:
            everyone = np.arange(len(out))
            found = TileValues(kernel, self.patterns.as_stored(recent), everyone, block.tiles, out, self.constant2)
            together(found.work, found.parts, found.effort)
            return out
        if isinstance(self.patterns, ColumnPatterns):
            out[:] = block.matrix[:, recent.columns].T
        elif isinstance(kernel, Function):
            out[:] = kernel.values(block.matrix, recent.matrix).T
        else:
            (recent.matrix @ block.matrix.T).toarray(out=out)
            from_products(kernel, out, recent.norms, block.norms)
        out += self.constant2
        return out

    def _part(self) -> None:
        """Take the alphas of the window out of the coefficients."""
        self.mixed = False
        self._note()
        members, picks = self.members, np.flatnonzero(self.slots.alphas())
        places = self.patterns.find(members.block, picks)
        self.coef = self.coef.copy()
        add_to(self.coef, places, -members.moved(members.alpha, picks, self.coef.shape[1]))
        self.delayed.rest(self.coef[: self.used])

    def window_ahead(self, block: Block, functions: int) -> tuple[Window, Block]:
        """What the loop runs on, and the rows that it sees: the window's, then the block's."""
        if self.mixed:
            self._part()
        slots, m = self.slots, len(self.recent.norms)
        slots.grow(m + len(block.norms))
        scores = self.scores_ahead(block, functions)
        rows, gram = self.front(block)
        where = np.zeros(slots.count, dtype=np.int64)
        where[slots.order] = np.arange(m)
        ahead = np.zeros((scores.shape[1], len(gram)))
        ahead[:, m:] = scores.T
        self.numbers[KEEP], self.numbers[PENDING] = 0.0, 0.0
        moved = np.zeros(ahead.shape[::-1])
        late = np.zeros_like(moved) if self.average else np.zeros((0, 0))
        base = Lookahead(ahead, gram, moved, late, np.zeros(len(gram)), self.numbers)
        arrays, x = slots.arrays, np.zeros(0)
        ring = WindowValues(gram, where, arrays["late"], 0.0)
        window = Window(base, ring, slots.dual(), slots.window, slots.numbers, arrays["pairs"], arrays["known"], x)
        return window, rows

    def keep(self, window: Window, rows: Block, mark: Mark) -> None:
        """Store the examples that have left the window, and the rows that are in it now."""
        base = window.base
        self.commit(rows, base, mark)
        self.numbers[NORM2] = self.slots.numbers[SQUARE]
        stay = window.ring.where[self.slots.order]
        columns = rows.columns[stay] if isinstance(self.patterns, ColumnPatterns) else rows.columns
        self.recent = Block(rows.matrix[stay], rows.norms[stay], columns)
        self.recent_gram = base.gram[np.ix_(stay, stay)]
        self._note()

    # -- files -------------------------------------------------------------------------------------------------

    def state(self, scores: int) -> dict[str, NDArray[Any]]:
        upper = self.recent_gram
        both_halves = np.where(np.tri(len(upper), k=-1, dtype=np.bool_), upper.T, upper)
        arrays = {**super().state(scores), **self.slots.state(), "window_values": both_halves}
        if self.mixed:
            del arrays["window_late"]
        matrix = self.recent.matrix
        if isinstance(self.patterns, ColumnPatterns):
            return {**arrays, "window_columns": self.recent.columns.copy()}
        if not self.patterns.sparse:
            return {**arrays, "window_X": matrix.copy()}
        return {
            **arrays,
            "window_data": matrix.data.copy(),
            "window_indices": matrix.indices.astype(np.int64),
            "window_indptr": matrix.indptr.astype(np.int64),
        }

    def restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        super().restore(arrays)
        self.mixed = "window_late" not in arrays
        late = {"window_late": np.zeros(len(arrays["window_alpha"]))} if self.mixed else {}
        self.slots.restore({**arrays, **late}, self.coef.shape[1])
        m = self.slots.members
        columns = np.zeros(0, dtype=np.int64)
        if isinstance(self.patterns, ColumnPatterns):
            columns, matrix = arrays["window_columns"], self._no_rows(m)
            sound = columns.shape == (m,) and bool(((columns >= 0) & (columns < self.width)).all())
        elif not self.patterns.sparse:
            matrix = arrays["window_X"]
            sound = matrix.shape == (m, self.width)
        else:
            data, indices, indptr = (arrays[f"window_{name}"] for name in ("data", "indices", "indptr"))
            sound = (
                indptr.shape == (m + 1,) and indptr[0] == 0 and bool((np.diff(indptr) >= 0).all())
                and data.shape == indices.shape == (indptr[-1],)
                and bool(((indices >= 0) & (indices < self.width)).all())
            )  # fmt: skip
            matrix = sp.csr_matrix((data, indices, indptr), shape=(m, self.width)) if sound else None
        if not sound or arrays["window_values"].shape != (m, m):
            raise ValueError("the examples of its window are not sound")
        self.recent = Block(matrix, squared_row_norms(matrix), columns.astype(np.int64))
        self.recent_gram = np.asarray(arrays["window_values"], dtype=np.float64)
        picks = np.flatnonzero(self.slots.alphas())
        if self.mixed and (self.patterns.find(self.recent, picks) == END).any():
            raise ValueError("its window holds an example that is no support pattern, and has an alpha")
        self._note()


def _joined(one: Block, other: Block) -> Block:
    stack: Any = sp.vstack if sp.issparse(one.matrix) else np.vstack
    matrix = stack([one.matrix, other.matrix])
    return Block(
        matrix.tocsr() if sp.issparse(matrix) else matrix,
        np.concatenate([one.norms, other.norms]),
        np.concatenate([one.columns, other.columns]),
    )
