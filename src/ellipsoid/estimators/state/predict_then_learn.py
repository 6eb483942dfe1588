"""Predict, then learn: what ``predict`` would return for each row just before the row is learned.

The compiled loop notes its own predictions if they are made by the weights that learn, or by their average in a table
with ``predicts_in_loop``. For other averages and votes ``predict`` is called row by row. With ``shown``, a row is
predicted as it was before a scaler knew it, and learned as it is scaled afterwards: the loop then gets both, in pairs.
A learner's ``observer`` receives the scores of the predictions.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ellipsoid.engine import CSR, Dense
from ellipsoid.engine.tasks import CODES, PAIRED, PLAIN, PREDICTED, PREDICTED_SCORES, WATCHED

from ..inputs.labels import Codes, labels_of_codes
from ..inputs.rows import RowSource, writable
from .interruption import without_interrupts

# A function of a learner, of the scores that some rows had before they were learned, and of the codes of their labels.
# There are no codes where the row is about to bring a new label. An observer may also have the methods of
# `PendingScores`: it then knows before the rows are learned where their scores will be written, and nothing of a call
# that is broken off is lost.
Observer = Callable[[Any, NDArray[np.float64], Codes], Any]


def rows_to_learn(mode: int, start: int, stop: int) -> int:
    """How many of the rows start..stop are learned: of pairs the second ones, else all."""
    return stop // 2 - start // 2 if mode == PAIRED else stop - start


class PendingScores:
    """Scores on their way to an observer: those of the rows that were learned, and each row's once."""

    def __init__(self, observer: Observer) -> None:
        self.observer = observer
        self.waiting: tuple[Any, int, NDArray[np.float64], Any] | None = None

    def expect(self, learner: Any, scores: NDArray[np.float64], codes: Any) -> None:
        """Rows are about to be learned: their scores will be written to these columns, a column for each row."""
        self.waiting = learner, learner.rounds, scores, codes

    def deliver(self) -> None:
        """Hand the scores over, unless that was done; a call that was broken off can be repeated."""
        without_interrupts(self._deliver)

    def _deliver(self) -> None:
        if self.waiting is None:
            return
        learner, rounds_before, scores, codes = self.waiting
        if count := learner.rounds - rounds_before:
            self.observer(learner, np.ascontiguousarray(scores[:, :count].T), codes[:count].copy())
        self.waiting = None


class WatchedBlock(NamedTuple):
    """A block of rows that are predicted, then learned, and a ledger for the predictions."""

    learner: Any
    source: RowSource
    shown: RowSource | None
    pairs: bool
    first: int
    rows: Dense | CSR
    ledger: Codes

    def learn(self, fresh: list[tuple[int, Any]], predictions: NDArray[Any]) -> None:
        """Predict, then learn, all rows; ``fresh`` are the rows with new labels."""
        begin, count, learner = 0, len(predictions), self.learner
        for row, label in [*fresh, (count, None)]:
            if row > begin:
                self.run_observed(begin, row)
            predictions[begin:row] = self.predicted(begin, row)
            begin = row + 1
            if row < count:
                # The row of a new label is predicted without the label, and learned with it.
                predictions[row] = self.predict_before(row)
                self.observe_new_label(row)
                learner.learn_first_of_label(label, partial(self.learn_new_label, row))

    def run(self, begin: int, end: int) -> None:
        """Predict and learn rows begin..end of the block."""
        learner = self.learner
        if self.pairs:
            learner.run(self.rows, self.ledger, PAIRED, 2 * begin, 2 * end)
            return
        in_loop = learner.scores_in_loop if self.notes_scores else learner.predicts_in_loop
        if self.shown is None and in_loop:
            learner.run(self.rows, self.ledger, WATCHED, begin, end)
        else:
            learner.table.prepare()
            places = self.ledger.view(np.float64)
            for i in range(begin, end):
                # A row that is shown as it is learned is scored in the loop, for the same bits as without ``shown``.
                if in_loop and self.shown is not None and self.source.has_same(self.first + i, self.shown):
                    learner.run(self.rows, self.ledger, WATCHED, i, i + 1)
                    continue
                scores = self.scores_before(i)
                self.ledger[PREDICTED, i] = learner.predicted_index(scores) if len(learner.labels) > 1 else 0
                if self.notes_scores:
                    places[PREDICTED_SCORES : PREDICTED_SCORES + len(scores), i] = scores
                learner.run(self.rows, self.ledger, PLAIN, i, i + 1)

    def run_observed(self, begin: int, end: int) -> None:
        """The same, and hand the scores to the observer if there is one."""
        learner = self.learner
        if learner.observer is None:
            self.run(begin, end)
            return
        observer: Any = learner.observer if hasattr(learner.observer, "expect") else PendingScores(learner.observer)
        scores = self.scores()
        codes = (self.ledger.view(np.float64) if learner.numbers else self.ledger)[CODES, self.step - 1 :: self.step]
        for start, stop in [(0, 1), (1, end)] if self.grows_at(begin) else [(begin, end)]:
            own = learner.first_scores[:, np.newaxis] if self.grows_at(start) else scores[:, start:stop]
            observer.expect(learner, own, codes[start:stop])
            try:
                self.run(start, stop)
            finally:
                observer.deliver()

    @property
    def notes_scores(self) -> bool:
        """Are scores noted? An observer needs them, and for numbers they are the predictions."""
        return self.learner.numbers or self.learner.observer is not None

    @property
    def step(self) -> int:
        """How many columns of the ledger belong to a row."""
        return 2 if self.pairs else 1

    def scores(self) -> NDArray[np.float64]:
        """The scores that rows have before they are learned, a column for each row."""
        return self.ledger.view(np.float64)[
            PREDICTED_SCORES : PREDICTED_SCORES + self.learner.score_columns, :: self.step
        ]

    def grows_at(self, i: int) -> bool:
        """Is row i the first of a call with new features? Its scores were computed before there was room for them."""
        return self.first + i == 0 and self.learner.first_scores is not None

    def observe_new_label(self, i: int) -> None:
        """Hand the scores of row i, which is about to bring a new label, to the observer."""
        if self.learner.observer is not None:
            scores = self.learner.first_scores if self.grows_at(i) else self.scores_before(i)
            self.learner.observer(self.learner, np.ascontiguousarray(scores[np.newaxis]), np.zeros(0, dtype=np.int64))

    def predict_before(self, i: int) -> Any:
        """The label that ``predict`` returns for row i of the block; None while no label is known."""
        return self.learner.predict_before(self.source if self.shown is None else self.shown, self.first + i)

    def scores_before(self, i: int) -> NDArray[np.float64]:
        """The scores that ``predict`` uses for row i."""
        return self.learner.scores_before(self.source if self.shown is None else self.shown, self.first + i)

    def learn_new_label(self, i: int) -> None:
        """Learn row i, whose label was added just now."""
        at = 2 * i + 1 if self.pairs else i
        self.learner.learn_new_label(self.rows, self.ledger, PAIRED if self.pairs else PLAIN, at)

    def predicted(self, begin: int, end: int) -> NDArray[Any]:
        """The labels predicted for rows begin..end, or the numbers."""
        if self.learner.numbers:
            return self.scores()[0, begin:end]
        return labels_of_codes(self.learner.labels.values, self.ledger[PREDICTED, :: self.step][begin:end])


def watched_block(
    learner: Any, source: RowSource, shown: RowSource | None, start: int, stop: int, codes: Codes
) -> WatchedBlock:
    """Rows start..stop of a source, ready to be predicted and learned."""
    rows = source.rows(start, stop)
    depth, pairs = PREDICTED_SCORES, False
    if learner.numbers:
        depth += learner.score_columns
    elif learner.observer is not None:
        depth += max(len(learner.labels), int(codes.max()) + 1)
    if shown is not None and learner.table.predicts_in_loop:
        pairs = True
        learner.row_weights = np.repeat(learner.row_weights, 2)
        rows = interleave(shown.rows(start, stop), rows)
    block = WatchedBlock(
        learner, source, shown, pairs, start, rows, np.zeros((depth, (1 + pairs) * len(codes)), dtype=np.int64)
    )
    block.ledger[CODES, block.step - 1 :: block.step] = codes
    return block


def predict_without_new_features(learner: Any, source: RowSource, shown: RowSource | None) -> tuple[Any, Any]:
    """The prediction and the scores of a first row that brings new features, without these; else None and None."""
    if learner is None or source.width <= learner.width:
        return None, None
    row = (shown or source).only(0)
    row = row.narrowed(learner.width) if row.width > learner.width else row
    if learner.numbers and learner.score_columns > 1:
        # The loop itself notes the width of an interval, of which new features are a part.
        return learner.predict_before(row, 0), None
    return learner.predict_before(row, 0), learner.scores_before(row, 0)


def interleave(shown: Any, rows: Any) -> Any:
    """The rows of both, in turn: first one of ``shown``, then the same of ``rows``.

    >>> pairs = interleave(Dense(np.array([[1.0], [2.0]]), 1.0), Dense(np.array([[10.0], [20.0]]), 1.0))
    >>> pairs.X.ravel()
    array([ 1., 10.,  2., 20.])
    """
    if isinstance(rows, Dense):
        both = np.empty((2 * len(rows.X), rows.X.shape[1]), dtype=np.result_type(shown.X, rows.X))
        both[::2], both[1::2] = shown.X, rows.X
        return Dense(both, rows.constant)
    lengths = np.column_stack([np.diff(part.indptr) for part in (shown, rows)]).ravel()
    indptr = np.zeros(len(lengths) + 1, dtype=rows.indptr.dtype)
    np.cumsum(lengths, out=indptr[1:])
    data, indices = np.empty(indptr[-1], dtype=rows.data.dtype), np.empty(indptr[-1], dtype=rows.indices.dtype)
    for parity, part in enumerate((shown, rows)):
        # Where the entries go: in their own order, shifted by those of the other rows in between.
        own = np.diff(part.indptr)
        span = slice(int(part.indptr[0]), int(part.indptr[-1]))
        where = np.arange(span.stop - span.start) + np.repeat(
            indptr[parity:-1:2] - (part.indptr[:-1] - span.start), own
        )
        data[where], indices[where] = part.data[span], part.indices[span]
    return CSR(writable(data), writable(indices), writable(indptr), rows.constant, rows.width)
