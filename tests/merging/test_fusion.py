"""Fusion of ellipsoids: it holds the intersection for every weight, and calls empty only what is."""

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
def test_what_is_called_empty_has_no_classifier(seed):
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


def test_weights_that_are_none_are_refused():
    ball = Ellipsoid.ball([0.0], 1.0)
    for weights in ([1.0], [-1.0, 2.0], [0.0, 0.0]):
        with pytest.raises(ValueError, match="weights must be one for each ellipsoid"):
            fuse([ball, ball], weights)
