"""The learned state of an online learner, and how the engine is run on it.

A learner holds labels, names of features and a table of weights; an estimator adds the parameters. New labels split a
chunk into segments: the loop itself runs with a fixed set of classes.
"""

from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ellipsoid.certificates.mixed import Mixed
from ellipsoid.certificates.run_rounding import UNKNOWN_PATH
from ellipsoid.engine import CSR, NO_WEIGHTS, Binary, Dense, Multiclass, MultiLabel, OneVsRest, call, learn, scores_of
from ellipsoid.engine import tally as tallies
from ellipsoid.engine.compile import lock_is_released
from ellipsoid.engine.protocol import WORK_ROWS
from ellipsoid.engine.tasks import ORDER, ORDERED, PAIRED, PLAIN, PREDICTED, WATCHED
from ellipsoid.representation.table_protocol import Table, owning
from ellipsoid.representation.tables import LinearTable, whole_blocks

from ..inputs.labels import Codes, Labels
from ..inputs.rows import RowSource, flaw_message
from .interruption import LearnerMark, without_interrupts
from .one_row import NoOneRow, OneNamedRow, OneRow
from .one_thread import one_thread_at_a_time
from .predict_then_learn import Observer, rows_to_learn, watched_block

Task = Binary | Multiclass | OneVsRest | MultiLabel

# With at most so many features and at least so many classes, a dense row is scored faster for all classes at once.
SHORT_ROW, MANY_CLASSES = 256, 16

NO_CODES: Codes = np.zeros((1, 0), dtype=np.int64)
NO_LABELS = np.zeros((0, 0), dtype=np.uint8)
# How often in a row one example may ask for more room: arrays double when they grow.
MOST_GROWTHS = 200


class Learner:
    """Labels, features, weights and running sums of one stream, for a ``rule``.

    ``intercept`` is the value of the constant feature, 0 without one. ``one_vs_rest`` trains a binary learner for each
    class. When a third label appears, a binary weight vector w becomes two rows of a multiclass table: -half w and
    half w. ``loop`` runs over the rows.
    """

    loop = staticmethod(learn)
    numbers = False  # are numbers learned, in place of labels?
    single_rows_wait = False  # do single rows wait for other threads that learn?
    first_scores: Any = None  # the scores, before the call, of a first row that brings new features
    observer: Observer | None = None  # called with the scores that rows had before they were learned

    def __init__(self, rule: Any, *, intercept: float, average: bool, one_vs_rest: bool = False, half: float = 1.0):
        self.rule, self.constant, self.labels = rule, float(intercept), Labels()
        self.average, self.one_vs_rest, self.half = average, one_vs_rest, half
        self.closed = self.split = self.multilabel = False
        self.features: dict[Any, int] | None = None
        # Weights of the rows of the present block; an empty array means that all are 1.
        self.row_weights = NO_WEIGHTS
        # For "balanced": the rows of each label before this call, their number, and the labels of the call.
        # From the number of rounds follows how many of these were learned, also after an interrupt.
        self.class_weight: Any = None
        self.counted: tuple[dict[Any, int], int, list[Any]] = ({}, 0, [])
        # The estimator's parameters when learning started; they may be changed for the next start at any time.
        self.started: dict[str, Any] = {}
        # Made by `open` for the first rows.
        self.table: Table = None  # type: ignore[assignment]
        self.tally, self.work = np.zeros(tallies.SIZE), np.zeros((WORK_ROWS, 1))
        # Prepared calls for single rows, dense and named; None if something they depend on has changed.
        self.fast: Any = None
        self.named: Any = None
        self._predictor: tuple[int, Any] | None = None
        self.mixed: Mixed | None = None  # set if it was merged from learners of several shards

    # -- shape -------------------------------------------------------------------------------------------------

    @property
    def width(self) -> int:
        """Number of features."""
        return 0 if self.table is None else int(self.table.width)

    @property
    def scores(self) -> int:
        """Number of scores of a row in the loop."""
        return self.functions(len(self.labels))

    @property
    def score_columns(self) -> int:
        """Number of scores that ``decision`` and observers get of a row: one for two classes, in any case."""
        return self.scores

    def functions(self, labels: int) -> int:
        """How many functions so many labels need."""
        return 1 if labels == 2 and not self.multilabel else labels

    @property
    def rounds(self) -> int:
        """Examples seen."""
        return int(self.tally[tallies.ROUNDS])

    @property
    def counts(self) -> dict[Any, int]:
        """The rows of each label that were learned so far, if classes are balanced."""
        before, rounds, labels = self.counted
        more = Counter(labels[: self.rounds - rounds])
        return {label: before.get(label, 0) + more[label] for label in {**before, **more}}

    @property
    def learns_single_rows(self) -> bool:
        """May single rows be learned without a look at the representation afterwards?"""
        return len(self.labels) > 1 and not self.multilabel and self.class_weight is None

    def new_table(self, by_class: bool) -> Table:
        """The representation this learner keeps its hypothesis in."""
        return LinearTable(by_class=by_class, average=self.average)

    def by_class(self, source: RowSource, classes: int = 0) -> bool:
        """Should the weights of a class be contiguous? Not for sparse rows, nor for short rows with many classes."""
        return not source.sparse and not (classes >= MANY_CLASSES and source.width <= SHORT_ROW)

    @one_thread_at_a_time
    def open(self, width: int, *, by_class: bool, classes: int = 0) -> None:
        """Make room for rows of this width and so many classes; the first call decides the layout."""
        self.table = self.new_table(by_class) if self.table is None else self.table
        self.mark_unknown()
        before, most = self.width, max(1, self.scores, classes if classes > 2 else 1)
        if (moved := self.table.reserve(most, width)) or self.width != before:
            self.fast = self._predictor = None
            self.named = None if moved or self.named is None else self.named.widened(self)

    def name(self, fresh: dict[Any, int] | None) -> None:
        """Add names of new columns; None if features have no names."""
        if fresh is not None:
            self.features = {} if self.features is None else self.features
            self.features.update(fresh)

    def mark_unknown(self) -> None:
        """Mark the path as unknown if an old file lacked it: its sums from now on would be incomplete."""
        if self.tally[tallies.UPDATES] > 0.0 and self.tally[tallies.STEPS] == 0.0:
            self.tally[[tallies.PATH, tallies.HELD]] = UNKNOWN_PATH

    @one_thread_at_a_time
    def add_label(self, label: Any) -> None:
        """Add a class with a row of zeros; a third class first splits the binary vector into two opposite rows."""
        if len(self.labels) == 2 and not self.multilabel and self.rounds > 0:
            self.split = True
            # In a copy: a mark may have to restore the old table. It happens once.
            table = self.table.twin()
            table.split(self.half)
            self.table = table
            # From now on the sums are those of a run that had two rows from the start.
            self.tally[tallies.PUSH] *= self.half
            if self.one_vs_rest:
                self.tally[tallies.PARTS] = 2.0 * self.tally[tallies.UPDATES]
                self.tally[[tallies.PATH, tallies.STEPS, tallies.HELD]] *= 2.0
        self.labels.add(label)
        self.table.reserve(self.scores, self.width)
        if self.work.shape[1] < self.scores:
            self.work = np.zeros((WORK_ROWS, whole_blocks(2 * self.scores)))
        self.fast = self.named = self._predictor = None

    def task(self, ledger: Codes, mode: int = PLAIN, Y: NDArray[np.uint8] = NO_LABELS) -> Task:
        """The loss of the labels in a ledger, or of the label sets Y."""
        if self.multilabel:
            return MultiLabel(ledger, mode, len(self.labels), Y)
        if len(self.labels) == 2:
            return Binary(ledger, mode)
        return (OneVsRest if self.one_vs_rest else Multiclass)(ledger, mode, len(self.labels))

    def check(self, source: RowSource) -> None:
        """Raise ``ValueError`` naming the first row that cannot be learned from."""
        source.check()

    def check_learning(self, source: RowSource) -> None:
        """Raise ``ValueError`` for rows that cannot be learned, though they can be scored; nothing is changed."""
        self.check(source)

    # -- steps that are broken off -----------------------------------------------------------------------------

    def mark(self, block: bool = False) -> LearnerMark:
        """The present state; with ``block``, to undo a block of rows as a whole."""
        return LearnerMark(self, block)

    def undo(self, mark: LearnerMark) -> None:
        """After an exception: go back to the mark, unless a row was learned since, which is then completed."""
        if self.rounds > mark.rounds:
            without_interrupts(self.finish)
        else:
            mark.bring_back(self)

    def finish(self) -> None:
        """Complete the row that was learned last."""
        self.table.finish()
        self.fast = self.named = self._predictor = None

    # -- learning ----------------------------------------------------------------------------------------------

    def learn(
        self, source: RowSource, y: NDArray[Any], *, predictions: NDArray[Any] | None = None,
        shown: RowSource | None = None, weights: NDArray[np.float64] = NO_WEIGHTS,
    ) -> None:  # fmt: skip
        """One pass in the given order over examples already checked.

        ``predictions`` receives what ``predict`` would have returned for each row, or for the same row of ``shown``.
        """
        self.open(source.width, by_class=self.by_class(source))
        for start, stop in source.blocks():
            self.row_weights = weights[start:stop]
            if self.multilabel:
                ledger = np.empty((1, stop - start), dtype=np.int64)
                self.run(source.rows(start, stop), ledger, PLAIN, 0, stop - start, y[start:stop])
                continue
            codes, fresh = self.encode(y[start:stop])
            if predictions is not None:
                block = watched_block(self, source, shown, start, stop, codes)
                block.learn(fresh, predictions[start:stop])
                continue
            rows, ledger, begin = source.rows(start, stop), codes[np.newaxis], 0
            for row, label in [*fresh, (stop - start, None)]:
                if row > begin:
                    self.run(rows, ledger, PLAIN, begin, row)
                begin = row + 1
                if row < stop - start:
                    self.learn_first_of_label(label, partial(self.learn_new_label, rows, ledger, PLAIN, row))

    def encode(self, y: NDArray[Any]) -> tuple[Codes, list[tuple[int, Any]]]:
        """The codes of labels, and the labels not known yet with the rows at which they first appear."""
        return self.labels.encode(y)

    def learn_first_of_label(self, label: Any, learn_row: Callable[[], None]) -> None:
        """Learn the first row of a new label; if that fails, the label is not known either."""
        mark = self.mark()
        try:
            self.add_label(label)
            learn_row()
        except BaseException:
            self.undo(mark)
            raise

    @property
    def predicts_in_loop(self) -> bool:
        """Can the loop note what ``predict`` would return for each row? Else ``predict`` is called row by row."""
        return not self.average or self.table.predicts_in_loop

    def predict_before(self, source: RowSource, row: int) -> Any:
        """The label that ``predict`` returns for one row; None while no label is known."""
        if len(self.labels) < 2:
            return self.labels.values[0] if len(self.labels) else None
        return self.labels.values[self.predicted_index(self.scores_before(source, row))]

    @property
    def scores_in_loop(self) -> bool:
        """Can the loop note the scores that ``predict`` would use?"""
        return self.predicts_in_loop

    def scores_before(self, source: RowSource, row: int) -> NDArray[np.float64]:
        """The scores that ``predict`` uses for one row; 0 while there are fewer than two labels."""
        return self.decision(source.only(row))[0] if len(self.labels) > 1 else np.zeros(1)

    def predicted_index(self, scores: NDArray[np.float64]) -> int:
        """Index of the label that scores predict; ties go to the smallest."""
        return int(scores[0] > 0.0) if len(self.labels) == 2 else int(scores.argmax())

    def answer(self, code: int, row: Any) -> Any:
        """What the prepared call of a row predicted: the label of this index."""
        return self.labels.values[code]

    def run(
        self, rows: Dense | CSR, ledger: Codes, mode: int, start: int, stop: int, Y: NDArray[np.uint8] = NO_LABELS,
        rule: Any = None,
    ) -> None:  # fmt: skip
        """Run the loop over rows start..stop, growing the representation as it asks."""
        task, rep, marks = self.task(ledger, mode, Y), self.table.rep, [self.mark()]
        try:
            self.table.prepare()
            if self.knows_one_label:
                self.count_rows(ledger, mode, start, stop)
                return
            self._run_loop(self.rule if rule is None else rule, rows, task, start, stop, marks)
            if self.table.rep is not rep:
                self.fast = self.named = None
        except BaseException:
            self.undo(marks[0])
            raise

    def _run_loop(self, rule: Any, rows: Any, task: Any, start: int, stop: int, marks: list[LearnerMark]) -> None:
        """The loop of ``run``, apart: a ``try`` around a ``while`` misses interrupts from Python 3.12 on."""
        growths = 0
        while start < stop:
            args = (rule, task, self.table.rep, rows, self.tally, self.work, start, stop, self.row_weights)
            reached = call(self.loop, *args, unlocked=lock_is_released())
            if reached < 0:
                raise ValueError(flaw_message(0, -1 - reached))
            self.table.settle()
            growths = growths + 1 if reached == start else 0
            if growths > MOST_GROWTHS:
                raise ValueError(
                    "the model finds no room for another example, so it is not sound; load a saved model, or fit again"
                )
            if reached < stop:
                # Room for the next row: undone if that is not learned.
                marks[0] = self.mark() if reached > start else marks[0]
                self.table.grow(rows, int(task.ledger[ORDER, reached]) if task.mode == ORDERED else reached)
            start = reached

    @property
    def knows_one_label(self) -> bool:
        """Is there only one label, and so nothing to learn? No loop is compiled for that."""
        return len(self.labels) == 1 and not self.multilabel

    def count_rows(self, ledger: Codes, mode: int, start: int, stop: int) -> None:
        """Predict the only label for rows start..stop, and count those that are to be learned."""
        if mode in (WATCHED, PAIRED):
            ledger[PREDICTED, start:stop] = 0
        self.tally[tallies.ROUNDS] += rows_to_learn(mode, start, stop)

    def learn_new_label(self, rows: Dense | CSR, ledger: Codes, mode: int, row: int) -> None:
        """Learn the row that brought a new label."""
        self.run(rows, ledger, mode, row, row + 1)

    @one_thread_at_a_time
    def fast_row(self) -> Any:
        """The prepared call for single dense rows."""
        if self.fast is None:
            self.mark_unknown()
            self.table.prepare()
            self.fast = OneRow(self) if self.learns_single_rows else NoOneRow()
        return self.fast

    @one_thread_at_a_time
    def named_row(self) -> Any:
        """The prepared call for single examples whose features have names; None if they need the slow path."""
        if self.named is None and type(self).fast_row is Learner.fast_row and self.learns_single_rows and self.features:
            self.mark_unknown()
            self.table.prepare()
            self.named = OneNamedRow(self)
        return self.named

    # -- prediction --------------------------------------------------------------------------------------------

    def decision(self, source: RowSource) -> NDArray[np.float64]:
        """Scores of every row, one column for two classes."""
        return self.scored(source, self.predictor())

    def scored(self, source: RowSource, rep: Any) -> NDArray[np.float64]:
        """Scores of every row by a representation of the hypothesis."""
        out = np.empty((source.n, self.scores))
        for start, stop in source.blocks():
            call(scores_of, rep, source.rows(start, stop), self.scores, out[start:stop])
        return out

    def predictor(self) -> Any:
        """The representation that predictions use, renewed only after learning."""
        if self._predictor is None or self._predictor[0] != self.rounds:
            self._predictor = (self.rounds, self.table.predictor(self.rounds))
        return self._predictor[1] if self.average else self.table.rep

    def weights(self) -> NDArray[np.float64]:
        """Weights used for prediction, one row per score, the constant feature first."""
        return self.table.weights(self.scores, self.rounds)

    # -- files -------------------------------------------------------------------------------------------------

    def scalars(self) -> dict[str, Any]:
        """The scalars that a model file holds beside arrays and labels."""
        flags = {"closed": self.closed, "split": self.split, "multilabel": self.multilabel}
        return {"by_class": self.table.by_class, **flags}

    def restore(self, scalars: dict[str, Any], arrays: dict[str, NDArray[Any]], labels: list[Any]) -> None:
        """Take over what a model file holds."""
        self.closed, self.split, self.multilabel = (bool(scalars[name]) for name in ("closed", "split", "multilabel"))
        width = self.stored_width(scalars, arrays, self.functions(len(labels)))
        self.open(width, by_class=bool(scalars["by_class"]), classes=len(labels))
        for label in labels:
            self.add_label(label)
        self.restore_table(scalars, arrays)
        self.tally[:] = arrays["tally"]

    def stored_width(self, scalars: dict[str, Any], arrays: dict[str, NDArray[Any]], functions: int) -> int:
        """The number of features in a file; the shapes of its arrays are checked before memory is allocated."""
        scores, columns = arrays["W"].shape
        if columns < 1 or scores != functions or arrays["tally"].shape != self.tally.shape:
            raise ValueError("its arrays have wrong shapes")
        if self.average and arrays["U"].shape != arrays["W"].shape:
            raise ValueError("its averages have another shape than its weights")
        return int(columns - 1)

    def restore_table(self, scalars: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        """Take over the representation of a model file."""
        self.table.restore(arrays)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | dict.fromkeys(("fast", "named", "_predictor", "observer")) | {"row_weights": NO_WEIGHTS}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(owning(state))
