"""AROW and SOP: the ridge solution on the update rows, whatever the form; SOP as it was published."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.linalg import cho_factor, cho_solve

from ellipsoid import AROW, SecondOrderPerceptron

from .streams import badly_scaled, noisy, signed


def updated_rows(model, X, y, classes):
    """The rows that changed the model, learned one by one."""
    rows = []
    for x, label in zip(X, y, strict=True):
        before = model.updates_ if rows or hasattr(model, "_core") else 0
        model.partial_fit(x[None], [label], classes=classes if not hasattr(model, "_core") else None)
        rows.append(model.updates_ > before)
    return np.array(rows)


def ridge(Z, r):
    """(r I + X)^{-1} sum z and the covariance (I + X / r)^{-1}."""
    factor = cho_factor(r * np.eye(Z.shape[1]) + Z.T @ Z)
    return cho_solve(factor, Z.sum(axis=0)), r * cho_solve(factor, np.eye(Z.shape[1]))


@pytest.mark.parametrize("r", [1.0, 0.01])
@pytest.mark.parametrize("shape", ["dense", "gram"])
@pytest.mark.parametrize("trigger", ["margin", "mistake"])
def test_weights_solve_the_ridge_problem_of_the_updates(trigger, shape, r):
    X, y = noisy(np.random.default_rng(3), rows=80)
    model = AROW(r=r, trigger=trigger, shape=shape, fit_intercept=False)
    updates = updated_rows(model, X, y, [0, 1])
    assert 5 < updates.sum() < 80
    w, S = ridge(signed(X, y)[updates], r)
    # The Gram form is a difference of sums as large as 1 / r, and off by some eps / r^2 where a root is not.
    tight = 1e-13 if shape == "dense" else 1e-13 / r**2
    np.testing.assert_allclose(model.coef_[0], w, rtol=0.0, atol=100.0 * tight * np.abs(w).max())
    np.testing.assert_allclose(model.ellipsoid_.shape_matrix(), S, rtol=0.0, atol=tight)


def test_a_root_keeps_its_digits_where_r_is_small():
    X, y = noisy(np.random.default_rng(4), rows=400, features=20)
    model = AROW(r=1e-10, shape="dense", fit_intercept=False)
    updates = updated_rows(model, X, y, [0, 1])
    Z = signed(X, y)[updates]
    exact = np.linalg.lstsq(
        np.vstack([np.sqrt(1e-10) * np.eye(20), Z]), np.r_[np.zeros(20), np.ones(len(Z))], rcond=None
    )
    np.testing.assert_allclose(model.coef_[0], exact[0], rtol=1e-9)


def test_several_classes_are_the_ridge_problem_of_pairs():
    X, y = noisy(np.random.default_rng(5), classes=3, rows=60)
    model, Z = AROW(shape="dense", fit_intercept=False), []
    for x, label in zip(X, y, strict=True):
        scores = model.decision_function([x])[0] if Z else np.zeros(3)
        rival = max((k for k in range(3) if k != label), key=lambda k: (scores[k], -k))
        before = model.updates_ if Z or hasattr(model, "_core") else 0
        model.partial_fit([x], [label], classes=None if hasattr(model, "_core") else [0, 1, 2])
        if model.updates_ > before:
            z = np.zeros((3, 5))
            z[label], z[rival] = x, -x
            Z.append(z.ravel())
    w, S = ridge(np.array(Z), 1.0)
    np.testing.assert_allclose(model.coef_.ravel(), w, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(model.ellipsoid_.shape_matrix(), S, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(model.coef_.sum(axis=0), 0.0, atol=1e-13)


@pytest.mark.parametrize("make", [noisy, badly_scaled])
@pytest.mark.parametrize("a", [1.0, 30.0])
def test_the_second_order_perceptron_as_published(make, a):
    X, y = make(np.random.default_rng(6), rows=120)
    X = X / np.abs(X).max()
    model = SecondOrderPerceptron(a=a, shape="dense", fit_intercept=False)
    total, matrix, mistakes = np.zeros(5), a * np.eye(5), []
    for x, z in zip(X, signed(X, y), strict=True):
        # The present row is in the matrix.
        mistakes.append(z @ np.linalg.solve(matrix + np.outer(x, x), total) <= 0.0)
        if mistakes[-1]:
            total, matrix = total + z, matrix + np.outer(x, x)
    np.testing.assert_array_equal(updated_rows(model, X, y, [0, 1]), mistakes)
    assert model.mistakes_ == model.updates_ == sum(mistakes)
    np.testing.assert_allclose(model.coef_[0], np.linalg.solve(matrix, total), rtol=1e-9)


def test_the_second_order_perceptron_is_arow_on_mistakes():
    X, y = noisy(np.random.default_rng(7), rows=100)
    one = SecondOrderPerceptron(a=0.3).partial_fit(X, y)
    other = AROW(r=0.3, trigger="mistake").partial_fit(X, y)
    np.testing.assert_array_equal(one.coef_, other.coef_)


def test_a_kernel_learner_solves_the_ridge_problem_in_feature_space():
    X, y = noisy(np.random.default_rng(8), rows=60)
    model = AROW(kernel="rbf", gamma=0.3, fit_intercept=False).partial_fit(X, y)
    SV = model.support_vectors_
    signs = np.sign(model.dual_coef_[0])
    gram = np.exp(-0.3 * ((SV[:, None] - SV) ** 2).sum(axis=2)) * np.outer(signs, signs)
    beta = np.linalg.solve(np.eye(len(SV)) + gram, np.ones(len(SV)))
    np.testing.assert_allclose(np.abs(model.dual_coef_[0]), beta, rtol=1e-9)


@pytest.mark.parametrize("classes", [2, 3])
def test_the_linear_kernel_is_the_full_form(classes):
    X, y = noisy(np.random.default_rng(9), rows=40, classes=classes)
    plain = AROW(shape="dense").partial_fit(X, y)
    kernel = AROW(kernel="poly", degree=1, gamma=1.0, coef0=0.0).partial_fit(X, y)
    np.testing.assert_allclose(kernel.decision_function(X), plain.decision_function(X), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(kernel.confidence(X), plain.confidence(X), rtol=1e-9)


@pytest.mark.parametrize("classes", [2, 3])
def test_rows_of_either_kind_make_the_same_model(classes):
    X, y = noisy(np.random.default_rng(10), rows=40, classes=classes)
    X[np.random.default_rng(0).random(X.shape) < 0.5] = 0.0
    for shape in ("dense", "diagonal", "gram"):
        dense = AROW(shape=shape).partial_fit(X, y)
        sparse = AROW(shape=shape).partial_fit(sp.csr_matrix(X), y)
        assert dense.updates_ == sparse.updates_
        np.testing.assert_allclose(sparse.coef_, dense.coef_, rtol=1e-10, atol=1e-13)
