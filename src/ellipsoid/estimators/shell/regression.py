"""The scikit-learn estimator for online regression: that of the classifiers, with numbers in place of labels."""

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import RegressorMixin
from sklearn.utils import RegressorTags
from sklearn.utils.validation import column_or_1d

from ellipsoid.engine import Regression
from ellipsoid.engine import tally as tallies
from ellipsoid.engine.protocol import SCORES
from ellipsoid.engine.rows import HUGE
from ellipsoid.engine.tasks import PLAIN
from ellipsoid.representation.table_protocol import Floats
from ellipsoid.streams.label_kinds import refuse_masked, refuse_sparse

from ..inputs.checks import LabelArray
from ..inputs.rows import RowSource, flaw_message
from ..parameters.declaration import declared
from ..state.expansion import ExpansionLearner
from ..state.learner import NO_LABELS, Learner
from ..state.new_names import learn_with_new_names
from ..state.one_row import filled_row
from .base import OnlineClassifier
from .predictions import Predictions

# Numbers that are larger than this could overflow a sum of squares.
LARGEST_NUMBER = HUGE**0.25


def numbers_of(y: Any, rows: int) -> Floats:
    """A finite number for each row of ``y``, or ``ValueError``.

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
            raise ValueError(f"{values.dtype} is not a type of real numbers")
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
        raise ValueError(
            f"row {wrong[0]} of y holds {values[wrong[0]]}: a number to learn must be finite, and below "
            f"{LARGEST_NUMBER:.4g} in size"
        )
    return values


class NumberLearner(Learner):
    """A learner of one function, without loss where a prediction is off by ``tube`` or less."""

    numbers = True
    tube: float = 0.0
    # How many numbers the loop notes for a row before it is learned: the prediction, and for intervals the width.
    score_columns = 1

    def functions(self, labels: int) -> int:
        return 1

    @property
    def learns_single_rows(self) -> bool:
        return True

    def task(self, ledger: Any, mode: int = PLAIN, Y: Any = NO_LABELS) -> Any:
        """The loss of the numbers in a ledger."""
        return Regression(ledger, mode, self.tube)

    def predicted_index(self, scores: Floats) -> int:
        return 0

    def answer(self, code: int, row: Any) -> float:
        return float(row.decide_args[-1][SCORES, 0])

    def scores_before(self, source: RowSource, row: int) -> Floats:
        return self.decision(source.only(row))[0]

    def predict_before(self, source: RowSource, row: int) -> Any:
        return float(self.scores_before(source, row)[0])

    def encode(self, y: NDArray[Any]) -> tuple[NDArray[np.int64], list[tuple[int, Any]]]:
        """The numbers as int64 of the same bits, which the loop views as float64 again."""
        return np.ascontiguousarray(y).view(np.int64), []


class NumberExpansionLearner(NumberLearner, ExpansionLearner):
    """The same in the feature space of a kernel."""


@declared
class OnlineRegressor(OnlineClassifier):
    """What every online regressor can do.

    Parameters
    ----------
    validation_fraction : float
        The share of the rows that is held out.
    """

    # -- learning ----------------------------------------------------------------------------------------------

    def _targets(self, y: Any, rows: int) -> LabelArray:
        return numbers_of(y, rows)

    def partial_fit(  # type: ignore[override]
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None, classes: None = None
    ) -> Any:
        """One pass in the given order; ``sample_weight``: the weight of each row. ``classes`` must be None.

        After an interrupt, or an error in the middle, the model is that of its first ``t_`` rows.
        """
        self._pass(X, y, classes, sample_weight=sample_weight)
        return self

    def _cast_predictions(self, predictions: LabelArray) -> LabelArray:
        return predictions.astype(np.float64)

    def _learn_row(self, x: Any, y: Any, alone: bool = False) -> bool:
        """Learn a dense row of float64, or a dict, if width and names are known; returns whether it did."""
        core = self._core
        quick = type(y) in (float, int, np.float64) and type(core).fast_row is Learner.fast_row
        if not quick or not abs(y) < LARGEST_NUMBER:
            return False
        fast = filled_row(core, x)
        if fast is None:
            return learn_with_new_names(self, x, partial(self._learn_row, x, y, alone))
        fast.code.view(np.float64)[0] = y
        reached: int = fast.learn(*fast.learn_args)
        if reached < 0:
            raise ValueError(flaw_message(0, -1 - reached))
        return reached == 1

    # -- prediction --------------------------------------------------------------------------------------------

    @property
    def decision_function(self) -> Any:
        """A regressor has none: see ``predict``."""
        raise AttributeError(f"{type(self).__name__!r} object has no attribute 'decision_function'; see predict")

    @property
    def classes_(self) -> Any:
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
        fast = filled_row(core, x, known_only=True) if type(core).fast_row is Learner.fast_row else None
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
        """Examples whose prediction, when they were seen, was off by the tube or more."""
        return int(self._fitted("mistakes_").tally[tallies.MISTAKES])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.estimator_type, tags.classifier_tags, tags.regressor_tags = "regressor", None, RegressorTags()
        return tags
