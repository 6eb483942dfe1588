"""Winnow against weights that are multiplied as the definition says, and against its bounds."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from ellipsoid import QuasiAdditive, Winnow


def blame(scores, y, multiclass, beta):
    """tau of the ultraconservative family: the error set, ties included, shares one."""
    excess = scores - (scores[y] - beta)
    E = [r for r in range(len(scores)) if r != y and excess[r] >= 0.0]
    tau = np.zeros(len(scores))
    if not E:
        return tau
    total = excess[E].sum()
    if multiclass == "max":
        tau[max(E, key=lambda r: (scores[r], -r))] = -1.0
    elif multiclass == "uniform" or total == 0.0:
        tau[E] = -1.0 / len(E)
    else:
        tau[E] = -excess[E] / total
    tau[y] = 1.0
    return tau


def by_definition(X, y, classes, *, version, eta, balanced, multiclass, beta):
    """Plain weights over doubled features, multiplied and normalised; yields the matrix after each round."""
    X = np.hstack([X, -X]) if balanced else X
    M = np.full((classes, X.shape[1]), 1.0 / X.shape[1])
    M /= classes if version == 2 else 1.0
    for x, label in zip(X, y, strict=True):
        tau = blame(M @ x, label, multiclass, beta)
        M = M * np.exp(eta * tau[:, None] * x)
        M /= M.sum() if version == 2 else M.sum(axis=1, keepdims=True)
        yield M[:, : M.shape[1] // 2] - M[:, M.shape[1] // 2 :] if balanced else M


def stream(seed, classes, n=80, dim=5, noise=0.1):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1.0, 1.0, size=(n, dim))
    y = np.argmax(X @ rng.normal(size=(dim, classes)), axis=1)
    y[rng.random(n) < noise] = 0
    return X, y


@pytest.mark.long
@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "csr"])
@pytest.mark.parametrize("multiclass", ["uniform", "max", "proportional"])
@pytest.mark.parametrize("balanced", [False, True])
@pytest.mark.parametrize("version", [1, 2])
def test_trajectories(version, balanced, multiclass, sparse):
    for classes in (2, 4):
        for beta in (0.0, 0.05):
            X, y = stream(classes, classes, n=40, noise=0.3)
            settings = {"version": version, "eta": 0.7, "balanced": balanced, "multiclass": multiclass}
            model = Winnow(margin=beta, fit_intercept=False, **settings)
            for t, M in enumerate(by_definition(X, y, classes, beta=beta, **settings)):
                row = sp.csr_matrix(X[t : t + 1]) if sparse else X[t : t + 1]
                model.partial_fit(row, y[t : t + 1], classes=range(classes))
                expected = M[1:] - M[:1] if classes == 2 else M
                np.testing.assert_allclose(model.coef_, expected, atol=1e-12)
            assert model.updates_ > 10
            assert all(c.observed <= c.bound for c in model.certificates())


def test_which_learner_is_which():
    """Version 2, max, is `fixed` dual ascent; for two labels the balanced versions are one algorithm."""
    X, y = stream(3, 4)
    for balanced, link in ((True, "balanced"), (False, "entropy")):
        winnow = Winnow(version=2, multiclass="max", eta=0.3, balanced=balanced).partial_fit(X, y, classes=range(4))
        ascent = QuasiAdditive(link=link, update="fixed", C=0.3).partial_fit(X, y, classes=range(4))
        np.testing.assert_allclose(winnow.coef_, ascent.coef_, rtol=1e-12)
        assert winnow.mistakes_ == ascent.mistakes_
    y = y % 2
    ascent = QuasiAdditive(link="balanced", update="fixed", C=0.3).partial_fit(X, y, classes=[0, 1])
    for version, balanced, scale in ((2, True, 1.0), (2, False, 1.0), (1, True, 2.0)):
        winnow = Winnow(version=version, eta=0.3, balanced=balanced).partial_fit(X, y, classes=[0, 1])
        np.testing.assert_allclose(winnow.coef_, scale * ascent.coef_, rtol=1e-12)
        assert winnow.mistakes_ == ascent.mistakes_
        assert winnow.decision_function(X).shape == (80,)
        np.testing.assert_allclose(winnow.decision_function(X), scale * ascent.decision_function(X), rtol=1e-9)


def test_signed_weights_cannot_be_learned_without_doubling():
    """Theorem 11 needs M* >= 0: x = (1, 1) of label 1 again and again, for ever 1 : 1 in version 1."""
    X, y = np.ones((500, 2)), np.ones(500, dtype=int)
    plain = Winnow(version=1, balanced=False, fit_intercept=False).partial_fit(X, y, classes=[0, 1])
    assert plain.mistakes_ == 500
    for model in (Winnow(version=1, fit_intercept=False), Winnow(version=2, balanced=False, fit_intercept=False)):
        assert model.partial_fit(X, y, classes=[0, 1]).mistakes_ == 1
    # Nothing is promised against a comparator outside the domain.
    bound = {c.name: c.bound for c in plain.certificates([1.0, 1.0])}["mistakes"]
    assert bound == np.inf


@settings(max_examples=15)
@given(seed=st.integers(0, 2**32), classes=st.integers(2, 5), version=st.sampled_from([1, 2]))
def test_within_the_theorem(seed, classes, version):
    """M* >= 0 of margin g on every row: 4 k log(n) / g^2 at eta = g / 2, and 2 log(n k) / g^2 at eta = g."""
    rng = np.random.default_rng(seed)
    n = 6
    M = rng.dirichlet(np.full(n, 0.3), size=classes)
    M /= classes if version == 2 else 1.0
    X = rng.uniform(-1.0, 1.0, size=(400, n))
    scores = np.sort(X @ M.T, axis=1)
    margins = scores[:, -1] - scores[:, -2]
    keep = rng.permutation(np.argsort(-margins)[:80])
    X, g = X[keep], margins[keep].min()
    y = np.argmax(X @ M.T, axis=1)
    eta = g / 2 if version == 1 else g
    model = Winnow(version=version, eta=eta, balanced=False, multiclass="uniform", fit_intercept=False)
    model.partial_fit(X, y, classes=range(classes))
    theorem = 4 * classes * np.log(n) / g**2 if version == 1 else 2 * np.log(n * classes) / g**2
    comparator = M if classes > 2 else None
    assert model.mistakes_ <= theorem
    if comparator is not None:
        named = {c.name: c for c in model.certificates(comparator)}
        assert named["mistakes"].observed <= named["mistakes"].bound <= theorem * (1 + 1e-6)
        for scale in (0.2, 30.0):
            scaled = {c.name: c for c in model.certificates(scale * comparator)}
            assert scaled["mistakes"].bound == pytest.approx(named["mistakes"].bound)


def test_zero_rows_and_a_single_label():
    model = Winnow(fit_intercept=False).partial_fit(np.zeros((3, 2)), [0, 1, 0], classes=[0, 1])
    assert (model.mistakes_, model.updates_) == (3, 0)
    assert {c.name: c.bound for c in model.certificates()}["mistakes"] == np.inf
    alone = Winnow().partial_fit(np.ones((3, 2)), [7, 7, 7])
    assert (alone.mistakes_, alone.updates_) == (0, 0)
    alone.partial_fit(np.ones((1, 2)), [8])
    assert alone.updates_ == 1


def test_long_runs_do_not_drift():
    """Every sum is kept in two numbers: after thousands of steps the weights are still those of theta."""
    rng = np.random.default_rng(1)
    X = rng.choice([-1.0, 1.0], size=(3000, 8))
    y = rng.integers(0, 3, 3000)
    for version in (1, 2):
        model = Winnow(version=version, eta=2.0, balanced=True).partial_fit(X, y, classes=range(3))
        theta = model._core.table.theta(3).astype(np.longdouble)
        axis = 1 if version == 1 else None
        top = np.abs(theta).max(axis=axis, keepdims=True)
        up, down = np.exp(theta - top), np.exp(-theta - top)
        expected = (up - down) / (up + down).sum(axis=axis, keepdims=True)
        found = np.column_stack([model.intercept_, model.coef_])
        np.testing.assert_allclose(found, expected.astype(float), rtol=1e-12, atol=1e-15)
        total = np.abs(found).sum(axis=axis)
        assert (total <= 1.0 + 1e-12).all()
