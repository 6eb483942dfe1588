"""Formulas that other programs use for these learners, each with an input on which it is wrong.

A right step is the optimum of its problem: here that means the condition which the optimum satisfies, or our own step,
which ``test_steps`` holds to it.
"""

from math import inf, sqrt

import numpy as np
import pytest
from scipy.special import ndtr, ndtri

from ellipsoid import AROW, ConfidenceWeighted, SecondOrderPerceptron
from ellipsoid.rules.confidence import SQUARED, STDEV, UNREACHED, VARIANCE
from ellipsoid.rules.gaussian import GaussianRule

from .streams import noisy, signed
from .test_steps import step


def left_of(alpha, v, phi):
    """u, the variance that a confidence-weighted step leaves."""
    s = alpha * phi * sqrt(v)
    return v / (s / 2 + sqrt(1 + s * s / 4)) ** 2


def test_squares_written_as_doubles():
    """LIBOL SCW2, olpy SCW2: ``v*2`` for v^2 and ``phi*2`` for phi^2 under the root."""
    m, v, phi, C = 0.3, 0.25, 1.0, 1.0
    n = v + 1 / (2 * C)
    wrong = -(2 * m * n + phi**2 * m * v) + sqrt(phi**4 * m**2 * v * 2 + 4 * n * v * phi**2 * (n + v * phi * 2))
    wrong /= 2 * (n**2 + n * v * phi**2)
    right = step(GaussianRule(UNREACHED, SQUARED, C, phi, 0.0), m, v)[0]
    assert (wrong, right) == pytest.approx((0.3108, 0.2295), abs=1e-4)
    # m + alpha n = phi sqrt(u) is where the derivative of the problem vanishes.
    assert m + right * n == pytest.approx(phi * sqrt(left_of(right, v, phi)))
    assert abs(m + wrong * n - phi * sqrt(left_of(wrong, v, phi))) > 0.05


def shared_step(m, v, phi, middle):
    """alpha of one covariance for all classes, from 4 psi (alpha v)^2 + middle m alpha v + m^2 - 2 phi^2 v = 0."""
    psi = 1 + phi**2 / 2
    a, b, c = 4 * psi * v * v, middle * m * v, m * m - 2 * phi**2 * v
    return (-b + sqrt(b * b - 4 * a * c)) / (2 * a)


def test_a_middle_coefficient():
    """LIBOL M_CW, M_SCW1: 4 psi where the equation has 2 + 2 psi; the two agree at m = 0 only."""
    m, v, phi = -0.5, 1.0, 1.0
    psi = 1 + phi**2 / 2
    wrong, right = shared_step(m, v, phi, 4 * psi), shared_step(m, v, phi, 2 + 2 * psi)
    assert (wrong, right) == pytest.approx((0.8451, 0.7872), abs=1e-4)
    for alpha, meets in ((wrong, False), (right, True)):
        deviation = (-alpha * phi * v + sqrt(alpha**2 * phi**2 * v**2 + 8 * v)) / 2
        assert (m + 2 * alpha * v == pytest.approx(phi * deviation)) is meets
    assert shared_step(0.0, v, phi, 4 * psi) == shared_step(0.0, v, phi, 2 + 2 * psi)


def test_a_trigger_that_is_too_early_content():
    """LIBOL M_CW, M_SCW1, M_SCW2: m < phi sqrt(v), though the difference of two scores has the variance 2 v."""
    m, v, phi = 1.2, 1.0, 1.0
    assert not m < phi * sqrt(v)
    assert ndtr(m / sqrt(2 * v)) == pytest.approx(0.802, abs=1e-3)
    assert ndtr(phi) == pytest.approx(0.841, abs=1e-3)


def test_a_multiclass_step_that_overshoots():
    """LIBOL M_AROW: alpha = l / (v + r) moves the margin by 2 alpha v."""
    v, r, m = 1.0, 0.1, 0.0
    assert m + 2 * v * (1 - m) / (v + r) == pytest.approx(1.82, abs=0.01)
    assert m + 2 * v * (1 - m) / (2 * v + r) < 1.0
    X, y = noisy(np.random.default_rng(1), rows=40, classes=3)
    model = AROW(r=0.1, shape="dense")
    for t in range(len(X)):
        updates = model.updates_ if t else 0
        model.partial_fit(X[t : t + 1], y[t : t + 1], classes=None if t else [0, 1, 2])
        scores = model.decision_function(X[t : t + 1])[0]
        if model.updates_ > updates:
            assert scores[y[t]] - np.delete(scores, y[t]).max() < 1.0


def test_a_perceptron_that_shrinks_on_every_round():
    """LIBOL SOP, olpy SOP: S is downdated by rows that were no mistakes; the published one keeps mistakes only."""
    X, y = noisy(np.random.default_rng(2), rows=400)
    model = SecondOrderPerceptron(shape="dense", fit_intercept=False).partial_fit(X, y, classes=[0, 1])
    S, v, mistakes = np.eye(5), np.zeros(5), 0
    for z in signed(X, y):
        Sz = S @ z
        S = S - np.outer(Sz, Sz) / (1 + z @ Sz)
        if z @ S @ v <= 0.0:
            mistakes, v = mistakes + 1, v + z
    assert np.trace(S) < 0.6 * np.trace(model.ellipsoid_.shape_matrix())
    assert mistakes != model.mistakes_


def test_a_learner_that_never_moves():
    """LIBOL NAROW: r_t = inf, that is no step, where v <= 1 / b; with b = 1 and rows of norm <= 1, always."""
    b, S, updates = 1.0, np.eye(5), 0
    X, _ = noisy(np.random.default_rng(3), rows=50)
    for x in X / np.linalg.norm(X, axis=1).max():
        v = x @ S @ x
        r = v / (b * v - 1) if v > 1 / b else inf
        updates += (1.0 / (v + r)) > 0.0
    assert updates == 0


def test_a_start_variance_beside_r():
    """LIBOL's a beside r: only r / a matters, so that one of the two is enough."""
    X, y = noisy(np.random.default_rng(4), rows=60)
    Z = signed(X, y)

    def run(a, r):
        S, w = a * np.eye(5), np.zeros(5)
        for z in Z:
            v, loss = z @ S @ z, 1 - w @ z
            if loss > 0.0:
                w, S = w + loss / (v + r) * (S @ z), S - np.outer(S @ z, S @ z) / (v + r)
        return w

    model = AROW(r=0.25, shape="dense", fit_intercept=False).partial_fit(X, y, classes=[0, 1])
    np.testing.assert_allclose(run(4.0, 1.0), model.coef_[0], rtol=1e-9)
    np.testing.assert_allclose(run(1.0, 0.25), model.coef_[0], rtol=1e-9)


def test_a_variance_of_the_diagonal_with_the_step_of_the_whole():
    """olpy CW, SCW, SCW2: v is read off the diagonal of S, the step is taken with all of it."""
    phi, x = 1.0, np.array([1.0, 1.0])
    S, w = np.array([[1.0, 0.9], [0.9, 1.0]]), np.array([-0.2, 0.0])
    v, m = x @ np.diag(np.diag(S)) @ x, w @ x
    alpha, kappa, _, _ = step(GaussianRule(UNREACHED, STDEV, inf, phi, 0.0), m, v)
    Sx = S @ x
    after, u = m + alpha * x @ Sx, x @ (S - kappa * np.outer(Sx, Sx) / v) @ x
    assert after > 2.0 * phi * sqrt(max(u, 0.0))  # u is even negative: S is no covariance any more
    model = ConfidenceWeighted(eta=float(ndtr(phi)), shape="dense", fit_intercept=False).partial_fit([x], [1], [0, 1])
    assert model.confidence([x])[0] == pytest.approx(ndtr(phi))


def test_powers_lost_under_a_root():
    """olpy ECCW: sqrt(m^2 phi / 4 + v phi^2 psi) for phi^4 and xi."""
    m, v, phi = -1.0, 0.25, 0.5244
    psi, xi = 1 + phi**2 / 2, 1 + phi**2
    wrong = (-m * psi + sqrt(m**2 * phi / 4 + v * phi**2 * psi)) / (v * xi)
    right = step(GaussianRule(UNREACHED, STDEV, inf, phi, 0.0), m, v)[0]
    assert (wrong, right) == pytest.approx((5.004, 4.593), abs=1e-3)
    for alpha, meets in ((wrong, False), (right, True)):
        assert (m + alpha * v == pytest.approx(phi * sqrt(left_of(alpha, v, phi)))) is meets


def test_a_step_where_none_is_due():
    """SOL ECCW: triggered by m < phi v, where the constraint is m >= phi sqrt(v)."""
    m, v, phi = 2.0, 4.0, 0.8
    psi, xi = 1 + phi**2 / 2, 1 + phi**2
    assert m < phi * v
    assert m >= phi * sqrt(v)
    assert (-m * psi + sqrt(m**2 * phi**4 / 4 + v * phi**2 * xi)) / (v * xi) == pytest.approx(-0.075, abs=1e-3)
    assert step(GaussianRule(UNREACHED, STDEV, inf, phi, 0.0), m, v)[0] == 0.0


def test_an_absolute_threshold_for_steps():
    """JSAT SCW: steps with alpha < 1e-7 are skipped; alpha is one over the unit of the rows."""
    rule = GaussianRule(UNREACHED, STDEV, inf, 1.0, 0.0)
    small, large = step(rule, -1.0, 1.0)[0], step(rule, -1e8, 1e16)[0]
    assert large == pytest.approx(1e-8 * small)
    assert large < 1e-7 < small


def test_a_probability_for_a_quantile():
    """The package ``scw``: phi = Phi(eta), where the constraint needs the quantile of eta."""
    assert ndtr(0.9) == pytest.approx(0.816, abs=1e-3)
    assert ndtri(0.9) == pytest.approx(1.282, abs=1e-3)
    alpha, _, left, _ = step(GaussianRule(UNREACHED, STDEV, inf, float(ndtr(0.9)), 0.0), 0.0, 1.0)
    assert ndtr(alpha / sqrt(left)) < 0.8 < 0.9


def test_the_variance_form_does_not_reach_its_probability():
    """CW of 2008: a margin of phi variances is a probability of Phi(phi sqrt(u)), which is eta only at u = 1."""
    alpha, _, left, _ = step(GaussianRule(UNREACHED, VARIANCE, inf, 1.0, 0.0), 0.0, 0.04)
    assert ndtr(alpha * 0.04 / sqrt(left * 0.04)) == pytest.approx(0.5765, abs=1e-3)
    assert ndtr(1.0) == pytest.approx(0.8413, abs=1e-4)
