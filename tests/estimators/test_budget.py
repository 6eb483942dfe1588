"""Kernel learners within a budget, against the definition: the pattern of least loss is projected onto the rest."""

from itertools import pairwise
from math import fsum

import numpy as np
import pytest
import scipy.sparse as sp

from ellipsoid import MIRA, PassiveAggressive, Perceptron, load
from ellipsoid.estimators.state import expansion as blocks

RNG = np.random.default_rng(11)
X = RNG.normal(size=(160, 3))
y = (X[:, 0] * X[:, 1] > 0).astype(int) + (X[:, 2] > 0.7)
K = np.exp(-0.5 * ((X[:, None] - X) ** 2).sum(axis=2))
RBF = {"kernel": "rbf", "gamma": 0.5, "fit_intercept": False}


def uniform(B, label):
    """tau of the Perceptron with margin 0.05 that shares the blame equally."""
    rivals = [r for r in range(3) if r != label and B[r] >= B[label] - 0.05]
    tau = np.zeros(3)
    if rivals:
        tau[label], tau[rivals] = 1.0, -1.0 / len(rivals)
    return tau


def plain_run(budget, order):
    """One example after another; on overflow every pattern's projection is tried by least squares."""
    slots, coef, updates = [], np.zeros((0, 3)), 0
    for t in order:
        B = np.array([fsum(coef[:, r] * K[slots, t]) for r in range(3)]) if slots else np.zeros(3)
        tau = uniform(B, y[t])
        if not tau.any():
            continue
        updates += 1
        if t in slots:
            coef[slots.index(t)] += tau
            continue
        slots, coef = [*slots, t], np.vstack([coef, tau])
        if len(slots) > budget:
            trials = []
            for p in range(len(slots)):
                rest = [s for s in slots if s != slots[p]]
                shares = np.linalg.solve(K[np.ix_(rest, rest)], K[rest, slots[p]])
                lost = K[slots[p], slots[p]] - K[rest, slots[p]] @ shares
                trials.append((coef[p] @ coef[p] * lost, p, shares))
            _, p, shares = min(trials, key=lambda trial: trial[0])
            gone = coef[p]
            slots, coef = [s for s in slots if s != slots[p]], np.delete(coef, p, axis=0) + np.outer(shares, gone)
    return slots, coef, updates


@pytest.fixture(scope="module")
def expected():
    return plain_run(20, [*range(160), *range(160)])


def learned(settings, rows, sizes=(160, 160), budget=20):
    model = Perceptron(multiclass="uniform", margin=0.05, budget=budget, **settings)
    rows, labels = (sp.vstack if sp.issparse(rows) else np.vstack)([rows, rows]), np.concatenate([y, y])
    rows, start = rows.tocsr() if sp.issparse(rows) else rows, 0
    for size in sizes:
        model.partial_fit(rows[start : start + size], labels[start : start + size], classes=[0, 1, 2])
        start += size
    return model


@pytest.mark.parametrize("small", [False, True])
def test_the_pattern_of_least_loss_is_projected(expected, monkeypatch, small):
    if small:
        monkeypatch.setattr(blocks, "SCORED_AHEAD_WITHIN_BUDGET", 7)
    slots, coef, updates = expected
    model = learned(RBF, X)
    assert model.updates_ == updates > 90
    found = [np.flatnonzero((x == X).all(axis=1))[0] for x in model.support_vectors_]
    assert sorted(found) == sorted(slots)
    np.testing.assert_allclose(model.dual_coef_.T[np.argsort(found)], coef[np.argsort(slots)], rtol=0, atol=1e-8)
    norm2 = np.einsum("ir,ij,jr", coef, K[np.ix_(slots, slots)], coef)
    assert model._core.table.weights(3, 0).item() ** 2 == pytest.approx(norm2, rel=1e-9)
    assert model.certificates() == []


@pytest.mark.parametrize(
    ("settings", "rows"),
    [
        (RBF, sp.csr_matrix(X)),
        ({"kernel": "precomputed", "fit_intercept": False}, K),
        ({"kernel": lambda A, B: np.exp(-0.5 * ((A[:, None] - B) ** 2).sum(axis=2)), "fit_intercept": False}, X),
    ],
    ids=["csr", "given", "function"],
)
def test_every_kind_of_kernel_has_a_budget(expected, settings, rows):
    model = learned(settings, rows, sizes=(70, 1, 89, 160))
    assert model.updates_ == expected[2]
    scores = K[:, expected[0]] @ expected[1]
    np.testing.assert_allclose(model.decision_function(rows), scores, rtol=0, atol=1e-8)


def test_a_budget_that_is_never_reached_changes_nothing():
    free = MIRA(margin=0.1, average=True, **RBF).partial_fit(X, y, classes=[0, 1, 2])
    bound = MIRA(margin=0.1, average=True, budget=160, **RBF).partial_fit(X, y, classes=[0, 1, 2])
    assert (free.mistakes_, free.updates_) == (bound.mistakes_, bound.updates_)
    scores = free.decision_function(X)
    np.testing.assert_allclose(bound.decision_function(X), scores, rtol=0, atol=1e-6 * np.abs(scores).max())


def test_a_budget_of_the_dimension_loses_nothing():
    """Three linear features have three directions: whatever the patterns, they span them all."""
    linear = PassiveAggressive(fit_intercept=False).partial_fit(X, y, classes=[0, 1, 2])
    kernel = PassiveAggressive(kernel="poly", degree=1, gamma=1.0, fit_intercept=False, budget=3)
    kernel.partial_fit(X, y, classes=[0, 1, 2])
    assert len(kernel.support_vectors_) == 3
    assert (linear.mistakes_, linear.updates_) == (kernel.mistakes_, kernel.updates_)
    np.testing.assert_allclose(kernel.decision_function(X), linear.decision_function(X), rtol=0, atol=1e-7)


def test_averages_are_projected_along(tmp_path):
    model = Perceptron(multiclass="uniform", margin=0.05, average=True, budget=20, **RBF)
    scores = []
    plain = Perceptron(multiclass="uniform", margin=0.05, budget=20, **RBF)
    for t in range(60):
        model.partial_fit(X[t : t + 1], y[t : t + 1], classes=[0, 1, 2])
        plain.partial_fit(X[t : t + 1], y[t : t + 1], classes=[0, 1, 2])
        scores.append(plain.decision_function(X))
    mean = np.mean(scores, axis=0)
    error = np.abs(model.decision_function(X) - mean).max()
    # The hypotheses of earlier rounds lose what their patterns lose later; what remains is their average, nearly.
    assert 0.0 < error < 0.5 * np.abs(mean).max()


@pytest.mark.parametrize("rows", [X, sp.csr_matrix(X)], ids=["dense", "sparse"])
@pytest.mark.parametrize("cuts", [(1,), (37, 38, 150), (128, 200), tuple(range(0, 320, 7))])
def test_no_cutting_of_the_stream_changes_a_bit(rows, cuts, tmp_path):
    """Saved, loaded and gone on with at every cut; the second half of the stream is the first once more."""
    stack = sp.vstack if sp.issparse(rows) else np.vstack
    Z, labels = stack([rows, rows]), np.concatenate([y, y])
    Z = Z.tocsr() if sp.issparse(Z) else Z
    settings = {"margin": 0.05, "average": True, "budget": 20, **RBF}
    whole = Perceptron(**settings).partial_fit(Z, labels, classes=[0, 1, 2])
    model = Perceptron(**settings)
    for begin, end in pairwise([0, *cuts, len(labels)]):
        if begin < end:
            model.partial_fit(Z[begin:end], labels[begin:end], classes=[0, 1, 2])
            model.save(tmp_path / "m")
            model = load(tmp_path / "m")
    assert whole.updates_ > 40
    for name, array in whole._core.table.state(3).items():
        assert array.tobytes() == model._core.table.state(3)[name].tobytes(), name


def test_memory_stays_flat_and_files_go_on(tmp_path):
    model = learned(RBF, X)
    sizes = {name: array.nbytes for name, array in model._core.table.state(3).items()}
    model.save(tmp_path / "budget.model")
    copy = load(tmp_path / "budget.model")
    for other in (model, copy):
        for _ in range(3):
            other.partial_fit(X, y)
    assert {name: array.nbytes for name, array in model._core.table.state(3).items()} == sizes
    assert model.dual_coef_.tobytes() == copy.dual_coef_.tobytes()
    assert len(model.support_vectors_) == 20


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"budget": 10}, "a linear learner has none"),
        ({"budget": 0, "kernel": "rbf"}, "budget must be a positive integer"),
        ({"budget": 10, "kernel": "rbf", "average": "vote"}, "set budget=None"),
    ],
)
def test_bad_budgets_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        MIRA(**settings).partial_fit(X, y)
