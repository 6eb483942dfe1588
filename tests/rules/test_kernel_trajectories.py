"""Kernel runs against the definitions: the sums over all support patterns, one example after another.

In one pass every example is met once, so that the row of its coefficients is its step: equal coefficients are equal
trajectories.
"""

from math import fsum, inf

import numpy as np
import pytest
import scipy.sparse as sp

from ellipsoid import MIRA, PassiveAggressive, Perceptron
from ellipsoid.estimators.state import expansion as blocks
from ellipsoid.representation.kernel import expansion as tiles

RNG = np.random.default_rng(7)
X = RNG.normal(size=(140, 4))
X[RNG.random(X.shape) < 0.2] = 0.0
MANY, TWO = (X[:, 0] * X[:, 1] > 0).astype(int) + 2 * (X[:, 2] > 0.5), (np.abs(X[:, 0]) > np.abs(X[:, 1])).astype(int)

KERNELS = {
    "rbf": ({"gamma": 0.4}, np.exp(-0.4 * ((X[:, None] - X) ** 2).sum(axis=2))),
    "poly": ({"gamma": 0.7, "degree": 5, "coef0": 0.5}, (0.7 * X @ X.T + 0.5) ** 5),
}


def expansion(tau, K, y, classes, epochs=1):
    """Coefficients, mistakes and updates from B_r = sum_i coef[i, r] K(x_i, x)."""
    coef, mistakes, updates = np.zeros((len(K), classes)), 0, 0
    for t in list(range(len(K))) * epochs:
        B = np.array([fsum(coef[:, r] * K[:, t]) for r in range(classes)])
        mistakes += bool(B[y[t]] <= np.delete(B, y[t]).max(initial=-inf))
        step = tau(B, y[t], K[t, t])
        updates += bool(step.any())
        coef[t] += step
    return coef, mistakes, updates


@pytest.fixture
def small_blocks(monkeypatch):
    """Blocks and tiles that do not divide the stream, so that every boundary is met."""
    monkeypatch.setattr(blocks, "SCORED_AHEAD", 13)
    monkeypatch.setattr(tiles, "PATTERNS_AT_ONCE", tiles.PATTERNS_OF_TILE)


def rules(reference):
    return {
        "uniform": (Perceptron(multiclass="uniform", margin=0.01), reference.perceptron("uniform", 0.01)),
        "uniform, ties": (Perceptron(multiclass="uniform"), reference.perceptron("uniform", 0.0)),
        "max": (Perceptron(multiclass="max", margin=0.2), reference.perceptron("max", 0.2)),
        "proportional": (
            Perceptron(multiclass="proportional", margin=0.01),
            reference.perceptron("proportional", 0.01),
        ),
        "ovr": (Perceptron(multiclass="ovr", margin=0.01), reference.one_vs_rest(0.01)),
        "pa": (PassiveAggressive(variant="hard"), reference.passive_aggressive()),
        "pa1": (PassiveAggressive(variant="I", C=0.1), reference.passive_aggressive(C=0.1)),
        "pa2": (PassiveAggressive(variant="II", C=0.3), reference.passive_aggressive(C=0.3, squared=True)),
        "mira": (MIRA(margin=0.3), reference.mira(0.3)),
    }


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize(
    "name", ["uniform", "uniform, ties", "max", "proportional", "ovr", "pa", "pa1", "pa2", "mira"]
)  # fmt: skip
def test_every_rule_follows_its_definition(reference, small_blocks, name, intercept, kernel):
    model, tau = rules(reference)[name]
    params, K = KERNELS[kernel]
    coef, mistakes, updates = expansion(tau, K + float(intercept), MANY, 4)
    model.set_params(kernel=kernel, fit_intercept=intercept, **params)
    model.partial_fit(X, MANY, classes=range(4))
    assert (model.mistakes_, model.updates_) == (mistakes, updates)
    moved = coef.any(axis=1)
    assert (model.support_vectors_ == X[moved]).all()
    np.testing.assert_allclose(model.dual_coef_.T, coef[moved], rtol=0, atol=1e-10 * np.abs(coef).max())


@pytest.mark.parametrize("name", ["uniform", "mira"])
def test_two_labels_are_one_opposite_pair_of_functions(reference, small_blocks, name):
    """With K = 2 the family is the Perceptron of half the margin; MIRA keeps its own."""
    model, tau = rules(reference)[name]
    params, K = KERNELS["rbf"]
    coef, mistakes, updates = expansion(tau, K, TWO, 2)
    if name == "uniform":
        model.set_params(margin=0.005)
    model.set_params(kernel="rbf", fit_intercept=False, **params).partial_fit(X, TWO, classes=[0, 1])
    assert (model.mistakes_, model.updates_) == (mistakes, updates)
    np.testing.assert_allclose(model.dual_coef_[0], coef[coef.any(axis=1), 1], rtol=0, atol=1e-10 * np.abs(coef).max())
    np.testing.assert_allclose(coef[:, 0], -coef[:, 1], atol=1e-12)


@pytest.mark.parametrize("how", ["fit", "partial_fit", "sparse", "float32 and back"])
def test_repeated_visits_add_to_the_same_row(reference, small_blocks, how):
    params, K = KERNELS["rbf"]
    coef, mistakes, updates = expansion(reference.mira(0.3), K, MANY, 4, epochs=3)
    model = MIRA(margin=0.3, kernel="rbf", fit_intercept=False, n_epochs=3, shuffle=False, **params)
    if how == "fit":
        model.fit(X, MANY)
    else:
        for epoch in range(3):
            rows = sp.csr_matrix(X) if how == "sparse" and epoch == 1 else X
            model.partial_fit(rows, MANY, classes=range(4))
    assert (model.mistakes_, model.updates_) == (mistakes, updates)
    moved = coef.any(axis=1)
    assert len(model.support_vectors_) == moved.sum() < updates
    order = [np.flatnonzero((x == X).all(axis=1))[0] for x in model.support_vectors_]
    np.testing.assert_allclose(model.dual_coef_.T, coef[order], rtol=0, atol=1e-10 * np.abs(coef).max())


def test_a_shuffled_fit_is_the_pass_in_that_order(reference, small_blocks):
    params, K = KERNELS["rbf"]
    model = MIRA(margin=0.3, kernel="rbf", fit_intercept=False, n_epochs=1, random_state=3, **params).fit(X, MANY)
    order = np.random.RandomState(3).permutation(len(X))
    coef, mistakes, updates = expansion(reference.mira(0.3), K[np.ix_(order, order)], MANY[order], 4)
    assert (model.mistakes_, model.updates_) == (mistakes, updates)
    moved = coef.any(axis=1)
    assert (model.support_vectors_ == X[order][moved]).all()
    np.testing.assert_allclose(model.dual_coef_.T, coef[moved], rtol=0, atol=1e-10 * np.abs(coef).max())


def test_later_passes_of_fit_catch_up_on_what_has_changed(reference, small_blocks):
    """In a new order each time: the scores that are kept must be those of the definition."""
    params, K = KERNELS["poly"]
    model = PassiveAggressive(C=0.1, kernel="poly", fit_intercept=False, n_epochs=3, random_state=1, **params)
    model.fit(X, MANY)
    random, coef, updates = np.random.RandomState(1), np.zeros((len(X), 4)), 0
    tau = reference.passive_aggressive(C=0.1)
    for t in np.concatenate([random.permutation(len(X)) for _ in range(3)]):
        step = tau(np.array([fsum(coef[:, r] * K[:, t]) for r in range(4)]), MANY[t], K[t, t])
        coef[t] += step
        updates += bool(step.any())
    assert model.updates_ == updates
    order = [np.flatnonzero((x == X).all(axis=1))[0] for x in model.support_vectors_]
    np.testing.assert_allclose(model.dual_coef_.T, coef[order], rtol=0, atol=1e-10 * np.abs(coef).max())


@pytest.mark.long
def test_rows_far_from_the_origin_keep_their_digits(reference, small_blocks):
    """A Gaussian knows differences only: the run must be that of the rows moved to the origin."""
    params, _ = KERNELS["rbf"]
    far = np.round(X * 1024.0) / 1024.0 + 4096.0
    K = np.exp(-0.4 * ((far[:, None] - far) ** 2).sum(axis=2))
    coef, _, updates = expansion(reference.mira(0.3), K, MANY, 4)
    model = MIRA(margin=0.3, kernel="rbf", fit_intercept=False, **params).partial_fit(far, MANY, classes=range(4))
    assert model.updates_ == updates
    np.testing.assert_allclose(model.dual_coef_.T, coef[coef.any(axis=1)], rtol=0, atol=1e-10 * np.abs(coef).max())
