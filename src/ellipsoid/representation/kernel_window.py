"""A kernel expansion with a window of examples, whose coefficients may still move."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .columns import Columns
from .expansion import ExpansionTable, KernelSpec
from .kernels import Function, from_products
from .lookahead import KEEP, NORM2, PENDING, Lookahead
from .patterns import Block, Floats
from .slots import Slots
from .window import BLOCK, RIVAL, SIGN, SQUARE, Window
from .window_values import Values


class WindowExpansion(ExpansionTable):
    """Support patterns and coefficients, and the last ``window`` examples, oldest first, with their kernel values."""

    def __init__(self, kernel: KernelSpec, *, average: bool, constant: float, sparse: bool, window: int) -> None:
        super().__init__(kernel, average=average, constant=constant, sparse=sparse)
        self.slots = Slots(window)
        self.recent = Block(self._no_rows(0), np.zeros(0), np.zeros(0, dtype=np.int64))
        self.recent_gram: Floats = np.zeros((0, 0))
        self.stale = False

    def _no_rows(self, count: int) -> Any:
        width = 0 if isinstance(self.patterns, Columns) else self.width
        return sp.csr_matrix((count, width)) if self.patterns.sparse else np.zeros((count, width))

    def reserve(self, scores: int, width: int) -> bool:
        """Make room for this many functions and features; True if arrays moved."""
        wider = width > self.width
        moved = super().reserve(scores, width)
        if wider and not isinstance(self.patterns, Columns):
            old, rows = self.recent.matrix, self._no_rows(len(self.recent.norms))
            if self.patterns.sparse:
                rows = sp.csr_matrix((old.data, old.indices, old.indptr), shape=rows.shape)
            else:
                rows[:, : old.shape[1]] = old
            self.recent = self.recent._replace(matrix=rows)
            # A kernel whose gamma is one over the width is another kernel now.
            self.stale = self.kernel[1] is None
        return moved

    def split(self, factor: float) -> None:
        """Turn a binary run into the same run with two opposite functions."""
        super().split(factor)
        self.slots.split(factor)

    # -- learning ----------------------------------------------------------------------------------------------

    def refresh(self, margin: float, scores: int) -> None:
        """Products and gradients of the window by the kernel as it is now."""
        slots, order = self.slots, self.slots.order
        self.recent_gram = self.patterns.gram(self.make_kernel(), self.recent, self.constant2)
        pairs = slots.arrays["pairs"][order]
        reached = self.scores(self.recent, self.coef[:, :scores])
        inner = np.zeros(len(order))
        for who, sign in ((BLOCK, SIGN), (RIVAL, SIGN + 2)):
            inner += pairs[:, sign] * reached[np.arange(len(order)), pairs[:, who].astype(np.int64)]
        kinds = (pairs[:, SIGN::2] ** 2).sum(axis=1)
        slots.arrays["own"][order] = kinds * np.diag(self.recent_gram)
        slots.arrays["gradient"][order] = np.where(kinds > 0.0, margin - inner, 0.0)
        slots.arrays["known"][:] = -1.0
        self.stale = False

    def front(self, block: Block) -> tuple[Block, Floats]:
        """The block with the window in front of it, and all their kernel values."""
        kernel, m = self.make_kernel(), len(self.recent.norms)
        gram = np.empty((m + len(block.norms),) * 2)
        gram[:m, :m] = self.recent_gram
        gram[m:, m:] = self.patterns.gram(kernel, block, self.constant2)
        if m:
            gram[m:, :m] = self._between(kernel, block) + self.constant2
            gram[:m, m:] = gram[m:, :m].T
        # Of a row of given values its column is all that is kept; other rows have no column.
        if isinstance(self.patterns, Columns):
            return _joined(self.recent, block._replace(matrix=self._no_rows(len(block.norms)))), gram
        return _joined(self.recent, block._replace(columns=block.columns[:0])), gram

    def _between(self, kernel: Any, block: Block) -> Floats:
        """K of the rows of a block with those of the window."""
        if isinstance(self.patterns, Columns):
            values: Floats = block.matrix[:, self.recent.columns]
            return values
        if isinstance(kernel, Function):
            return kernel.values(block.matrix, self.recent.matrix)
        products = block.matrix @ self.recent.matrix.T
        out: Floats = products.toarray() if self.patterns.sparse else np.ascontiguousarray(products)
        from_products(kernel, out, block.norms, self.recent.norms)
        return out

    def window_ahead(self, block: Block, scores: Floats) -> tuple[Window, Block]:
        """What the loop runs on, and the rows that it sees: the window's, then the block's."""
        slots, m = self.slots, len(self.recent.norms)
        slots.grow(m + len(block.norms))
        rows, gram = self.front(block)
        where = np.zeros(slots.count, dtype=np.int64)
        where[slots.order] = np.arange(m)
        ahead = np.zeros((scores.shape[1], len(gram)))
        ahead[:, m:] = scores.T
        self.numbers[KEEP], self.numbers[PENDING] = 0.0, 0.0
        moved = np.zeros(ahead.shape[::-1])
        late = np.zeros_like(moved) if self.average else np.zeros((0, 0))
        base = Lookahead(ahead, gram, moved, late, np.zeros(len(gram)), self.numbers)
        ring = Values(gram, where, 0.0)
        window = Window(
            base,
            ring,
            slots.dual(),
            slots.window,
            slots.numbers,
            slots.arrays["pairs"],
            slots.arrays["known"],
            np.zeros(0),
        )
        return window, rows

    def keep(self, window: Window, rows: Block) -> None:
        """Store what the block's rounds have moved, and the rows that are in the window now."""
        base = window.base
        self.commit(rows, base)
        self.numbers[NORM2] = self.slots.numbers[SQUARE]
        stay = window.ring.where[self.slots.order]
        columns = rows.columns[stay] if isinstance(self.patterns, Columns) else rows.columns
        self.recent = Block(rows.matrix[stay], rows.norms[stay], columns)
        self.recent_gram = base.gram[np.ix_(stay, stay)]

    # -- files -------------------------------------------------------------------------------------------------

    def state(self, scores: int) -> dict[str, NDArray[Any]]:
        """Arrays that hold everything, trimmed of spare capacity."""
        arrays = {**super().state(scores), **self.slots.state(), "window_values": self.recent_gram.copy()}
        matrix = self.recent.matrix
        if isinstance(self.patterns, Columns):
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
        """Take back what ``state`` gave; classes and features must be known."""
        super().restore(arrays)
        self.slots.restore(arrays, self.coef.shape[1])
        m = self.slots.members
        columns = np.zeros(0, dtype=np.int64)
        if isinstance(self.patterns, Columns):
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
        norms = matrix.multiply(matrix).sum(axis=1) if self.patterns.sparse else np.einsum("ij,ij->i", matrix, matrix)
        self.recent = Block(matrix, np.asarray(norms, dtype=np.float64).ravel(), columns.astype(np.int64))
        self.recent_gram = np.asarray(arrays["window_values"], dtype=np.float64)


def _joined(one: Block, other: Block) -> Block:
    stack: Any = sp.vstack if sp.issparse(one.matrix) else np.vstack
    matrix = stack([one.matrix, other.matrix])
    return Block(
        matrix.tocsr() if sp.issparse(matrix) else matrix,
        np.concatenate([one.norms, other.norms]),
        np.concatenate([one.columns, other.columns]),
    )
