"""The confusion matrix of a stream, and two baselines that learn nothing: the last label, and the commonest so far.

A learner that errs more often than one of these is worth less than no learner. Kappa is the share of a baseline's
errors that the learner avoids: 1 if all, 0 if it is no better, below 0 if it is worse (Žliobaitė, Bifet, Read,
Pfahringer, Holmes, "Evaluation methods and decision theory for classification of streaming data with temporal
dependence", Machine Learning 2015).
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

# Rows whose running counts of every label are held at once.
BLOCK = 1024


class Confusion:
    """Counts of true and predicted labels; a prediction of None is one of no label.

    >>> found = Confusion()
    >>> found.add(np.array([None, "a", "a", "b"], dtype=object), np.array(["a", "a", "b", "b"]))
    >>> found.labels, found.matrix.tolist(), found.counts.tolist()
    (['a', 'b'], [[1, 0], [1, 1]], [2, 2])
    >>> found.repeat_errors, found.majority_errors  # the first row has nothing before it
    (2, 3)
    """

    def __init__(self) -> None:
        self.repeat_errors = 0
        self.majority_errors = 0
        # Places of labels in the order in which rows had them, and in which they were predicted: two orders, so that
        # neither depends on how the stream was cut into chunks, and the baselines not on what was predicted.
        self._true: dict[Any, int] = {}
        self._predicted: dict[Any, int] = {}
        self._pairs = np.zeros((0, 0), dtype=np.int64)
        self._counts = np.zeros(0, dtype=np.int64)
        self._last = -1

    @property
    def labels(self) -> list[Any]:
        """Labels in the order in which rows had them, then those that were only predicted."""
        return [*self._true, *(label for label in self._predicted if label not in self._true)]

    @property
    def matrix(self) -> NDArray[np.int64]:
        """Rows of true label i that were predicted as label j."""
        labels = self.labels
        place = {label: k for k, label in enumerate(labels)}
        found = np.zeros((len(labels), len(labels)), dtype=np.int64)
        found[: len(self._true), [place[label] for label in self._predicted]] = self._pairs
        return found

    @property
    def counts(self) -> NDArray[np.int64]:
        """Rows of each label."""
        return np.pad(self._counts, (0, len(self.labels) - len(self._counts)))

    def add(self, predicted: NDArray[Any], y: NDArray[Any]) -> None:
        """Count rows in their order."""
        for start in range(0, len(y), BLOCK):
            self._add_block(predicted[start : start + BLOCK], y[start : start + BLOCK])

    def _add_block(self, predicted: NDArray[Any], y: NDArray[Any]) -> None:
        true, guessed = _codes(self._true, y), _codes(self._predicted, predicted)
        size, width = len(self._true), len(self._predicted)
        grown = size - len(self._counts), width - self._pairs.shape[1]
        self._pairs, self._counts = (
            np.pad(self._pairs, ((0, grown[0]), (0, grown[1]))),
            np.pad(self._counts, (0, grown[0])),
        )
        known = guessed >= 0
        self._pairs += np.bincount(true[known] * width + guessed[known], minlength=size * width).reshape(size, width)
        before = np.concatenate([[self._last], true[:-1]])
        self.repeat_errors += int((before != true).sum())
        came = np.zeros((len(true), size), dtype=np.int64)
        came[np.arange(len(true)), true] = 1
        so_far = self._counts + np.cumsum(came, axis=0) - came
        commonest = so_far.argmax(axis=1)  # a tie goes to the label that came first
        self.majority_errors += int(((commonest != true) | (so_far.max(axis=1) == 0)).sum())
        self._counts += came.sum(axis=0)
        self._last = int(true[-1])


def _codes(places: dict[Any, int], values: NDArray[Any]) -> NDArray[np.int64]:
    """The places of labels, new ones after those that are known; -1 for None."""
    listed = values.tolist()
    for value in dict.fromkeys(listed):
        if value is not None:
            places.setdefault(value, len(places))
    return np.fromiter((-1 if value is None else places[value] for value in listed), np.int64, len(listed))


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
