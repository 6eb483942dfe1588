"""Delayed labels: a row is predicted when it arrives, and learned only after so many more have arrived.

The prediction of row t is then made by the model of rows 0 ... t - delay - 1. Rows whose label is still to come wait.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import is_regressor


def predict_then_learn(model: Any, shown: Any, X: Any, y: Any, classes: Any, weight: Any = None) -> Any:
    """Predict row i of ``shown``, then learn row i of ``X``, for every i; rows are dicts, or of one width and kind."""
    given = {} if weight is None else {"sample_weight": weight}
    if shown is X and not isinstance(X, list):
        return model.learn_predict(X, y, classes=classes, **given)
    if hasattr(type(model), "_learn_predict") and not isinstance(X, list):
        return model._learn_predict(shown, X, y, classes, **given)
    predicted, labels = np.empty(len(y), dtype=object), y if isinstance(X, list) else y.tolist()
    # Calls for single examples are the quickest where a row is one as it stands.
    single = isinstance(X, np.ndarray) and X.dtype == np.float64 and hasattr(model, "learn_one")
    for i in range(len(y)):
        # A learner that has met no label yet has nothing to predict: None, which differs from every label.
        known = hasattr(model, "n_features_in_")
        if isinstance(X, list) or (single and known and X.shape[1] == model.n_features_in_):
            predicted[i] = model.predict_one(shown[i]) if known else None
            if known or classes is None:
                model.learn_one(X[i], labels[i], **({} if weight is None else {"weight": weight[i]}))
            else:  # the first one, with which labels are announced
                own = {} if weight is None else {"sample_weight": weight[:1]}
                model.partial_fit(X[:1], y[:1], classes=classes, **own)
        else:
            predicted[i] = model.predict(shown[i : i + 1])[0] if known else None
            own = {} if weight is None else {"sample_weight": weight[i : i + 1]}
            model.partial_fit(X[i : i + 1], y[i : i + 1], classes=None if known else classes, **own)
    return predicted


def foretold(late: DelayedLabels | None, model: Any, X: Any, y: Any, classes: Any, weight: Any) -> Any:
    """What is predicted of rows before they are learned; ``late`` keeps those whose labels come late."""
    if late is None:
        return predict_then_learn(model, X, X, y, classes, weight)
    late.model = model
    return late.learn_predict(X, y, classes, weight)


def without_zeros(X: Any, y: Any, weight: Any) -> tuple[Any, Any, Any]:
    """The rows that count, with their labels and weights."""
    if weight.all():
        return X, y, weight
    kept = np.flatnonzero(weight)
    return [X[i] for i in kept] if isinstance(X, list) else X[kept], y[kept], weight[kept]


class NotedAnswers:
    """A learner of label sets or of intervals that notes one beside every prediction, in their order."""

    def __init__(self, model: Any) -> None:
        self._model, self.noted = model, list[Any]()
        self._kind = "predict_interval" if is_regressor(model) else "predict_set"

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    def predict_one(self, x: Any) -> Any:
        """The prediction for one example."""
        self.noted.append(getattr(self._model, f"{self._kind}_one")(x))
        return self._model.predict_one(x)

    def predict(self, X: Any) -> Any:
        """The predictions for rows."""
        found = getattr(self._model, self._kind)(X)
        if self._kind == "predict_set":
            found = [set(self._model.classes_[row].tolist()) for row in found]
        self.noted.extend(found)
        return self._model.predict(X)


class DelayedLabels:
    """A learner and the rows that it has predicted and not learned yet, at most ``delay`` of them.

    >>> from ellipsoid.estimators import Perceptron
    >>> late = DelayedLabels(Perceptron(), delay=2)
    >>> X, y = np.array([[1.0], [-1.0], [1.0], [-1.0]]), np.array([1, 0, 1, 0])
    >>> late.learn_predict(X, y, None).tolist()  # before row 3 only row 0 was learned
    [None, None, None, 1]
    >>> late.finish()
    >>> late.model.t_
    4
    """

    def __init__(self, model: Any, delay: int) -> None:
        self.model, self.delay = model, delay
        self.rows: Any = None
        self.labels: Any = None
        self.weights: Any = None
        self.classes: Any = None

    def learn_predict(self, X: Any, y: Any, classes: Any, weight: Any = None) -> Any:
        """Predict the rows of X, each before the row that came ``delay`` rows earlier is learned."""
        if y.ndim == 2:
            raise ValueError("labels that come late must be one a row, not a matrix of them")
        # Announced with rows that wait, and for the first that are learned.
        self.classes = self.classes if classes is None else classes
        waiting = 0 if self.rows is None else len(self.labels)
        rows = X if self.rows is None else _joined(self.rows, X)
        labels = y if self.labels is None else np.concatenate([self.labels, y])
        # A stream that has weights somewhere may have none before.
        if weight is not None or self.weights is not None:
            before = np.ones(waiting) if self.weights is None else self.weights
            self.weights = np.concatenate([before, np.ones(len(y)) if weight is None else weight])
        at_once = min(len(y), self.delay - waiting)
        learned = len(labels) - self.delay
        told = np.empty(len(y), dtype=object)
        told[:at_once] = self._predict(X[:at_once])
        if learned > 0:
            shown = rows[waiting + at_once :]
            told[at_once:] = predict_then_learn(
                self.model, shown, rows[:learned], labels[:learned], self.classes, self._own(slice(learned))
            )
            self.classes = None
        kept = max(0, learned)
        self.rows, self.labels, self.weights = rows[kept:], labels[kept:], self._own(slice(kept, None))
        return told

    def _own(self, part: slice) -> Any:
        return None if self.weights is None else self.weights[part]

    def _predict(self, X: Any) -> Any:
        if not hasattr(self.model, "n_features_in_"):
            return None
        if isinstance(X, list):
            return [self.model.predict_one(example) for example in X]
        return self.model.predict(X) if X.shape[0] else []

    def finish(self) -> None:
        """Learn the rows that wait: the last labels have come."""
        if self.rows is None or not len(self.labels):
            return
        given = {} if self.weights is None else {"sample_weight": self.weights}
        self.model.partial_fit(self.rows, self.labels, classes=self.classes, **given)
        self.rows = self.labels = self.weights = self.classes = None


def _joined(before: Any, after: Any) -> Any:
    """Rows, and rows that came later; sparse ones may have become wider."""
    if isinstance(after, list):
        return [*before, *after]
    if not sparse.issparse(after):
        return np.concatenate([before, after])
    before = before.copy()
    before.resize(before.shape[0], after.shape[1])
    return sparse.vstack([before, after], format="csr")
