"""More than two labels: one link over all rows with z = (e_b - e_a) (x) x, or a link for each against the rest."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ellipsoid import QuasiAdditive
from ellipsoid.links.functions import NORM, SIMPLEX

LINKS = ["euclidean", "p-norm", "entropy", "balanced"]
K, DIM, MARGIN, C = 3, 4, 0.2, 0.5


def stream(seed, n=40):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1.0, 1.0, size=(n, DIM))
    y = np.argmax(X @ rng.normal(size=(DIM, K)), axis=1)
    return X, np.where(rng.random(n) < 0.15, rng.integers(0, K, n), y)


def matrices(rng, link, count):
    """Comparators in the domain of F."""
    for _ in range(count):
        W = rng.normal(size=(K, DIM)) * rng.choice([0.0, 1.0], size=(K, DIM))
        if link.kind == NORM:
            yield W
            continue
        W = np.abs(W) + 1e-3 if link.kind == SIMPLEX else W
        total = np.abs(W).sum(axis=None if link.joint else 1, keepdims=True)
        yield W / np.maximum(total, 1e-9) * (1.0 if link.kind == SIMPLEX else rng.uniform(0.2, 1.0))


def rival_loss(W, X, y):
    scores = X @ W.T
    right = scores[np.arange(len(y)), y]
    scores[np.arange(len(y)), y] = -np.inf
    return np.maximum(0.0, MARGIN - right + scores.max(axis=1)).sum()


def rest_loss(W, X, y):
    signs = np.where(np.arange(K) == y[:, None], 1.0, -1.0)
    return np.maximum(0.0, MARGIN - signs * (X @ W.T)).sum()


@pytest.mark.parametrize("multiclass", ["max", "ovr"])
@pytest.mark.parametrize("link", LINKS)
@settings(max_examples=6)
@given(seed=st.integers(0, 2**32), update=st.sampled_from(["fixed", "adaptive", "curvature", "exact"]))
def test_no_matrix_beats_the_dual(link, multiclass, seed, update):
    X, y = stream(seed)
    model = QuasiAdditive(
        link=link, update=update, C=C, margin=MARGIN, p=3.0, multiclass=multiclass, fit_intercept=False
    )
    model.partial_fit(X, y, classes=range(K))
    kind, loss_of = model._core.link, rival_loss if multiclass == "max" else rest_loss
    for W in matrices(np.random.default_rng(seed), kind, 10):
        loss = loss_of(W, X, y)
        assert model.dual_objective_ <= kind.complexity(W) + C * loss + 1e-9
        assert model.least_loss(kind.size(W)) <= loss + 1e-9
        for certificate in model.certificates(W):
            assert certificate.observed <= certificate.bound, certificate


@pytest.mark.parametrize("multiclass", ["max", "ovr"])
@pytest.mark.parametrize("link", LINKS)
def test_exact_steps_raise_the_dual_and_end_on_the_margin(link, multiclass):
    X, y = stream(1)
    model = QuasiAdditive(
        link=link, update="exact", C=C, margin=MARGIN, p=3.0, multiclass=multiclass, fit_intercept=False
    )
    dual, inner = 0.0, 0
    for t in range(len(y)):
        theta = model._core.theta().copy() if t else np.zeros((K, DIM))
        model.partial_fit(X[t : t + 1], y[t : t + 1], classes=range(K))
        assert model.dual_objective_ >= dual - 1e-12
        dual = model.dual_objective_
        step = (model._core.theta() - theta) @ X[t] / (X[t] @ X[t])
        scores = model.decision_function(X[t : t + 1])[0]
        if multiclass == "max":
            assert step.sum() == pytest.approx(0.0, abs=1e-12)
            assert (np.abs(step) > 0.0).sum() in (0, 2)
            if 0.0 < step[y[t]] < C - 1e-9:
                inner += 1
                assert scores[y[t]] - scores[step.argmin()] == pytest.approx(MARGIN, abs=1e-10)
        else:
            for r in np.flatnonzero((np.abs(step) > 0.0) & (np.abs(step) < C - 1e-9)):
                inner += 1
                assert np.sign(step[r]) * scores[r] == pytest.approx(MARGIN, abs=1e-10)
    # The entropies' weights are too short to reach the margin within the cap here.
    assert inner > 3 or link in ("entropy", "balanced")


@pytest.mark.parametrize("link", ["euclidean", "p-norm"])
@pytest.mark.parametrize("update", ["fixed", "adaptive", "exact"])
@pytest.mark.parametrize("multiclass", ["max", "ovr"])
def test_a_third_label_in_mid_stream(link, update, multiclass):
    """Two labels lead by the same amount before and after; the dual stays a dual, the certificates hold."""
    X, y = stream(4, n=80)
    settings = {"link": link, "update": update, "C": C, "margin": MARGIN, "p": 3.0, "multiclass": multiclass}
    model = QuasiAdditive(**settings).partial_fit(X[:40], y[:40] % 2)
    lead, before = model.decision_function(X), model.dual_objective_
    model._core.add_label(7)
    scores = model.decision_function(X)
    differences = scores[:, 1] - scores[:, 0]
    factor = np.vdot(differences, lead) / (lead @ lead)
    np.testing.assert_allclose(differences, factor * lead, rtol=1e-9, atol=1e-12)
    if update != "fixed" and multiclass == "max":
        assert factor == pytest.approx(1.0)
        assert model.dual_objective_ == pytest.approx(before / model._core.link.pair)
    if multiclass == "ovr":
        assert model.dual_objective_ == pytest.approx(2.0 * before)
    model.partial_fit(X[40:], np.where(y[40:] == 2, 7, y[40:] % 2))
    for W in matrices(np.random.default_rng(0), model._core.link, 10):
        for certificate in [*model.certificates(W), *model.certificates()]:
            assert certificate.observed <= certificate.bound, certificate
