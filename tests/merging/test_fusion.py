"""Fusion of ellipsoids: it holds the intersection for every weight, and calls empty only what is."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from ellipsoid import CELLIP, Ellipsoid
from ellipsoid.merging.fusion import fuse

pytestmark = pytest.mark.interpreted


def drawn(rng, dim, spread):
    root = rng.normal(size=(dim, dim)) + 1.5 * np.eye(dim)
    return Ellipsoid.from_matrix(spread * rng.normal(size=dim), root @ root.T)


@settings(max_examples=20)
@given(st.integers(0, 2**32 - 1), st.integers(1, 4), st.integers(2, 5))
def test_points_of_all_ellipsoids_are_in_the_fused_one_for_every_weight(seed, dim, count):
    rng = np.random.default_rng(seed)
    ellipsoids = [drawn(rng, dim, 0.3) for _ in range(count)]
    points = np.vstack([each.sample(60, random_state=0) for each in ellipsoids])
    inside = np.all([each.contains(points, tol=0.0) for each in ellipsoids], axis=0)
    for weights in (None, rng.random(count) + 1e-3, np.ones(count)):
        fused = fuse(ellipsoids, weights)
        if fused.ellipsoid is None:
            assert not inside.any()
        else:
            assert fused.ellipsoid.contains(points[inside]).all()


@pytest.mark.parametrize("seed", range(6))
def test_an_intersection_reported_as_empty_has_no_classifier(seed):
    """Two shards with different truths: where fusion refutes them, a linear program finds nothing either."""
    rng = np.random.default_rng(seed)
    spaces, rows = [], []
    for _ in range(2):
        truth = rng.normal(size=2)
        X = rng.normal(size=(300, 2))
        X /= np.linalg.norm(X, axis=1, keepdims=True)
        X = X[abs(X @ truth) > 0.3 * np.linalg.norm(truth)]
        y = np.where(X @ truth > 0, 1, -1)
        model = CELLIP(margin=0.2, cut="minvol", trigger="always", fit_intercept=False)
        spaces.append(model.partial_fit(X, y, classes=[-1, 1]).version_space_)
        rows.append(X * y[:, np.newaxis])
    if fuse(spaces).ellipsoid is None:
        Z = np.vstack(rows)
        found = linprog(np.zeros(2), A_ub=-Z, b_ub=np.full(len(Z), -0.2), bounds=[(-1.0, 1.0)] * 2)
        # The box holds the ball of the version space.
        assert found.status == 2
    else:
        assert seed != 0, "the first pair of truths contradict each other, and that can be proved"


def thin(width, apart, angle):
    """Two ellipsoids of half axes 1 and ``width``, side by side: ``apart`` half widths off the origin each."""
    along, across = np.array([np.cos(angle), np.sin(angle)]), np.array([-np.sin(angle), np.cos(angle)])
    P = np.outer(along, along) + width**2 * np.outer(across, across)
    return [Ellipsoid.from_matrix(sign * apart * width * across, P) for sign in (1.0, -1.0)]


def holds_the_origin(ellipsoid):
    """In exact arithmetic."""
    (a, b), (_, c) = [[Fraction(float(q)) for q in row] for row in ellipsoid.shape_matrix()]
    x, y = (Fraction(float(q)) for q in ellipsoid.centre)
    return c * x * x - 2 * b * x * y + a * y * y <= a * c - b * b


def test_thin_ellipsoids_with_a_point_in_common_are_not_called_apart():
    """Their inverses have hardly a digit; the origin is in both, and must be in what is put around both."""
    rng, tried = np.random.default_rng(0), 0
    for trial in range(80):
        pair = thin(10.0 ** rng.uniform(-7.0, -5.5), 1.0 - 10.0 ** rng.uniform(-5.0, -3.0), rng.uniform(0.0, np.pi))
        if all(map(holds_the_origin, pair)):
            tried += 1
            fused = fuse(pair, [0.5, 0.5] if trial % 2 else None).ellipsoid
            assert fused is not None
            assert holds_the_origin(fused)
    assert tried > 40


def test_thin_ellipsoids_that_are_apart_are_proved_to_be():
    for width in (1e-1, 1e-3, 1e-5, 1e-6):
        for angle in (0.0, 0.3, 1.0):
            assert fuse(thin(width, 1.1, angle)).ellipsoid is None


def test_of_flat_ellipsoids_the_smallest_holds_what_they_share():
    flat, ball, point = thin(0.0, 0.0, 0.5)[0], Ellipsoid.ball([0.0, 0.0], 0.5), Ellipsoid.ball([0.1, 0.1], 0.0)
    for some in ([ball, flat], [ball, flat, ball], [ball, point]):
        fused = fuse(some)
        assert fused.ellipsoid is some[1]
        assert fused.weights.tolist() == [float(each is some[1]) for each in some]
    assert fuse([ball, Ellipsoid.ball([0.5, 0.5], 0.0)]).ellipsoid is None


def test_weights_that_are_none_are_refused():
    ball = Ellipsoid.ball([0.0], 1.0)
    for weights in ([1.0], [-1.0, 2.0], [0.0, 0.0]):
        with pytest.raises(ValueError, match="weights must hold one number for each ellipsoid"):
            fuse([ball, ball], weights)
