"""A separation oracle is answered with a point, or with half-spaces that leave no room for one."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

import ellipsoid
from ellipsoid.convex import feasible_point, iteration_bound, log_volume_ratio, minimize

seeds = st.integers(0, 2**32 - 1)
cuts = st.sampled_from(["deep", "central"])


def polyhedron(rows, offsets):
    """The most violated row of rows x <= offsets."""
    rows, offsets = np.asarray(rows, dtype=float), np.asarray(offsets, dtype=float)

    def oracle(x):
        excess = rows @ x - offsets
        worst = int(np.argmax(excess))
        return None if excess[worst] <= 0 else (rows[worst], offsets[worst])

    return oracle


@given(seeds, st.integers(1, 6), cuts)
@settings(max_examples=40)
def test_a_ball_in_the_set_is_found_within_the_bound(seed, dim, cut):
    rng = np.random.default_rng(seed)
    inside = rng.uniform(-1, 1, size=dim)
    rows = rng.standard_normal((4 * dim, dim))
    rows /= np.linalg.norm(rows, axis=1)[:, None]
    oracle = polyhedron(rows, rows @ inside + 0.01)  # contains the ball of radius 0.01 about the point
    result = feasible_point(oracle, np.zeros(dim), 2.0 * np.sqrt(dim), cut=cut, inner_radius=0.01)
    assert result.status == "feasible"
    assert oracle(result.x) is None
    assert result.n_iter == len(result.cuts) + 1 <= result.iteration_bound
    assert all(normal @ inside <= offset for normal, offset, _ in result.cuts)
    assert result.ellipsoid.contains([inside], tol=1e-7).all()


@given(seeds, st.integers(1, 5), cuts)
@settings(max_examples=40)
def test_empty_means_that_the_cuts_exclude_each_other(seed, dim, cut):
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((2 * dim + 2, dim))
    weights = rng.uniform(0.1, 1.0, size=len(rows))
    rows[-1] = -(weights[:-1] @ rows[:-1]) / weights[-1]  # weights' rows = 0 and weights' offsets < 0: Farkas
    offsets = rng.standard_normal(len(rows))
    offsets[-1] = (-1.0 - weights[:-1] @ offsets[:-1]) / weights[-1]
    result = feasible_point(polyhedron(rows, offsets), np.zeros(dim), 3.0, cut=cut)
    assert result.status == "empty"
    assert not result.success
    used = linprog(
        np.zeros(dim),
        A_ub=[normal for normal, _, _ in result.cuts],
        b_ub=[offset for _, offset, _ in result.cuts],
        bounds=(None, None),
    )
    # Either the cuts exclude each other, or what they leave is outside the ball.
    if used.status != 2:
        nearest = minimize(
            lambda x: (float(x @ x), 2 * x),
            np.zeros(dim),
            1e3,
            constraints=[lambda x, a=a, b=b: (float(a @ x) - b, a) for a, b, _ in result.cuts],
            tol=1e-3,
        )
        assert nearest.lower_bound > 9.0 or nearest.status == "infeasible"
    assert result.cuts[-1].depth > 1.0


def test_set_without_interior_is_proven_small():
    # Central cuts do not look at offsets, so that the volume has to do the work.
    result = feasible_point(polyhedron([[1, 0], [-1, 0]], [0.3, -0.3]), [0, 0], 1.0, cut="central", inner_radius=1e-4)
    assert result.status == "small"
    assert result.x is None
    assert "0.0001" in result.message
    assert result.ellipsoid.log_volume < 4 * np.log(1e-4)
    assert len(result.cuts) <= iteration_bound(2, 1e4) + 1


def test_each_central_cut_shrinks_by_the_formula():
    result = feasible_point(
        polyhedron([[1, 2, 3], [-1, -2, -3]], [1, -1]), np.zeros(3), 1.0, cut="central", max_iter=20
    )
    assert result.status == "max_iter"
    assert result.ellipsoid.log_volume == pytest.approx(2 * 20 * log_volume_ratio(3), abs=1e-10)


def test_shallow_half_spaces_are_used_and_useless_ones_refused():
    def shallow(x):
        return None if x[0] <= -0.5 else ([1.0, 0.0], x[0] + 0.1)

    assert feasible_point(shallow, [0, 0], 1.0).status == "feasible"
    with pytest.raises(ValueError, match=r"contains the point by 0\.9"):
        feasible_point(lambda x: ([1.0, 0.0], x[0] + 0.9), [0, 0], 1.0)


def test_too_thin_for_floats_is_no_proof():
    result = feasible_point(
        polyhedron([[1, 0.3], [-1, -0.3]], [1.0, -1.0]), [0, 0], 5.0, inner_radius=1e-200, max_iter=10_000
    )
    assert result.status == "exhausted"
    assert "nothing is proven" in result.message


@pytest.mark.parametrize("length", [5e-324, 1e-290, 1e200, 1e300])
@pytest.mark.parametrize("radius", [1e-300, 1e-160, 1e-30, 1.0, 1e160, 1e300])
def test_a_set_that_is_there_is_not_called_empty_or_small_by_underflow(length, radius):
    def oracle(x):
        return ([length, 0.0], -0.1 * radius * length) if x[0] > -0.1 * radius else None

    if 0.1 * radius * length < 1e300:
        found = feasible_point(oracle, [0.5 * radius, 0], radius, inner_radius=0.2 * radius)
        assert found.status in ("feasible", "exhausted")


def test_first_question_may_answer_everything():
    everywhere = feasible_point(lambda x: None, [0.0], 1.0)
    assert (everywhere.status, everywhere.n_iter, everywhere.cuts) == ("feasible", 1, [])
    nowhere = feasible_point(lambda x: ([0.0], -1.0), [0.0], 1.0)
    assert (nowhere.status, nowhere.n_iter) == ("empty", 1)
    far = feasible_point(polyhedron([[-1.0]], [-5.0]), [0.0], 1.0)
    assert (far.status, far.n_iter) == ("empty", 1)
    assert far.cuts[0].depth == pytest.approx(5.0)


def test_public_name():
    assert ellipsoid.feasible_point is feasible_point


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"oracle": lambda x: ([np.nan, 0], 0.0)},
            "the normal of the oracle contains NaN or inf at iteration 0",
        ),
        ({"oracle": lambda x: ([1.0, 0.0], np.inf)}, "the offset of the oracle is inf"),
        ({"oracle": lambda x: ([1.0], 0.0)}, r"must have shape \(2,\), got \(1,\)"),
        ({"oracle": lambda x: False}, r"must return None or a pair \(a, b\), got bool"),
        ({"oracle": lambda x: ([0.0, 0.0], 1.0)}, "does not separate the point"),
        ({"radius": -1.0}, "radius must be"),
        ({"inner_radius": 0.0}, "inner_radius must be a positive finite number, got 0.0"),
        ({"max_iter": 0}, "max_iter must be at least 1"),
        ({"cut": "x"}, "cut must be 'deep' or 'central'"),
    ],
)
def test_wrong_input_or_answer_is_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        feasible_point(**{"oracle": lambda x: None, "x0": [0.0, 0.0], "radius": 1.0, **arguments})
