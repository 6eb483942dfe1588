"""Delayed labels: a row is predicted when it arrives, and learned after ``delay`` more rows have arrived.

The prediction of row t is then made by the model of rows 0 ... t - delay - 1.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import is_regressor

from ellipsoid.estimators.inputs.row_numbers import original_row_numbers, renumbered
from ellipsoid.estimators.inputs.weights import weights_of


def predict_then_learn(model: Any, shown: Any, X: Any, y: Any, classes: Any, weight: Any = None, ahead: int = 0) -> Any:
    """Predict row i of ``shown``, then learn row i of ``X``, for every i; rows are dicts, or of one width and kind.

    Errors count rows from the first of X, which comes ``ahead`` rows before the first of ``shown``.
    """
    given = {} if weight is None else {"sample_weight": weight}
    if shown is X and not isinstance(X, list):
        return model.learn_predict(X, y, classes=classes, **given)
    if hasattr(type(model), "_learn_predict") and not isinstance(X, list):
        return model._learn_predict(shown, X, y, classes, **given)
    predicted, labels = np.empty(len(y), dtype=object), y if isinstance(X, list) else y.tolist()
    # Calls for single examples are the fastest where rows need no conversion.
    single = isinstance(X, np.ndarray) and X.dtype == np.float64 and hasattr(model, "learn_one")
    row = 0
    try:
        for i in range(len(y)):
            row = ahead + i
            # Before the first label there is nothing to predict: None, which differs from every label.
            known = hasattr(model, "n_features_in_")
            one_by_one = isinstance(X, list) or (single and known and X.shape[1] == model.n_features_in_)
            if known:
                predicted[i] = model.predict_one(shown[i]) if one_by_one else model.predict(shown[i : i + 1])[0]
            row = i
            if one_by_one and (known or classes is None):
                model.learn_one(X[i], labels[i], **({} if weight is None else {"weight": weight[i]}))
            else:  # classes are announced with the first row
                own = {} if weight is None else {"sample_weight": weight[i : i + 1]}
                model.partial_fit(X[i : i + 1], y[i : i + 1], classes=None if known else classes, **own)
    except ValueError as error:
        numbered_error = renumbered(error, [row])
        raise numbered_error from (None if numbered_error is error else error)
    return predicted


@contextmanager
def numbered_in_stream(delayed: DelayedLabels | None, numbers: Any) -> Iterator[None]:
    """Within it an error that names a row gives its number in the stream; ``numbers`` are those of the next rows."""
    if delayed is not None:
        delayed.numbers = numbers = np.concatenate([delayed.numbers, numbers])
    try:
        yield
    except ValueError as error:
        numbered_error = renumbered(error, numbers)
        if str(numbered_error) != str(error):
            raise numbered_error from error
        if numbered_error is not error or numbers[0] == 0:
            raise
        raise ValueError(f"{error} (rows counted from row {numbers[0]} of the stream)") from error
    if delayed is not None:
        delayed.numbers = numbers[len(numbers) - len(delayed.labels) :]


def drop_zero_weight_rows(first: int, X: Any, y: Any, weight: Any) -> tuple[Any, Any, Any, Any]:
    """The numbers of the rows of positive weight, counted from ``first``, the rows, their labels and their weights."""
    numbers = np.arange(first, first + len(y))
    if weight is not None:
        with original_row_numbers(lambda: numbers):
            weight = weights_of(weight, len(y), "the weights of the stream")
    if weight is None or weight.all():
        return numbers, X, y, weight
    kept = np.flatnonzero(weight)
    return numbers[kept], [X[i] for i in kept] if isinstance(X, list) else X[kept], y[kept], weight[kept]


class AnswerRecorder:
    """Wraps a learner of label sets or of intervals; ``answers`` are those of all its predictions, in their order."""

    def __init__(self, model: Any) -> None:
        self._model, self.answers = model, list[Any]()
        self._kind = "predict_interval" if is_regressor(model) else "predict_set"

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    def predict_one(self, x: Any) -> Any:
        """The prediction for one example."""
        self.answers.append(getattr(self._model, f"{self._kind}_one")(x))
        return self._model.predict_one(x)

    def predict(self, X: Any) -> Any:
        """The predictions for rows."""
        found = getattr(self._model, self._kind)(X)
        if self._kind == "predict_set":
            found = [set(self._model.classes_[row].tolist()) for row in found]
        self.answers.extend(found)
        return self._model.predict(X)


class DelayedLabels:
    """A learner and the rows that it has predicted and not learned yet, at most ``delay`` of them.

    >>> from ellipsoid.estimators import Perceptron
    >>> delayed = DelayedLabels(Perceptron(), delay=2)
    >>> X, y = np.array([[1.0], [-1.0], [1.0], [-1.0]]), np.array([1, 0, 1, 0])
    >>> delayed.learn_predict(X, y, None).tolist()  # before row 3 only row 0 was learned
    [None, None, None, 1]
    >>> delayed.finish()
    >>> delayed.model.t_
    4
    """

    def __init__(self, model: Any, delay: int) -> None:
        self.model, self.delay = model, delay
        self.rows: Any = None
        self.labels: Any = None
        self.weights: Any = None
        self.classes: Any = None
        self.numbers = np.zeros(0, dtype=np.int64)

    def learn_predict(self, X: Any, y: Any, classes: Any, weight: Any = None) -> Any:
        """Predict the rows of X, each before the row that came ``delay`` rows earlier is learned."""
        if y.ndim == 2:
            raise ValueError("labels that come late must be one per row, not a matrix")
        # Announced with rows that are not learned yet, and needed for the first that are.
        self.classes = self.classes if classes is None else classes
        waiting = 0 if self.rows is None else len(self.labels)
        rows = X if self.rows is None else _joined(self.rows, X)
        labels = y if self.labels is None else np.concatenate([self.labels, y])
        # Weights may begin in the middle of a stream.
        if weight is not None or self.weights is not None:
            before = np.ones(waiting) if self.weights is None else self.weights
            self.weights = np.concatenate([before, np.ones(len(y)) if weight is None else weight])
        at_once = min(len(y), self.delay - waiting)
        learned = len(labels) - self.delay
        predicted = np.empty(len(y), dtype=object)
        predicted[:at_once] = self._predict(X[:at_once], waiting)
        if learned > 0:
            shown = rows[waiting + at_once :]
            predicted[at_once:] = predict_then_learn(
                self.model,
                shown,
                rows[:learned],
                labels[:learned],
                self.classes,
                self._own(slice(learned)),
                waiting + at_once,
            )
            self.classes = None
        kept = max(0, learned)
        self.rows, self.labels, self.weights = rows[kept:], labels[kept:], self._own(slice(kept, None))
        return predicted

    def _own(self, part: slice) -> Any:
        return None if self.weights is None else self.weights[part]

    def _predict(self, X: Any, waiting: int) -> Any:
        if not hasattr(self.model, "n_features_in_"):
            return None
        if isinstance(X, list):
            return [self._predict_one(example, row) for row, example in enumerate(X, waiting)]
        with original_row_numbers(lambda: range(waiting, waiting + X.shape[0])):
            return self.model.predict(X) if X.shape[0] else []

    def _predict_one(self, x: Any, row: int) -> Any:
        with original_row_numbers(lambda: [row]):
            return self.model.predict_one(x)

    def finish(self) -> None:
        """Learn the last rows."""
        if self.rows is None or not len(self.labels):
            return
        given = {} if self.weights is None else {"sample_weight": self.weights}
        with original_row_numbers(lambda: self.numbers):
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
