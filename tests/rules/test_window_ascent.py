"""The two alphas of a window of two: the closed form against every face of the box, singular Gram matrices included."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ellipsoid.representation.window.ascent import best_pair


def best_of_faces(b, K, C):
    """The largest b'a - a'Ka/2 on the box: on each face, the stationary points that are inside it."""
    best = -np.inf
    for face in product((0.0, C[0], None), (0.0, C[1], None)):
        free = [i for i in range(2) if face[i] is None]
        a = np.array([0.0 if side is None else side for side in face])
        if free:
            inner = K[np.ix_(free, free)]
            a[free] = np.linalg.lstsq(inner, b[free] - (K @ a)[free], rcond=1e-12)[0]
            stationary = np.abs((b - K @ a)[free]).max() <= 1e-9 * (1.0 + np.abs(b).max())
            if not stationary or (a < 0.0).any() or (a > C).any():
                continue
        best = max(best, b @ a - 0.5 * a @ K @ a)
    return best


# Small whole numbers: parallel, opposite, equal and zero examples are frequent.
vectors = st.lists(st.integers(-2, 2), min_size=3, max_size=3).map(lambda v: np.array(v, dtype=float))
general = st.lists(st.floats(-2.0, 2.0), min_size=3, max_size=3).map(np.array)


@given(
    z=st.tuples(vectors, vectors) | st.tuples(general, general),
    theta=vectors | general,
    C=st.tuples(*[st.sampled_from([0.25, 1.0, 7.0])] * 2).map(np.array),
    start=st.tuples(st.floats(0.0, 1.0), st.floats(0.0, 1.0)),
)
def test_no_face_of_the_box_is_better(z, theta, C, start):
    Z, a = np.array(z), C * np.array(start)
    # Squares this small are lost beside others, and a product of rounding errors decides.
    Z[np.abs(Z) < 1e-4] = 0.0
    K, b = Z @ Z.T, 1.0 - Z @ theta
    g = b - K @ a
    a1, a2, gain = best_pair(tuple(a), tuple(g), (K[0, 0], K[1, 1], K[0, 1]), tuple(C))
    found = np.array([a1, a2])
    assert (found >= 0.0).all()
    assert (found <= C).all()

    def value(alpha):
        return b @ alpha - 0.5 * alpha @ K @ alpha

    slack = 1e-9 * (1.0 + np.abs(b).sum() * C.max() + K.sum() * C.max() ** 2)
    assert gain == pytest.approx(value(found) - value(a), abs=slack)
    assert value(found) >= best_of_faces(b, K, C) - slack
    assert gain >= 0.0


def test_singular_with_a_ridge_inside_the_box():
    """Twice the same example: every split of the sum is best, and the sum is what counts."""
    a1, a2, gain = best_pair((0.0, 0.0), (1.0, 1.0), (2.0, 2.0, 2.0), (10.0, 10.0))
    assert a1 + a2 == pytest.approx(0.5, rel=1e-15)
    assert gain == pytest.approx(0.25, rel=1e-15)


def test_without_a_cap_and_without_a_maximum_the_newest_steps_alone():
    """The same row with both labels: the dual grows for ever along (1, 1); one exact step is made, and it is finite."""
    a1, a2, gain = best_pair((3.0, 3.0), (1.0, 1.0), (1.0, 1.0, -1.0), (np.inf, np.inf))
    assert np.isfinite([a1, a2]).all()
    assert gain >= 0.5


def test_without_a_cap_the_maximum_is_found_where_there_is_one():
    K = np.array([[2.0, 1.5], [1.5, 2.0]])
    for b in ([1.0, 1.0], [3.0, 1.0], [1.0, 3.0]):
        a1, a2, gain = best_pair((0.0, 0.0), tuple(b), (2.0, 2.0, 1.5), (np.inf, np.inf))
        assert gain == pytest.approx(best_of_faces(np.array(b), K, (1e6, 1e6)), rel=1e-12)
        assert min(a1, a2) >= 0.0


@pytest.mark.parametrize("scale", [1e-140, 1e-100, 1e100, 1e140])
@pytest.mark.parametrize("C", [1.0, np.inf])
def test_two_examples_of_any_length_are_solved_together(scale, C):
    """Units do not matter: alphas of examples that are ``scale`` times as long are as many squares of it smaller."""
    K, g, unit = (2.0, 3.0, 1.5), (1.0, 0.9), scale * scale
    plain = best_pair((0.0, 0.0), g, K, (C, C))
    assert min(plain) > 0.0
    a1, a2, gain = best_pair((0.0, 0.0), g, tuple(unit * k for k in K), (C / unit, C / unit))
    assert a1 * unit == pytest.approx(plain[0], rel=1e-9)
    assert a2 * unit == pytest.approx(plain[1], rel=1e-9)
    assert gain * unit == pytest.approx(plain[2], rel=1e-9)
