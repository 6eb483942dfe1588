"""The published copy of a learner, which answers predictions, so that they never wait for learning."""

import threading
from typing import Any, NamedTuple

import numpy as np

from ..journal.rows import as_predicted
from ..messages import Bound
from .learning import StreamLearner, without_scaler


class PredictedRows(NamedTuple):
    """Predictions of some rows: labels, scores, how doubtful each is, and what the learner's methods ``certain`` and
    ``query`` answer (None where it has none).
    """

    labels: list[Any]
    scores: Any
    doubt: list[float]
    certain: list[bool] | None
    ask: list[bool] | None


class Published:
    """A learner after ``t`` examples; it does not change any more."""

    def __init__(self, learner: StreamLearner) -> None:
        self.learner, self.t = learner, learner.t
        self.counts = {
            "t": learner.t,
            "errors": learner.record.errors,
            "mistakes": learner.model.mistakes_ if learner.has_learned else 0,
            "updates": learner.model.updates_ if learner.has_learned else 0,
        }
        # Predictions use buffers of the model, and reading a model may first bring it up to date.
        self.lock = threading.Lock()
        self._bounds: list[Bound] | None = None
        self._file: bytes | None = None

    def predict(self, x: Any) -> PredictedRows:
        """Predict rows: a matrix, or a list of named features."""
        model = self.learner.model
        X = as_predicted(x, self.learner.bits)
        with self.lock:
            scores = model.decision_function(X)
            chosen = (scores > 0.0).astype(np.int64) if scores.ndim == 1 else scores.argmax(axis=1)
            labels = model.classes_[chosen].tolist()
            inner, rows = without_scaler(model, X)
            certain = inner.certain(rows).tolist() if hasattr(inner, "certain") else None
            ask = inner.query(rows).tolist() if hasattr(inner, "query") else None
        return PredictedRows(labels, scores, _doubt(scores), certain, ask)

    def bounds(self) -> list[Bound]:
        """The certificates that hold for the run so far."""
        if self._bounds is None:
            with self.lock:
                self._bounds = bounds_of(self.learner.model) if self.learner.has_learned else []
        return self._bounds

    def file(self) -> bytes:
        """The model file."""
        if self._file is None:
            with self.lock:
                self._file = self.learner.file()
        return self._file


def bounds_of(model: Any) -> list[Bound]:
    """The certificates of a model that has learned something."""
    return [
        Bound(
            name=c.name,
            observed=float(c.observed),
            bound=float(c.bound) if np.isfinite(c.bound) else None,
            holds_if=c.holds_if,
        )
        for c in model.certificates()
    ]


def _doubt(scores: Any) -> list[float]:
    """Minus the distance to the nearest other label."""
    if scores.ndim == 1:
        return [-abs(score) for score in scores.tolist()]
    if scores.shape[1] < 2:
        return [0.0] * len(scores)
    best = np.partition(scores, -2, axis=1)
    return [float(second - first) for second, first in best[:, -2:].tolist()]
