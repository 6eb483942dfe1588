"""Intervals and version spaces that drift, at the ends of the floating-point range: no false proof, and no NaN."""

from fractions import Fraction

import numpy as np
import pytest

from ellipsoid import CELLIP, IntervalRegressor

pytestmark = pytest.mark.interpreted


def exact(**options):
    return IntervalRegressor(**{"noise": 0.0, "fit_intercept": False, **options})


@pytest.mark.parametrize("d", [1, 3])
def test_moves_too_small_for_one_addition_count_together(d):
    model = exact(drift=1e-16).partial_fit(np.zeros((2000, d)), np.zeros(2000))
    # The first weight was 1 and has moved by less than two thousand times the drift.
    assert model.version_space_.shape_matrix()[0, 0] >= (1.0 + 2000 * 1e-16) ** 2
    assert model.partial_fit(np.eye(d)[:1], [1.0 + 1.9e-13]).infeasible_ == 0


def test_a_score_that_vanishes_proves_nothing():
    model = exact().partial_fit(np.tile(np.eye(2), (60, 1)), np.full(120, 0.5))
    _, low, high = model.learn_predict_interval([[5e-324, 5e-324]], [5e-324])
    assert low[0] <= 5e-324 <= high[0]
    assert model.infeasible_ == 0


@pytest.mark.parametrize("radius", [1e-150, 1e-160, 1e-170, 1e-300])
def test_a_ball_whose_square_vanishes_still_holds_its_functions(radius):
    model = exact(radius=radius).partial_fit([[0.0, 1.0]], [0.0])
    ((low, high),) = model.predict_interval([[1.0, 0.0]])
    assert low <= -radius < radius <= high
    assert model.partial_fit([[1.0, 0.0]], [radius]).infeasible_ == 0


def test_an_ellipsoid_too_flat_for_a_float_still_holds_the_truth():
    """The weight may be 1e-340: no float is, and the row makes 1e-200 of it."""
    model = exact(noise=1e-200).partial_fit(np.full((3, 1), 1e140), np.zeros(3))
    assert model.partial_fit([[1e140]], [2e-200]).infeasible_ == 0


@pytest.mark.parametrize("d", [1, 2])
def test_squares_beyond_all_numbers_cut_nothing(d):
    model = exact(radius=1e100).partial_fit(np.full((1, d), 1e58), [1e58])
    assert model.version_space_.contains(np.full((1, d), 1.0 / d)).all()
    labels = CELLIP(cut="minvol", drift=0.1, radius=1e100, trigger="always", fit_intercept=False)
    labels.partial_fit(np.full((1, d), 1e58), [1], classes=[0, 1])
    assert np.isfinite(labels.coef_).all()
    assert labels.version_space_.contains(np.full((1, d), 1.0)).all()


def test_a_size_whose_square_is_no_number_is_refused():
    with pytest.raises(ValueError, match="margin must be at most 1e\\+140"):
        CELLIP(a=0.5, margin=1e300).partial_fit([[1.0]], [1], classes=[0, 1])
    for name in ("radius", "drift"):
        with pytest.raises(ValueError, match=f"{name} must be at most 1e\\+140"):
            exact(**{name: 1e160}).partial_fit([[1.0]], [1.0])
        for drift in (0.0, 0.1):
            with pytest.raises(ValueError, match=f"{name} must be at most 1e\\+140"):
                CELLIP(**{"cut": "minvol", "drift": drift, name: 1e160}).partial_fit([[1.0]], [1], classes=[0, 1])


@pytest.mark.parametrize("radius", [0.3, 0.7, 1.1, 1e-100])
def test_the_ball_at_the_start_holds_functions_on_its_edge(radius):
    model = exact(radius=radius).partial_fit([[0.0]], [0.0])
    assert Fraction(float(model.version_space_.shape_matrix()[0, 0])) >= Fraction(radius) ** 2
