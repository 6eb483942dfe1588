"""What estimators around an online learner share: the clone that learns, its attributes, its bounds and its file."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, MetaEstimatorMixin, RegressorMixin, clone, is_regressor
from sklearn.exceptions import NotFittedError

from ellipsoid.certificates import Certificate
from ellipsoid.representation.table_protocol import Floats

from ..files import saving
from ..inputs.examples import are_named
from ..inputs.labels import Classifier, cast_labels
from ..inputs.weights import (
    declare_classes,
    drop_zero_weights,
    learn_predict_any_weight,
    row_numbers_before_dropping,
    weight_argument,
)
from ..shell.learned_attributes import missing


def seed_of(model: Any) -> Any:
    """The seed of a model, or else of the learner in it, of several of the first."""
    inner = getattr(model, "learner", None) or next(iter(getattr(model, "learners", None) or ()), None)
    return model.random_state if model.random_state is not None or inner is None else seed_of(inner)


def score_table(scores: Floats) -> Floats:
    """Scores of rows as a matrix, also where there is one a row."""
    return np.ascontiguousarray(scores.reshape(len(scores), -1))


def indexable(X: Any) -> Any:
    """Rows that can be put into another order."""
    return X.tocsr() if hasattr(X, "tocsr") else X if hasattr(X, "columns") or are_named(X) else np.asarray(X)


class Wrapper(Classifier, MetaEstimatorMixin, BaseEstimator):
    """An estimator whose ``learner_``, a clone of ``learner``, does the learning."""

    learner: Any
    learner_: Any
    random_state: Any

    @property
    def _current_learner(self) -> Any:
        """The learner of the run, or before there is one that which will begin it: ``learner`` may be set meanwhile."""
        return self.__dict__.get("learner_", self.learner)

    def _seeded(self) -> Any:
        """A new learner, with the seed that it is to have."""
        learner = clone(self.learner)
        return learner if self.random_state is None else learner.set_params(random_state=self.random_state)

    def _told(self, learner: Any) -> Any:
        """The new learner, which knows the labels that were named before there was a row."""
        if (named := self.__dict__.get("_declared_classes")) is not None:
            learner._declared_classes = named
        return learner

    def _learned(self) -> Any:
        """The learner that has learned."""
        if not self.__sklearn_is_fitted__():
            raise NotFittedError(f"This {type(self).__name__} has learned nothing yet; call fit or partial_fit")
        return self.learner_

    def __sklearn_is_fitted__(self) -> bool:
        return "learner_" in self.__dict__

    def __getattr__(self, name: str) -> Any:
        # classes_, coef_, t_, mistakes_, version_space_, ...: what the learner has learned.
        if name.endswith("_") and not name.startswith("_") and "learner_" in self.__dict__:
            return getattr(self.__dict__["learner_"], name)
        raise AttributeError(missing(self, name))

    def certificates(self, comparator: ArrayLike | None = None) -> list[Certificate]:
        """The learner's bounds, for the stream of rows that it saw."""
        bounds: list[Certificate] = self._learned().certificates(comparator)
        return bounds

    def save(self, path: Any) -> None:
        """Write the whole to one file that ``ellipsoid.load`` reads."""
        self._learned()
        saving.save(self, path)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of the rows whose label is predicted; around a regressor, the coefficient of determination."""
        kind = RegressorMixin if is_regressor(self._current_learner) else Classifier
        return float(kind.score(self, X, y, sample_weight))

    def __sklearn_tags__(self) -> Any:
        tags, own = super().__sklearn_tags__(), self._current_learner.__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.estimator_type, tags.regressor_tags = own.estimator_type, own.regressor_tags
        if own.classifier_tags is None:
            tags.classifier_tags = None
        else:
            tags.classifier_tags.multi_label = own.classifier_tags.multi_label
        return tags


class Watching(Wrapper):
    """A wrapper that learns beside its learner: from the scores that rows had before they were learned."""

    _watch: Any

    def partial_fit(
        self, X: Any, y: ArrayLike, classes: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """One pass in the given order; broken off, the learner and what learns beside it know the same rows."""
        X, y, weight = drop_zero_weights(self._current_learner, X, self._values(y), sample_weight)
        if sample_weight is None or len(weight):
            with row_numbers_before_dropping(sample_weight):
                self._watch_rows(X, y, classes, weight)
        else:
            declare_classes(self, classes)
        return self

    def learn_predict(
        self, X: Any, y: ArrayLike, classes: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> NDArray[Any]:
        """``partial_fit`` that returns for each row what ``predict`` would have said of it before it was learned."""
        return learn_predict_any_weight(self, X, X, self._values(y), classes, sample_weight)

    def _values(self, y: Any) -> Any:
        """Labels or numbers of the kind that this wrapper takes."""
        return y

    def _labels_of(self, codes: NDArray[np.int64]) -> NDArray[Any]:
        """The labels of indices, None for -1."""
        return cast_labels(np.array([*self.classes_.tolist(), None], dtype=object)[codes], self.classes_.dtype)

    def _watch_rows(self, X: Any, y: Any, classes: Any, weight: Floats) -> Any:
        """Let the learner learn rows; returns what has watched it."""
        return self._watch(
            lambda learner, observer: learner._learn_observed(X, y, classes, observer, **weight_argument(weight))
        )

    def _fresh(self) -> Any:
        """A new learner, of a kind that can be watched."""
        learner = self._seeded()
        if not hasattr(learner, "_learn_observed"):
            raise ValueError(f"{type(self).__name__} takes an online learner, or one in Scaled; got {learner!r}")
        return learner
