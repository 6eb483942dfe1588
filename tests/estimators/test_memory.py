"""A pass over rows that lie on disk, or in a large sparse matrix, needs the weights and a constant."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp

from ellipsoid import MIRA, PassiveAggressive, Perceptron

MEGABYTE = 1 << 20
ALLOWANCE = 10 * MEGABYTE


def peak_of(call):
    """The most memory that Python and numpy held at once during a call."""
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def check_pass(model, X, y, size):
    """Learn, watch and predict: no copy of the input, nor of a good part of it."""
    assert size > 80 * MEGABYTE
    model.partial_fit(X[:50], y[:50])
    weights = model.coef_.nbytes
    assert peak_of(lambda: model.partial_fit(X, y)) < 3 * weights + ALLOWANCE
    assert model.t_ == 50 + len(y)
    # Labels and scores are what these return: they count as input does.
    assert peak_of(lambda: model.learn_predict(X, y)) < 3 * weights + 4 * y.nbytes + ALLOWANCE
    scores = 8 * len(y) * len(model.classes_)
    assert peak_of(lambda: model.predict(X)) < 3 * weights + 2 * scores + 4 * y.nbytes + ALLOWANCE


@pytest.mark.parametrize("shape", [(16_000, 784), (800_000, 16)], ids=str)
def test_a_memory_mapped_array(shape, tmp_path):
    rng = np.random.default_rng(0)
    X = np.memmap(tmp_path / "X.dat", dtype=np.float64, mode="w+", shape=shape)
    for start in range(0, len(X), 50_000):
        X[start : start + 50_000] = rng.integers(-3, 4, size=X[start : start + 50_000].shape)
    X.flush()
    X = np.memmap(tmp_path / "X.dat", dtype=np.float64, mode="r", shape=shape)
    y = rng.integers(0, 5, len(X))
    check_pass(PassiveAggressive(), X, y, X.nbytes)
    if shape[1] > 16:
        # Other layouts are converted a block at a time.
        turned = np.memmap(tmp_path / "X.dat", dtype=np.float64, mode="r", shape=shape, order="F")
        check_pass(PassiveAggressive(), turned, y, X.nbytes)


def test_a_large_sparse_matrix():
    rng = np.random.default_rng(1)
    n, each, width = 80_000, 100, 30_000
    # A column in each of as many ranges, which therefore come in order.
    indices = rng.integers(0, width // each, size=(n, each)) + np.arange(each) * (width // each)
    X = sp.csr_matrix(
        (np.ones(n * each), indices.astype(np.int32).ravel(), np.arange(0, n * each + 1, each, dtype=np.int32)),
        shape=(n, width),
    )
    y = rng.integers(0, 5, n)
    size = X.data.nbytes + X.indices.nbytes
    for model in (MIRA(), Perceptron(average=True)):
        check_pass(model, X, y, size)
