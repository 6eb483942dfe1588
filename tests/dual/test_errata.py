"""Where the paper and the corrected mathematics part, the learner follows the mathematics."""

import numpy as np
import pytest

from ellipsoid import QuasiAdditive
from ellipsoid.certificates.dual import least_increase
from ellipsoid.certificates.rounding import Span
from ellipsoid.links.functions import BALANCED, NORM, SIMPLEX, Link


def run(X, y, **settings):
    model = QuasiAdditive(fit_intercept=False, **settings)
    return model.partial_fit(np.asarray(X, dtype=float), y, classes=[0, 1])


def test_the_missing_log_n(six):
    """Equation 26 prints log sum exp; G(0) = 0 needs the mean, or the dual starts at -log n."""
    for kind in (SIMPLEX, BALANCED):
        assert Link(kind).conjugate(np.zeros((1, 5))) == 0.0
    X, y = six
    model = run(X, y, link="entropy", update="fixed", C=0.4, margin=0.5)
    promised = (0.5 * 0.4 - 0.5 * 0.4**2) * model.mistakes_
    assert promised == pytest.approx(0.24)
    assert model.dual_objective_ == pytest.approx(0.6582010789643318, abs=1e-12)
    assert model.dual_objective_ - np.log(2.0) == pytest.approx(-0.035, abs=1e-3)
    assert promised <= model.dual_objective_


def test_balanced_is_not_the_simplex():
    """Example 2: alternating unit vectors, all labels negative. No distribution scores below zero."""
    X, y = np.tile(np.eye(2), (30, 1)), np.zeros(60, dtype=int)
    assert run(X, y, link="entropy", update="fixed", C=1.0).mistakes_ == 60
    assert run(X, y, link="balanced", update="fixed", C=1.0).mistakes_ == 2


def test_the_sign_in_the_curvature_of_the_p_norm():
    """Equation 27 with sign(theta) would bound <x, Hx> = 1 by -3 at theta = (-1, 0), x = (1, 0), p = 4."""
    link, step = Link(NORM, 4.0), 1e-4
    values = [link.conjugate(np.array([[-1.0 + shift, 0.0]])) for shift in (-step, 0.0, step)]
    curvature = (values[0] - 2.0 * values[1] + values[2]) / step**2
    assert curvature == pytest.approx(1.0, abs=1e-6)
    assert -3.0 < curvature <= 3.0
    # The bound that is used holds at every theta, zero included, where G has no second derivative.
    rng = np.random.default_rng(0)
    for theta in [np.zeros((1, 3)), *rng.normal(size=(50, 1, 3))]:
        z = rng.normal(size=(1, 3))
        slope = (link.conjugate(theta + 1e-6 * z) - link.conjugate(theta - 1e-6 * z)) / 2e-6
        bound = link.conjugate(theta) + slope + 1.5 * np.linalg.norm(z[0], 4) ** 2
        assert link.conjugate(theta + z) <= bound + 1e-8


def test_gamma_is_in_the_loss():
    """Equation 28 with the loss at margin 1 lowers the dual: margin 0.1, score 0.5, unit row: tau = 0.5, -0.325."""
    tau, margin, score = 1.0 - 0.5, 0.1, 0.5
    assert tau * (margin - score) - 0.5 * tau**2 == pytest.approx(-0.325)
    # A first example brings the score of the second to 0.5, which is more than the margin: nothing to do.
    start = run([[1.0, 0.0]], [1], link="euclidean", update="adaptive", C=1.0, margin=0.5)
    assert start.decision_function([[1.0, 0.0]])[0] == 0.5
    model = run([[5.0, 0.0]], [1], link="euclidean", update="adaptive", C=1.0, margin=0.1)
    assert model.decision_function([[1.0, 0.0]])[0] == 0.5
    before = model.dual_objective_
    model.partial_fit([[1.0, 0.0]], [1])
    assert model.updates_ == 1
    assert model.dual_objective_ == before


def test_the_increase_is_c_times_mu():
    """After theorem 3: C mu(1) = 0.375 with C = 0.5, not mu(1) = 0.75."""
    for update in ("adaptive", "curvature", "exact"):
        model = run([[1.0, 0.0]], [1], link="euclidean", update=update, C=0.5)
        assert model.dual_objective_ == pytest.approx(0.375, abs=1e-15)
    assert 0.375 - 1e-14 < least_increase("best", 1.0, 0.5, Span.exactly(1.0)) <= 0.375


def test_a_fixed_step_wants_c_below_twice_the_margin():
    """Corollary 1 has no condition on C; with C = 2.5 the first unit example lowers the dual by 0.625."""
    model = run([[1.0, 0.0]], [1], link="euclidean", update="fixed", C=2.5)
    assert model.dual_objective_ == pytest.approx(-0.625, abs=1e-15)
    bound = {c.name: c.bound for c in model.certificates(comparator=[1.0, 0.0])}["mistakes"]
    # The bound by the average margin is free of C: one mistake, (R |u| / g)^2 = 1.
    assert bound == pytest.approx(1.0, rel=1e-6)
    fine = run([[1.0, 0.0]], [1], link="euclidean", update="fixed", C=1.9)
    assert fine.dual_objective_ > 0.0


def test_the_average_increase_before_the_first_mistake():
    """Equation 15 divides by the number of mistakes."""
    model = run([[1.0, 1.0]], [1], link="entropy", update="fixed", C=1.0)
    assert model.mistakes_ == 0
    named = {c.name: c for c in model.certificates()}
    assert (named["dual increase on mistakes"].observed, named["mistakes"].bound) == (0.0, 0.0)


@pytest.mark.parametrize("link", ["euclidean", "p-norm"])
def test_predictions_of_a_fixed_step_do_not_depend_on_c(link, six):
    X, y = six
    runs = [run(X, y, link=link, update="fixed", C=C) for C in (0.25, 1.0, 8.0)]
    for model in runs:
        np.testing.assert_allclose(model.coef_ / model.C, runs[0].coef_ / 0.25, rtol=1e-12)
    # The entropies' do.
    small, large = (run(X, y, link="balanced", update="fixed", C=C) for C in (0.01, 8.0))
    assert np.abs(small.coef_ / 0.01 - large.coef_ / 8.0).max() > 1e-3


def test_the_perceptron_s_bound_with_losses():
    """Theorem 2: M <= L + B^2/2 + B/2 sqrt(B^2 + 4 L) for |x| <= 1 and any w of norm B, L its loss on mistakes."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(200, 4))
    X /= np.linalg.norm(X, axis=1)[:, None]
    u = np.array([1.0, -1.0, 0.5, 0.0])
    y = np.where(rng.random(200) < 0.15, rng.integers(0, 2, 200), X @ u > 0.0).astype(int)
    model, wrong = QuasiAdditive(update="fixed", fit_intercept=False), []
    for t in range(200):
        before = model.mistakes_ if t else 0
        model.partial_fit(X[t : t + 1], y[t : t + 1], classes=[0, 1])
        if model.mistakes_ > before:
            wrong.append(t)
    for size in (0.5, 2.0, 5.0):
        w = size * u / np.linalg.norm(u)
        L = np.maximum(0.0, 1.0 - (2 * y[wrong] - 1) * (X[wrong] @ w)).sum()
        assert model.mistakes_ <= L + size**2 / 2 + size / 2 * np.sqrt(size**2 + 4 * L)
        assert model.least_loss(size) <= L + 1e-9
