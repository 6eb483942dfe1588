"""How the engine is run on a kernel expansion: block by block, each scored ahead."""

from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ellipsoid.engine import CSR, Dense, entry, learn
from ellipsoid.engine.tasks import ASIDE, CODES, ORDERED, PLAIN, WATCHED
from ellipsoid.geometry.kernel_table import KernelTable
from ellipsoid.representation.expansion import ExpansionTable, KernelSpec
from ellipsoid.representation.history import History
from ellipsoid.representation.kernels import Function, Poly
from ellipsoid.representation.patterns import DensePatterns, SparsePatterns

from .inputs import Source
from .learner import NO_LABELS, Codes, Learner

# Kernel values beyond this could overflow a score.
HUGE = 1e150

# Rows scored ahead of the loop: enough for a matrix product to run at full speed, few enough that the Gram matrix of
# the block, of which half is not needed, costs little beside it.
BLOCK = 512

# Rows that a kernel function is tried on at once.
NEIGHBOURS = 32

# Rows whose values with all patterns are held at once to count votes.
VOTERS = 64

# What a shell asks before it learns or predicts one row without detours: no row has this shape.
LONG_WAY = SimpleNamespace(shape=(-1,))


def check_values(table: ExpansionTable | KernelTable, source: Source) -> None:
    """Raise ``ValueError`` for the first row whose kernel value with itself is not finite or could overflow.

    ``table`` is a new one, of which nothing but the kernel matters.
    """
    table.width = source.width
    kernel = table.make_kernel()
    for start, stop in source.blocks():
        if isinstance(kernel, Poly):
            with np.errstate(over="ignore"):
                own = np.abs(kernel.gamma * source.squared_norms(start, stop) + kernel.coef0) ** kernel.degree
            large = np.flatnonzero(~(own < HUGE))
            if len(large):
                row = start + int(large[0])
                raise ValueError(f"row {row} of X is too large (inf): its kernel value overflows; rescale the features")
        elif isinstance(kernel, Function):
            # A function must be called to know; a few neighbours at once cost no more than a few rows of the run.
            rows, patterns = (
                source.rows(start, stop),
                (SparsePatterns if source.sparse else DensePatterns)(source.width),
            )
            for begin in range(0, stop - start, NEIGHBOURS):
                few = patterns.matrix_of(rows, slice(begin, min(stop - start, begin + NEIGHBOURS)))
                kernel.values(few, few)


class ExpansionLearner(Learner):
    """A learner in the feature space of a kernel. ``vote`` predicts by the votes of all hypotheses."""

    def __init__(
        self, rule: Any, kernel: KernelSpec, *, intercept: bool, average: bool, vote: bool = False,
        one_vs_rest: bool = False, half: float = 1.0,
    ) -> None:  # fmt: skip
        super().__init__(rule, intercept=intercept, average=average, one_vs_rest=one_vs_rest, half=half)
        self.kernel, self.vote = kernel, vote

    def new_table(self, by_class: bool) -> ExpansionTable:
        """Support patterns, dense or sparse as the first rows are."""
        table = ExpansionTable(self.kernel, average=self.average, constant=self.constant, sparse=not by_class)
        if self.vote:
            table.history = History(1)
        return table

    def check(self, source: Source) -> None:
        """Refuse also rows whose kernel values would overflow, or that do not fit a given kernel matrix."""
        super().check(source)
        check_values(self.new_table(not source.sparse), source)

    # -- learning ----------------------------------------------------------------------------------------------

    def run(
        self, rows: Dense | CSR, ledger: Codes, mode: int, start: int, stop: int, Y: NDArray[np.uint8] = NO_LABELS
    ) -> None:
        """Learn rows start..stop in blocks: score ahead, run the loop, store what the updates made."""
        if self.kernel[0] == "precomputed" and stop - start > self.width:
            raise ValueError(f"X holds {stop - start} rows of a precomputed kernel and {self.width} columns: "
                             "there must be a column for every training example")  # fmt: skip
        for begin in range(start, stop, BLOCK):
            end = min(stop, begin + BLOCK)
            picks = ledger[ASIDE, begin:end].copy() if mode == ORDERED else slice(begin, end)
            block = self.table.block(rows, picks, self.own_columns(picks))
            small = np.empty((2 if mode == WATCHED else 1, end - begin), dtype=np.int64)
            small[CODES] = ledger[CODES, picks]
            sets = np.ascontiguousarray(Y[picks]) if self.multilabel else NO_LABELS
            task = self.task(small, WATCHED if mode == WATCHED else PLAIN, sets)
            ahead = self.table.look_ahead(block, self.table.scores(block, self.table.coef[:, : self.scores]))
            args = (self.rule, task, ahead, _nothing(end - begin), self.tally, self.work, 0, end - begin)
            entry(learn, *args)(*args)
            self.table.commit(block, ahead)
            if mode == WATCHED:
                ledger[ASIDE, begin:end] = small[ASIDE]

    def own_columns(self, picks: slice | Codes) -> Codes:
        """The rows' places in a given kernel matrix: in a stream the number of rows before them, modulo its width."""
        if isinstance(picks, slice):
            return np.arange(self.rounds, self.rounds + picks.stop - picks.start) % max(1, self.width)
        return picks

    def foresee(self, source: Source, row: int) -> Any:
        """The label the current hypothesis gives to one row; None while no label is known."""
        if len(self.labels) == 0:
            return None
        block = self.table.block(source.rows(row, row + 1), slice(0, 1))
        scores = self.table.scores(block, self.table.coef[:, : self.scores])[0]
        return self.labels.values[int(scores[0] > 0.0) if len(scores) == 1 else int(scores.argmax())]

    def one(self) -> Any:
        """Single rows take the way of all rows: what they cost is the kernel values."""
        return LONG_WAY

    # -- prediction --------------------------------------------------------------------------------------------

    def decision(self, source: Source) -> NDArray[np.float64]:
        """Scores of every row, or each label's share of the votes; one column for two classes."""
        out = np.empty((source.n, self.scores))
        size = VOTERS if self.vote else BLOCK
        coef = self.table.coefficients(self.scores, self.rounds)
        for first, last in source.blocks():
            rows = source.rows(first, last)
            for start in range(0, last - first, size):
                picks = slice(start, min(last - first, start + size))
                block = self.table.block(rows, picks)
                scores = self.shares(block) if self.vote else self.table.scores(block, coef)
                out[first + picks.start : first + picks.stop] = scores
        return out

    def shares(self, block: Any) -> NDArray[np.float64]:
        """Shares of the votes; for two labels by how much the second leads."""
        shares: NDArray[np.float64] = self.table.votes(block, len(self.labels), self.rounds, self.scores)
        return shares[:, 1:] - shares[:, :1] if self.scores == 1 else shares

    def weights(self) -> NDArray[np.float64]:
        """There is no weight vector to hand out."""
        raise AttributeError("a kernel model has no coef_; use support_vectors_ and dual_coef_")

    # -- files -------------------------------------------------------------------------------------------------

    def scalars(self) -> dict[str, Any]:
        """What a model file must hold beside arrays and labels."""
        return {**super().scalars(), "by_class": not self.table.patterns.sparse, "width": self.width}

    def restore(self, scalars: dict[str, Any], arrays: dict[str, NDArray[Any]], labels: list[Any]) -> None:
        """Take back what a model file holds."""
        if arrays["tally"].shape != self.tally.shape or not np.isfinite(arrays["tally"]).all():
            raise ValueError("its sums are damaged")
        self.multilabel = bool(scalars["multilabel"])
        self.open(int(scalars["width"]), by_class=bool(scalars["by_class"]), classes=len(labels))
        for label in labels:
            self.know(label)
        self.table.restore(arrays)
        self.tally[:] = arrays["tally"]
        self.closed, self.split = bool(scalars["closed"]), bool(scalars["split"])


def _nothing(count: int) -> Dense:
    """Rows for the loop, which reads their scores and Gram matrix instead."""
    return Dense(np.empty((count, 0)), 0.0)
