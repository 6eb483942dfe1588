"""Certificates: never violated, attained where they should be, and never better than the truth allows."""

from math import inf, sqrt

import numpy as np
import pytest
from scipy.optimize import nnls
from scipy.sparse import csr_matrix

from ellipsoid import CELLIP, IELLIP


def best_margin(Z):
    """The largest margin of a unit vector on the rows of Z: the distance of their convex hull from 0."""
    big = 1e4
    weights, _ = nnls(np.vstack([Z.T, big * np.ones(len(Z))]), np.append(np.zeros(Z.shape[1]), big))
    return float(np.linalg.norm(Z.T @ (weights / weights.sum())))


def named(model, name, comparator=None):
    return next(c for c in model.certificates(comparator) if c.name == name)


def sound(model, comparator=None):
    return [c for c in model.certificates(comparator) if not c.observed <= c.bound]


def noisy(Y, rng, share, classes):
    return [((-y if classes == 1 else {int(rng.integers(classes))}) if rng.random() < share else y) for y in Y]


def known(classes):
    return [-1, 1] if classes == 1 else list(range(classes))


def learn(dense, model, X, Y, classes):
    return model.partial_fit(X, dense.labels(Y, classes), classes=known(classes))


# -- CELLIP -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("trigger", ["mistake", "margin", "always"])
@pytest.mark.parametrize("cut", ["paper", "minvol"])
@pytest.mark.parametrize("classes", [1, 3])
def test_cellip_bounds_hold_on_separable_streams(dense, classes, cut, trigger):
    """Some unit vector has the margin: mistakes, and those still to come, stay below their bounds at every moment."""
    for seed in range(12):
        rng = np.random.default_rng(seed)
        margin, a = float(rng.choice([0.05, 0.1, 0.2])), float(rng.choice([0.4, 0.8, 1.0]))
        X, Y, U = dense.separable(rng, 120, 4, margin, classes=classes)
        model = CELLIP(margin=margin, a=a, cut=cut, trigger=trigger, fit_intercept=False)
        promises = []
        for i in range(0, 120, 20):
            learn(dense, model, X[i : i + 20], Y[i : i + 20], classes)
            assert not sound(model, U)
            assert model.infeasible_ == 0
            promises.append((model.mistakes_, named(model, "mistakes still to come").bound))
            assert named(model, "best unit margin").bound >= margin
        assert all(model.mistakes_ - made <= left for made, left in promises)
        R, r = sqrt(1.0 if classes == 1 else 2.0), 1.0 + (1.0 - a) * margin
        if cut == "paper":
            v0 = margin * (r - a) / (R + margin)
            bound = R**2 * (r**2 - v0**2) / (a * margin) ** 2
            assert named(model, "mistakes").bound == pytest.approx(bound, rel=1e-6)
            assert promises[-1][1] < bound
        elif a < 1.0:
            dim = model.version_space_.dim
            assert named(model, "mistakes").bound <= 2.0 * dim**2 * np.log(r / (margin * (r - a) / (R + margin))) * 1.01
            assert promises[-1][1] < named(model, "mistakes").bound


@pytest.mark.interpreted(3)
@pytest.mark.parametrize("cut", ["paper", "minvol"])
@pytest.mark.parametrize("classes", [1, 3])
def test_cellip_bounds_hold_on_any_stream(dense, classes, cut):
    """Noise makes them infinite, never wrong."""
    refuted = 0
    for seed in range(25):
        rng = np.random.default_rng(seed)
        X, Y, _ = dense.separable(rng, 80, 3, 0.02, classes=classes)
        X *= rng.choice([0.3, 1.0, 5.0]) * rng.uniform(0.5, 1.0, size=(80, 1))
        Y = noisy(Y, rng, float(rng.choice([0.0, 0.02, 0.2])), classes)
        X[rng.integers(80)] *= float(rng.random() < 0.7)
        margin = float(rng.choice([0.02, 0.1, 0.3]))
        model = learn(dense, CELLIP(margin=margin, cut=cut, trigger="margin", fit_intercept=False), X, Y, classes)
        assert not sound(model)
        refuted += model.infeasible_ > 0
        if model.infeasible_:
            assert named(model, "mistakes").bound == named(model, "mistakes still to come").bound == inf
    assert 5 < refuted < 25


def test_main_bound_is_attained():
    d = 100
    model = CELLIP(margin=0.1, fit_intercept=False).partial_fit(np.eye(d), np.ones(d), classes=[-1, 1])
    certificate = named(model, "mistakes")
    assert certificate.observed == 100
    assert 100.0 <= certificate.bound <= 100.0 * (1.0 + 1e-6)
    assert named(model, "mistakes still to come").bound <= 1e-6
    before = CELLIP(margin=0.1, fit_intercept=False).partial_fit(np.eye(d)[:40], np.ones(40), classes=[-1, 1])
    assert named(before, "mistakes still to come").bound == pytest.approx(60.0)


@pytest.mark.parametrize("cut", ["paper", "minvol"])
@pytest.mark.parametrize("classes", [1, 3])
def test_no_classifier_beats_the_margin_certificate(dense, classes, cut):
    """Against the exact maximum margin on the update examples, which ``update_rounds_`` names."""
    ratios = []
    for seed in range(30):
        rng = np.random.default_rng(seed)
        X, Y, _ = dense.separable(rng, 150, 3, 0.05, classes=classes)
        X *= rng.choice([0.5, 1.0, 4.0])
        margin = float(rng.choice([0.02, 0.05, 0.2]))
        model = CELLIP(margin=margin, cut=cut, trigger="margin", fit_intercept=False)
        truth = dense.run(model, X, Y, classes)
        learn(dense, model, X, Y, classes)
        assert model.update_rounds_.tolist() == [t + 1 for t, r in enumerate(truth) if r.outcome == "cut"]
        exact = best_margin(np.array([truth[t - 1].z for t in model.update_rounds_]))
        if model.infeasible_:
            exact = best_margin(np.array([truth[t - 1].z for t in [*model.update_rounds_, model.infeasible_round_]]))
        bound = named(model, "best unit margin").bound
        assert exact <= bound * (1.0 + 1e-6)
        ratios.append(bound / max(exact, 1e-3))
    assert np.median(ratios) < 20.0


# -- IELLIP -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("trigger", ["mistake", "margin"])
@pytest.mark.parametrize("classes", [1, 3])
def test_iellip_bounds_hold_on_any_stream(dense, classes, trigger):
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X, Y, U = dense.separable(rng, 150, 5, 0.05, classes=classes)
        X *= rng.uniform(0.2, 2.0, size=(150, 1))
        Y = noisy(Y, rng, float(rng.choice([0.0, 0.1])), classes)
        c, b = [(0.1, 0.3), (0.5, 0.9), (0.3, 1.0), (0.9, 0.5), (0.0, 0.3)][seed % 5]
        decay = "round" if seed % 2 else "update"
        model = IELLIP(margin=0.5, c=c, b=b, decay=decay, trigger=trigger, fit_intercept=False)
        truth = dense.run(model, X, Y, classes)
        learn(dense, model, X, Y, classes)
        updates = [truth[t - 1] for t in model.update_rounds_]
        assert len(updates) == model.updates_ == truth[-1].updates
        Z = np.array([r.z for r in updates])
        margin = named(model, "average margin of the unit comparator on the updates", U)
        assert best_margin(Z) <= margin.bound * (1.0 + 1e-9)
        for comparator in (U, rng.normal(size=U.shape), 100.0 * U, None):
            assert not sound(model, comparator)


def test_margin_certificate_is_the_weighted_sum_of_the_updates(dense):
    """h = sum a_k z_k with a_k = (goal - (1 - c_k) n_k) / (v_k D_k), A = sum a_k."""
    rng = np.random.default_rng(3)
    X, Y, U = dense.separable(rng, 100, 5, 0.05)
    Y = noisy(Y, rng, 0.1, 1)
    goal, c, b = 0.5, 0.5, 0.8
    model = IELLIP(margin=goal, c=c, b=b, fit_intercept=False)
    P, D, h, A, k = np.eye(5), 1.0, np.zeros(5), 0.0, 0
    for r in dense.run(model, X, Y):
        if r.outcome == "cut":
            now = c * b**k
            D *= 1.0 - now
            weight = (goal - (1.0 - now) * r.n) / (float(r.z @ P @ r.z) * D)
            h, A, P, k = h + weight * r.z, A + weight, r.P, k + 1
    model.partial_fit(X, Y, classes=[-1, 1])
    certificate = named(model, "average margin of the unit comparator on the updates", U)
    assert certificate.bound == pytest.approx(np.linalg.norm(h) / A, rel=1e-6)
    assert certificate.observed == pytest.approx(float(U[0] @ h) / A, rel=1e-9)


@pytest.mark.parametrize("trigger", ["mistake", "margin"])
def test_iellip_separable_bound(dense, trigger):
    """M <= (R |u| / g)^2 / D_N, and the certificate is no worse."""
    for seed in range(15):
        rng = np.random.default_rng(seed)
        g = 0.1
        X, Y, U = dense.separable(rng, 300, 8, g)
        c, b = [(0.1, 0.3), (0.5, 0.5), (0.8, 0.1)][seed % 3]
        model = IELLIP(margin=g, c=c, b=b, trigger=trigger, fit_intercept=False).partial_fit(X, Y, classes=[-1, 1])
        D = np.prod(1.0 - c * b ** np.arange(float(model.updates_)))
        assert model.mistakes_ <= 1.0 / g**2 / D
        if trigger == "mistake":
            assert model.mistakes_ <= named(model, "mistakes", U).bound <= 1.0 / g**2 / D * (1.0 + 1e-6)


def test_iellip_general_bound(dense):
    """M <= R^2 (|u|^2 + sum h(l_k) / |z_k|^2) / (g^2 D_N), h quadratic beyond the margin, for any comparator."""
    for seed in range(30):
        rng = np.random.default_rng(seed)
        X, Y, U = dense.separable(rng, 120, 4, 0.02)
        X *= rng.uniform(0.3, 1.0, size=(120, 1))
        Y = noisy(Y, rng, 0.15, 1)
        g, c, b = 0.2, 0.5, 0.5
        model = IELLIP(margin=g, c=c, b=b, fit_intercept=False).partial_fit(X, Y, classes=[-1, 1])
        Z = (np.array(Y)[:, None] * X)[model.update_rounds_ - 1]
        D = np.prod(1.0 - c * b ** np.arange(float(model.updates_)))
        R2 = (Z**2).sum(axis=1).max()
        for u in (U[0], rng.normal(size=4), np.zeros(4)):
            loss = np.maximum(0.0, g - Z @ u)
            h = np.where(loss <= g, 2.0 * g * loss, g**2 + loss**2)
            assert model.mistakes_ <= R2 * (u @ u + (h / (Z**2).sum(axis=1)).sum()) / (g**2 * D) * (1.0 + 1e-9)


def test_certificates_survive_a_third_label(dense):
    """A binary run that becomes multiclass has the certificates of the run with pairs of rows from the start."""
    rng = np.random.default_rng(5)
    X, Y, U = dense.separable(rng, 150, 4, 0.02, classes=3)
    y = np.array([min(label) for label in Y])
    y[:40] = np.arange(40) % 2
    Y = [{int(k)} for k in y]
    model = IELLIP(c=0.5, b=0.7, fit_intercept=False).partial_fit(X, y)
    truth = dense.run(model, X[1:], Y[1:], 3)
    order = [int(k) for k in model.classes_]
    assert order == [0, 1, 2]
    updates = [truth[t - 2].z for t in model.update_rounds_]
    margin = named(model, "average margin of the unit comparator on the updates", U)
    assert best_margin(np.array(updates)) <= margin.bound * (1.0 + 1e-9)
    assert not sound(model, U)
    # The weights a_k make h of the updates: h lies in the cone, and its mean margin is that of a convex combination.
    pair = IELLIP(c=0.5, b=0.7, fit_intercept=False)
    pair.partial_fit(X[1:], np.eye(3, dtype=int)[y[1:]])
    np.testing.assert_allclose(pair.coef_, model.coef_, rtol=1e-9, atol=1e-12)
    other = named(pair, "average margin of the unit comparator on the updates", U)
    assert margin.bound == pytest.approx(other.bound, rel=1e-9)
    assert margin.observed == pytest.approx(other.observed, rel=1e-9)
    assert named(model, "mistakes", U).bound == pytest.approx(named(pair, "mistakes", U).bound, rel=1e-9)


def test_certificates_before_anything_happened(dense):
    for model in (CELLIP(fit_intercept=False), IELLIP(fit_intercept=False)):
        model.partial_fit(np.zeros((1, 2)), [1], classes=[-1, 1])
        assert not sound(model)
    quiet = IELLIP(fit_intercept=False).partial_fit(np.ones((1, 2)), np.array([[1, 1]]))
    assert not sound(quiet)
    assert named(quiet, "mistakes").bound == 0.0


@pytest.mark.parametrize(("b", "c"), [(0.5, 0.99), (0.9, 0.9), (0.9, 0.99)])
@pytest.mark.parametrize("noise", [1e-3, 1e-5])
def test_a_margin_that_every_row_has_is_not_denied_where_the_shape_is_steep(b, c, noise):
    # So wide that the shape is kept by its examples, whose rounding a steep shape makes larger.
    width, n = 100_000, 200
    for seed in range(8):
        rng = np.random.default_rng(seed)
        y = rng.integers(0, 2, n)
        Z = np.column_stack([np.ones(n), noise * rng.normal(size=(n, 3))]) * np.where(y == 1, 1, -1)[:, None]
        X = csr_matrix((Z.ravel(), np.tile(np.arange(4), n), np.arange(0, 4 * n + 1, 4)), shape=(n, width))
        model = IELLIP(b=b, c=c, trigger="margin", fit_intercept=False).partial_fit(X, y, classes=[0, 1])
        margin = model.certificates(np.eye(1, width)[0])[-1]
        assert margin.observed <= 1.0 <= margin.bound


@pytest.mark.parametrize("trigger", ["mistake", "margin"])
def test_rows_too_short_for_the_shape_bound_no_mistakes(trigger):
    model = IELLIP(b=0.9, c=0.5, trigger=trigger, fit_intercept=False)
    model.partial_fit([[1.2e-150, 0.0]] * 6, [1, 0, 0, 0, 0, 0], classes=[0, 1])
    mistakes = model.certificates([1.0, 0.0])[0]
    assert mistakes.observed == 6 <= mistakes.bound


@pytest.mark.parametrize("kernel", [{}, {"kernel": "linear"}])
def test_a_shape_that_rounding_has_made_singular_proves_nothing(kernel, monkeypatch):
    model = IELLIP(**kernel).partial_fit(csr_matrix(np.eye(3)), [0, 1, 0])

    def singular(*_):
        raise np.linalg.LinAlgError("Singular matrix")

    monkeypatch.setattr(np.linalg, "solve", singular)
    assert [certificate.bound for certificate in model.certificates()] == [inf] * len(model.certificates())
