"""Whole runs of every rule against references written from the definitions (spec of the additive family, MIRA, PA)."""

from functools import cache

import numpy as np
import pytest
import scipy.sparse as sp

from ellipsoid import MIRA, PassiveAggressive, Perceptron

N = 120

# name: the estimator, and the reference's tau for it in multiclass form.
MULTICLASS = {
    "uniform": (Perceptron(multiclass="uniform"), lambda ref: ref.perceptron("uniform", 0.0)),
    "uniform with margin": (Perceptron(multiclass="uniform", margin=0.7), lambda ref: ref.perceptron("uniform", 0.7)),
    "max": (Perceptron(multiclass="max"), lambda ref: ref.perceptron("max", 0.0)),
    "max with margin": (Perceptron(multiclass="max", margin=0.7), lambda ref: ref.perceptron("max", 0.7)),
    "proportional": (Perceptron(multiclass="proportional"), lambda ref: ref.perceptron("proportional", 0.0)),
    "proportional with margin": (
        Perceptron(multiclass="proportional", margin=0.7),
        lambda ref: ref.perceptron("proportional", 0.7),
    ),
    "one-vs-rest": (Perceptron(multiclass="ovr"), lambda ref: ref.one_vs_rest(0.0)),
    "one-vs-rest with margin": (Perceptron(multiclass="ovr", margin=0.7), lambda ref: ref.one_vs_rest(0.7)),
    "PA": (PassiveAggressive(variant="hard"), lambda ref: ref.passive_aggressive()),
    "PA, margin 3": (PassiveAggressive(variant="hard", margin=3.0), lambda ref: ref.passive_aggressive(margin=3.0)),
    "PA-I": (PassiveAggressive(variant="I", C=0.05), lambda ref: ref.passive_aggressive(C=0.05)),
    "PA-II": (PassiveAggressive(variant="II", C=0.05), lambda ref: ref.passive_aggressive(C=0.05, squared=True)),
    "MIRA": (MIRA(margin=0.01), lambda ref: ref.mira(0.01)),
    "MIRA at the cap": (MIRA(margin=9.0), lambda ref: ref.mira(9.0)),
}  # fmt: skip

# Two labels: the binary estimator is the K = 2 family with twice its margin, w = M_1 - M_2 up to a factor.
BINARY = {
    "Perceptron": (Perceptron(margin=0.0), lambda ref: ref.perceptron("max", 0.0), 0.5),
    "Perceptron with margin": (Perceptron(margin=0.35), lambda ref: ref.perceptron("proportional", 0.7), 0.5),
    "one-vs-rest": (Perceptron(multiclass="ovr", margin=0.35), lambda ref: ref.perceptron("max", 0.7), 0.5),
    "PA": (PassiveAggressive(variant="hard"), lambda ref: ref.passive_aggressive(), 1.0),
    "PA-I": (PassiveAggressive(variant="I", C=0.1), lambda ref: ref.passive_aggressive(C=0.05), 1.0),
    "PA-II": (PassiveAggressive(variant="II", C=0.1), lambda ref: ref.passive_aggressive(C=0.05, squared=True), 1.0),
    "MIRA": (MIRA(margin=0.01), lambda ref: ref.mira(0.01), 0.5),
    "MIRA at the cap": (MIRA(margin=9.0), lambda ref: ref.mira(9.0), 0.5),
}


def stream(classes, *, grid=False):
    """Examples with some signal, some label noise, zero rows and stretches of one label."""
    rng = np.random.default_rng([classes, grid])
    X = rng.integers(-1, 2, size=(N, 5)).astype(float) if grid else rng.normal(size=(N, 5))
    y = np.argmax(X @ rng.normal(size=(5, classes)), axis=1)
    y[rng.random(N) < 0.15] = 0
    X[rng.random(X.shape) < 0.2] = 0.0
    # Far apart: an example met again on its margin may or may not move the last bit.
    X[[0, 30, 77]] = 0.0
    return X, y


def some(classes):
    """All rows for few classes; in half as many 26 classes meet as many rivals."""
    X, y = stream(classes)
    return (X, y) if classes < 26 else (X[: N // 2], y[: N // 2])


@pytest.fixture(scope="module")
def defined(reference):
    """Runs by the definition, which dense and sparse rows share."""

    @cache
    def run(name, classes, intercept):
        X, y = some(classes)
        seen = np.column_stack([np.ones(len(X)), X]) if intercept else X
        return reference.trajectory(MULTICLASS[name][1](reference), seen, y, classes)

    return run


def check_run(model, expected, X, y, classes, *, sparse, scale=None):
    """Row by row, then in pieces: weights within 1e-12 of the largest weight of the reference."""
    rows, begin = sp.csr_matrix(X) if sparse else X, 0
    for t in (*range(5), *range(9, len(X), 5)):
        model.partial_fit(rows[begin : t + 1], y[begin : t + 1], classes=range(classes) if t == 0 else None)
        begin = t + 1
        weights = np.column_stack([model.intercept_, model.coef_])
        if not model.fit_intercept:
            assert not model.intercept_.any()
            weights = weights[:, 1:]
        truth = expected.weights[t] if scale is None else scale * (expected.weights[t][1:] - expected.weights[t][:1])
        assert np.abs(weights - truth).max() <= 1e-12 * max(1e-300, np.abs(truth).max()), f"after row {t}"
    assert (model.mistakes_, model.updates_, model.t_) == (expected.mistakes, expected.updates, len(X))


@pytest.mark.interpreted
@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "csr"])
@pytest.mark.parametrize("classes", [3, 26])
@pytest.mark.parametrize("name", MULTICLASS)
def test_multiclass_run_follows_the_definition(name, classes, sparse, defined):
    model, (X, y) = MULTICLASS[name][0], some(classes)
    for intercept in (True, False):
        fresh = type(model)(**{**model.get_params(), "fit_intercept": intercept})
        check_run(fresh, defined(name, classes, intercept), X, y, classes, sparse=sparse)


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "csr"])
@pytest.mark.parametrize("name", BINARY)
def test_binary_run_is_the_family_with_two_rows(name, sparse, reference):
    model, tau, scale = BINARY[name]
    for intercept in (True, False):
        X, y = stream(2)
        seen = np.column_stack([np.ones(N), X]) if intercept else X
        expected = reference.trajectory(tau(reference), seen, y, 2)
        assert np.abs(expected.weights.sum(axis=1)).max() < 1e-12
        fresh = type(model)(**{**model.get_params(), "fit_intercept": intercept})
        check_run(fresh, expected, X, y, 2, sparse=sparse, scale=scale)


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "csr"])
@pytest.mark.parametrize("beta", [0.0, 1.0])
@pytest.mark.parametrize("multiclass", ["uniform", "max", "ovr"])
@pytest.mark.parametrize("classes", [2, 3])
def test_exact_ties_on_a_grid_go_as_defined(multiclass, beta, classes, sparse, reference):
    """Integers and halves are exact, so every tie is one for the reference and for us: not one bit may differ."""
    X, y = stream(classes, grid=True)
    tau = reference.one_vs_rest(beta) if multiclass == "ovr" and classes > 2 else reference.perceptron(multiclass, beta)
    expected = reference.trajectory(tau, X, y, classes)
    ties = sum((np.diff(np.sort(w @ x)) == 0.0).any() for w, x in zip(expected.weights[:-1], X[1:], strict=True))
    assert ties > 10
    margin = 0.5 * beta if classes == 2 else beta
    model = Perceptron(multiclass=multiclass, margin=margin, fit_intercept=False)
    model.partial_fit(sp.csr_matrix(X) if sparse else X, y, classes=range(classes))
    W = expected.weights[-1]
    assert (model.coef_ == (W[1:] if classes == 2 else W)).all()
    assert (model.mistakes_, model.updates_) == (expected.mistakes, expected.updates)


@pytest.mark.interpreted
@pytest.mark.parametrize("model", [Perceptron(), Perceptron(multiclass="ovr"), PassiveAggressive(), MIRA()], ids=repr)
@pytest.mark.parametrize("classes", [2, 3])
def test_zero_row_is_a_mistake_and_no_update(model, classes):
    model = type(model)(**{**model.get_params(), "fit_intercept": False, "average": True})
    X = np.array([[1.0, 2.0], [0.0, 0.0], [0.0, 0.0], [1.0, 0.0]])
    model.partial_fit(X[:1], [0], classes=range(classes))
    before = model.coef_, model.updates_, model.mistakes_
    model.partial_fit(X[1:3], [0, 1])
    assert model.updates_ == before[1]
    assert model.mistakes_ == before[2] + 2
    assert model.t_ == 3
    assert np.isfinite(model.coef_).all()


@pytest.mark.interpreted
@pytest.mark.parametrize("model", [Perceptron(), Perceptron(multiclass="ovr"), PassiveAggressive(), MIRA()], ids=repr)
def test_one_class_alone_teaches_nothing(model):
    X, _ = stream(3)
    model.partial_fit(X, np.zeros(N, dtype=int), classes=[0])
    assert (model.mistakes_, model.updates_, model.t_) == (0, 0, N)
    assert not model.coef_.any()
    assert (model.predict(X) == 0).all()


@pytest.mark.parametrize("average_over", [1, 40, N])
@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "csr"])
def test_average_is_the_mean_of_the_hypotheses_after_each_round(average_over, sparse, reference):
    X, y = stream(3)
    seen = np.column_stack([np.ones(N), X])
    expected = reference.trajectory(reference.passive_aggressive(), seen, y, 3)
    model = PassiveAggressive(variant="hard", average=True)
    model.partial_fit((sp.csr_matrix(X) if sparse else X)[:average_over], y[:average_over], classes=range(3))
    mean = expected.weights[:average_over].mean(axis=0)
    np.testing.assert_allclose(np.column_stack([model.intercept_, model.coef_]), mean, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(model.decision_function(X), seen @ mean.T, rtol=1e-9, atol=1e-12)
