"""Early stopping: ``fit`` ends when held-out rows are no longer predicted better, as in ``SGDClassifier``.

The held-out rows are scored after each pass. ``fit`` stops when the score has not risen above the best so far by more
than ``tol`` for ``n_iter_no_change`` passes in a row. The weights of the last pass are kept.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_regressor
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples

from ellipsoid.representation.table_protocol import Floats

from ..inputs.row_numbers import original_row_numbers
from ..inputs.rows import row_indexable
from ..inputs.weights import weights_for_loop
from ..parameters.validation import positive, whole


class HeldOut(NamedTuple):
    """Rows that are not learned, with their labels and weights.

    ``order`` has the row numbers of those that are learned, then of these: error messages name rows by them.
    """

    X: Any
    y: Any
    weight: Floats
    order: NDArray[np.int64]

    def known_to(self, model: Any, learner: Any) -> "HeldOut":
        """The same with its rows checked, and encoded by the names and words of the rows that are learned."""
        learned = len(self.order) - len(self.y)
        with original_row_numbers(lambda: range(learned, len(self.order))):
            source = model._source(self.X, learner, learning=False)
            learner.check(source)
            weights_for_loop(self.weight, model, learner)
        return self._replace(X=source)

    def score(self, learner: Any) -> float:
        """The weighted accuracy; for label sets all labels must be right, for numbers it is R squared."""
        scores = learner.decision(self.X)
        if learner.numbers:
            from sklearn.metrics import r2_score

            return float(r2_score(self.y, scores[:, 0], sample_weight=self.weight if len(self.weight) else None))
        if learner.multilabel:
            right = ((scores > 0.0) == (self.y != 0)).all(axis=1)
        else:
            predicted = scores[:, 0] > 0.0 if len(learner.labels) == 2 else scores.argmax(axis=1)
            right = predicted == learner.labels.encode(self.y)[0]
        return float(np.average(right, weights=self.weight if len(self.weight) else None))


class Patience:
    """Counts passes without progress.

    >>> patience = Patience(tol=0.01, passes=2)
    >>> [patience.is_over(score) for score in (0.5, 0.6, 0.605, 0.606)]
    [False, False, False, True]
    """

    def __init__(self, tol: float, passes: int) -> None:
        self.tol, self.passes = tol, passes
        self.best, self.waited = -np.inf, 0

    def is_over(self, score: float) -> bool:
        """Has there been no progress for too long?"""
        self.waited = 0 if score > self.best + self.tol else self.waited + 1
        self.best = max(self.best, score)
        return self.waited >= self.passes


def hold_out(model: Any, X: Any, y: Any, weight: Floats) -> tuple[tuple[Any, Any, Floats], HeldOut | None]:
    """The rows to learn, and the rows that are held out; None without early stopping."""
    fraction = positive("validation_fraction", model.validation_fraction)
    whole("n_iter_no_change", model.n_iter_no_change)
    positive("tol", model.tol, zero=True, infinite=True)
    if not model.early_stopping:
        return (X, y, weight), None
    if not fraction < 1.0:
        raise ValueError(f"validation_fraction must lie between 0 and 1, got {model.validation_fraction!r}")
    if isinstance(kernel := getattr(model, "kernel", None), str) and kernel == "precomputed":
        raise ValueError(
            "early_stopping holds out rows, each of which has a column in a precomputed kernel; set it to False"
        )
    labels = model._targets(y, _num_samples(X))
    model._source(X, None).check()
    from sklearn.model_selection import ShuffleSplit, StratifiedShuffleSplit

    kind = StratifiedShuffleSplit if labels.ndim == 1 and not is_regressor(model) else ShuffleSplit
    split = kind(n_splits=1, test_size=fraction, random_state=model.random_state)
    learned, held = next(split.split(np.zeros((len(labels), 1)), labels))
    parts = [
        (_safe_indexing(row_indexable(X), rows), labels[rows], weight[rows] if len(weight) else weight)
        for rows in (learned, held)
    ]
    return parts[0], HeldOut(*parts[1], np.concatenate([learned, held]))
