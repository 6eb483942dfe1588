"""Parts of data sets as the papers cut them; what a paper leaves open is drawn from seed 0."""

from __future__ import annotations

from typing import Any

import numpy as np

from ellipsoid.streams.sets.datasets import Dataset, load


def whole(name: str) -> Dataset:
    """All rows of a set, its training and its test part together."""
    data = load(name)
    if data.test is None:
        return Dataset(name, X=data.train[0], y=data.train[1])
    (X, y), (X_test, y_test) = data.train, data.test
    return Dataset(name, X=np.concatenate([X, X_test]), y=np.concatenate([y, y_test]))


def first_rows(name: str, n: int) -> Dataset:
    """The first ``n`` rows to learn from, the others to test on."""
    X, y = whole(name).train
    return Dataset(name, X_train=X[:n], y_train=y[:n], X_test=X[n:], y_test=y[n:])


def share_of_each_class(name: str, share: float) -> Dataset:
    """A share of every class to learn from, the others to test on, both in file order.

    >>> data = share_of_each_class("digits", 0.8)
    >>> len(data.y_train), len(data.y_test)
    (1438, 359)
    """
    X, y = whole(name).train
    learned = np.zeros(len(y), dtype=bool)
    for rows in _by_class(y):
        learned[rows[: round(share * len(rows))]] = True
    return _split(name, X, y, learned)


def some_of_each_class(name: str, labels: range, n_train: int, n_test: int) -> Dataset:
    """``n_train`` rows of each of some classes to learn from, ``n_test`` to test on.

    >>> data = some_of_each_class("digits", range(3), 20, 5)
    >>> np.bincount(data.y_train).tolist(), np.bincount(data.y_test).tolist()
    ([20, 20, 20], [5, 5, 5])
    """
    X, y = whole(name).train
    parts = [rows for rows in _by_class(y) if y[rows[0]] in labels]
    learned, tested = (
        np.sort(np.concatenate([rows[part] for rows in parts]))
        for part in (slice(n_train), slice(n_train, n_train + n_test))
    )
    return Dataset(name, X_train=X[learned], y_train=y[learned], X_test=X[tested], y_test=y[tested])


def consistent(name: str) -> Dataset:
    """The training rows of a set as a dense matrix, without rows that miss values, and of equal rows with different
    labels only those that agree with the first.

    >>> consistent("digits").X.shape
    (1797, 64)
    """
    X, y = load(name).train
    X = X.toarray() if hasattr(X, "toarray") else np.asarray(X, dtype=np.float64)
    known = ~np.isnan(X).any(axis=1)
    X, y = X[known], y[known]
    _, first, same = np.unique(X, axis=0, return_index=True, return_inverse=True)
    agreed = y == y[first[same.ravel()]]
    return Dataset(name, X=X[agreed], y=y[agreed])


def random_half(name: str, X: Any, y: Any) -> Dataset:
    """A random half to learn from, the other to test on."""
    learned = np.zeros(len(y), dtype=bool)
    learned[np.random.default_rng(0).permutation(len(y))[: len(y) // 2]] = True
    return _split(name, X, y, learned)


def _by_class(y: Any) -> list[Any]:
    rng = np.random.default_rng(0)
    return [rng.permutation(np.flatnonzero(y == label)) for label in np.unique(y)]


def _split(name: str, X: Any, y: Any, learned: Any) -> Dataset:
    return Dataset(name, X_train=X[learned], y_train=y[learned], X_test=X[~learned], y_test=y[~learned])
