"""What must not change the answer, and what must change it in a known way."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ellipsoid.batch import EllipsoidalSVC


def cloud(seed, n=40, d=3, noise=0.5):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * rng.uniform(0.3, 2.0, (n, 1))
    y = np.where(X[:, 0] + noise * rng.standard_normal(n) > 0, 1, -1)
    y[:2] = 1, -1
    return X, y


def tight(**more):
    return EllipsoidalSVC(**{"kernel": "linear", "nu": 0.3, "tol": 1e-9, "max_iter": 10_000, **more})


@given(seed=st.integers(0, 10_000), scale=st.sampled_from([0.1, 10.0, 300.0]))
@settings(max_examples=15)
def test_scale_of_the_data_does_not_matter_in_units_of_length(seed, scale):
    X, y = cloud(seed)
    small, large = tight().fit(X, y), tight().fit(scale * X, y)
    assert large.decision_function(scale * X) == pytest.approx(scale * small.decision_function(X), abs=1e-3 * scale)
    assert (small.predict(X) == large.predict(scale * X)).all()


def test_the_literal_problem_depends_on_the_scale():
    X, y = cloud(3)
    small, large = (tight(margin_scaling="paper", nu=1.0).fit(k * X, y).coef_[0] for k in (1.0, 10.0))
    cosine = small @ large / np.linalg.norm(small) / np.linalg.norm(large)
    assert np.degrees(np.arccos(cosine)) > 5


@given(seed=st.integers(0, 10_000))
@settings(max_examples=10)
def test_order_of_the_points_does_not_matter(seed):
    X, y = cloud(seed)
    order = np.random.default_rng(seed).permutation(len(y))
    one, other = tight(kernel="rbf", nu=0.05).fit(X, y), tight(kernel="rbf", nu=0.05).fit(X[order], y[order])
    assert other.decision_function(X) == pytest.approx(one.decision_function(X), abs=1e-5)


@given(seed=st.integers(0, 10_000))
@settings(max_examples=10)
def test_flipped_labels_flip_the_decision(seed):
    X, y = cloud(seed)
    one, other = tight(kernel="rbf", nu=0.05).fit(X, y), tight(kernel="rbf", nu=0.05).fit(X, -y)
    assert other.decision_function(X) == pytest.approx(-one.decision_function(X), abs=1e-5)


@given(seed=st.integers(0, 10_000), kernel=st.sampled_from(["linear", "rbf"]))
@settings(max_examples=10)
def test_a_point_twice_is_a_point_of_double_price(seed, kernel):
    X, y = cloud(seed)
    twice = tight(kernel=kernel, gamma=0.5).fit(np.vstack([X, X]), np.append(y, y))
    double = tight(kernel=kernel, gamma=0.5).fit(X, y, sample_weight=np.full(len(y), 2.0))
    halved = tight(kernel=kernel, gamma=0.5, nu=0.15).fit(X, y)
    assert twice.decision_function(X) == pytest.approx(double.decision_function(X), abs=1e-4)
    assert halved.decision_function(X) == pytest.approx(double.decision_function(X), abs=1e-6)


def test_kernels_given_in_three_ways_agree():
    X, y = cloud(5)
    new = cloud(6)[0]
    named = tight(kernel="poly", degree=2, coef0=1.0, gamma=0.5, nu=0.1).fit(X, y)

    def polynomial(A, B):
        return (0.5 * A @ B.T + 1.0) ** 2

    called = tight(kernel=polynomial, nu=0.1).fit(X, y)
    given_matrix = tight(kernel="precomputed", nu=0.1).fit(polynomial(X, X), y)
    wanted = named.decision_function(new)
    assert called.decision_function(new) == pytest.approx(wanted, abs=1e-9)
    assert given_matrix.decision_function(polynomial(new, X)) == pytest.approx(wanted, abs=1e-9)
    assert called.ellipsoid_width(new) == pytest.approx(named.ellipsoid_width(new))


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_solvers_agree(kernel):
    X, y = cloud(11, n=80)
    models = {
        solver: tight(kernel=kernel, nu=0.2, gamma=0.5, solver=solver, max_iter=20_000, n_components=80).fit(X, y)
        for solver in ("smo", "block", "features")
    }
    wanted, width = models["smo"].decision_function(X), models["smo"].ellipsoid_width(X)
    for model in models.values():
        assert model.decision_function(X) == pytest.approx(wanted, abs=2e-4)
        assert model.ellipsoid_width(X) == pytest.approx(width, rel=1e-3)


def test_nystroem_features_with_all_landmarks_are_the_kernel():
    X, y = cloud(12)
    exact = tight(kernel="rbf", nu=0.1).fit(X, y)
    landmarks = tight(
        kernel="rbf", nu=0.1, solver="features", features="nystroem", n_components=40, max_iter=20_000, tol=1e-7
    ).fit(X, y)
    assert landmarks.decision_function(X) == pytest.approx(exact.decision_function(X), abs=1e-3)
    assert landmarks.dual_objective_ == pytest.approx(exact.dual_objective_, rel=1e-5)
