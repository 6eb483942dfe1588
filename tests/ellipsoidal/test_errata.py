"""What the paper says of CELLIP and what is right: a test for each row of the errata, with the number that tells them
apart; test_errata_iellip.py has the rest.

Yang, Jin, Ye, "Online learning by ellipsoid method" (ICML 2009), its appendix and slides.
"""

from math import inf, log, sqrt

import numpy as np
import pytest

from ellipsoid import CELLIP, Ellipsoid


def main_bound(g, a, r, R=1.0):
    """M <= R^2 (r^2 - v0^2) / (a g)^2."""
    v0 = g * (r - a) / (R + g)
    return R**2 * (r**2 - v0**2) / (a * g) ** 2


def printed_bound(g, a):
    """Eq. (13), for its own start r^2 = 1 + (1-a) g."""
    ball = (1.0 - a) * g
    if ball == 0.0:
        return inf
    return (log(1.0 + ball) - 2.0 * log(ball)) / -log(1.0 - (a * g / (1.0 + ball)) ** 2)


def mistakes(model, X, y):
    return model.set_params(fit_intercept=False).partial_fit(X, y, classes=[-1, 1]).mistakes_


def test_start_ball_needs_the_square():
    a = g = 0.5
    u = np.array([1.0, 0.0, 0.0])
    q = 1.25 * u  # at distance (1-a) g from u
    assert q @ q / (1.0 + (1.0 - a) * g) == 1.25
    assert not Ellipsoid.ball(np.zeros(3), sqrt(1.25)).contains([q]).any()
    right = CELLIP(margin=g, a=a, fit_intercept=False).partial_fit([u], [1], classes=[-1, 1])
    printed = CELLIP(margin=g, a=a, radius=sqrt(1.25), fit_intercept=False).partial_fit([u], [1], classes=[-1, 1])
    assert right.version_space_.contains([q]).all()
    assert not printed.version_space_.contains([q]).any()


def test_theorem_3_mixes_two_starts(dense):
    g, a = 0.1, 0.5
    r = sqrt(1.0 + (1.0 - a) * g)
    assert round(printed_bound(g, a)) == 2661
    assert round(main_bound(g, a, r)) == 419
    grid = [(g, a) for g in np.geomspace(1e-3, 1.0, 25) for a in np.linspace(0.02, 0.98, 25)]
    ratios = [printed_bound(g, a) / main_bound(g, a, sqrt(1.0 + (1.0 - a) * g)) for g, a in grid]
    assert min(ratios) >= 1.85
    assert printed_bound(g, 1.0) == inf
    assert main_bound(g, 1.0, 1.0) == pytest.approx(1.0 / g**2)
    X, Y, _ = dense.separable(np.random.default_rng(0), 2000, 20, g)
    assert mistakes(CELLIP(margin=g, a=a, radius=r), X, Y) <= main_bound(g, a, r)
    assert mistakes(CELLIP(margin=g), X, Y) <= 1.0 / g**2


@pytest.mark.parametrize(("d", "a", "claim"), [(225, 0.85, 159.9), (400, 0.8, 228.0)])
def test_final_bound_of_appendix_b_is_false(d, a, claim):
    g = d**-0.5
    ball = (1.0 - a) * g
    r = sqrt(1.0 + ball)
    # One round more than the quotient: the first one is free.
    printed = 1.0 + (log(1.0 + ball) - 2.0 * log(ball)) / -log(1.0 - a * g / r)
    assert printed == pytest.approx(claim, abs=0.05)
    M = mistakes(CELLIP(margin=g, a=a, radius=r), np.eye(d), np.ones(d))
    assert M == d > printed
    assert main_bound(g, a, r) >= M


def test_step_of_appendix_b_fails_from_three_dimensions_on():
    def step(d, alpha):
        return (1.0 - alpha**2) ** ((d - 1) / 2) * (1.0 - alpha) <= (1.0 - alpha) ** (d / 2)

    alphas = np.linspace(0.01, 0.99, 99)
    assert all(step(1, alpha) and step(2, alpha) for alpha in alphas)
    for d in (3, 4, 10, 100):
        assert not all(step(d, alpha) for alpha in alphas)


def test_volume_is_bounded_from_above_by_the_product(dense):
    """vol_t <= the product of (1 - alpha^2)^(d/2); the appendix has >=."""
    X, Y, _ = dense.separable(np.random.default_rng(1), 200, 5, 0.1)
    model = CELLIP(margin=0.1, fit_intercept=False)
    alphas = np.array([r.alpha for r in dense.run(model, X, Y) if r.outcome == "cut"])
    model.partial_fit(X, Y, classes=[-1, 1])
    assert len(alphas) == model.updates_ >= 3
    assert model.log_volume_ < 5 * np.log1p(-(alphas**2)).sum()


def test_slides_same_as_perceptron_up_to_a_constant():
    g, a = 0.01, 0.5
    r = sqrt(1.0 + (1.0 - a) * g)
    assert printed_bound(g, a) == pytest.approx(4.3e5, rel=0.01)
    assert main_bound(g, a, r) == pytest.approx(4.0e4, rel=0.01)
    # The extra factor grows like log(1/g); the main bound's does not grow.
    printed, right = (
        [f(g) * g**2 for g in (1e-1, 1e-3, 1e-5)]
        for f in (lambda g: printed_bound(g, a), lambda g: main_bound(g, a, 1.0))
    )
    assert printed[2] > 2.0 * printed[0] > 2.0 * right[0]
    assert right[2] < 4.001


def test_inner_ball_of_lemma_1(dense):
    """A ball of radius v0 around (r - v0) u stays inside: a lower bound on what is left, from |x| <= 1."""
    g, a = 0.2, 0.5
    r = 1.0 + (1.0 - a) * g
    X, Y, U = dense.separable(np.random.default_rng(2), 300, 4, g)
    model = CELLIP(margin=g, a=a, trigger="margin", fit_intercept=False).partial_fit(X, Y, classes=[-1, 1])
    v0 = g * (r - a) / (1.0 + g)
    assert v0 == pytest.approx((1.0 - a) * g)
    ball = Ellipsoid.ball((r - v0) * U[0], v0)
    points = ball.sample(500, 0)
    points = ball.centre + (points - ball.centre) * (v0 / np.linalg.norm(points - ball.centre, axis=1))[:, None]
    assert model.version_space_.contains(points, tol=1e-9).all()
    assert model.updates_ > 5


def test_ellipsoid_covers_the_start_ball_only(dense):
    """The version space is a cone cut off: with q, 2q is in it; no ellipsoid holds it."""
    X, Y, U = dense.separable(np.random.default_rng(3), 100, 3, 0.2)
    model = CELLIP(margin=0.2, fit_intercept=False).partial_fit(X, Y, classes=[-1, 1])
    far = 100.0 * U
    assert (np.array(Y) * (X @ far[0]) >= 0.2).all()
    assert not model.version_space_.contains(far).any()
    assert model.version_space_.contains(U).all()


def test_rho_may_be_zero():
    """Theorem 1 asks rho > 0; the paper's own cut has rho = 0 and covers."""
    model = CELLIP(margin=0.5, fit_intercept=False).partial_fit([[1.0, 0.0]], [1], classes=[-1, 1])
    assert model.coef_[0, 0] == pytest.approx(0.5)  # (alpha + rho) r, alpha = 0.5
    points = Ellipsoid.ball([0.0, 0.0], 1.0).sample(2000, 0)
    assert model.version_space_.contains(points[points[:, 0] >= 0.5]).all()


def first_cut(alpha, d=3):
    """P and its inverse after a first cut of this depth along g = e_1 from the unit ball."""
    model = CELLIP(margin=alpha, fit_intercept=False).partial_fit(np.eye(1, d), [1], classes=[-1, 1])
    P = model.version_space_.shape_matrix()
    return P, np.linalg.inv(P)


def test_inverse_update_in_the_text():
    """Coefficient of gg': 2 al / ((1-al)^2 (1+al)), not (1-al)^2 (1-al); the first factor is 1 / (1-al^2)."""
    alpha = 0.25
    _, inverse = first_cut(alpha)
    first, right = 1.0 / (1.0 - alpha**2), 2.0 * alpha / ((1.0 - alpha) ** 2 * (1.0 + alpha))
    np.testing.assert_allclose(inverse, first * np.eye(3) + right * np.diag([1.0, 0.0, 0.0]), rtol=1e-12)
    wrong = 2.0 * alpha / ((1.0 - alpha) ** 2 * (1.0 - alpha))
    printed = first * np.eye(3) + wrong * np.diag([1.0, 0.0, 0.0])
    assert wrong / right == pytest.approx((1.0 + alpha) / (1.0 - alpha))
    assert np.linalg.norm(printed - inverse) / np.linalg.norm(inverse) > 0.2


def test_first_factor_of_equation_23():
    alpha = 0.25
    _, inverse = first_cut(alpha)
    assert inverse[1, 1] == pytest.approx(1.0 / (1.0 - alpha**2))
    assert inverse[1, 1] != pytest.approx(1.0 - alpha**2, rel=0.1)


def test_equation_14_starts_from_the_inverse(dense):
    """P^{-1} = theta_0 P_1^{-1} + sum of theta_k z_k z_k', theta_0 = prod 1 / (1 - alpha^2)."""
    X, Y = np.eye(4)[[0, 1]] + 0.3 * np.eye(4)[[1, 2]], [1, -1]
    model = CELLIP(margin=0.4, radius=2.0, fit_intercept=False)
    cuts = [r for r in dense.run(model, X, Y) if r.outcome == "cut"]
    model.partial_fit(X, Y, classes=[-1, 1])
    theta0 = np.prod([1.0 / (1.0 - r.alpha**2) for r in cuts])
    Z = np.array([r.z for r in cuts])
    rest = np.linalg.inv(model.version_space_.shape_matrix()) - theta0 * np.eye(4) / 4.0
    basis = np.linalg.qr(Z.T)[0]
    outside = np.eye(4) - basis @ basis.T
    assert len(cuts) == 2
    np.testing.assert_allclose(outside @ rest @ outside, 0.0, atol=1e-12)
    printed = np.linalg.inv(model.version_space_.shape_matrix()) - theta0 * np.eye(4) * 4.0
    assert np.abs(outside @ printed @ outside).max() > 1.0


def test_product_of_equation_22():
    """P <= prod (1 - al^2) P_1, not prod (1 - al)^2: an orthogonal direction keeps 0.75, not 0.25."""
    P, _ = first_cut(0.5)
    assert P[1, 1] == pytest.approx(0.75)
    assert np.linalg.eigvalsh(P).max() <= 0.75 * (1.0 + 1e-12)
    assert np.linalg.eigvalsh(P).max() > 0.25


def test_zero_margin_never_moves(dense):
    X, Y, _ = dense.separable(np.random.default_rng(5), 150, 5, 0.05)
    w, P, wrong = np.zeros(5), np.eye(5), 0
    for x, y in zip(X, Y, strict=True):
        n = y * float(w @ x)
        wrong += n <= 0.0
        alpha = (0.0 - n) / sqrt(x @ P @ x)
        Pg = P @ (y * x) / sqrt(x @ P @ x)
        w, P = w + alpha * Pg, (1.0 - alpha**2) * P + ((1.0 - alpha) ** 2 - (1.0 - alpha**2)) * np.outer(Pg, Pg)
    assert wrong == 150
    with pytest.raises(ValueError, match="a \\* margin must be positive"):
        CELLIP(a=0.0).partial_fit(X, Y)
    assert mistakes(CELLIP(a=0.0, cut="minvol"), X, Y) < 30


def test_depth_above_one_is_an_empty_intersection(dense):
    """Eq. (11) applied blindly makes P indefinite; it is a proof instead."""
    X, Y = np.eye(2)[[0, 0]], [1, -1]
    w, P = np.zeros(2), np.eye(2)
    threshold = 0.626
    for x, y in zip(X, Y, strict=True):
        alpha = (threshold - y * float(w @ x)) / sqrt(x @ P @ x)
        Pg = P @ (y * x) / sqrt(x @ P @ x)
        w, P = w + alpha * Pg, (1.0 - alpha**2) * P + ((1.0 - alpha) ** 2 - (1.0 - alpha**2)) * np.outer(Pg, Pg)
    assert 1.0 - alpha**2 == pytest.approx(-10.2, abs=0.05)
    assert np.linalg.eigvalsh(P).min() < -1.0
    model = CELLIP(margin=threshold, fit_intercept=False).partial_fit(X, Y, classes=[-1, 1])
    assert (model.infeasible_, model.infeasible_round_) == (1, 2)
    assert np.linalg.eigvalsh(model.version_space_.shape_matrix()).min() > 0.0


def test_central_cut_of_the_slides_lacks_the_matrix(dense):
    """Step P h / ((d+1) sqrt(h'Ph)), not h / ((d+1) sqrt(h'Ph))."""
    model = CELLIP(margin=0.0, cut="minvol", fit_intercept=False).partial_fit([[1.0, 0.0]], [1], classes=[-1, 1])
    w, P = model.coef_[0], model.version_space_.shape_matrix()
    h = np.array([0.0, 1.0])  # <w, h> = 0: the cut goes through the centre
    model.partial_fit([h], [1])
    right = P @ h / (3.0 * sqrt(h @ P @ h))
    np.testing.assert_allclose(model.coef_[0] - w, right, rtol=1e-12)
    assert np.linalg.norm(h / (3.0 * sqrt(h @ P @ h)) - right) > 0.05
