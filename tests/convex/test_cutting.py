"""A cut covers what it must, by the smallest ellipsoid, and rounding never makes it cover less."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from ellipsoid.convex import iteration_bound, log_volume_ratio
from ellipsoid.convex.cutting import CuttingEllipsoid

seeds = st.integers(0, 2**32 - 1)
dims = st.integers(1, 8)


def warmed_up(seed, dim):
    """An ellipsoid with some history, and the generator that made it."""
    rng = np.random.default_rng(seed)
    body = CuttingEllipsoid(rng.standard_normal(dim), rng.uniform(0.1, 10.0))
    for _ in range(rng.integers(0, 12)):
        body.cut(body.along(rng.standard_normal(dim)).unit, rng.uniform(0.0, 0.7))
    return body, rng


@given(seeds, dims, st.floats(0.0, 1.0))
def test_cover_contains_every_point_left_by_the_half_space(seed, dim, place):
    body, rng = warmed_up(seed, dim)
    before, normal = body.snapshot(), rng.standard_normal(dim)
    depth = -1.0 / dim + place * (0.98 + 1.0 / dim)
    along = body.along(normal)
    limit = normal @ body.centre - depth * along.width
    pole = body.centre - normal @ before.shape_matrix() / along.width
    points = np.vstack([before.sample(200, random_state=seed), pole])
    body.cut(along.unit, depth)
    after = body.snapshot()
    left = points[points @ normal <= limit]
    assert after.contains(left, tol=1e-7).all()
    # The smallest cover touches the pole: it is on the boundary, not inside.
    assert not after.contains([body.centre + 1.0001 * (pole - body.centre)]).any()


@pytest.mark.parametrize(
    ("dim", "depth", "ratio"),
    [
        (1, 0.0, 0.5),
        (2, 0.0, 0.7698),
        (2, 0.1, 0.6894),
        (10, 0.0, 0.9511),
        (10, 0.1, 0.8182),
        (100, 0.0, 0.99501),
    ],
)
def test_volume_ratio_of_one_cut(dim, depth, ratio):
    assert_allclose(np.exp(log_volume_ratio(dim, depth)), ratio, atol=1e-4)
    body = CuttingEllipsoid(np.zeros(dim), 2.0)
    before = body.snapshot()
    body.cut(body.along(np.arange(1.0, dim + 1.0)).unit, depth)
    assert_allclose(np.log(body.snapshot().volume_ratio(before)), log_volume_ratio(dim, depth), atol=1e-11)


@given(dims)
def test_no_shallower_cut_than_minus_one_over_dim_shrinks(dim):
    assert log_volume_ratio(dim, -1.0 / dim + 1e-4) < 0.0
    if dim > 1:
        assert abs(log_volume_ratio(dim, -1.0 / dim)) < 1e-12


@given(seeds, dims)
def test_tracked_volume_is_that_of_the_factor(seed, dim):
    body, _ = warmed_up(seed, dim)
    assert_allclose(body.log_det, body.snapshot().log_volume, atol=1e-9)


@given(st.integers(1, 60), st.floats(1.0, 1e12))
def test_iteration_bound_is_of_order_dim_squared(dim, ratio):
    bound = iteration_bound(dim, ratio)
    assert bound <= 2 * dim * (dim + 1) * np.log(ratio) + 1
    assert -bound * log_volume_ratio(dim) >= dim * np.log(ratio) - 1e-6
    assert iteration_bound(dim, 0.5) == 0


def test_long_run_stays_sound():
    # 20 000 central cuts towards 0: the volume leaves the floats, inflation does not eat it up, 0 stays in.
    rng = np.random.default_rng(5)
    body = CuttingEllipsoid(np.full(12, 0.1), 3.0)
    for _ in range(20_000):
        normal = np.sign(body.centre) * rng.uniform(0.5, 1.0, size=12)
        body.cut(body.along(normal).unit, 0.0)
        assert not body.exhausted
    assert_allclose(body.log_det, 2 * (12 * np.log(3.0) + 20_000 * log_volume_ratio(12)), rtol=1e-3)
    assert body.log_det < -1400
    assert body.snapshot().contains(np.zeros((1, 12))).all()


def test_a_slab_too_thin_for_floats_is_exhausted():
    body = CuttingEllipsoid(np.full(2, 1.0), 1.0)
    for _ in range(400):
        # The point 1 + 1e-3 in the first coordinate is kept, whatever its digits.
        direction = np.array([1.0, 0.3]) * (1.0 if body.centre[0] + 0.3 * body.centre[1] > 1.301 else -1.0)
        body.cut(body.along(direction).unit, 0.0)
        if body.exhausted:
            break
    assert body.exhausted
    assert np.isfinite(body.centre).all()


def test_a_body_smaller_than_the_smallest_float_is_exhausted():
    body = CuttingEllipsoid(np.ones(1), 4.0)
    while not body.exhausted:
        body.cut(body.along(np.sign(body.centre)).unit, 0.0)
    assert body.log_det < -1000
    assert np.isfinite(body.centre).all()
    assert CuttingEllipsoid(np.zeros(1), 1e300).exhausted
