"""Five small problems with known solutions: every solver must find them, and say how sure it is."""

import json
from pathlib import Path

import numpy as np
import pytest

from ellipsoid.batch import EllipsoidalSVC

PROBLEMS = {p["name"]: p for p in json.loads((Path(__file__).parent / "fixtures" / "esvm.json").read_text())}


def fit(problem, **more):
    settings = problem["params"]
    model = EllipsoidalSVC(
        nu=settings["nu"],
        r=settings["r"],
        kernel=settings["kernel"],
        gamma=settings.get("gamma", "scale"),
        margin_scaling=settings["scaling"],
        hard_margin=settings.get("hard", False),
        random_state=0,
        **more,
    )
    return model.fit(np.array(problem["X"]), np.array(problem["y"]))


def relative(found, wanted):
    wanted = np.asarray(wanted)
    return float(np.max(np.abs(found - wanted)) / np.max(np.abs(wanted)))


SOLVERS = ["smo", "block", "features"]


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("tol", [1e-3, 1e-8])
def test_dual_value_and_decisions(name, solver, tol):
    # Problems this small are worked on beyond the tolerance asked for, so the default one serves as well.
    problem = PROBLEMS[name]
    model = fit(problem, solver=solver, tol=tol, max_iter=20_000)
    decisions = model.decision_function(np.array(problem["X"]))
    assert relative(model.dual_objective_, problem["dual"]) < 1e-6
    assert relative(decisions, problem["decision"]) < 1e-6
    assert abs(model.intercept_[0] - problem["b"]) < 1e-6 * np.max(np.abs(problem["decision"]))
    assert model.norm_ == pytest.approx(problem["w_norm"], rel=1e-6)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("passes", [5, 10, 30])
def test_reported_gap_covers_the_true_one(name, solver, passes):
    problem = PROBLEMS[name]
    model = fit(problem, solver=solver, max_iter=passes)
    assert model.duality_gap_ >= problem["dual"] - model.dual_objective_ - 1e-6
    assert model.dual_objective_ <= problem["dual"] + 1e-6


def test_hard_margin_of_independent_features_is_the_analytic_centre():
    problem = PROBLEMS["rbf_hard"]
    model = fit(problem, tol=1e-8)
    X, y, n = np.array(problem["X"]), np.array(problem["y"]), len(problem["y"])
    (solved,) = model._models
    r = solved.problem.r
    # omega_i alpha_i = r at every point, and twice gamma, the norm of sum alpha y phi, is r N.
    assert solved.alpha * model.ellipsoid_width(X) == pytest.approx(np.full(n, r), rel=1e-4)
    K = model.kernel_(X, X)
    beta = y * solved.alpha
    assert np.sqrt(beta @ K @ beta) == pytest.approx(r * n, rel=1e-4)
    # max sum log(y f) over |w| <= 1 has the stationary point sum_i y_i phi_i/(y_i f_i) = N w, sum_i y_i/(y_i f_i) = 0.
    margins = y * model.decision_function(X)
    assert K @ (y / margins) / n == pytest.approx(model.decision_function(X) - model.intercept_[0], abs=1e-4)
    assert np.sum(y / margins) == pytest.approx(0.0, abs=1e-2)
