"""Which label was predicted for which, beside two rules that learn nothing: repeat the last label, say the commonest.

A learner that errs more often than one of these two is worth less than no learner. Kappa says how much of what such a
rule leaves wrong the learner puts right: 1 if all, 0 if it is no better, below 0 if it is worse (Žliobaitė, Bifet,
Read, Pfahringer, Holmes, "Evaluation methods and decision theory for classification of streaming data with temporal
dependence", Machine Learning 2015).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

# Rows whose running counts of every label are held at once.
BLOCK = 1024


class Confusion:
    """Counts of true and predicted labels, as rows come; a prediction of None is one of no label.

    >>> found = Confusion()
    >>> found.add(np.array([None, "a", "a", "b"], dtype=object), np.array(["a", "a", "b", "b"]))
    >>> found.labels, found.matrix.tolist(), found.counts.tolist()
    (['a', 'b'], [[1, 0], [1, 1]], [2, 2])
    >>> found.repeat_errors, found.majority_errors  # the first row has nothing before it
    (2, 3)
    """

    def __init__(self) -> None:
        self.labels: list[Any] = []
        self.matrix = np.zeros((0, 0), dtype=np.int64)
        self.counts = np.zeros(0, dtype=np.int64)
        self.repeat_errors = 0
        self.majority_errors = 0
        self._index: dict[Any, int] = {}
        self._last = -1

    def add(self, predicted: NDArray[Any], y: NDArray[Any]) -> None:
        """Count rows in their order."""
        for start in range(0, len(y), BLOCK):
            self._add_block(predicted[start : start + BLOCK], y[start : start + BLOCK])

    def _add_block(self, predicted: NDArray[Any], y: NDArray[Any]) -> None:
        true, said = self._codes(y), self._codes(predicted)
        size = len(self.labels)
        known = said >= 0
        self.matrix += np.bincount(true[known] * size + said[known], minlength=size * size).reshape(size, size)
        before = np.concatenate([[self._last], true[:-1]])
        self.repeat_errors += int((before != true).sum())
        came = np.zeros((len(true), size), dtype=np.int64)
        came[np.arange(len(true)), true] = 1
        so_far = self.counts + np.cumsum(came, axis=0) - came
        commonest = so_far.argmax(axis=1)  # a tie goes to the label that was met first
        self.majority_errors += int(((commonest != true) | (so_far.max(axis=1) == 0)).sum())
        self.counts += came.sum(axis=0)
        self._last = int(true[-1])

    def _codes(self, values: NDArray[Any]) -> NDArray[np.int64]:
        """Places of labels in the order they were met; -1 for None."""
        listed = values.tolist()
        fresh = [value for value in dict.fromkeys(listed) if value is not None and value not in self._index]
        for value in fresh:
            self._index[value] = len(self.labels)
            self.labels.append(value)
        if fresh:
            grown = len(fresh)
            self.matrix = np.pad(self.matrix, ((0, grown), (0, grown)))
            self.counts = np.pad(self.counts, (0, grown))
        return np.fromiter((-1 if value is None else self._index[value] for value in listed), np.int64, len(listed))


def kappa_against(errors: float, reference_errors: float) -> float:
    """The share of another rule's errors that were avoided; NaN where that rule makes none.

    >>> kappa_against(5, 20), kappa_against(30, 20)
    (0.75, -0.5)
    """
    return 1.0 - errors / reference_errors if reference_errors else float("nan")


def kappa(matrix: NDArray[Any]) -> float:
    """Cohen's kappa: against guessing labels as often as they were predicted.

    >>> round(kappa(np.array([[20, 5], [10, 15]])), 10)
    0.4
    """
    total = matrix.sum()
    chance = float(matrix.sum(axis=0) @ matrix.sum(axis=1)) / float(total) ** 2 if total else 1.0
    return float((np.trace(matrix) / total - chance) / (1.0 - chance)) if chance < 1.0 else float("nan")


def f1_scores(matrix: NDArray[Any], counts: NDArray[Any]) -> NDArray[np.float64]:
    """The harmonic mean of precision and recall, for each label; 0 for a label never predicted rightly.

    >>> f1_scores(np.array([[8, 2], [0, 10]]), np.array([10, 10])).round(4).tolist()
    [0.8889, 0.9091]
    """
    return 2.0 * np.diag(matrix) / np.maximum(counts + matrix.sum(axis=0), 1)
