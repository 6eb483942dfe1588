"""Bounds of weighted runs: never exceeded, on random streams of rows and weights of any size."""

import numpy as np
import pytest
from sklearn.base import clone

from ellipsoid import AROW, OnlineSVM, PassiveAggressive, Perceptron, QuasiAdditive

pytestmark = pytest.mark.interpreted
MODELS = [
    PassiveAggressive(C=0.1),
    PassiveAggressive(C=30.0),
    PassiveAggressive(variant="II", C=0.1),
    PassiveAggressive(C=0.1, kernel="rbf", gamma=0.5),
    Perceptron(),
    Perceptron(margin=0.3, multiclass="uniform"),
    Perceptron(multiclass="ovr"),
    QuasiAdditive(C=0.5),
    QuasiAdditive(update="fixed"),
    QuasiAdditive(link="p-norm", update="adaptive"),
    OnlineSVM(window=3, C=0.5),
    OnlineSVM(window=4, C=0.5, kernel="rbf", gamma=0.5),
    AROW(),
]


def stream(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 40))
    X = rng.normal(size=(n, 3)) * 10.0 ** rng.uniform(-2, 2)
    y = rng.integers(0, 2 + seed % 2, n) if seed % 3 else (X[:, 0] > 0.0).astype(int)
    return X, y, 10.0 ** rng.uniform(-2, 2, n)


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_no_bound_is_ever_exceeded(model):
    finite = 0
    for seed in range(12):
        X, y, weights = stream(seed)
        found = (
            clone(model).partial_fit(X, y, classes=range(3 if seed % 2 else 2), sample_weight=weights).certificates()
        )
        assert all(each.observed <= each.bound for each in found), (seed, found)
        finite += sum(each.bound < np.inf for each in found)
    assert finite > 0 or isinstance(model, AROW) or model.multiclass == "ovr"


@pytest.mark.parametrize("model", [PassiveAggressive(C=0.5), Perceptron()], ids=repr)
def test_separable_streams_have_a_finite_bound_on_the_weight_of_their_mistakes(model):
    X, _, weights = stream(1)
    y = (X @ [1.0, -2.0, 0.5] > 0.0).astype(int)
    trained = clone(model).partial_fit(X, y, classes=[0, 1], sample_weight=weights)
    bound = {each.name: each for each in trained.certificates([10.0, -20.0, 5.0])}["weighted mistakes"]
    wrong = clone(model).learn_predict(X, y, classes=[0, 1], sample_weight=weights) != y
    # A tie counts as a mistake, and may have been broken rightly.
    assert weights[wrong].sum() <= bound.observed * (1.0 + 1e-9) <= bound.bound < np.inf


@pytest.mark.parametrize("weight", [2.0**-54 * (1.0 + 2.0**-20), 1e-10, 1e-6, 0.1])
@pytest.mark.parametrize("model", [PassiveAggressive(variant="II"), Perceptron()], ids=repr)
def test_small_weights_of_mistakes_are_not_rounded_up(model, weight):
    trained = clone(model.set_params(fit_intercept=False))
    trained.partial_fit(np.eye(8), np.ones(8, int), classes=[0, 1], sample_weight=np.full(8, weight))
    found = {each.name: each for each in trained.certificates()}["weighted mistakes"]
    assert 8.0 * weight - 1e-13 <= found.observed <= min(8.0 * weight, found.bound)


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_no_average_margin_is_larger_than_the_rows_and_no_mistake_without_a_weighted_update(model):
    """On rows of length one, all of weight 5 or of 1/5: a vector of length one has margins of up to sqrt 2."""
    X, _, _ = stream(1)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    for weight in (5.0, 0.2):
        trained = clone(model).set_params(fit_intercept=False)
        trained.partial_fit(X, X.argmax(axis=1), classes=range(3), sample_weight=np.full(len(X), weight))
        told = {each.name: each.observed for each in trained.certificates()}
        averages = [value for name, value in told.items() if name.startswith("average margin")]
        assert all(value <= 1.0001 * np.sqrt(2.0) for value in averages)
        if "weighted mistakes" in told:
            assert told.get("weighted updates", np.inf) >= told["weighted mistakes"] * (1.0 - 1e-9) > 0.0


def test_a_run_that_mixes_weighted_and_plain_calls_is_one_run():
    X, y, weights = stream(2)
    parts = PassiveAggressive(C=0.2).partial_fit(X, y, classes=[0, 1]).partial_fit(X, y, sample_weight=weights)
    whole = PassiveAggressive(C=0.2).partial_fit(
        np.tile(X, (2, 1)), np.tile(y, 2), classes=[0, 1], sample_weight=np.r_[np.ones(len(y)), weights]
    )
    assert parts.certificates() == whole.certificates()


@pytest.mark.parametrize("model", [QuasiAdditive(), QuasiAdditive(link="p-norm"), OnlineSVM()], ids=repr)
@pytest.mark.parametrize("weight", [0.25, 4.0])
def test_no_dual_value_is_above_what_weights_reach_on_the_weighted_rows(model, weight):
    trained = clone(model).set_params(fit_intercept=False).partial_fit([[1.0]], [1], [0, 1], sample_weight=[weight])
    told = {each.name: each.observed for each in trained.certificates()}
    w = np.linspace(0.0, 2.0, 81)
    least = (0.5 * w**2 + weight * np.maximum(0.0, 1.0 - w)).min()
    assert told["dual objective"] == pytest.approx(least)
    assert told["rescaled dual objective"] == pytest.approx(least)


@pytest.mark.parametrize("shape", ["dense", "diagonal"])
def test_a_weight_that_leaves_nothing_of_r_is_that_of_the_smallest_r(shape, compiled):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20, 3)), rng.integers(0, 2, 20)
    heavy, small = (AROW(r=r, shape=shape).partial_fit(X, y, sample_weight=np.full(20, 9e15)) for r in (1e-308, 1e-292))
    assert np.allclose(heavy.decision_function(X), small.decision_function(X))
    assert all(each.observed <= each.bound for each in heavy.certificates())
