"""One scikit-learn shell for learners of numbers: that of the classifiers, with numbers in the place of labels."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import RegressorMixin
from sklearn.utils import RegressorTags
from sklearn.utils.validation import column_or_1d

from ellipsoid.certificates import Certificate
from ellipsoid.engine import NO_WEIGHTS, Regression
from ellipsoid.engine import tally as tallies
from ellipsoid.engine.protocol import SCORES
from ellipsoid.engine.rows import HUGE
from ellipsoid.engine.tasks import CODES, FORETOLD, PLAIN
from ellipsoid.representation.table_protocol import Floats
from ellipsoid.streams.label_kinds import refuse_masked, refuse_sparse

from ..inputs.checks import Labelled
from ..inputs.rows import RowSource, flaw_message
from ..parameters.declaration import declared
from ..parameters.validation import comparator_rows
from ..state.expansion import ExpansionLearner
from ..state.learner import NO_LABELS, Learner
from ..state.one_row import filled_row
from ..state.predict_then_learn import WatchedBlock, in_turn, pending_scores
from .base import OnlineClassifier
from .predictions import Predictions

# Numbers that are larger than this could overflow a sum of squares.
LARGEST_NUMBER = HUGE**0.25


def numbers_of(y: Any, rows: int) -> Floats:
    """A finite number for each of so many rows, or the sentence that says what is wrong with one.

    >>> numbers_of([1, 2.5], 2)
    array([1. , 2.5])
    >>> numbers_of([1, float("nan")], 2)
    Traceback (most recent call last):
        ...
    ValueError: row 1 of y holds nan: a number to learn must be finite, and below 3.162e+72 in size
    """
    if y is None:
        raise ValueError("requires y to be passed, but the target y is None")
    refuse_masked(y, "y")
    refuse_sparse(y, "y")
    try:
        values = np.asarray(y)
        if values.dtype.kind in "cmM":
            raise ValueError(f"{values.dtype} is no type of real numbers")
        values = column_or_1d(values, warn=True) if values.ndim == 2 and values.shape[1] == 1 else values
        values = np.array(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"y must hold numbers: {error}") from error
    if values.ndim != 1:
        raise ValueError(f"y must be 1-D, one number per example, got shape {values.shape}")
    if len(values) != rows:
        raise ValueError(f"y has {len(values)} numbers for the {rows} rows of X")
    wrong = np.flatnonzero(~(np.abs(values) < LARGEST_NUMBER))
    if len(wrong):
        told = f"a number to learn must be finite, and below {LARGEST_NUMBER:.4g} in size"
        raise ValueError(f"row {wrong[0]} of y holds {values[wrong[0]]}: {told}")
    return values


class NumberLearner(Learner):
    """A learner of one function, which meets numbers to within ``tube``."""

    numbers = True
    tube: float = 0.0
    # How many numbers the loop notes of a row before it is learned: the prediction, and what else there is.
    score_columns = 1

    def functions(self, labels: int) -> int:
        """One, whatever is learned."""
        return 1

    @property
    def learns_single_rows(self) -> bool:
        """May single rows be learned without looking at the representation afterwards?"""
        return True

    def task(self, ledger: Any, mode: int = PLAIN, Y: Any = NO_LABELS) -> Any:
        """How the numbers of a ledger meet the scores."""
        return Regression(ledger, mode, self.tube)

    def predicted_index(self, scores: Floats) -> int:
        """There are no labels to choose from."""
        return 0

    def answer(self, code: int, row: Any) -> float:
        """What the prepared call of a row has predicted."""
        return float(row.decide_args[-1][SCORES, 0])

    def scores_before(self, source: RowSource, row: int) -> Floats:
        """What is predicted of one row."""
        found: Floats = self.decision(source.only(row))[0]
        return found

    def predict_before(self, source: RowSource, row: int) -> Any:
        """What is predicted of one row."""
        return float(self.scores_before(source, row)[0])

    def learn(
        self, source: RowSource, y: NDArray[Any], *, predictions: NDArray[Any] | None = None,
        shown: RowSource | None = None, weights: Floats = NO_WEIGHTS,
    ) -> None:  # fmt: skip
        """One pass in the given order over examples already checked."""
        self.open(source.width, by_class=self.by_class(source))
        observer, self.observer = self.observer, self.observer or _nobody
        try:
            for start, stop in source.blocks():
                self.row_weights = weights[start:stop]
                values = np.ascontiguousarray(y[start:stop])
                if predictions is None:
                    self.run(source.rows(start, stop), values.view(np.int64)[np.newaxis], PLAIN, 0, stop - start)
                    continue
                block, pending = self._watched(source, shown, start, stop, values), pending_scores(self.observer)
                told = block.ledger.view(np.float64)[FORETOLD:, :: 2 if block.pairs else 1]
                # Features that nobody met change no number, but what it is scaled by; of widths they are a part.
                grows = block.grows_at(0) and self.score_columns == 1
                for begin, end in [(0, 1), (1, stop - start)] if grows else [(0, stop - start)]:
                    own = self.first_scores[:, np.newaxis] if grows and begin == 0 else told[:, begin:end]
                    pending.expect(self, own, values[begin:end])
                    try:
                        block.run(begin, end)
                    finally:
                        pending.deliver()
                predictions[start:stop] = told[0]
        finally:
            self.observer = observer

    def _watched(
        self, source: RowSource, shown: RowSource | None, start: int, stop: int, values: Floats
    ) -> WatchedBlock:
        """Rows ready to be watched, see `predict_then_learn`."""
        rows, pairs = source.rows(start, stop), shown is not None and self.table.predicts_in_loop
        ledger = np.zeros((FORETOLD + self.score_columns, (2 if pairs else 1) * len(values)), dtype=np.int64)
        ledger[CODES, int(pairs) :: 2 if pairs else 1] = values.view(np.int64)
        if pairs:
            assert shown is not None
            self.row_weights = np.repeat(self.row_weights, 2)
            rows = in_turn(shown.rows(start, stop), rows)
        return WatchedBlock(self, source, shown, pairs, start, rows, ledger)


class NumberExpansionLearner(NumberLearner, ExpansionLearner):
    """The same in the feature space of a kernel."""

    def learn(self, *args: Any, **options: Any) -> None:
        """One pass over a stream: nothing of it is expected to come again."""
        self.passes = 1
        NumberLearner.learn(self, *args, **options)


def _nobody(*_args: Any) -> None:
    """Sees scores, and does nothing with them."""


@declared
class OnlineRegressor(OnlineClassifier):
    """What every online learner of numbers can do.

    Parameters
    ----------
    validation_fraction : float
        The share of the rows that is held out.
    """

    # -- learning ----------------------------------------------------------------------------------------------

    def _targets(self, y: Any, rows: int) -> Labelled:
        return numbers_of(y, rows)

    def partial_fit(  # type: ignore[override]
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None, classes: None = None
    ) -> Any:
        """One pass in the given order; ``sample_weight``: what each row counts. There are no ``classes``.

        After an interrupt, or an error in the middle, the model is that of its first ``t_`` rows.
        """
        self._pass(X, y, classes, sample_weight=sample_weight)
        return self

    def learn_predict(  # type: ignore[override]
        self, X: Any, y: ArrayLike, classes: None = None, sample_weight: ArrayLike | None = None
    ) -> Labelled:
        """``partial_fit`` that returns for each row what ``predict`` would have said of it before it was learned.

        0 for the first row of all. There are no ``classes``.
        """
        return self._learn_predict(X, X, y, classes, sample_weight)

    def _tidied(self, predictions: Labelled) -> Labelled:
        return predictions.astype(np.float64)

    def _learn_row(self, x: Any, y: Any, alone: bool = False) -> bool:
        """Learn a dense row of float64, or a dict, of known width and names; False if this is not one."""
        core = self._core
        quick = type(y) in (float, int, np.float64) and type(core).fast_row is Learner.fast_row
        fast = filled_row(core, x) if quick and abs(y) < LARGEST_NUMBER else None
        if fast is None:
            return False
        fast.code.view(np.float64)[0] = y
        reached: int = fast.learn(*fast.learn_args)
        if reached < 0:
            raise ValueError(flaw_message(0, -1 - reached))
        return reached == 1

    # -- prediction --------------------------------------------------------------------------------------------

    @property
    def decision_function(self) -> Any:
        """A regressor has none: ``predict`` gives its numbers."""
        raise AttributeError(f"{type(self).__name__!r} object has no attribute 'decision_function'; see predict")

    @property
    def classes_(self) -> Any:
        """A regressor has none."""
        raise AttributeError(f"{type(self).__name__!r} object has no attribute 'classes_'")

    def predict(self, X: Any) -> Floats:
        """The numbers predicted."""
        found: Floats = Predictions.decision_function(self, X)
        return found.reshape(-1)

    def _decision_of_one(self, x: Any) -> Floats:
        return self.predict(self._one_row(x)[0])

    def predict_one(self, x: Any) -> float:
        """The number predicted for one example."""
        core = self._learned()
        fast = filled_row(core, x) if type(core).fast_row is Learner.fast_row else None
        if fast is None:
            return float(self._decision_of_one(x)[0])
        code = fast.predict_averaged(core) if core.average else fast.decide(*fast.decide_args)
        if code < 0:
            raise ValueError(flaw_message(0, -1 - code))
        return core.answer(code, fast)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The coefficient of determination, R squared."""
        return float(RegressorMixin.score(self, X, y, sample_weight))

    # -- what was learned --------------------------------------------------------------------------------------

    @property
    def coef_(self) -> Floats:
        """Weights of the features."""
        return np.array(self._fitted("coef_").weights()[0, 1:])

    @property
    def mistakes_(self) -> int:
        """Examples that were off by the tube at least when they were seen."""
        return int(self._fitted("mistakes_").tally[tallies.MISTAKES])

    def certificates(self, comparator: ArrayLike | None = None) -> list[Certificate]:
        """The bounds that hold for this run so far, against a weight vector (by default the learner's own)."""
        core = self._learned()
        own = np.array(core.table.weights(1, 0))
        if comparator is not None and isinstance(core, ExpansionLearner):
            raise ValueError("a kernel model has no coordinates to compare with; comparator must be None")
        found = self._bounds(core, own if comparator is None else comparator_rows(comparator, 1, core.width))
        return found if core.mixed is None else core.mixed.tell(found, core.tally)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.estimator_type, tags.classifier_tags, tags.regressor_tags = "regressor", None, RegressorTags()
        return tags
