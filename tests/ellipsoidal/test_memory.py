"""Spaces of tens of thousands of dimensions: nothing of dim x dim is ever made."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp

from ellipsoid import CELLIP, IELLIP


def documents(n, width, classes, seed=0):
    """Sparse rows with 40 words each; a few words give the class away."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, n)
    indices = np.sort(rng.integers(classes * 5, width, size=(n, 40)), axis=1)
    indices[:, 0] = 5 * y + rng.integers(0, 5, n)
    data = rng.random((n, 40)) + 0.1
    data /= np.linalg.norm(data, axis=1, keepdims=True)
    X = sp.csr_matrix((data.ravel(), indices.ravel(), np.arange(0, 40 * n + 1, 40)), shape=(n, width))
    X.sum_duplicates()
    return X, y


def peak(model, X, y, classes):
    model.partial_fit(X[:3], y[:3], classes=classes)  # compiled before the clock starts
    tracemalloc.start()
    model.partial_fit(X, y)
    top = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return top


@pytest.mark.parametrize(
    "model", [IELLIP(), IELLIP(c=0.3, b=0.9), CELLIP(margin=0.05)], ids=["default", "slow", "CELLIP"]
)
def test_64000_dimensions(model):
    """dim x dim would be 33 GB; a column for each update 0.5 MB times their number."""
    X, y = documents(1500, 64_000, 2)
    top = peak(model, X, y, [0, 1])
    assert model.updates_ > 60
    assert top < 150e6
    assert all(c.observed <= c.bound for c in model.certificates())
    assert np.isfinite(model.log_volume_)


@pytest.mark.long
def test_936360_dimensions():
    """Twenty classes of 46,818 words: the shape costs little beside the weights' own 7.5 MB."""
    X, y = documents(2000, 46_818, 20)
    model = IELLIP(fit_intercept=False)
    top = peak(model, X, y, range(20))
    assert model.ellipsoid_.dim == 936_360
    assert model.updates_ > 500
    assert top < 40e6
    assert model.log_volume_ == pytest.approx(-936_359 * np.log(1.0 - 0.1 * 0.3 ** np.arange(30.0)).sum(), rel=1e-9)
    assert (model.ellipsoid_.width(sp.csr_matrix((1, 936_360))) == 0.0).all()
    tracemalloc.start()
    assert all(c.observed <= c.bound for c in model.certificates())
    assert tracemalloc.get_traced_memory()[1] < 200e6
    tracemalloc.stop()
