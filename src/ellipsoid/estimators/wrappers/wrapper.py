"""What estimators made of online learners share: a clone that learns, its attributes, its bounds and its file."""

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, MetaEstimatorMixin, RegressorMixin, clone, is_regressor
from sklearn.exceptions import NotFittedError
from sklearn.utils import _safe_indexing, check_random_state

from ellipsoid.certificates import Certificate
from ellipsoid.representation.table_protocol import Floats

from ..files import saving
from ..inputs.labels import Classifier, cast_labels, labels_of_codes
from ..inputs.row_numbers import row_numbers_before_dropping
from ..inputs.rows import row_indexable
from ..inputs.weights import (
    declare_classes,
    drop_zero_weights,
    learn_predict_any_weight,
    one_weight,
    target_array,
    weight_argument,
)
from ..shell.learned_attributes import missing
from ..state.one_thread import one_thread_at_a_time


def seed_of(model: Any) -> Any:
    """The seed of a model, or else of the learner in it, of several of the first."""
    inner = getattr(model, "learner", None) or next(iter(getattr(model, "learners", None) or ()), None)
    return model.random_state if model.random_state is not None or inner is None else seed_of(inner)


def score_matrix(scores: Floats) -> Floats:
    """Scores as a matrix with a line for each row, also where each row has a single score."""
    return np.ascontiguousarray(scores.reshape(len(scores), -1))


class MetaLearner(Classifier, MetaEstimatorMixin, BaseEstimator):
    """An estimator made of other learners; ``_learned_name`` is the attribute that holds what has learned."""

    _learned_name: ClassVar[str]
    _learn_predict_positive: Any
    random_state: Any

    @one_thread_at_a_time
    def learn_predict(
        self, X: Any, y: ArrayLike, classes: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> NDArray[Any]:
        """``partial_fit`` that returns for each row what ``predict`` would have said of it before it was learned."""
        return learn_predict_any_weight(self, X, X, self._checked_targets(y), classes, sample_weight)

    def learn_one(self, x: Any, y: Any, weight: float = 1.0) -> Self:
        """Learn one example, which counts ``weight``: a 1-D array, a dict of feature name to value, or a sparse row."""
        weight = one_weight(weight) if type(weight) is not float or weight != 1.0 else weight
        if weight != 0.0 and not (weight == 1.0 and self._learn_quickly(x, y)):
            self._learn_example(x, y, weight)
        return self

    def _learn_quickly(self, x: Any, y: Any) -> bool:
        """Learn an example of weight 1 by prepared calls; False if there are none for it."""
        return False

    def _learn_example(self, x: Any, y: Any, weight: float) -> None:
        raise NotImplementedError

    def _checked_targets(self, y: Any, learner: Any = None) -> Any:
        """Labels or numbers for a new learner, or that of the run; ``ValueError`` where it learns no such."""
        return y

    def _learned(self) -> Any:
        """What has learned."""
        if not self.__sklearn_is_fitted__():
            raise NotFittedError(f"This {type(self).__name__} has learned nothing yet; call fit or partial_fit")
        return self.__dict__[self._learned_name]

    def __sklearn_is_fitted__(self) -> bool:
        return self._learned_name in self.__dict__

    def save(self, path: Any) -> None:
        """Write the whole to one file that ``ellipsoid.load`` reads."""
        self._learned()
        saving.save(self, path)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class Wrapper(MetaLearner):
    """An estimator whose ``learner_``, a clone of ``learner``, does the learning.

    ``_companion`` is the attribute that holds what learns beside it.
    """

    _learned_name = "learner_"
    _companion: ClassVar[str]
    learner: Any
    learner_: Any

    @property
    def _current_learner(self) -> Any:
        """The learner of the run, or before there is one that which will begin it: ``learner`` may be set meanwhile."""
        return self.__dict__.get("learner_", self.learner)

    @one_thread_at_a_time
    def partial_fit(
        self, X: Any, y: ArrayLike, classes: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """One pass in the given order; if interrupted, the learner and what learns beside it know the same rows."""
        X, y, weight = drop_zero_weights(self._current_learner, X, self._checked_targets(y), sample_weight)
        if sample_weight is None or len(weight):
            with row_numbers_before_dropping(sample_weight):
                self._learn_rows(X, y, classes, weight)
        else:
            declare_classes(self, classes)
        return self

    def _learn_rows(self, X: Any, y: Any, classes: Any, weight: Floats) -> Any:
        """Learn rows whose weights are positive; no weights mean that each is 1."""
        raise NotImplementedError

    def _seeded(self) -> Any:
        """A new learner, with the seed that it is to have."""
        learner = clone(self.learner)
        return learner if self.random_state is None else learner.set_params(random_state=self.random_state)

    def _knowing_labels(self, learner: Any) -> Any:
        """The new learner, which knows the labels that were named before there was a row."""
        if (named := self.__dict__.get("_declared_classes")) is not None:
            learner._declared_classes = named
        return learner

    def _keep(self, learner: Any, companion: Any) -> None:
        # At once: an interrupt must not find the one without the other.
        self.__dict__.update({"learner_": learner, self._companion: companion})

    def __getattr__(self, name: str) -> Any:
        # classes_, n_features_in_, coef_, t_, mistakes_, version_space_, ...: what the learner has learned.
        if name.endswith("_") and not name.startswith("_") and "learner_" in self.__dict__:
            return getattr(self.__dict__["learner_"], name)
        raise AttributeError(missing(self, name))

    def certificates(self, comparator: ArrayLike | None = None) -> list[Certificate]:
        """The learner's bounds, for the stream of rows that it saw."""
        return self._learned().certificates(comparator)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of the rows whose label is predicted; around a regressor, the coefficient of determination."""
        kind = RegressorMixin if is_regressor(self._current_learner) else Classifier
        return float(kind.score(self, X, y, sample_weight))

    def __sklearn_tags__(self) -> Any:
        tags, own = super().__sklearn_tags__(), self._current_learner.__sklearn_tags__()
        tags.estimator_type, tags.regressor_tags = own.estimator_type, own.regressor_tags
        if own.classifier_tags is None:
            tags.classifier_tags = None
        else:
            tags.classifier_tags.multi_label = own.classifier_tags.multi_label
        return tags


class ObservingWrapper(Wrapper):
    """A wrapper with a companion that learns from the scores that rows had before the learner learned them."""

    # What a call for one example takes, and why a matrix of labels is refused.
    _target: ClassVar[str] = "label"
    _refusal: ClassVar[str]

    # -- what a subclass gives ---------------------------------------------------------------------------------

    def _new_companion(self) -> Any:
        """A new companion for the parameters, or ``ValueError`` for a bad one."""
        raise NotImplementedError

    def _new_observer(self, companion: Any) -> Any:
        """An observer through which a companion learns; it keeps in ``predicted`` what was predicted of each row."""
        raise NotImplementedError

    def _trial_order(self, learner: Any, rows: int) -> NDArray[np.int64]:
        """The order in which ``fit`` shows so many rows to the companion."""
        return np.asarray(check_random_state(seed_of(self)).permutation(rows))

    # -- learning ----------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Forget everything, then make the learner's passes, and one more for what is learned beside it.

        That pass is made by a copy of the learner that starts from nothing.
        """
        learner, trial, companion = self._fresh(), self._fresh(), self._new_companion()
        y = self._checked_targets(y, learner)
        X, y, weight = drop_zero_weights(learner, X, y, sample_weight, must_keep_some=True)
        with row_numbers_before_dropping(sample_weight):
            learner.fit(X, y, **weight_argument(weight))
        targets = target_array(learner, y)
        order = self._trial_order(learner, len(targets))
        trial._learn_observed(
            _safe_indexing(row_indexable(X), order),
            targets[order],
            None if is_regressor(learner) else learner.classes_,
            self._new_observer(companion),
            **weight_argument(weight[order] if len(weight) else weight),
        )
        self._end_fit(learner, companion, X)
        self._keep(learner, companion)
        return self

    def _end_fit(self, learner: Any, companion: Any, X: Any) -> None:
        """Tell the companion of ``fit`` what it must know of the learner that has made all passes."""

    def _learn_predict_positive(self, shown: Any, X: Any, y: Any, classes: Any, weight: Floats) -> NDArray[Any]:
        predicted = np.concatenate(self._learn_rows(X, y, classes, weight).predicted)
        return predicted if is_regressor(self._current_learner) else self._labels_of(predicted)

    def _labels_of(self, codes: NDArray[np.int64]) -> NDArray[Any]:
        """The labels of indices, None for -1."""
        known = getattr(self, "classes_", np.zeros(0, dtype=object))
        return cast_labels(labels_of_codes(known.tolist(), codes), known.dtype)

    @one_thread_at_a_time
    def _learn_example(self, x: Any, y: Any, weight: float) -> None:
        if isinstance(y, np.ndarray | list | tuple):
            raise ValueError(f"y must be one {self._target}, got {y!r}")
        self._observe(lambda learner, observer: learner._learn_one_observed(x, y, observer, weight))

    def _learn_rows(self, X: Any, y: Any, classes: Any, weight: Floats) -> Any:
        """Let the learner learn rows; returns what has watched it."""
        return self._observe(
            lambda learner, observer: learner._learn_observed(X, y, classes, observer, **weight_argument(weight))
        )

    def _observe(self, learn: Any) -> Any:
        """Let the learner learn, and the companion from it; returns what has watched."""
        started = self.__sklearn_is_fitted__()
        learner = self.learner_ if started else self._knowing_labels(self._fresh())
        observer = self._new_observer(getattr(self, self._companion) if started else self._new_companion())
        try:
            learn(learner, observer)
        finally:
            observer.deliver()
            if learner.__sklearn_is_fitted__():
                self._keep(learner, observer.companion)
        return observer

    def _checked_targets(self, y: Any, learner: Any = None) -> Any:
        if y is None:
            raise ValueError("requires y to be passed, but the target y is None")
        if type(y) is np.ndarray and y.ndim == 1:
            return y  # the learner checks it again, and tells what is wrong with it
        targets = target_array(self._current_learner if learner is None else learner, y)
        if targets.ndim == 2 and targets.shape[1] != 1:
            raise ValueError(self._refusal)
        return targets

    def _fresh(self) -> Any:
        """A new learner, of a kind that can be watched."""
        learner = self._seeded()
        if not hasattr(learner, "_learn_observed"):
            raise ValueError(f"{type(self).__name__} takes an online learner, alone or in Scaled; got {learner!r}")
        return learner

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if tags.classifier_tags is not None:
            tags.classifier_tags.multi_label = False
        return tags
