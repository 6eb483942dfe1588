"""Every form of P gives the ellipsoid of the dense matrix, and the ellipsoid does what geometry promises."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from ellipsoid.ellipsoids import (
    BallShape,
    ColumnShape,
    Ellipsoid,
    FactorShape,
    GramShape,
    ProductShape,
    Shape,
)

seeds = st.integers(0, 2**32 - 1)
dims = st.integers(1, 7)


def downdated(seed, dim, updates):
    """A run of B <- B - kappa (Bz)(Bz)'/(z'Bz) on the dense matrix, and what each form keeps of it."""
    rng = np.random.default_rng(seed)
    matrix, factor = np.eye(dim), np.eye(dim)
    columns, reflections, taus = [], [], []
    rows, coefficients = np.zeros((0, dim)), np.zeros((0, 0))
    for kappa in rng.uniform(0.0, 0.8, size=updates):
        z = rng.standard_normal(dim)
        image = matrix @ z
        value = z @ image
        columns.append(np.sqrt(kappa / value) * image)
        tau = kappa / (1 + np.sqrt(1 - kappa))
        unit = factor.T @ z / np.linalg.norm(factor.T @ z)
        reflections.append(unit)
        taus.append(tau)
        factor = factor - tau * np.outer(factor @ unit, unit)
        extended = np.append(-coefficients @ (rows @ z), 1.0)
        coefficients = np.pad(coefficients, (0, 1)) + (kappa / value) * np.outer(extended, extended)
        rows = np.vstack([rows, z])
        matrix = matrix - kappa * np.outer(image, image) / value
    log_scale = rng.uniform(-3, 3)
    shapes = {
        "column": ColumnShape(np.reshape(columns, (-1, dim)).T, log_scale),
        "gram": GramShape(rows, coefficients, log_scale),
        "sparse gram": GramShape(sp.csr_matrix(rows), coefficients, log_scale),
        "product": ProductShape.from_reflections(np.reshape(reflections, (-1, dim)).T, taus, log_scale),
        "factor": FactorShape(factor, log_scale),
    }
    return np.exp(log_scale) * matrix, shapes, rng


@given(seeds, dims, st.integers(0, 6))
def test_every_form_agrees_with_the_dense_matrix(seed, dim, updates):
    matrix, shapes, rng = downdated(seed, dim, updates)
    centre, X = rng.standard_normal(dim), rng.standard_normal((4, dim))
    scale = np.abs(matrix).max()
    inverse = np.linalg.inv(matrix)
    distances = np.einsum("ij,jk,ik->i", X, inverse, X)
    for name, shape in {**shapes, "dense": Ellipsoid.from_matrix(centre, matrix)._shape}.items():
        assert isinstance(shape, Shape)
        ellipsoid = Ellipsoid(centre, shape)
        for rows in (X, sp.csr_matrix(X)):
            expected = np.sqrt(np.einsum("ij,jk,ik->i", X, matrix, X))
            assert_allclose(np.sqrt(shape.quadratic(rows)), expected, rtol=1e-10, atol=1e-12 * scale, err_msg=name)
            # A width is rounded up, of a thin ellipsoid by more than of a round one.
            width, longest = ellipsoid.width(rows), np.exp(0.5 * shape.log_scale) * np.linalg.norm(X, axis=1)
            assert (width >= expected * (1.0 - 1e-10)).all(), name
            assert (width**2 <= expected**2 * (1.0 + 1e-10) + 1e-10 * longest**2).all(), name
            assert_allclose(shape.apply(rows), X @ matrix, atol=1e-12 * scale, err_msg=name)
            assert_allclose(
                shape.inverse_quadratic(rows, 0.0), distances, rtol=1e-9, atol=0, err_msg=name
            )  # the reference inverse itself is good to cond(P) eps only
        assert_allclose(ellipsoid.shape_matrix(), matrix, atol=1e-12 * scale, err_msg=name)
        assert_allclose(ellipsoid.log_volume, np.linalg.slogdet(matrix)[1], atol=1e-10, err_msg=name)
        root = shape.stretch(np.eye(dim)).T
        assert_allclose(root @ root.T, matrix, atol=1e-12 * scale, err_msg=name)


@given(seeds, dims, st.integers(0, 6))
def test_samples_are_inside_and_reach_the_boundary_only_by_growing(seed, dim, updates):
    matrix, shapes, rng = downdated(seed, dim, updates)
    centre = rng.standard_normal(dim)
    for shape in shapes.values():
        ellipsoid = Ellipsoid(centre, shape)
        inside = ellipsoid.sample(20, random_state=seed)
        assert ellipsoid.contains(inside).all()
        lengths = np.sqrt(np.einsum("ij,jk,ik->i", inside - centre, np.linalg.inv(matrix), inside - centre))
        grown = centre + (inside - centre) * (1.001 / lengths)[:, None]
        assert not ellipsoid.contains(grown).any()
        assert ellipsoid.contains(grown, tol=0.0011).all()


def test_samples_are_uniform():
    # A uniform point of E has covariance P / (dim + 2), and its radius^dim is uniform.
    matrix = np.array([[2.0, 0.5, 0.0], [0.5, 1.0, 0.1], [0.0, 0.1, 0.5]])
    points = Ellipsoid.from_matrix([1.0, 2.0, 3.0], matrix).sample(100_000, random_state=0)
    assert_allclose(points.mean(axis=0), [1.0, 2.0, 3.0], atol=0.01)
    assert_allclose(np.cov(points.T) * 5, matrix, atol=0.03)
    offsets = points - [1.0, 2.0, 3.0]
    radii = np.sqrt(np.einsum("ij,jk,ik->i", offsets, np.linalg.inv(matrix), offsets))
    assert_allclose(np.quantile(radii**3, [0.1, 0.5, 0.9]), [0.1, 0.5, 0.9], atol=0.01)


@given(seeds, st.integers(2, 7), st.integers(0, 5))
def test_shadow_has_the_width_of_the_ellipsoid_in_its_plane(seed, dim, updates):
    _, shapes, rng = downdated(seed, dim, updates)
    basis, directions = rng.standard_normal((dim, 2)), rng.standard_normal((5, 2))
    centre = rng.standard_normal(dim)
    for shape in shapes.values():
        ellipsoid = Ellipsoid(centre, shape)
        shadow = ellipsoid.project(basis)
        assert_allclose(shadow.width(directions), ellipsoid.width(directions @ basis.T), rtol=1e-6)
        assert_allclose(shadow.centre, basis.T @ centre)
        curve = shadow.boundary(400)
        reach = ((curve - shadow.centre) @ directions.T).max(axis=0)
        assert_allclose(reach, shadow.width(directions), rtol=1e-3)
        assert_allclose(curve[0], curve[-1])
        assert shadow.contains(ellipsoid.sample(10, random_state=seed) @ basis, tol=1e-6).all()
        on_axes = ellipsoid.project((1, 0))
        assert_allclose(on_axes.centre, centre[[1, 0]])
        assert_allclose(on_axes.width(np.eye(2)), ellipsoid.width(np.eye(dim)[[1, 0]]), rtol=1e-9)


def test_multiclass_centre_takes_both_layouts():
    rng = np.random.default_rng(3)
    centre, rows = rng.standard_normal((3, 4)), rng.standard_normal((2, 12))
    ellipsoid = Ellipsoid.from_gram(centre, rows, np.eye(2) * 0.01, log_scale=1.0)
    points = ellipsoid.sample(50, random_state=rng)
    assert ellipsoid.dim == 12
    assert points.shape == (50, 3, 4)
    assert ellipsoid.contains(points).all()
    assert_allclose(ellipsoid.width(points), ellipsoid.width(points.reshape(50, 12)))
    assert ellipsoid.centre.shape == (3, 4)


def test_wide_sparse_data_never_meet_a_square_matrix():
    # P would take 320 GB here.
    dim = 200_000
    rows = sp.random(6, dim, density=1e-4, random_state=1, format="csr")
    rows.data /= np.sqrt(rows.multiply(rows).sum(axis=1).max())
    ellipsoid = Ellipsoid.from_gram(np.zeros(dim), rows, 0.1 * np.eye(6), log_scale=-1.0)
    gram = (rows @ rows.T).toarray()
    assert_allclose(ellipsoid.log_volume, -dim + np.linalg.slogdet(np.eye(6) - 0.1 * gram)[1])
    expected = np.exp(-0.5) * np.sqrt(np.diag(gram - 0.1 * gram @ gram))
    assert_allclose(ellipsoid.width(rows), expected)
    assert ellipsoid.contains(ellipsoid.sample(2, random_state=0)).all()


def test_narrow_direction_keeps_its_digits():
    # 1 - |U'x|^2 alone would leave five digits of 1e-11.
    left = 1e-11
    column = np.array([[np.sqrt(1 - left)], [0.0]])
    exact = 1.0 - float(column[0, 0]) ** 2
    thin = Ellipsoid.from_columns([0.0, 0.0], column)
    assert_allclose(thin._shape.quadratic(np.array([[1.0, 0.0]])), exact, rtol=1e-5)
    assert exact <= thin.width([[1.0, 0.0]])[0] ** 2 <= exact + 1e-13, "a width is rounded up"


@pytest.mark.parametrize(
    "flat",
    [
        Ellipsoid.from_matrix([1.0, 2.0], [[4.0, 0.0], [0.0, 0.0]]),
        Ellipsoid.from_factor([1.0, 2.0], [[2.0], [0.0]]),
        Ellipsoid.from_columns([1.0, 2.0], [[0.0], [1.0]], log_scale=np.log(4.0)),
        Ellipsoid.from_gram([1.0, 2.0], [[0.0, 2.0]], [[0.25]], log_scale=np.log(4.0)),
    ],
    ids=repr,
)
def test_flat_ellipsoid_is_a_segment(flat):
    assert flat.log_volume == -np.inf
    assert flat.contains([[3.0, 2.0], [-1.0, 2.0], [3.1, 2.0], [1.0, 2.1]]).tolist() == [
        True,
        True,
        False,
        False,
    ]
    assert_allclose(np.sqrt(flat._shape.quadratic(np.eye(2))), [2.0, 0.0], atol=1e-12)
    assert (flat.width(np.eye(2)) >= [2.0, 0.0]).all(), "a width is rounded up"
    assert_allclose(flat.width(np.eye(2)) ** 2, [4.0, 0.0], atol=1e-12)
    assert flat.contains(flat.sample(20, random_state=0)).all()
    assert flat.volume_ratio(Ellipsoid.ball([0.0, 0.0], 1.0)) == 0.0


@pytest.mark.parametrize(
    "point",
    [
        Ellipsoid.ball([1.0, -2.0], 0.0),
        Ellipsoid.from_matrix([1.0, -2.0], np.zeros((2, 2))),
        Ellipsoid.from_columns([1.0, -2.0], [[0.5], [0.0]], log_scale=-np.inf),
        Ellipsoid.from_product([1.0, -2.0], [[1.0], [0.0]], [0.5], log_scale=-np.inf),
    ],
    ids=repr,
)
def test_single_point(point):
    assert point.log_volume == -np.inf
    assert point.width([[1.0, 1.0]]) == 0.0
    assert point.contains([[1.0, -2.0], [1.0, -2.001]]).tolist() == [True, False]
    assert_allclose(point.sample(3, random_state=0), [[1.0, -2.0]] * 3)
    assert_allclose(point.project((0, 1)).boundary(4), [[1.0, -2.0]] * 4)
    assert np.array_equal(point.shape_matrix(), np.zeros((2, 2)))


@given(seeds, dims)
def test_volume_ratio_is_that_of_the_determinants(seed, dim):
    rng = np.random.default_rng(seed)
    factor = rng.standard_normal((dim, dim)) + 2 * np.eye(dim)
    image, ball = Ellipsoid.from_factor(np.zeros(dim), factor), Ellipsoid.ball(np.zeros(dim), 2.0)
    assert_allclose(image.volume_ratio(ball), abs(np.linalg.det(factor)) / 2.0**dim, rtol=1e-8)
    assert_allclose(image.volume_ratio(ball) * ball.volume_ratio(image), 1.0)


def test_scale_beyond_the_range_of_floats_is_no_nan():
    huge = Ellipsoid(np.zeros(2), BallShape(2, 2000.0))
    assert huge.log_volume == 4000.0
    assert huge.width([[0.0, 0.0], [1.0, 0.0]]).tolist() == [0.0, np.inf]
    assert huge.contains([[1e100, 0.0]]).all()
    assert huge.volume_ratio(Ellipsoid.ball([0.0, 0.0], 1.0)) == np.inf


def test_centre_is_a_copy_that_cannot_be_written():
    source = np.zeros(2)
    ellipsoid = Ellipsoid.ball(source, 1.0)
    source[0] = 5.0
    assert ellipsoid.centre[0] == 0.0
    with pytest.raises(ValueError, match="read-only"):
        ellipsoid.centre[0] = 1.0


BALL = Ellipsoid.ball([0.0, 0.0], 1.0)


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (lambda: Ellipsoid.ball([0.0], -1.0), "radius must be a finite number >= 0, got -1.0"),
        (lambda: Ellipsoid.ball([np.nan], 1.0), "centre must be finite"),
        (lambda: Ellipsoid.ball(np.zeros((1, 1, 1)), 1.0), "centre must be a vector or a K x d matrix"),
        (lambda: Ellipsoid.from_matrix([0.0], np.eye(2)), "centre has 1 coordinates but the shape has 2"),
        (lambda: Ellipsoid.from_matrix([0.0, 0.0], [[1.0, 1.0], [0.0, 1.0]]), "P must be symmetric"),
        (lambda: Ellipsoid.from_matrix([0.0, 0.0], np.diag([1.0, -0.1])), "P must be positive semidefinite"),
        (lambda: Ellipsoid.from_matrix([0.0, 0.0], np.ones((2, 3))), "P must be square"),
        (lambda: Ellipsoid.from_columns([0.0, 0.0], [[2.0], [0.0]]).log_volume, "I - U U' must be positive"),
        (lambda: Ellipsoid.from_gram([0.0, 0.0], [[1.0, 0.0]], np.eye(2)), "S must be 1 x 1"),
        (lambda: Ellipsoid.from_gram([0.0, 0.0], [[1.0, 0.0]], [[-1.0]]), "S must be positive semidefinite"),
        (lambda: Ellipsoid.from_gram([0.0], sp.csr_matrix([[np.inf]]), [[1.0]]), "Z must be finite"),
        (lambda: Ellipsoid.from_product([0.0, 0.0], [[1.0], [0.0]], np.eye(2)), "T must be 1 x 1"),
        (lambda: Ellipsoid.from_product([0.0], [[1.0]], [1.0]).contains([[0.0]]), "is singular"),
        (lambda: Ellipsoid.from_product([0.0], [[1.0]], [1.0, 2.0]), "taus must hold one number"),
        (lambda: BallShape(2, np.inf), "log_scale must be finite or -inf"),
        (
            lambda: BALL.width([1.0, 0.0]),
            r"X must have shape \(n, 2\), got \(2,\); write a single row as \[row\]",
        ),
        (lambda: BALL.width([[1.0, 0.0, 0.0]]), r"X must have shape \(n, 2\), got \(1, 3\)"),
        (lambda: BALL.width(sp.csr_matrix([[0.0, 1.0], [0.0, np.nan]])), "X must be finite, row 1 contains"),
        (lambda: BALL.contains([[0.0, 0.0], [np.inf, 0.0]]), "points must be finite, row 1 contains"),
        (lambda: BALL.contains([[0.0, 0.0]], tol=-1.0), "tol must be"),
        (
            lambda: Ellipsoid.ball(np.zeros((2, 3)), 1.0).width(np.eye(3)),
            r"\(n, 6\) or \(n, 2, 3\), got \(3, 3\)",
        ),
        (lambda: BALL.project((0, 2)), "axes must be different numbers from 0 to 1"),
        (lambda: BALL.project((0, 0)), "axes must be different numbers"),
        (lambda: BALL.project(np.eye(3)), "axes as a basis must have 2 rows"),
        (lambda: BALL.project((0.5, 1.0)), "axes must be coordinate numbers"),
        (lambda: Ellipsoid.ball(np.zeros(3), 1.0).boundary(), "boundary needs a 2-D ellipsoid"),
        (lambda: BALL.boundary(1), "n must be at least 2"),
        (lambda: BALL.sample(-1), "n must not be negative"),
        (lambda: BALL.volume_ratio(Ellipsoid.ball([0.0], 1.0)), "this ellipsoid has 2, the other 1"),
        (
            lambda: Ellipsoid.ball([0.0], 0.0).volume_ratio(Ellipsoid.ball([0.0], 0.0)),
            "both ellipsoids are flat",
        ),
    ],
)
def test_wrong_input_is_named(act, message):
    with pytest.raises(ValueError, match=message):
        act()


def test_a_matrix_is_not_a_shape():
    with pytest.raises(TypeError, match="shape must be a Shape such as BallShape"):
        Ellipsoid([0.0], np.eye(1))
