"""Labels and their indices, in the order in which they became known; `streams.label_kinds` says what a label may be."""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin

from ellipsoid.streams.label_kinds import in_form_of, label_array, with_integers

Codes = NDArray[np.int64]


class Labels:
    """The known labels and their indices; new ones are added at the end.

    >>> labels = Labels(["spam", "ham"])
    >>> labels.encode(np.array(["ham", "spam", "eggs"]))
    (array([1, 0, 2]), [(2, 'eggs')])
    >>> len(labels)
    2
    """

    def __init__(self, known: Iterable[Any] = ()) -> None:
        self.values: list[Any] = []
        self.index: dict[Any, int] = {}
        # The smallest whole number, and the index of each from there on; assigned at once, as an interrupt may come.
        self._lut: tuple[int, Codes] | None = None
        for label in known:
            self.add(label)

    def __len__(self) -> int:
        return len(self.values)

    def add(self, label: Any) -> int:
        """Make a label known, in the type of the first one; returns its index."""
        if label in self.index:
            raise ValueError(f"the label {label!r} is given twice in classes")
        label = in_form_of(self.values[0], label) if self.values else label
        self._lut = None
        self.index[label] = len(self.values)
        self.values.append(label)
        return len(self.values) - 1

    def forget(self, count: int) -> None:
        """Keep the first labels only."""
        self._lut = None
        del self.values[count:]
        for label in [label for label, index in self.index.items() if index >= count]:
            del self.index[label]

    def array(self) -> NDArray[Any]:
        """The known labels as an array."""
        return np.array(self.values) if self.values else np.array([], dtype=object)

    def encode(self, y: NDArray[Any]) -> tuple[Codes, list[tuple[int, Any]]]:
        """Indices of labels, and the labels not known yet, each with the row where it first appears."""
        if y.dtype.kind in "iub" and y.dtype != np.uint64 and len(y):
            whole = y.astype(np.int64, copy=False)
            if (found := self._table(int(whole.min()), int(whole.max()))) is not None:
                return self._encode_quickly(whole - found[0], found[1], y)
        return self._encode_slowly(y)

    def _table(self, low: int, high: int) -> tuple[int, Codes] | None:
        """The index of each whole number, -1 if unknown; None unless these and the known labels span few numbers."""
        if self._lut is not None and self._lut[0] <= low and high < self._lut[0] + len(self._lut[1]):
            return self._lut
        if not all(isinstance(v, int) for v in self.values):
            return None
        low, high = min([low, *self.values]), max([high, *self.values])
        if high - low >= 1 << 16:
            return None
        table = np.full(high - low + 1, -1, dtype=np.int64)
        for label, index in self.index.items():
            table[label - low] = index
        self._lut = low, table
        return self._lut

    def _encode_quickly(self, places: Codes, table: Codes, y: NDArray[Any]) -> tuple[Codes, list[tuple[int, Any]]]:
        codes = table[places]
        if codes.min() >= 0:
            return codes, []
        rows = np.flatnonzero(codes < 0)
        new, first = np.unique(places[rows], return_index=True)
        order = np.argsort(first)
        table = table.copy()
        table[new[order]] = len(self) + np.arange(len(new))
        codes[rows] = table[places[rows]]
        return codes, [(int(row), y[row].item()) for row in rows[first[order]]]

    def _encode_slowly(self, y: NDArray[Any]) -> tuple[Codes, list[tuple[int, Any]]]:
        codes = np.empty(len(y), dtype=np.int64)
        index, fresh = dict(self.index), []
        for row, label in enumerate(y.tolist()):
            code = index.get(label)
            if code is None:
                code = index[label] = len(index)
                fresh.append((row, label))
            codes[row] = code
        return codes, fresh


class Classifier(ClassifierMixin):
    """scikit-learn's mixin, with a ``score`` that takes labels of every type that can be learned."""

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The accuracy; for label sets all labels of a row must be right."""
        return float(super().score(X, with_integers(label_array(y)), sample_weight))


def label_sets(y: NDArray[Any], rows: int) -> NDArray[np.uint8]:
    """A 0/1 matrix of right labels, checked.

    >>> label_sets(np.array([[True, False], [True, True]]), 2)
    array([[1, 0],
           [1, 1]], dtype=uint8)
    """
    if len(y) != rows:
        raise ValueError(f"y has {len(y)} rows for the {rows} rows of X")
    if y.shape[1] == 0:
        raise ValueError("y has no columns: a matrix y must have one column per label")
    if y.dtype.kind not in "biuf":
        raise ValueError(f"y must be 1-D labels or a 0/1 matrix, got a matrix of {y.dtype}")
    wrong = np.flatnonzero(((y != 0) & (y != 1)).any(axis=1))
    if len(wrong):
        raise ValueError(
            f"row {wrong[0]} of y holds something other than 0 and 1; a matrix y must have one column per label"
        )
    return np.ascontiguousarray(y, dtype=np.uint8)


def unseen(known: Labels, labels: NDArray[Any]) -> Iterator[tuple[int, Any]]:
    """The rows with unknown labels, found in blocks: a pass over much input must not need memory for all its labels."""
    for start in range(0, len(labels), 1 << 16):
        for row, label in known.encode(labels[start : start + (1 << 16)])[1]:
            yield start + row, label


def labels_of_codes(known: Iterable[Any], codes: Codes) -> NDArray[Any]:
    """The labels of indices, None for -1 and for the index of the label that comes next."""
    return np.asarray(np.array([*known, None], dtype=object)[codes])


def cast_labels(predictions: NDArray[Any], kind: Any) -> NDArray[Any]:
    """Predictions in the type of ``classes_``, unless the first is None, as for the first row of all."""
    return predictions if predictions[0] is None else predictions.astype(kind)
