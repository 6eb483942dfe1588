"""The proven gap brackets the known optimum at every step, on problems whose optimum is known."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import linprog

import ellipsoid
from ellipsoid.convex import iteration_bound, log_volume_ratio, minimize


def affine(normal, offset):
    """The constraint <normal, x> <= offset."""
    normal = np.asarray(normal, dtype=float)
    return lambda x: (float(normal @ x) - offset, normal)


def linear(cost):
    return affine(cost, 0.0)


def quadratic(centre, weights):
    centre, weights = np.asarray(centre, dtype=float), np.asarray(weights, dtype=float)
    return lambda x: (0.5 * float(weights @ (x - centre) ** 2), weights * (x - centre))


def largest(rows, offsets):
    """max_i <rows_i, x> + offsets_i."""

    def function(x):
        values = rows @ x + offsets
        top = int(np.argmax(values))
        return float(values[top]), rows[top]

    return function


def norm(x):
    length = float(np.linalg.norm(x))
    return length, x / length if length > 0 else np.zeros_like(x)


def negative_entropy(x):
    return float(np.sum(x * np.log(x))), np.log(x) + 1.0


def minus_geometric_mean(x):
    mean = float(np.exp(np.mean(np.log(x))))
    return -mean, -mean / (x.size * x)


SIMPLEX = np.vstack([np.eye(4), -np.ones((1, 4))])

# name: objective, constraints, x0, radius, optimal value, a minimiser
PROBLEMS = {
    "line": (lambda x: (abs(x[0] - 0.3), np.sign(x - 0.3)), [], [2.0], 7.0, 0.0, [0.3]),
    "line with a bound": (linear([1.0]), [affine([-1.0], -1.5)], [0.0], 4.0, 1.5, [1.5]),
    "linear program": (
        linear([-1.0, -2.0]),
        [affine([1, 1], 4.0), affine([1, 3], 6.0), affine([-1, 0], 0.0), affine([0, -1], 0.0)],
        [0.0, 0.0],
        10.0,
        -5.0,
        [3.0, 1.0],
    ),
    "quadratic": (quadratic([1, -2, 3], [1, 10, 100]), [], np.zeros(3), 10.0, 0.0, [1, -2, 3]),
    "badly scaled quadratic": (quadratic([1e4, 1e-3], [1e-4, 1e4]), [], [0, 0], 1e5, 0.0, None),
    "piecewise linear": (largest(SIMPLEX, np.zeros(5)), [], np.full(4, 0.7), 5.0, 0.0, np.zeros(4)),
    "norm on a half-space": (norm, [affine([-3.0, -4.0], -10.0)], [1.0, -1.0], 10.0, 2.0, [1.2, 1.6]),
    "entropy": (negative_entropy, [], [1.0, 1.0], 0.9, -2 / np.e, [1 / np.e] * 2),
    "geometric mean": (
        minus_geometric_mean,
        [affine(-row, -0.01) for row in np.eye(3)] + [affine(np.ones(3), 3.0)],
        np.full(3, 0.5),
        5.0,
        -1.0,
        None,
    ),
    "the ball itself": (linear([3.0, 4.0]), [], [1.0, 1.0], 2.0, 7.0 - 10.0, [1 - 1.2, 1 - 1.6]),
}


@pytest.mark.parametrize("cut", ["deep", "central"])
@pytest.mark.parametrize("name", PROBLEMS)
def test_gap_brackets_the_known_optimum_at_every_step(name, cut):
    objective, constraints, x0, radius, optimum, minimiser = PROBLEMS[name]
    result = minimize(objective, x0, radius, constraints=constraints, cut=cut)
    assert result.status == "optimal"
    assert result.success
    assert result.gap <= 1e-8 * max(1.0, abs(result.fun))
    rounding = 1e-14 * max(1.0, abs(optimum))
    assert result.fun >= optimum - rounding
    for step in result.history:
        assert step.lower_bound <= optimum + rounding
        assert step.best >= optimum - rounding
    bounds = [step.lower_bound for step in result.history]
    assert bounds == sorted(bounds)
    assert result.fun == objective(result.x)[0]
    assert all(constraint(result.x)[0] <= 0.0 for constraint in constraints)
    assert np.linalg.norm(result.x - x0) <= radius
    assert result.n_iter == len(result.history)
    if minimiser is not None:
        assert_allclose(result.x, minimiser, atol=1e-3)
        # A proof keeps the minimiser inside, to the last ellipsoid.
        assert result.ellipsoid.contains([minimiser], tol=1e-6).all()


@pytest.mark.parametrize("dim", [1, 2, 5])
def test_central_cut_shrinks_the_volume_by_the_formula(dim):
    target = np.linspace(0.1, 0.4, dim)
    result = minimize(quadratic(target, np.ones(dim)), np.zeros(dim), 1.0, cut="central", tol=1e-4)
    steps = np.diff([step.log_volume for step in result.history])
    ratio = dim / (dim + 1) if dim == 1 else dim / (dim + 1) * (dim**2 / (dim**2 - 1)) ** ((dim - 1) / 2)
    assert_allclose(np.exp(steps / 2), ratio, rtol=1e-10)
    assert_allclose(np.exp(log_volume_ratio(dim)), ratio, rtol=1e-12)


@given(st.integers(0, 2**32 - 1), st.integers(1, 4))
@settings(max_examples=25)
def test_central_cuts_prove_the_gap_within_the_bound_of_the_theory(seed, dim):
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((3 * dim, dim))
    target = rng.uniform(-0.2, 0.2, size=dim)
    rows = np.vstack([rows, -rows])  # a norm, so that the minimum is at the target and every cut is on the objective
    result = minimize(largest(rows, -rows @ target), np.zeros(dim), 1.0, cut="central", tol=1e-6)
    steepest = max(np.linalg.norm(rows, axis=1))
    assert result.success
    assert result.iteration_bound <= iteration_bound(dim, 2 * steepest / 1e-6)
    if all(step.kind == "objective" for step in result.history):
        assert result.n_iter <= result.iteration_bound + 1


@given(st.integers(0, 2**32 - 1), st.integers(1, 4), st.sampled_from(["deep", "central"]))
@settings(max_examples=40)
def test_random_linear_programs(seed, dim, cut):
    rng = np.random.default_rng(seed)
    rows, offsets, cost = (
        rng.standard_normal((6, dim)),
        rng.uniform(0.2, 1.0, size=6),
        rng.standard_normal(dim),
    )
    box = np.vstack([np.eye(dim), -np.eye(dim)])
    rows, offsets = np.vstack([rows, box]), np.append(offsets, np.ones(2 * dim))
    reference = linprog(cost, A_ub=rows, b_ub=offsets, bounds=(None, None))
    constraints = [affine(row, offset) for row, offset in zip(rows, offsets, strict=True)]
    result = minimize(linear(cost), rng.uniform(-0.5, 0.5, size=dim), 4.0, constraints=constraints, cut=cut, tol=1e-6)
    assert result.success
    assert result.lower_bound <= reference.fun + 1e-9
    assert result.fun >= reference.fun - 1e-9
    assert result.fun - reference.fun <= 1e-6 * max(1.0, abs(result.fun)) + 1e-9


def test_hinge_loss_agrees_with_its_linear_program():
    rng = np.random.default_rng(11)
    X = rng.standard_normal((30, 3))
    y = np.sign(X @ [1.0, -1.0, 0.5] + 0.7 * rng.standard_normal(30))
    Z = X * y[:, None]

    def hinge(w):
        losses = 1.0 - Z @ w
        active = losses > 0
        return float(losses[active].sum()), -Z[active].sum(axis=0)

    cost = np.append(np.zeros(3), np.ones(30))
    rows = np.hstack([-Z, -np.eye(30)])
    reference = linprog(cost, A_ub=rows, b_ub=-np.ones(30), bounds=[(-1, 1)] * 3 + [(0, None)] * 30)
    box = [affine(sign * row, 1.0) for row in np.eye(3) for sign in (1, -1)]
    result = minimize(hinge, np.zeros(3), 2.0, constraints=box)
    assert result.success
    assert_allclose(result.fun, reference.fun, rtol=2e-8)
    assert result.lower_bound <= reference.fun * (1 + 1e-12)


def test_deep_cuts_need_fewer_steps():
    counts = {"deep": 0, "central": 0}
    for seed in range(5):
        rng = np.random.default_rng(seed)
        rows, target = rng.standard_normal((10, 4)), rng.standard_normal(4)
        objective = largest(np.vstack([rows, -rows]), np.append(-rows @ target, rows @ target))
        for cut in counts:
            counts[cut] += minimize(objective, np.zeros(4), 10.0, cut=cut).n_iter
    assert counts["deep"] < 0.9 * counts["central"]


@pytest.mark.parametrize("cut", ["deep", "central"])
def test_infeasible_constraints_are_proven_and_named(cut):
    constraints = [affine([1, 0], 5.0), affine([1, 1], -1.0), affine([-1, -1], 0.9)]
    result = minimize(linear([1, 0]), [0, 0], 3.0, constraints=constraints, cut=cut)
    assert result.status == "infeasible"
    assert not result.success
    assert result.witness in (1, 2)
    assert f"constraint {result.witness}" in result.message
    assert result.x is None
    assert result.fun == np.inf
    assert result.lower_bound == -np.inf


def test_constraint_without_a_point_in_the_ball_is_infeasible_at_once():
    result = minimize(linear([1.0]), [0.0], 1.0, constraints=[affine([-1.0], -3.0)])
    assert (result.status, result.witness, result.n_iter) == ("infeasible", 0, 1)


def test_constraint_whose_minimum_is_positive_is_infeasible():
    result = minimize(linear([1.0, 1.0]), [0, 0], 1.0, constraints=[lambda x: (1.0 + x @ x, 2 * x)])
    assert (result.status, result.witness) == ("infeasible", 0)


def test_zero_subgradient_ends_with_an_exact_gap_of_zero():
    result = minimize(quadratic([1.0, 2.0], [1, 1]), [1.0, 2.0], 3.0, tol=0.0)
    assert (result.status, result.gap, result.n_iter) == ("optimal", 0.0, 1)


@pytest.mark.parametrize("cut", ["deep", "central"])
def test_exhausted_ellipsoid_says_so_with_an_honest_gap(cut):
    # An irrational minimiser off the grid of floats: a gap of zero cannot be proven.
    target = np.sqrt([2.0, 3.0])
    rows = np.array([[1.0, 0.4], [-1.0, -0.4], [0.3, -1.0], [-0.3, 1.0]])
    result = minimize(largest(rows, -rows @ target), [0, 0], 10.0, tol=0.0, cut=cut, max_iter=5000)
    assert result.status == "exhausted"
    assert 0.0 < result.gap < 1e-8
    assert result.lower_bound <= 1e-14
    assert "too thin for floating point" in result.message


def test_feasible_set_without_interior_is_not_called_infeasible():
    constraints = [affine([1, 0.3], 1.0), affine([-1, -0.3], -1.0)]
    result = minimize(linear([0, 1]), [0, 0], 5.0, constraints=constraints)
    assert result.status == "exhausted"
    assert result.x is None
    assert "no feasible point was found" in result.message


@pytest.mark.parametrize("power", [-1070, -550, -531, 515, 850, 1010])
def test_a_proof_holds_at_radii_whose_squares_leave_the_floats(power):
    # All is 2^power times as large as in the unit ball, and powers of two are exact.
    radius = 2.0**power
    result = minimize(linear([-1.0, -1.0]), [0, 0], radius, tol=0.0, max_iter=300)
    assert np.linalg.norm(result.x / radius) <= 1.0 + 1e-15
    assert result.lower_bound / radius <= -np.sqrt(2.0) * (1.0 - 1e-15)
    assert result.fun / radius >= -np.sqrt(2.0) * (1.0 + 1e-15)
    if abs(power) < 860:
        assert result.fun / radius == pytest.approx(-np.sqrt(2.0))
        assert result.lower_bound / radius == pytest.approx(-np.sqrt(2.0))


@pytest.mark.parametrize("radius", [1e3, 1e155, 1e200, 1e300])
def test_a_ball_that_holds_a_feasible_point_is_not_called_infeasible(radius):
    result = minimize(lambda x: (abs(x[0]), [np.sign(x[0]), 0.0]), [0, 0], radius, constraints=[affine([-1, 0], -1.0)])
    assert result.status != "infeasible"
    assert result.lower_bound <= 1.0


@pytest.mark.parametrize("slope", [1e-310, 1e-280, 1.0, 1e308])
@pytest.mark.parametrize("dim", [1, 2])
def test_a_slope_of_any_size_has_a_bound_and_no_false_proof(dim, slope):
    # With a second coordinate of which nothing depends the ellipsoid becomes as thin as a float can tell.
    def objective(x):
        return slope * abs(x[0]), [slope * np.sign(x[0]), *[0.0] * (dim - 1)]

    result = minimize(objective, [0.3] * dim, 1.0, tol=0.0, max_iter=4000)
    assert result.lower_bound <= 0.0 <= result.fun
    assert result.status != "infeasible"
    assert result.iteration_bound >= iteration_bound(dim, min(slope, 1e290) / 1e-15)


def test_limit_and_callback_end_the_run():
    objective = quadratic([1, 1], [1, 3])
    limited = minimize(objective, [0, 0], 5.0, max_iter=7)
    assert (limited.status, limited.n_iter) == ("max_iter", 7)
    assert limited.gap > 0
    seen = []

    def callback(step, body):
        seen.append((step, body))
        return step.iteration == 3

    stopped = minimize(objective, [0, 0], 5.0, callback=callback)
    assert (stopped.status, stopped.n_iter, len(seen)) == ("stopped", 4, 4)
    for step, body in seen:
        assert_allclose(step.centre, body.centre)
        assert_allclose(step.log_volume, body.log_volume, atol=1e-10)
        assert body.contains([[1.0, 1.0]]).all()


def test_objective_is_never_asked_outside_the_ball_or_the_constraints():
    asked = []

    def objective(x):
        asked.append(x)
        return linear([1.0, -1.0])(x)

    constraint = affine([1.0, 2.0], 0.5)
    minimize(objective, [0, 0], 2.0, constraints=[constraint])
    assert len(asked) > 10
    assert all(constraint(x)[0] <= 0 and np.linalg.norm(x) <= 2.0 for x in asked)


def test_oracle_may_write_on_its_argument():
    def vandal(x):
        answer = quadratic([1.0, 1.0], [1, 2])(x)
        x[:] = 1e9
        return answer

    assert_allclose(minimize(vandal, [0, 0], 4.0).x, [1, 1], atol=1e-3)


def test_twenty_dimensions_from_a_large_ball():
    target = np.linspace(-1, 1, 20)
    result = minimize(quadratic(target, np.logspace(0, 2, 20)), np.zeros(20), 100.0, tol=1e-4)
    assert result.success
    assert result.lower_bound <= 0.0


def test_public_names():
    assert ellipsoid.minimize is minimize


GOOD = quadratic([0.5, 0.5], [1, 1])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"f_and_subgradient": lambda x: (np.nan, x)}, "the value of the objective is nan at iteration 0"),
        (
            {"f_and_subgradient": lambda x: (1.0, [np.inf, 0])},
            "the subgradient of the objective contains NaN or inf",
        ),
        (
            {"f_and_subgradient": lambda x: (1.0, [1.0])},
            r"objective must have shape \(2,\), got \(1,\) at iteration 0",
        ),
        ({"f_and_subgradient": lambda x: ([1.0, 2.0], x)}, "the value of the objective must be one number"),
        ({"f_and_subgradient": lambda x: 1.0}, "the objective must return a pair"),
        (
            {"constraints": [affine([1, 0], 9.0), lambda x: (np.inf, x)]},
            "the value of constraint 1 is inf at iteration",
        ),
        ({"constraints": affine([1, 0], 1)}, r"write a single one as \[constraint\]"),
        ({"x0": [[0.0]]}, "x0 must be a vector"),
        ({"x0": [np.nan, 0.0]}, "x0 must be finite"),
        ({"radius": 0.0}, "radius must be a positive finite number, got 0.0"),
        ({"cut": "shallow"}, "cut must be 'deep' or 'central', got 'shallow'"),
        ({"tol": -1.0}, "tol must be a finite number >= 0, got -1.0"),
        ({"max_iter": 0}, "max_iter must be at least 1, got 0"),
        (
            {"f_and_subgradient": lambda x: (-float(x @ x), -2 * x), "x0": [0.3, 0.1]},
            "objective is not convex",
        ),
        (
            {"f_and_subgradient": lambda x: (GOOD(x)[0], -GOOD(x)[1])},
            "objective is not convex, or its subgradient",
        ),
        (
            {"constraints": [lambda x: (x[0] - 0.1, np.array([-1.0, 0]))], "x0": [0, 0]},
            "constraint 0 is not convex",
        ),
    ],
)
def test_wrong_input_or_answer_is_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        minimize(**{"f_and_subgradient": GOOD, "x0": [0.0, 0.0], "radius": 2.0, **arguments})


def test_no_point_outside_the_ball_is_the_best_one_by_rounding():
    """The distance of a point in the last digit beyond the sphere may be rounded to the radius."""
    start = np.array([float.fromhex("0x1.5ff68ae90de1cp-19"), float.fromhex("-0x1.f25a63f7cdc59p-17")])
    radius, slope = float.fromhex("0x1.07b4ed752ad4cp-8"), np.array([-1.0, -1.0])
    result = minimize(lambda x: (float(slope @ x), slope), start, radius, tol=0.0)
    squares = sum((Fraction(a) - Fraction(b)) ** 2 for a, b in zip(result.x.tolist(), start.tolist(), strict=True))
    assert squares <= Fraction(radius) ** 2
    assert result.lower_bound <= result.fun
