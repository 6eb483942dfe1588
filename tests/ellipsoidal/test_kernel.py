"""IELLIP with a kernel: the linear run in the kernel's feature space."""

import numpy as np
import pytest
import scipy.sparse as sp

import ellipsoid
from ellipsoid import IELLIP


def quadratic(X):
    """Features whose inner product is (<x, y> + 1)^2."""
    d = X.shape[1]
    i, j = np.triu_indices(d, 1)
    return np.column_stack([np.ones(len(X)), np.sqrt(2.0) * X, X**2, np.sqrt(2.0) * X[:, i] * X[:, j]])


def stream(classes=3, n=150):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    y = ((X**2).sum(axis=1) > 2.0).astype(int) + (classes == 3) * (X[:, 0] > 1.0)
    return X, y


# One loop with this kernel is compiled.
@pytest.mark.parametrize("classes", [pytest.param(2, marks=pytest.mark.interpreted), 3])
@pytest.mark.parametrize("trigger", ["mistake", "margin"])
def test_polynomial_kernel_is_the_linear_run_in_its_features(classes, trigger):
    X, y = stream(classes, 100)
    params = {"c": 0.5, "b": 0.5, "trigger": trigger, "fit_intercept": False}  # complete after 52 updates
    kernel = IELLIP(kernel="poly", degree=2, gamma=1.0, coef0=1.0, **params)
    linear = IELLIP(**params)
    known = list(range(classes))
    kernel.partial_fit(X[:60], y[:60], classes=known).partial_fit(X[60:], y[60:])
    linear.partial_fit(quadratic(X), y, classes=known)
    assert (kernel.mistakes_, kernel.updates_) == (linear.mistakes_, linear.updates_)
    assert kernel.updates_ > 20
    scores = linear.decision_function(quadratic(X))
    np.testing.assert_allclose(kernel.decision_function(X), scores, rtol=0, atol=1e-9 * np.abs(scores).max())
    assert (kernel.predict(X) == linear.predict(quadratic(X))).all()
    assert kernel.update_rounds_.tolist() == linear.update_rounds_.tolist()
    for ours, theirs in zip(kernel.certificates(), linear.certificates(), strict=True):
        assert ours.observed <= ours.bound
        assert ours.name == theirs.name


def test_decision_is_a_sum_over_support_vectors():
    X, y = stream(2)
    model = IELLIP(kernel="rbf", gamma=0.7, fit_intercept=False).partial_fit(X, y, classes=[0, 1])
    K = np.exp(-0.7 * ((X[:, None] - model.support_vectors_) ** 2).sum(axis=2))
    np.testing.assert_allclose(
        (K @ np.atleast_2d(model.dual_coef_).T).ravel(), model.decision_function(X), rtol=1e-9, atol=1e-9
    )
    assert model.score(X, y) > 0.85


def make():
    return IELLIP(kernel="rbf", gamma=0.5, c=0.3, b=0.8)


def same(one, other, X):
    assert (other.mistakes_, other.updates_) == (one.mistakes_, one.updates_)
    np.testing.assert_allclose(other.decision_function(X), one.decision_function(X), rtol=1e-9, atol=1e-9)


def test_kernel_runs_survive_chunks_and_files(tmp_path):
    X, y = stream(3)
    whole = make().partial_fit(X, y, classes=[0, 1, 2])
    one = make()
    for t in range(len(y)):
        one.partial_fit(X[t : t + 1], y[t : t + 1], classes=[0, 1, 2])
    half = make().partial_fit(X[:70], y[:70], classes=[0, 1, 2])
    half.save(tmp_path / "model")
    half = ellipsoid.load(tmp_path / "model").partial_fit(X[70:], y[70:])
    for other in (one, half):
        same(whole, other, X)


@pytest.mark.interpreted
def test_sparse_rows_learn_the_same():
    X, y = stream(3, 60)
    X[::3, 1] = 0.0
    whole, sparse = (make().partial_fit(rows, y, classes=[0, 1, 2]) for rows in (X, sp.csr_matrix(X)))
    same(whole, sparse, X)
