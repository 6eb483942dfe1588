"""No bound is ever exceeded, on streams made to hurt; what the bounds rest on, computed from the rows themselves."""

from math import inf, log

import numpy as np
import pytest

from ellipsoid import AROW, IELLIP, NHERD, SCW, ConfidenceWeighted, SecondOrderPerceptron

from .streams import hostile, noisy, separable, signed

ETAS = (0.55, 0.75, 0.9, 0.999)


def drawn(rng):
    """A learner with parameters over many powers of ten, and the number of classes."""
    size = 10.0 ** rng.uniform(-6, 6)
    shape = str(rng.choice(["dense", "dense", "sketch"]))
    kind = rng.integers(7)
    if kind < 2:
        model = AROW(r=size, trigger=str(rng.choice(["margin", "mistake"])), size=3)
    elif kind == 2:
        model = SecondOrderPerceptron(a=size, size=3)
    elif kind == 3:
        model = NHERD(C=size, size=3)
    elif kind == 4:
        model = ConfidenceWeighted(eta=rng.choice(ETAS), variant=str(rng.choice(["stdev", "variance"])), size=3)
    else:
        model = SCW(C=size, eta=rng.choice(ETAS), variant=str(rng.choice(["I", "II"])), size=3)
    return model.set_params(shape=shape, fit_intercept=bool(rng.random() < 0.5)), int(rng.choice([2, 2, 3]))


def comparators(rng, model, X, y):
    """The learner's own weights, others that are near or far, and a least-squares fit."""
    own = model.coef_
    yield None
    yield np.zeros_like(own)
    yield own * 10.0 ** rng.uniform(-3, 3)
    yield own + 0.3 * np.abs(own).max() * rng.normal(size=own.shape)
    yield rng.normal(size=own.shape) * 10.0 ** rng.uniform(-5, 5)
    targets = np.where(y[:, None] == (np.arange(len(own)) if len(own) > 1 else [1]), 1.0, -1.0)
    yield np.linalg.lstsq(X, targets, rcond=None)[0].T


def exceeded(seed):
    """The certificates of one stream that do not hold."""
    rng = np.random.default_rng(seed)
    model, classes = drawn(rng)
    X, y = hostile(rng, rows=int(rng.integers(5, 80)), features=int(rng.integers(1, 7)), classes=classes)
    model.partial_fit(X, y)
    bad, finite = [], 0
    for u in comparators(rng, model, X, y):
        for certificate in model.certificates(u):
            bad += [] if certificate.observed <= certificate.bound else [(seed, model, u, certificate)]
            finite += certificate.bound < inf
    return bad, finite


def test_no_bound_is_exceeded():
    results = [exceeded(seed) for seed in range(60)]
    assert [bad for bad, _ in results if bad] == []
    assert sum(finite for _, finite in results) > 300


@pytest.mark.slow
def test_no_bound_is_exceeded_on_ten_thousand_streams(compiled):
    results = [exceeded(seed) for seed in range(1000, 11_000)]
    assert [bad for bad, _ in results if bad] == []
    assert sum(finite for _, finite in results) > 50_000


def by_name(model, u=None):
    return {certificate.name.split()[0]: certificate for certificate in model.certificates(u)}


def replay(model, X, y):
    """Which rows updated, with the margin and the variance that they had."""
    rows = []
    for t in range(len(X)):
        known = t > 0
        margin = (model.decision_function(X[t : t + 1])[0] if known else 0.0) * (1.0 if y[t] == 1 else -1.0)
        variance = model.ellipsoid_.width(X[t : t + 1])[0] ** 2 if known else X[t] @ X[t]
        before = model.updates_ if known else 0
        model.partial_fit(X[t : t + 1], y[t : t + 1], classes=None if known else [0, 1])
        if model.updates_ > before:
            rows.append((t, margin, variance))
    return rows


@pytest.mark.parametrize("trigger", ["margin", "mistake"])
def test_the_bounds_of_arow_are_those_of_its_rows(trigger):
    X, y = noisy(np.random.default_rng(1), rows=70)
    r = 0.6
    model = AROW(r=r, trigger=trigger, shape="dense", fit_intercept=False)
    rows = replay(model, X, y)
    Z = signed(X, y)[[t for t, _, _ in rows]]
    narrow, L = sum(m > 0.0 for _, m, _ in rows), np.linalg.slogdet(np.eye(5) + Z.T @ Z / r)[1]
    u = np.random.default_rng(2).normal(size=5) + 3.0 * model.coef_[0]
    found = by_name(model, u)
    whole, average = r * u @ u + ((Z @ u) ** 2).sum(), (Z @ u).mean()
    assert found["mistakes"].bound == pytest.approx(np.sqrt(whole * (L + narrow)) / average - narrow, rel=1e-8)
    assert found["squared"].observed == pytest.approx(sum(r * (1.0 - m) ** 2 / (v + r) for _, m, v in rows), rel=1e-8)
    assert found["squared"].bound == pytest.approx(r * u @ u + ((1.0 - Z @ u) ** 2).sum(), rel=1e-8)
    assert found["average"].observed == pytest.approx(average / np.linalg.norm(u), rel=1e-7)
    assert found["average"].bound == pytest.approx(np.linalg.norm(Z.mean(axis=0)), rel=1e-7)
    # Against its own weights the squared bound is an equality, and never on the wrong side of it.
    own = by_name(model)["squared"]
    assert own.observed <= own.bound <= own.observed * (1.0 + 1e-6)


def test_a_sketch_bounds_the_squares_by_no_less():
    X, y = noisy(np.random.default_rng(3), rows=90, features=10)
    model = AROW(shape="sketch", size=4, fit_intercept=False)
    rows = replay(model, X, y)
    assert len(rows) > 20
    Z = signed(X, y)[[t for t, _, _ in rows]]
    u = model.coef_[0]
    (certificate,) = model.certificates()
    assert certificate.observed <= u @ u + ((1.0 - Z @ u) ** 2).sum() <= certificate.bound


@pytest.mark.parametrize("learner", [ConfidenceWeighted(eta=0.8), NHERD(C=0.2), SCW(C=3.0, eta=0.8)])
def test_the_margin_certificate_is_that_of_the_weighted_rows(learner):
    X, y = separable(np.random.default_rng(4), rows=60)
    model = learner.set_params(shape="dense", fit_intercept=False)
    covariance, pulls, weights = np.eye(5), [], []
    for t in range(len(X)):
        z = signed(X, y)[t]
        before = np.linalg.solve(covariance, model.coef_[0]) if t else np.zeros(5)
        updates = model.updates_ if t else 0
        model.partial_fit(X[t : t + 1], y[t : t + 1], classes=None if t else [0, 1])
        covariance = model.ellipsoid_.shape_matrix()
        if model.updates_ > updates:
            gained = np.linalg.solve(covariance, model.coef_[0]) - before
            weights.append(gained @ z / (z @ z))
            np.testing.assert_allclose(gained, weights[-1] * z, rtol=1e-6, atol=1e-8)
            pulls.append(z)
    assert min(weights) > 0.0
    h = np.array(weights) @ np.array(pulls) / sum(weights)
    found = by_name(model)["average"]
    assert found.bound == pytest.approx(np.linalg.norm(h), rel=1e-6)
    unit = model.coef_[0] / np.linalg.norm(model.coef_)
    assert found.observed == pytest.approx(h @ unit, rel=1e-6)


def test_confidence_weighted_mistakes_are_bounded_by_the_determinant():
    X, y = noisy(np.random.default_rng(5), rows=80)
    model = ConfidenceWeighted(eta=0.9, shape="dense").partial_fit(X, y)
    found = by_name(model)["mistakes"]
    assert found.bound == pytest.approx(-model.log_volume_ / log(1.0 + model._core.rule.phi**2), rel=1e-9)
    assert 0 < found.observed <= found.bound


def test_diagonals_and_variants_without_a_proof_say_so():
    X, y = noisy(np.random.default_rng(6), rows=40)
    assert AROW(shape="diagonal").partial_fit(X, y).certificates() == []
    assert NHERD(shape="diagonal").partial_fit(X, y).certificates() == []
    assert SCW(shape="sketch").partial_fit(X, y).certificates() == []
    assert "mistakes" not in by_name(NHERD(shape="dense").partial_fit(X, y))
    assert "mistakes" not in by_name(SCW(shape="dense").partial_fit(X, y))
    assert "mistakes" not in by_name(ConfidenceWeighted(variant="variance", shape="dense").partial_fit(X, y))


def test_a_zero_row_is_a_mistake_that_no_bound_counts():
    X, y = noisy(np.random.default_rng(7), rows=30)
    X[10] = 0.0
    model = AROW(shape="dense", fit_intercept=False).partial_fit(X, y)
    assert by_name(model)["mistakes"].bound == inf
    squares = by_name(model)["squared"]
    assert squares.observed <= squares.bound < inf


@pytest.mark.parametrize("kernel", ["rbf", "poly"])
def test_a_kernel_is_bounded_by_its_own_weights(kernel):
    X, y = noisy(np.random.default_rng(8), rows=60)
    for model in (AROW(kernel=kernel, gamma=0.5), SecondOrderPerceptron(kernel=kernel, gamma=0.5)):
        found = by_name(model.partial_fit(X, y))
        assert all(certificate.observed <= certificate.bound < inf for certificate in found.values())
        with pytest.raises(ValueError, match="comparator must be None"):
            model.certificates(np.zeros((1, 5)))


@pytest.mark.interpreted
@pytest.mark.parametrize("learner", [AROW, SecondOrderPerceptron, IELLIP])
@pytest.mark.parametrize("kernel", ["rbf", "poly"])
def test_weights_of_a_kernel_that_cancel_prove_nothing(learner, kernel):
    """Rows that are told both ways leave weights of which only rounding is left, and that has no direction."""
    rows = np.array([[1.0], [1.0], [1.0], [1.0], [0.7], [0.7], [0.7], [0.7]])
    for y in ([0, 1, 1, 0, 1, 0, 0, 1], [0, 1, 1, 0] * 2, [1, 0, 0, 1] * 2):
        for rounds in (1, 2, 8):
            X, labels = np.tile(rows, (rounds, 1)), np.tile(y, rounds)
            for n in (2, 4, len(X)):
                found = learner(kernel=kernel).partial_fit(X[:n], labels[:n], classes=[0, 1]).certificates()
                assert all(each.observed <= each.bound for each in found), (y, rounds, n, found)


@pytest.mark.interpreted
@pytest.mark.parametrize("learner", [AROW, SecondOrderPerceptron, IELLIP])
def test_rows_far_from_the_origin_are_not_taken_for_others(learner):
    """Their kernel values by products have no right digit; those that were learned, by differences, have all."""
    for seed in range(12):
        rng = np.random.default_rng(seed)
        X = np.column_stack([1e9 * rng.integers(-1, 2, 24), rng.integers(-2, 3, 24)])
        y = rng.integers(0, 3, 24)
        y[:3] = range(3)
        model = learner(kernel="rbf", gamma=0.2).partial_fit(X, y)
        for certificate in model.certificates():
            assert certificate.observed <= certificate.bound, (seed, certificate)


@pytest.mark.parametrize("classes", [2, 4])
def test_the_shape_times_the_sum_of_the_update_examples_is_the_weights(classes):
    """For AROW with r = 1 the inverse covariance times w is that sum. The bounds of a kernel need its products."""
    rng = np.random.default_rng(classes)
    X, y = rng.standard_normal((60, 5)), rng.integers(0, classes, 60)
    model = AROW(r=1.0, kernel="poly", degree=1, gamma=1.0, coef0=0.0, fit_intercept=False).partial_fit(X, y)
    table = model._core.table
    patterns, coef, total = (
        table.patterns(),
        table.coefficients(0),
        np.zeros((table.used, table.coefficients(0).shape[1])),
    )
    for k, (label, sign, rival, rival_sign, _) in enumerate(table.arrays["pairs"][: table.stored]):
        total[k, int(label)] += sign
        if rival_sign:
            total[k, int(rival)] += rival_sign
    # The covariance is B, and B/2 where each margin is the difference of two functions.
    w, h = patterns.T @ coef, patterns.T @ total * (1.0 if classes == 2 else 0.5)
    products, _, _ = table.preimage_products()
    np.testing.assert_allclose(products, [np.vdot(w, w), np.vdot(w, h), np.vdot(h, h)], rtol=1e-8)
