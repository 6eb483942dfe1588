"""The learned state of the online ellipsoidal SVM: labels, features, and a binary learner for each class."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ellipsoid.certificates.rounding import Span, relative_error
from ellipsoid.engine import CSR, Dense
from ellipsoid.engine import tally as tallies
from ellipsoid.engine.tasks import CODES, ORDER, ORDERED, PREDICTED, WATCHED
from ellipsoid.representation.linear import ClassMajor
from ellipsoid.representation.rollback import Marked
from ellipsoid.representation.table_protocol import Floats

from ..inputs.labels import Codes
from ..inputs.rows import RowSource
from .binary_esvm import MOVES, BinaryESVM, BinaryState, Terms
from .interruption import without_interrupts
from .learner import NO_LABELS, Learner
from .one_row import NoOneRow

# Q and Z are dense n x n matrices, one pair per class.
MOST_FEATURES = 4000
# A row that is no longer than this counts as zero.
LONGEST_ZERO_ROW = 1e-150
# The number of matrix entries that are read before an interrupt is handled.
ENTRIES_AT_ONCE = 1 << 26
NO_AVERAGES = np.zeros((0, 0))


class _BinarySVMs(Marked):
    """The binary learners: one for two labels, else one for each class."""

    by_class = True
    predicts_in_loop = False

    def __init__(self) -> None:
        self.svms: list[BinaryESVM] = []
        self.width = 0

    def prepare(self) -> None:
        """Nothing: there is nothing to prepare."""

    def mutable_parts(self) -> list[Any]:
        """The table itself and the binary learners."""
        return [self, *self.svms]

    def weights(self, scores: int, rounds: int, averaged: bool = False) -> Floats:
        """A row for each score: first what the constant feature adds to it, then the weights."""
        table = np.zeros((len(self.svms), 1 + self.width))
        for row, svm in zip(table, self.svms, strict=True):
            row[1 - svm.terms.offset :] = svm.mean_weights() if averaged else svm.state.w
            row[0] *= svm.terms.bias
        return table

    def state(self, scores: int) -> dict[str, Floats]:
        """The arrays of a model file."""
        return {f"{name}{k}": getattr(m.state, name) for k, m in enumerate(self.svms) for name in BinaryState._fields}


class _Piece:
    """Rows that all binary learners learn; after an interrupt between two of them, ``learn`` goes on with the others.

    Only an interrupt can break it off: all memory is allocated, and no rho has to be computed.
    """

    def __init__(
        self, learner: "EllipsoidalSVMLearner", parts: Any, order: Codes, codes: Codes, signs: Any, *, silent: bool
    ) -> None:
        self.learner, self.parts, self.order, self.signs, self.silent = learner, parts, order, signs, silent
        self.svms = learner.table.svms
        self.goals = [svm.clock + len(order) for svm in self.svms]
        self.rounds = learner.rounds
        self.right = codes[order]
        self.scores = np.zeros((len(self.svms), len(order)))
        self.moved = np.zeros(len(order), dtype=np.bool_)
        self.predicted: NDArray[Any] = np.empty(0)

    @property
    def begun(self) -> bool:
        """Has a binary learner learned the rows?"""
        return any(svm.clock == goal for svm, goal in zip(self.svms, self.goals, strict=True))

    def learn(self) -> None:
        """Let every binary learner learn the rows, then count the rows."""
        for k, (svm, goal) in enumerate(zip(self.svms, self.goals, strict=True)):
            if svm.clock < goal and self.silent:
                svm.skip_rows(len(self.order))
            elif svm.clock < goal:
                svm.learn(self.parts, self.order, self.signs[k], self.scores[k], self.moved)
        scores, right, everyone = self.scores, self.right, np.arange(len(self.order))
        if len(self.learner.labels) == 2:
            mistakes, self.predicted = np.where(right == 1, scores[0], -scores[0]) <= 0.0, scores[0] > 0.0
        else:
            rivals = scores.copy()
            rivals[right, everyone] = -np.inf
            mistakes = scores[right, everyone] <= rivals.max(axis=0)
            self.predicted = scores.argmax(axis=0)
        more = np.zeros(tallies.SIZE)
        more[[tallies.ROUNDS, tallies.MISTAKES, tallies.UPDATES]] = len(right), mistakes.sum(), self.moved.sum()
        if self.learner.rounds == self.rounds:
            self.learner.tally += more


class EllipsoidalSVMLearner(Learner):
    """Labels, features and binary learners of one stream."""

    # Not a table for the compiled loop: methods that need more than marks and weights are overridden here.
    table: _BinarySVMs  # type: ignore[assignment]

    def __init__(self, terms: Terms, *, intercept: float, average: bool, bias: float | None) -> None:
        super().__init__(None, intercept=intercept, average=average, one_vs_rest=True)
        self.terms = terms
        self.bias_given = bias
        self.bias = 0.0
        self.first_radius = 0.0
        # The duality gaps of the binary learners after a whole ``fit``; unknown when another row is learned.
        self.known_gaps: list[float] = []

    @property
    def learns_single_rows(self) -> bool:
        return False

    def fast_row(self) -> Any:
        return NoOneRow

    def open(self, width: int, *, by_class: bool, classes: int = 0) -> None:
        if width + 1 > MOST_FEATURES:
            raise ValueError(
                f"OnlineEllipsoidalSVC keeps dense matrices of the width of X: at most {MOST_FEATURES - 1} features, "
                f"got {width}; reduce X first, or use a linear learner"
            )
        if self.table is None:
            self.table = _BinarySVMs()
        if width > self.table.width:
            self.table.width = width
            for svm in self.table.svms:
                svm.widen(self.terms.offset + width)

    def add_label(self, label: Any) -> None:
        """Add a class. Two labels share a binary learner; with a third each gets its own, the first a mirrored copy."""
        svms = self.table.svms.copy()
        self.labels.add(label)
        if len(self.labels) == 2:
            svms[0] = svms[0].mirrored()
        elif len(self.labels) == 3:
            self.split = self.rounds > 0
            svms.insert(0, svms[0].mirrored())
        if len(self.labels) != 2:
            svms.append(BinaryESVM(self.terms._replace(bias=self.bias), self.terms.offset + self.table.width))
        self.table.svms = svms

    def settle(self, norm: float, radius: float) -> None:
        """Fix the size of the constant feature, and the radius that the first steps assume."""
        if self.bias == 0.0 and self.constant:
            self.bias = self.bias_given if self.bias_given is not None else norm
        self.first_radius = float(np.hypot(radius, self.bias))
        for svm in self.table.svms:
            svm.terms = svm.terms._replace(bias=self.bias)

    def _begin(self, rows: Dense | CSR, order: NDArray[np.int64]) -> int:
        """Call ``settle`` with the first row that is not zero; returns the number of rows before it.

        These are zero rows, without a constant feature or before its size is known. They are counted, and change
        nothing: the result must not depend on whether the first other row is in the same chunk.
        """
        norms = row_lengths(rows, order)
        usable = np.flatnonzero(norms > (LONGEST_ZERO_ROW if self.bias_given is None or not self.constant else -1.0))
        if not len(usable):
            return len(order)
        norm = float(norms[usable[0]])
        self.settle(norm, norm)
        return int(usable[0])

    def run(  # type: ignore[override]
        self, rows: Dense | CSR, ledger: Codes, mode: int, start: int, stop: int, Y: NDArray[np.uint8] = NO_LABELS
    ) -> None:
        """Let every binary learner learn rows start..stop, then count the rows."""
        order = np.ascontiguousarray(ledger[ORDER, start:stop] if mode == ORDERED else np.arange(start, stop))
        parts, codes, reached = _parts(rows), ledger[CODES], 0
        positive = [1] if len(self.labels) == 2 else range(len(self.labels))
        signs = [np.where(codes == k, 1.0, -1.0) for k in positive]
        while reached < len(order):
            mark, piece = self.mark(), None
            try:
                self.known_gaps = []
                silent = self._begin(rows, order[reached:]) if self.first_radius == 0.0 else 0
                count = silent or self._ready()
                piece = _Piece(self, parts, order[reached : reached + count], codes, signs, silent=silent > 0)
                piece.learn()
            except BaseException:
                if piece is not None and piece.begun:
                    without_interrupts(piece.learn)
                else:
                    mark.bring_back(self)
                raise
            if mode == WATCHED:
                ledger[PREDICTED, start + reached : start + reached + len(piece.order)] = piece.predicted
            reached += len(piece.order)

    @property
    def scores_in_loop(self) -> bool:
        """The binary learners note predictions, but no scores."""
        return False

    def _ready(self) -> int:
        """The number of rows to learn next, after every binary learner is made ready for them; few if rows are wide."""
        svms = self.table.svms
        for svm in svms:
            if not svm.rows_left:
                svm.renew(self.first_radius)
        work = sum(svm.width * svm.width for svm in svms)
        return min([max(1, ENTRIES_AT_ONCE // max(1, work)), *(svm.rows_left for svm in svms)])

    def weights(self) -> Floats:
        return self.table.weights(self.scores, self.rounds, averaged=self.average)

    def decision(self, source: RowSource) -> Floats:
        return self.scored(source, ClassMajor(self.weights(), NO_AVERAGES))

    # -- certificates -----------------------------------------------------------------------------------------

    def gaps(self, rows: Dense | CSR, codes: NDArray[np.int64]) -> list[tuple[float, float]]:
        """(gap, dual) of every binary learner, for points that it has seen equally often."""
        X = _matrix(rows)
        norms = np.sqrt(row_lengths(rows, np.arange(len(codes))) ** 2 + self.bias**2)
        found = []
        for k, svm in enumerate(self.table.svms):
            y = np.where(codes == (1 if len(self.labels) == 2 else k), 1.0, -1.0)
            try:
                B = svm.shape()
            except ValueError:
                # All rows vanish beside 1, or rounding hides the shape: nothing is known.
                found.append((np.inf, svm.dual()))
                continue
            w = svm.mean_weights() if self.average else svm.state.w
            width = _quadratic(X, self.bias if svm.terms.offset else None, B)
            value = y * (X @ w[svm.terms.offset :] + (self.bias * w[0] if svm.terms.offset else 0.0))
            informative = norms > 0
            if svm.terms.r > 0:
                width[informative] /= norms[informative]
            slack = np.maximum(width - value, 0.0)[informative] / (svm.terms.nu * norms[informative])
            found.append((svm.gap(float(slack.sum()) / len(codes), B), svm.dual()))
        return found

    def margins(self, comparator: Floats) -> tuple[Span, Span]:
        """The average margin of a comparator on the updates, all scaled to length one, and an upper bound for it.

        Their sum is sum_i y_i u.x_i/|x_i| = u.p with p = nu sum_i C_i y_i x_i, over all classes: at most |u| |p|.
        """
        product = length = most = updates = 0.0
        # A comparator may have any size: it is scaled.
        comparator = comparator / (float(np.abs(comparator).max(initial=0.0)) or 1.0)
        for row, svm in zip(comparator, self.table.svms, strict=True):
            offset, pull = svm.terms.offset, svm.terms.nu * svm.state.pull
            u = row[1 - offset :].copy()
            u[:offset] /= svm.terms.bias or 1.0
            product += float(u @ pull)
            length += float(u @ u)
            most += float(pull @ pull)
            updates += float(svm.state.scalars[MOVES])
        scale = max(updates, 1.0)
        # Rows of length one are averaged: no number here is larger than one, nor any error than these roundings.
        error = relative_error(2.0 * updates + 4.0 * comparator.size + 16.0)
        average, largest = product / (float(np.sqrt(length)) or 1.0) / scale, float(np.sqrt(most)) / scale
        return Span.within(average, error), Span.within(largest, error)

    # -- files -------------------------------------------------------------------------------------------------

    def scalars(self) -> dict[str, Any]:
        return {
            "closed": self.closed,
            "split": self.split,
            "bias": self.bias,
            "first_radius": self.first_radius,
            "width": self.table.width,
            **({"known_gaps": self.known_gaps} if self.known_gaps else {}),
        }

    def restore(self, scalars: dict[str, Any], arrays: dict[str, NDArray[Any]], labels: list[Any]) -> None:
        width, count = int(scalars["width"]), 1 if len(labels) == 2 else len(labels)
        full = self.terms.offset + width
        square = all(arrays[f"Q{k}"].shape == (full, full) for k in range(count))
        if not square or arrays["tally"].shape != self.tally.shape:
            raise ValueError("its arrays have wrong shapes")
        if not all(np.isfinite(array).all() for name, array in arrays.items() if name != "tally"):
            raise ValueError("it holds NaN or inf")
        self.open(width, by_class=True)
        for label in labels:
            self.add_label(label)
        self.bias, self.first_radius = float(scalars["bias"]), float(scalars["first_radius"])
        self.settle(self.bias, 0.0)
        self.first_radius = float(scalars["first_radius"])
        for k, svm in enumerate(self.table.svms):
            for mine, name in zip(svm.state, BinaryState._fields, strict=True):
                mine[...] = arrays[f"{name}{k}"]
        self.tally[:] = arrays["tally"]
        self.closed, self.split = bool(scalars["closed"]), bool(scalars["split"])
        gaps = scalars.get("known_gaps", [])
        if not isinstance(gaps, list) or len(gaps) not in (0, count) or not all(isinstance(g, float) for g in gaps):
            raise ValueError("its duality gaps are damaged")
        self.known_gaps = gaps


def _parts(rows: Dense | CSR) -> Dense | CSR:
    """The rows with arrays of one type: the loop is compiled once, and a copy costs little beside its O(n^2) a row."""
    if isinstance(rows, Dense):
        return rows._replace(X=np.ascontiguousarray(rows.X, dtype=np.float64))
    return rows._replace(
        data=np.ascontiguousarray(rows.data, dtype=np.float64),
        indices=np.ascontiguousarray(rows.indices, dtype=np.int64),
        indptr=np.ascontiguousarray(rows.indptr, dtype=np.int64),
    )


def _matrix(rows: Dense | CSR) -> Any:
    if isinstance(rows, Dense):
        return rows.X
    from scipy.sparse import csr_array

    base = rows.indptr[0]
    parts = (rows.data[base : rows.indptr[-1]], rows.indices[base : rows.indptr[-1]], rows.indptr - base)
    return csr_array(parts, shape=(len(rows.indptr) - 1, rows.width))


def row_lengths(rows: Dense | CSR, order: NDArray[np.int64]) -> Floats:
    """Lengths of rows without the constant feature."""
    X = _matrix(rows)
    if isinstance(rows, Dense):
        return np.sqrt(np.einsum("ij,ij->i", X, X, dtype=np.float64))[order]
    return np.sqrt(np.asarray(X.multiply(X).sum(axis=1), dtype=np.float64).ravel())[order]


def _quadratic(X: Any, bias: float | None, B: Floats, chunk: int = 8192) -> Floats:
    """x'Bx of the rows, with a constant feature of size ``bias`` as first entry unless it is None."""
    out = np.empty(X.shape[0])
    core = B if bias is None else B[1:, 1:]
    for start in range(0, X.shape[0], chunk):
        part = X[start : start + chunk]
        image = part @ core
        inner = part.multiply(image).sum(axis=1) if hasattr(part, "multiply") else np.einsum("ij,ij->i", part, image)
        out[start : start + chunk] = np.asarray(inner).ravel()
        if bias is not None:
            out[start : start + chunk] += 2.0 * bias * (part @ B[1:, 0]) + bias**2 * B[0, 0]
    return out
