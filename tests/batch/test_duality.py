"""Strong duality against a conic solver, and the conic formulation itself."""

import numpy as np
import pytest

from ellipsoid.batch import EllipsoidalSVC
from ellipsoid.batch.problem import make_problem

cp = pytest.importorskip("cvxpy", reason="the conic solvers are the optional extra `exact`")


def cloud(seed, n=24, d=3, noise=0.6):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * rng.uniform(0.5, 2.0, (n, 1))
    y = np.where(X[:, 0] + noise * rng.standard_normal(n) > 0, 1.0, -1.0)
    y[:2] = 1, -1
    return X, y


def relaxed_by_cones(X, y, problem):
    """(P) as a conic programme; returns its optimal value."""
    n, d = X.shape
    B, w, b, xi = cp.Variable((d, d), PSD=True), cp.Variable(d), cp.Variable(), cp.Variable(n, nonneg=True)
    widths = cp.multiply(problem.c, cp.sum(cp.multiply(X @ B, X), axis=1))
    cost = -problem.r * cp.log_det(B) + (1 - problem.r) * cp.trace(B) + problem.C @ xi
    programme = cp.Problem(cp.Minimize(cost), [cp.multiply(y, X @ w + b) + xi >= widths, cp.norm(w) <= 1])
    return programme.solve(solver=cp.CLARABEL)


@pytest.mark.parametrize("scaling", ["unit", "paper"])
@pytest.mark.parametrize(
    ("seed", "nu", "r"), [(0, 0.5, 0.9), (8, 0.05, 0.9), (9, 0.2, 0.5), (3, 2.0, 0.97), (4, 0.01, 0.8)]
)
def test_dual_value_is_the_conic_optimum(seed, nu, r, scaling):
    X, y = cloud(seed)
    problem = make_problem(y, (X**2).sum(1), nu=nu, r=r, rank=X.shape[1], scaling=scaling)
    optimum = relaxed_by_cones(X, y, problem)
    for solver, tol in (("smo", 1e-9), ("features", 1e-5)):
        model = EllipsoidalSVC(
            nu=nu, r=r, kernel="linear", margin_scaling=scaling, solver=solver, tol=tol, max_iter=20_000
        ).fit(X, y)
        dual = model.dual_objective_ + problem.constant
        assert dual <= optimum + 1e-5
        assert dual + model.duality_gap_ >= optimum - 1e-5
        assert dual == pytest.approx(optimum, abs=1e-5 + tol * max(1.0, abs(optimum)))


@pytest.mark.parametrize("hard", [False, True])
def test_exact_formulation_is_certified(hard):
    X, y = cloud(5)
    if hard:
        X = X + 3.0 * y[:, None] * np.eye(3)[0]
    model = EllipsoidalSVC(nu=0.2, kernel="linear", formulation="exact", hard_margin=hard).fit(X, y)
    assert 0 <= model.duality_gap_ + 1e-7 <= 1e-4
    assert model.norm_ <= 1 + 1e-12


def test_above_a_margin_ratio_of_one_the_whole_ellipsoid_agrees():
    X, y = cloud(5)
    X = X * np.array([1.0, 5.0, 0.2])
    model = EllipsoidalSVC(nu=1.0, kernel="linear", formulation="exact").fit(X, y)
    rng = np.random.default_rng(0)
    rows, directions = rng.standard_normal((200, 3)) * [1.0, 5.0, 0.2], rng.standard_normal((3, 400))
    others = model.coef_.T + model._models[0].shape @ (directions / np.linalg.norm(directions, axis=0))
    same = np.sign(rows @ others + model.intercept_) == np.sign(model.decision_function(rows))[:, None]
    sure = model.margin_ratio(rows) > 1
    assert same[sure].all()
    # And below it they do not, if directions are many enough to find one that says so.
    assert sure.any()
    assert not same[model.margin_ratio(rows) < 0.9].all(axis=1).any()


def test_a_row_with_both_labels_is_a_proof_for_the_exact_formulation_too():
    with pytest.raises(ValueError, match="both labels") as raised:
        EllipsoidalSVC(kernel="linear", formulation="exact", hard_margin=True).fit([[1.0], [2.0], [1.0]], [0, 0, 1])
    assert raised.value.proven


def test_exact_and_relaxed_agree_on_axes():
    # Where every point is an eigenvector of B the relaxation is no relaxation.
    X = np.vstack([np.eye(3), -np.eye(3)]) * np.array([1.0, 2.0, 0.5, 1.0, 2.0, 0.5])[:, None]
    y = np.array([1.0, 1.0, 1.0, -1.0, -1.0, -1.0])
    relaxed = EllipsoidalSVC(nu=0.2, kernel="linear", tol=1e-9).fit(X, y)
    exact = EllipsoidalSVC(nu=0.2, kernel="linear", formulation="exact").fit(X, y)
    assert exact.dual_objective_ == pytest.approx(relaxed.dual_objective_, abs=1e-5)
    assert exact.decision_function(X) == pytest.approx(relaxed.decision_function(X), abs=1e-3)


def test_relaxation_is_below_the_exact_problem():
    for seed in range(3):
        X, y = cloud(seed)
        relaxed = EllipsoidalSVC(nu=0.3, kernel="linear", tol=1e-9).fit(X, y)
        exact = EllipsoidalSVC(nu=0.3, kernel="linear", formulation="exact").fit(X, y)
        assert relaxed.dual_objective_ <= exact.dual_objective_ + exact.duality_gap_ + 1e-6


def test_exact_formulation_refuses_what_it_cannot_do():
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match="at most 60 dimensions"):
        EllipsoidalSVC(kernel="linear", formulation="exact").fit(rng.standard_normal((70, 61)), np.arange(70) % 2)
    X, y = cloud(0, noise=3.0)
    with pytest.raises(ValueError, match="needs separable classes"):
        EllipsoidalSVC(kernel="linear", formulation="exact", hard_margin=True).fit(X, y)


def test_the_conic_solver_is_asked_again_with_other_settings(monkeypatch):
    X, y = cloud(5)
    expected = EllipsoidalSVC(nu=0.2, kernel="linear", formulation="exact").fit(X, y)
    solve, asked = cp.Problem.solve, []

    def reluctant(self, **settings):
        asked.append(settings)
        if len(asked) < 3:
            raise cp.error.SolverError("no")
        return solve(self, **settings)

    monkeypatch.setattr(cp.Problem, "solve", reluctant)
    model = EllipsoidalSVC(nu=0.2, kernel="linear", formulation="exact").fit(X, y)
    assert len({tuple(settings) for settings in asked}) == 3
    assert model.dual_objective_ == pytest.approx(expected.dual_objective_, abs=1e-4)

    def unwilling(self, **settings):
        raise cp.error.SolverError("no")

    monkeypatch.setattr(cp.Problem, "solve", unwilling)
    with pytest.raises(RuntimeError, match="conic solver stopped"):
        EllipsoidalSVC(nu=0.2, kernel="linear", formulation="exact").fit(X, y)
