"""Sets of labels, and intervals of numbers, that hold the truth as often as is asked for, in the long run."""

from math import inf
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import is_regressor
from sklearn.utils import _safe_indexing, check_random_state

from ellipsoid.certificates import Certificate
from ellipsoid.representation.table_protocol import Floats

from ..inputs.frames import table_of
from ..inputs.labels import cast_labels
from ..inputs.weights import (
    drop_zero_weights,
    learn_between_zero_weights,
    one_weight,
    row_numbers_before_dropping,
    target_array,
    weight_argument,
)
from ..parameters.validation import positive, whole
from ..state.predict_then_learn import PendingScores
from .conformity import JUDGED, MISSES, Conformity, nonconformities
from .wrapper import Watching, indexable, score_table, seed_of


class Conformal(Watching):
    """A learner with sets: labels, or an interval, that hold the truth in a given share of all rows, on any stream.

    Each set is made before its label is known, of what was odd about the last rows; and after every miss sets become
    larger, after every hit smaller. So the share of misses comes to ``miscoverage`` whatever the stream does, also one
    that changes, or was made by an enemy: ``certificates`` says how near it must be by now. That is a statement about
    the long run. ``CELLIP.certain`` is one about a single row, under an assumption.

    Rows with a set of one label are those to act on; a set of two or more is a reason to abstain, and an empty one a
    row that looks like none before. A row that brings a new label is not judged: no set could have held it.

    ``fit`` learns the threshold on a pass of its own, with a copy of the learner that starts from nothing.

    Parameters
    ----------
    learner : an online classifier or regressor, or one in ``Scaled``; it is cloned when learning starts
    miscoverage : float between 0 and 1
        The share of rows whose set may miss the truth.
    rate : float
        How much a miss changes the next sets: the larger, the sooner they follow a change, and the more they vary.
    window : int
        The number of last rows that a set is made of.
    random_state : the seed of ``fit``, and the learner's in place of its own, unless None

    Attributes
    ----------
    learner_
        The clone that has learned; labels and numbers are predicted by it alone.

    Examples
    --------
    >>> from ellipsoid import Conformal, PassiveAggressive, datasets
    >>> X, y = datasets.stream("sea", rows=3000)
    >>> model = Conformal(PassiveAggressive(C=0.01), miscoverage=0.2).partial_fit(X, y)
    >>> abs(model.misses_ / model.judged_ - 0.2) < 0.02
    True
    >>> model.predict_set(X[:2]).shape
    (2, 2)
    """

    def __init__(
        self, learner: Any, *, miscoverage: float = 0.1, rate: float = 0.02, window: int = 500, random_state: Any = None
    ) -> None:
        self.learner = learner
        self.miscoverage = miscoverage
        self.rate = rate
        self.window = window
        self.random_state = random_state

    # -- learning ----------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Forget everything, then make the learner's passes, and one more for the threshold."""
        learner, trial, conformity = self._fresh(), self._fresh(), self._new()
        _one_each(learner, y)
        X, y, weight = drop_zero_weights(learner, X, y, sample_weight, must_keep_some=True)
        with row_numbers_before_dropping(sample_weight):
            learner.fit(X, y, **weight_argument(weight))
        values = target_array(learner, y)
        order = check_random_state(seed_of(self)).permutation(len(values))
        classes = None if is_regressor(learner) else learner.classes_
        own = weight_argument(weight[order] if len(weight) else weight)
        trial._learn_observed(_safe_indexing(indexable(X), order), values[order], classes, _Judge(conformity), **own)
        self._keep(learner, conformity)
        return self

    def _learn_predict_positive(self, shown: Any, X: Any, y: Any, classes: Any, weight: Floats) -> NDArray[Any]:
        told = np.concatenate(self._watch_rows(X, y, classes, weight).predicted)
        if is_regressor(self._current_learner):
            return told
        return self._labels_of(told)

    def learn_predict_interval(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> tuple[Floats, Floats, Floats]:
        """``partial_fit`` of a regressor that returns what it said of each row before: number, low and high end."""
        self._intervals()

        def told_of(judge: _Judge) -> Any:
            told, wide = np.concatenate(judge.predicted), np.concatenate(judge.thresholds)
            return told, told - wide, told + wide

        def ask(model: Conformal, row: Any, _number: Any) -> Any:
            known = model.__sklearn_is_fitted__()
            return (model.predict(row)[0], *model.predict_interval(row)[0]) if known else (0.0, -inf, inf)

        told, low, high = self._judged((X, y, None, sample_weight), told_of, ask)
        return told, low, high

    def learn_predict_set(
        self, X: Any, y: ArrayLike, classes: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> tuple[NDArray[Any], NDArray[np.int64], NDArray[np.bool_]]:
        """``partial_fit`` that returns what was said of each row before: the label, the size of the set, and whether
        it held the true label.
        """

        def told_of(judge: _Judge) -> Any:
            return np.concatenate(judge.predicted), np.concatenate(judge.sizes), np.concatenate(judge.held)

        def ask(model: Conformal, row: Any, label: Any) -> Any:
            if not model.__sklearn_is_fitted__():
                return -1, 0, False
            known, held = model.classes_.tolist(), model.predict_set(row)[0]
            return known.index(model.predict(row)[0]), held.sum(), label in model.classes_[held].tolist()

        codes, sizes, held = self._judged((X, y, classes, sample_weight), told_of, ask).astype(np.int64)
        known = getattr(self, "classes_", np.zeros(0, dtype=object))
        return (
            cast_labels(np.array([*known.tolist(), None], dtype=object)[codes], known.dtype),
            sizes,
            held.astype(np.bool_),
        )

    def _judged(self, rows: tuple[Any, ...], told_of: Any, ask: Any) -> NDArray[Any]:
        """Learn rows; what was told of them before, one thing a line. Those of weight 0 are not shown to a judge."""

        def learn(model: Conformal, _shown: Any, *piece: Any) -> Any:
            return np.stack(told_of(model._watch_rows(*piece)), axis=1)

        X = table_of(rows[0])
        return np.array(learn_between_zero_weights(self, (X, X, *rows[1:]), learn, ask)).T.copy()

    def learn_one(self, x: Any, y: Any, weight: float = 1.0) -> Self:
        """Learn one example, which counts ``weight``: a 1-D array, a dict of feature name to value, or a sparse row."""
        weight = weight if type(weight) is float else one_weight(weight)
        if weight != 1.0 and one_weight(weight) == 0.0:
            return self
        if isinstance(y, np.ndarray | list | tuple):
            raise ValueError(f"y must be one label or number, got {y!r}")
        self._watch(lambda learner, judge: learner._learn_one_observed(x, y, judge, weight))
        return self

    def _watch_rows(self, X: Any, y: Any, classes: Any, weight: Floats) -> Any:
        _one_each(self._current_learner, y)
        return super()._watch_rows(X, y, classes, weight)

    def _watch(self, learn: Any) -> "_Judge":
        """Let the learner learn, and the threshold from it."""
        started = self.__sklearn_is_fitted__()
        learner = self.learner_ if started else self._told(self._fresh())
        judge = _Judge(self.conformity_ if started else self._new())
        try:
            learn(learner, judge)
        finally:
            judge.deliver()
            if learner.__sklearn_is_fitted__():
                self._keep(learner, judge.conformity)
        return judge

    def _new(self) -> Conformity:
        miscoverage = positive("miscoverage", self.miscoverage)
        if miscoverage >= 1.0:
            raise ValueError(f"miscoverage must lie between 0 and 1, got {self.miscoverage!r}")
        return Conformity(miscoverage, positive("rate", self.rate), whole("window", self.window))

    def _keep(self, learner: Any, conformity: Conformity) -> None:
        # At once: an interrupt must not find the one without the other.
        self.__dict__.update({"learner_": learner, "conformity_": conformity, "n_features_in_": learner.n_features_in_})

    # -- prediction --------------------------------------------------------------------------------------------

    def predict(self, X: Any) -> NDArray[Any]:
        """The learner's labels or numbers."""
        found: NDArray[Any] = self._learned().predict(X)
        return found

    def predict_one(self, x: Any) -> Any:
        """The learner's label or number for one example."""
        return self._learned().predict_one(x)

    def predict_set(self, X: Any) -> NDArray[np.bool_]:
        """Which labels each row's set holds: a column for each label, in the order of ``classes_``."""
        learner = self._learned()
        if is_regressor(learner):
            raise AttributeError("a regressor has intervals in place of sets: see predict_interval")
        scores = learner.decision_function(X)
        sets: NDArray[np.bool_] = self._odd(score_table(scores)) <= self.threshold_
        return sets

    def predict_set_one(self, x: Any) -> set[Any]:
        """The labels in the set of one example."""
        learner = self._learned()
        if is_regressor(learner):
            raise AttributeError("a regressor has intervals in place of sets: see predict_interval_one")
        held = self._odd(learner._decision_of_one(x).reshape(1, -1))[0] <= self.threshold_
        return {label for label, inside in zip(self.classes_.tolist(), held.tolist(), strict=True) if inside}

    def _odd(self, scores: Floats) -> Floats:
        return nonconformities(scores, len(self.learner_.classes_))

    def predict_interval(self, X: Any) -> NDArray[np.float64]:
        """The low and the high end of each row's interval; an empty one is (inf, -inf)."""
        self._intervals()
        told, wide = self._learned().predict(X), self.threshold_
        return np.stack([told - wide, told + wide], axis=1)

    def predict_interval_one(self, x: Any) -> tuple[float, float]:
        """The interval of one example."""
        self._intervals()
        told, wide = self._learned().predict_one(x), self.threshold_
        return told - wide, told + wide

    def _intervals(self) -> None:
        if not is_regressor(self._current_learner):
            raise AttributeError("a classifier has sets in place of intervals: see predict_set")

    # -- what was learned --------------------------------------------------------------------------------------

    def _conformity(self) -> Conformity:
        if "conformity_" not in self.__dict__:
            raise AttributeError("Conformal has no threshold before it has learned something")
        return self.conformity_

    @property
    def threshold_(self) -> float:
        """The nonconformity up to which a label or number is in the next set."""
        return self._conformity().threshold

    @property
    def misses_(self) -> int:
        """Rows whose set did not hold their label or number."""
        return int(self._conformity().numbers[MISSES])

    @property
    def judged_(self) -> int:
        """Rows that had a set: all but those that brought a label, and those before two labels were known."""
        return int(self._conformity().numbers[JUDGED])

    def certificates(self, comparator: ArrayLike | None = None) -> list[Certificate]:
        """How far the share of misses may be from what was asked for, then the learner's own bounds."""
        observed, bound = (0.0, inf) if not self.__sklearn_is_fitted__() else self._conformity().bound()
        own = Certificate("share of misses less the miscoverage, in size", observed, bound, "always")
        return [own, *super().certificates(comparator)]

    def __getattr__(self, name: str) -> Any:
        if name in ("decision_function", "_learn_observed", "_decision_of_one"):
            raise AttributeError(f"Conformal has no {name}; see learner_")
        if "_proba" in name:
            kind = type(self._current_learner).__name__
            other = "" if is_regressor(self._current_learner) else f"; Calibrated({kind}(...)) learns those from scores"
            raise AttributeError(f"Conformal has no {name}: it tells sets or intervals, no probabilities{other}")
        return super().__getattr__(name)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if tags.classifier_tags is not None:
            tags.classifier_tags.multi_label = False
        return tags


def _one_each(learner: Any, y: Any) -> None:
    """Raise ``ValueError`` where rows have several labels."""
    values = target_array(learner, y)
    if values.ndim == 2 and values.shape[1] != 1:
        raise ValueError("Conformal tells sets that hold one label, or number, a row: y must be 1-D, got a matrix")


class _Judge(PendingScores):
    """A conformity that is shown what a learner scores, and notes what it made of each row."""

    def __init__(self, conformity: Conformity) -> None:
        super().__init__(self)
        self.conformity = conformity
        self.predicted: list[NDArray[Any]] = []
        self.thresholds: list[Floats] = []
        self.sizes: list[NDArray[np.int64]] = []
        self.held: list[NDArray[np.bool_]] = []

    def __call__(self, learner: Any, scores: Floats, codes: NDArray[Any]) -> None:
        if learner.numbers:
            told = scores[:, 0].copy()
            self.predicted.append(told)
            self.thresholds.append(self.conformity.learn_numbers(told, np.ascontiguousarray(codes, dtype=np.float64)))
            return
        known, rows = len(learner.labels), np.arange(len(scores))
        odd = nonconformities(scores, known)
        self.predicted.append(odd.argmin(axis=1) if known else np.full(len(scores), -1))
        if known < 2 or len(codes) == 0:
            thresholds = np.full(len(scores), self.conformity.threshold)
        else:
            thresholds = self.conformity.learn(np.ascontiguousarray(odd[rows, codes]))
        sets = odd <= thresholds[:, np.newaxis]
        self.sizes.append(sets.sum(axis=1))
        self.held.append(sets[rows, codes] if len(codes) else np.zeros(len(scores), dtype=np.bool_))
