"""Sets of labels, and intervals of numbers, that hold the truth as often as is asked for, in the long run."""

from math import inf
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import is_regressor

from ellipsoid.certificates import Certificate
from ellipsoid.representation.table_protocol import Floats

from ..inputs.frames import table_of
from ..inputs.weights import learn_between_zero_weights
from ..parameters.validation import positive, whole
from ..state.predict_then_learn import PendingScores
from .conformity import JUDGED, MISSES, Conformity, nonconformities
from .wrapper import ObservingWrapper, score_matrix


class Conformal(ObservingWrapper):
    """A learner with sets: labels, or an interval, that hold the truth in a given share of all rows, on any stream.

    Each set is made before its label is known, from how badly the last rows fitted; sets become larger after every miss
    and smaller after every hit. So the share of misses approaches ``miscoverage`` on any stream, even one that changes
    or that an adversary has made: ``certificates`` says how near it must be so far. This is a statement about the long
    run; ``CELLIP.certain`` makes one about a single row, under an assumption.

    Act on rows whose set has one label; a set of two or more is a reason to abstain, and an empty set means that the
    row looks like no row before. A row that brings a new label is not judged, because no set could have held it.

    ``fit`` learns the threshold in a separate pass, with a copy of the learner that starts from nothing.

    Parameters
    ----------
    learner : an online classifier or regressor, or one in ``Scaled``; it is cloned when learning starts
    miscoverage : float between 0 and 1
        The share of rows whose set may miss the truth.
    rate : float
        How much a miss changes the next sets: the larger, the faster they follow a change, and the more they vary.
    window : int
        The number of recent rows from which a set is made.
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

    _companion = "conformity_"
    _target = "label or number"
    _refusal = "Conformal takes one label or number per row: y must be 1-D, got a matrix"

    def __init__(
        self, learner: Any, *, miscoverage: float = 0.1, rate: float = 0.02, window: int = 500, random_state: Any = None
    ) -> None:
        self.learner = learner
        self.miscoverage = miscoverage
        self.rate = rate
        self.window = window
        self.random_state = random_state

    # -- learning ----------------------------------------------------------------------------------------------

    def _new_companion(self) -> Conformity:
        miscoverage = positive("miscoverage", self.miscoverage)
        if miscoverage >= 1.0:
            raise ValueError(f"miscoverage must lie between 0 and 1, got {self.miscoverage!r}")
        return Conformity(miscoverage, positive("rate", self.rate), whole("window", self.window))

    def _new_observer(self, companion: Conformity) -> "_ConformityObserver":
        return _ConformityObserver(companion)

    def learn_predict_interval(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> tuple[Floats, Floats, Floats]:
        """``partial_fit`` that returns for each row the number predicted before, and its interval's ends."""
        self._refuse_classifier()

        def answers(observer: _ConformityObserver) -> Any:
            predicted, half = np.concatenate(observer.predicted), np.concatenate(observer.thresholds)
            return predicted, predicted - half, predicted + half

        def ask(model: Conformal, row: Any, _number: Any) -> Any:
            known = model.__sklearn_is_fitted__()
            return (model.predict(row)[0], *model.predict_interval(row)[0]) if known else (0.0, -inf, inf)

        predicted, low, high = self._judged(X, y, None, sample_weight, answers, ask)
        return predicted, low, high

    def learn_predict_set(
        self, X: Any, y: ArrayLike, classes: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> tuple[NDArray[Any], NDArray[np.int64], NDArray[np.bool_]]:
        """``partial_fit`` that returns for each row, from before: label, size of the set, whether it held the truth."""

        def answers(observer: _ConformityObserver) -> Any:
            return np.concatenate(observer.predicted), np.concatenate(observer.sizes), np.concatenate(observer.held)

        def ask(model: Conformal, row: Any, label: Any) -> Any:
            if not model.__sklearn_is_fitted__():
                return -1, 0, False
            known, held = model.classes_.tolist(), model.predict_set(row)[0]
            return known.index(model.predict(row)[0]), held.sum(), label in model.classes_[held].tolist()

        codes, sizes, held = self._judged(X, y, classes, sample_weight, answers, ask).astype(np.int64)
        return self._labels_of(codes), sizes, held.astype(np.bool_)

    def _judged(self, X: Any, y: Any, classes: Any, sample_weight: Any, answers: Any, ask: Any) -> NDArray[Any]:
        """Learn rows; the ``answers`` of their observers, one a line, and what ``ask`` answers for rows of weight 0."""

        def learn(model: Conformal, _shown: Any, *piece: Any) -> Any:
            return np.stack(answers(model._learn_rows(*piece)), axis=1)

        X = table_of(X)
        rows = X, X, self._checked_targets(y), classes, sample_weight
        return np.array(learn_between_zero_weights(self, rows, learn, ask)).T.copy()

    # -- prediction --------------------------------------------------------------------------------------------

    def predict(self, X: Any) -> NDArray[Any]:
        """The learner's labels or numbers."""
        return self._learned().predict(X)

    def predict_one(self, x: Any) -> Any:
        """The learner's label or number for one example."""
        return self._learned().predict_one(x)

    def predict_set(self, X: Any) -> NDArray[np.bool_]:
        """Which labels each row's set holds: a column for each label, in the order of ``classes_``."""
        learner = self._learned()
        if is_regressor(learner):
            raise AttributeError("a regressor has intervals instead of sets: see predict_interval")
        scores = learner.decision_function(X)
        return self._nonconformities(score_matrix(scores)) <= self.threshold_

    def predict_set_one(self, x: Any) -> set[Any]:
        """The labels in the set of one example."""
        learner = self._learned()
        if is_regressor(learner):
            raise AttributeError("a regressor has intervals instead of sets: see predict_interval_one")
        held = self._nonconformities(learner._decision_of_one(x).reshape(1, -1))[0] <= self.threshold_
        return {label for label, inside in zip(self.classes_.tolist(), held.tolist(), strict=True) if inside}

    def _nonconformities(self, scores: Floats) -> Floats:
        return nonconformities(scores, len(self.learner_.classes_))

    def predict_interval(self, X: Any) -> NDArray[np.float64]:
        """The low and the high end of each row's interval; an empty one is (inf, -inf)."""
        self._refuse_classifier()
        predicted, half = self._learned().predict(X), self.threshold_
        return np.stack([predicted - half, predicted + half], axis=1)

    def predict_interval_one(self, x: Any) -> tuple[float, float]:
        """The interval of one example."""
        self._refuse_classifier()
        predicted, half = self._learned().predict_one(x), self.threshold_
        return predicted - half, predicted + half

    def _refuse_classifier(self) -> None:
        if not is_regressor(self._current_learner):
            raise AttributeError("a classifier has sets instead of intervals: see predict_set")

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
            raise AttributeError(f"Conformal has no {name}: it gives sets or intervals, not probabilities{other}")
        return super().__getattr__(name)


class _ConformityObserver(PendingScores):
    """The conformity as an observer of its learner's scores; it keeps what was predicted of each row."""

    def __init__(self, conformity: Conformity) -> None:
        super().__init__(self)
        self.companion = conformity
        self.predicted: list[NDArray[Any]] = []
        self.thresholds: list[Floats] = []
        self.sizes: list[NDArray[np.int64]] = []
        self.held: list[NDArray[np.bool_]] = []

    def __call__(self, learner: Any, scores: Floats, codes: NDArray[Any]) -> None:
        if learner.numbers:
            numbers = scores[:, 0].copy()
            self.predicted.append(numbers)
            self.thresholds.append(self.companion.learn_numbers(numbers, np.ascontiguousarray(codes, dtype=np.float64)))
            return
        known, rows = len(learner.labels), np.arange(len(scores))
        values = nonconformities(scores, known)
        self.predicted.append(values.argmin(axis=1) if known else np.full(len(scores), -1))
        if known < 2 or len(codes) == 0:
            thresholds = np.full(len(scores), self.companion.threshold)
        else:
            thresholds = self.companion.learn(np.ascontiguousarray(values[rows, codes]))
        sets = values <= thresholds[:, np.newaxis]
        self.sizes.append(sets.sum(axis=1))
        self.held.append(sets[rows, codes] if len(codes) else np.zeros(len(scores), dtype=np.bool_))
