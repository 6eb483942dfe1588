"""The data sets of the benchmarks: train and test parts as every contender gets them."""

from typing import Any, NamedTuple

import numba
import numpy as np

from ellipsoid import datasets


class Data(NamedTuple):
    """A training stream and a test part; labels are 0..K-1, or -1/+1 for two classes."""

    name: str
    X: Any
    y: Any
    X_test: Any
    y_test: Any

    @property
    def classes(self) -> Any:
        return np.unique(self.y)

    def first(self, n: int | None) -> "Data":
        """Only the first n training rows (None: all)."""
        return self if n is None else self._replace(X=self.X[:n], y=self.y[:n])

    def describe(self) -> str:
        return f"{self.name}, {self.X.shape[0]} x {self.X.shape[1]}, {len(self.classes)} classes"


def load(name: str, rows: int | None = None) -> Data:
    """A set by name, of which the first ``rows`` rows are learned."""
    return {
        "letter": _letter,
        "mnist": _mnist,
        "mnist-whole": _mnist_whole,
        "covtype": _covtype,
        "news20": _news20,
        "usps": _usps,
        "a9a": _a9a,
    }[name]().first(rows)


def _letter() -> Data:
    """The usual split: the first 16000 rows and the last 4000; labels as codes wherever the set came from."""
    d = datasets.load("letter")
    X, y = np.ascontiguousarray(d.X, dtype=np.float64), np.unique(d.y, return_inverse=True)[1]
    return Data("Letter", X[:16000], y[:16000], X[16000:], y[16000:])


def _mnist() -> Data:
    d = datasets.load("mnist")
    return Data("MNIST / 255", d.X_train / 255.0, d.y_train, d.X_test / 255.0, d.y_test)


def _mnist_whole() -> Data:
    """Pixels as they are, 0 to 255."""
    d = datasets.load("mnist")
    return Data("MNIST", d.X_train.astype(np.float64), d.y_train, d.X_test.astype(np.float64), d.y_test)


def _covtype() -> Data:
    """Forest cover, columns divided by their largest value; the rows lie by region, so they are permuted once."""
    X, y = datasets.load("covtype").train
    X = X.toarray() if hasattr(X, "toarray") else np.asarray(X, dtype=np.float64)
    X = X / np.maximum(abs(X).max(axis=0), 1e-300)
    order = np.random.default_rng(0).permutation(len(y))
    X, y = X[order], np.unique(y[order], return_inverse=True)[1]
    return Data("covtype, scaled", X[:500_000], y[:500_000], X[500_000:], y[500_000:])


def _news20() -> Data:
    """Word counts as they are; the rows of the file are sorted by class, so they are permuted once."""
    d = datasets.load("news20")
    order = np.random.default_rng(0).permutation(d.X_train.shape[0])
    X, X_test = d.X_train.tocsr().astype(np.float64), d.X_test.tocsr().astype(np.float64)
    return Data("20 Newsgroups counts, CSR", X[order], d.y_train[order], X_test, d.y_test)


def _usps() -> Data:
    d = datasets.load("usps")
    return Data("USPS", np.ascontiguousarray(d.X_train, dtype=np.float64), d.y_train, d.X_test, d.y_test)


def _a9a() -> Data:
    d = datasets.load("a9a")
    dense = [np.ascontiguousarray(X.toarray(), dtype=np.float64) for X in (d.X_train, d.X_test)]
    return Data("a9a, dense", dense[0], d.y_train, dense[1], d.y_test)


def made(n: int, d: int, classes: int = 2) -> Data:
    """Normal rows labelled by normal prototypes, one label in twenty drawn at random; for growth and single rows."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d))
    y = (X @ rng.standard_normal((d, classes))).argmax(axis=1)
    y = np.where(rng.random(n) < 0.05, rng.integers(classes, size=n), y)
    return Data("made", X, 2 * y - 1 if classes == 2 else y, X[:0], y[:0])


@numba.njit(fastmath={"reassoc", "contract", "nsz"})
def _total(values):
    total = 0.0
    for i in range(values.size):
        total += values[i]
    return total


def read_once(X: Any) -> float:
    """Stream X through one core: what no pass over the data can beat."""
    if hasattr(X, "indices"):
        return _total(X.data) + _total(X.indices)
    return _total(X.reshape(-1))
