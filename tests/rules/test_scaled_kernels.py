"""ROMMA and ALMA with kernels: the linear learner in the kernel's feature space, whatever the loop leaves to Python.

A Gram matrix K = F F' has its feature space at hand: rows of F, on which the linear learner can be run.
"""

import numpy as np
import pytest
import scipy.sparse as sp

import ellipsoid
from ellipsoid import ALMA, ROMMA
from ellipsoid.estimators.state import expansion as blocks
from ellipsoid.representation.kernel import expansion as tiles
from ellipsoid.representation.kernel.lookahead import NORM2
from ellipsoid.representation.scaled import expansion as scaled_expansion

RNG = np.random.default_rng(3)
X = RNG.normal(size=(130, 4))
X[RNG.random(X.shape) < 0.2] = 0.0
Y = {2: (np.abs(X[:, 0]) > np.abs(X[:, 1])).astype(int), 4: (X[:, 0] * X[:, 1] > 0) + 2 * (X[:, 2] > 0.3)}
LINE = {"kernel": "poly", "degree": 1, "gamma": 1.0, "coef0": 0.0}
RBF = np.exp(-0.4 * ((X[:, None] - X) ** 2).sum(axis=2))
MODELS = {
    "ROMMA": ROMMA(multiclass="uniform"),
    "ROMMA, aggressive": ROMMA(aggressive=True, multiclass="proportional"),
    "ROMMA, max": ROMMA(aggressive=True),
    "ALMA": ALMA(alpha=0.3),
}


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """Blocks and tiles that do not divide the stream, so that every boundary is met."""
    monkeypatch.setattr(blocks, "SCORED_AHEAD", 13)
    monkeypatch.setattr(tiles, "PATTERNS_AT_ONCE", tiles.PATTERNS_OF_TILE)
    monkeypatch.setattr(scaled_expansion, "NORM_PATTERNS", 7)


def fresh(model, **settings):
    return type(model)(**{**model.get_params(), **settings})


def counts(model):
    return model.mistakes_, model.updates_, getattr(model, "skipped_", 0)


@pytest.mark.interpreted
@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("name", MODELS)
def test_an_rbf_run_is_the_linear_run_in_its_feature_space(name, classes, average):
    n = 130 if average else 60  # more than a tile of patterns, and less
    rows, y, factor = X[:n], Y[classes][:n], np.linalg.cholesky(RBF[:n, :n] + 1e-13 * np.eye(n))
    settings = {"fit_intercept": False, "average": average}
    linear = fresh(MODELS[name], **settings).partial_fit(factor, y, classes=range(classes))
    kernel = fresh(MODELS[name], kernel="rbf", gamma=0.4, **settings).partial_fit(rows, y, classes=range(classes))
    assert counts(kernel) == counts(linear)
    truth = linear.decision_function(factor)
    np.testing.assert_allclose(kernel.decision_function(rows), truth, rtol=0.0, atol=1e-9 * np.abs(truth).max())


@pytest.mark.interpreted
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("rows", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize("name", MODELS)
def test_the_kernel_of_inner_products_is_the_linear_learner(name, rows, intercept):
    """Coefficients times patterns are the weights; the labels are noisy, so that norms grow and are summed afresh."""
    settings, n = {"fit_intercept": intercept, "average": True}, 130 if intercept else 60
    linear = fresh(MODELS[name], **settings).partial_fit(rows(X[:n]), Y[4][:n], classes=range(4))
    kernel = fresh(MODELS[name], **LINE, **settings).partial_fit(rows(X[:n]), Y[4][:n], classes=range(4))
    assert counts(kernel) == counts(linear)
    weights = kernel.dual_coef_ @ kernel.support_vectors_
    np.testing.assert_allclose(weights, linear.coef_, rtol=0.0, atol=1e-8 * np.abs(linear.coef_).max())
    table = kernel._core.table
    assert table.squared_norm(4) == pytest.approx(table.numbers[NORM2], rel=1e-9)


@pytest.mark.parametrize("classes", [2, 3])
def test_rows_that_become_shorter_and_shorter_are_forgotten_in_mid_block(classes):
    rng = np.random.default_rng(5)
    rows = rng.normal(size=(60, 3))
    rows[:, 0] += 3.0
    rows *= np.geomspace(1.0, 1e-8, 60)[:, None]
    y = np.where(rows[:, 0] > 0.0, 1, 0)
    settings = {"aggressive": True, "fit_intercept": False}
    for average in (False, True):
        linear = ROMMA(average=average, **settings).partial_fit(rows, y, classes=range(classes))
        kernel = ROMMA(average=average, **settings, **LINE).partial_fit(rows, y, classes=range(classes))
        assert counts(kernel) == counts(linear)
        weights = kernel.dual_coef_ @ kernel.support_vectors_
        np.testing.assert_allclose(weights, linear.coef_, rtol=0.0, atol=1e-9 * np.abs(linear.coef_).max())


@pytest.mark.parametrize("aggressive", [False, True])
def test_norms_without_end_are_survived(aggressive):
    """Random labels in three dimensions: patterns cancel until |M| has no digit left, but nothing overflows."""
    rng = np.random.default_rng(0)
    rows, y = rng.normal(size=(1500, 2)), rng.integers(0, 2, 1500)
    model = ROMMA(aggressive=aggressive, average=True, **LINE).partial_fit(rows, y, classes=[0, 1])
    assert model._core.table.numbers[NORM2] > 1.0 / np.finfo(np.float64).eps
    assert np.isfinite(model.dual_coef_).all()
    assert np.isfinite(model.decision_function(rows)).all()
    assert all(c.observed <= c.bound for c in model.certificates())


@pytest.mark.parametrize("average", [False, True])
def test_a_change_of_unit_is_not_felt(average, monkeypatch):
    """Units as small as can be: kept numbers change by powers of two, predictions and counts do not."""
    settings = {"kernel": "rbf", "gamma": 0.4, "average": average, "aggressive": True}
    plain = ROMMA(**settings).partial_fit(X, Y[4], classes=range(4))
    monkeypatch.setattr(scaled_expansion, "LARGEST_NORM2", 1.0)
    monkeypatch.setattr(scaled_expansion, "TRUSTED_GROWTH", 1.5)
    monkeypatch.setattr(scaled_expansion, "SMALLER_UNIT", 0.5)
    model = ROMMA(**settings)
    for begin in range(0, len(X), 10):
        model.partial_fit(X[begin : begin + 10], Y[4][begin : begin + 10], classes=range(4))
        core = model._core
        core.table.settle_update(*nothing(core), core.rounds, core.mark())
    assert model._core.table.goal < 0.5
    assert counts(model) == counts(plain)
    scores = model.decision_function(X) / model._core.table.goal
    np.testing.assert_allclose(scores, plain.decision_function(X), rtol=0.0, atol=1e-9)


def nothing(core):
    """A block without updates, as if one had asked to be looked after."""
    from ellipsoid.engine import Dense

    block = core.table.block(Dense(X[:1].copy(), 0.0), slice(0, 1))
    return block, core.table.look_ahead(block, core.table.scores(block, core.table.coef[:, : core.scores])), 0


@pytest.mark.parametrize("average", [False, True, "vote"])
@pytest.mark.parametrize("name", ["ROMMA", "ROMMA, max", "ALMA"])
def test_several_passes_keep_the_scores_of_all_rows(name, average):
    """fit keeps a table of scores; pass by pass there is none."""
    settings = {"kernel": "rbf", "gamma": 0.4, "average": average, "shuffle": False, "n_epochs": 3}
    fitted = fresh(MODELS[name], **settings).fit(X, Y[4])
    passed = fresh(MODELS[name], **settings)
    for _ in range(3):
        passed.partial_fit(X, Y[4], classes=range(4))
    assert counts(fitted) == counts(passed)
    truth = passed.decision_function(X)
    np.testing.assert_allclose(fitted.decision_function(X), truth, rtol=0.0, atol=1e-9 * np.abs(truth).max())


@pytest.mark.parametrize("name", ["ROMMA", "ALMA"])
def test_votes_are_those_of_all_hypotheses(name):
    model = fresh(MODELS[name], kernel="rbf", gamma=0.4)
    shares = np.zeros((len(X), 4))
    for x, label in zip(X, Y[4], strict=True):
        model.partial_fit(x[None], [label], classes=range(4))
        shares[np.arange(len(X)), model.predict(X)] += 1.0 / len(X)
    voted = fresh(model, average="vote").partial_fit(X, Y[4], classes=range(4))
    np.testing.assert_allclose(voted.decision_function(X), shares, atol=1e-12)


@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize("name", ["ROMMA, max", "ALMA"])
def test_a_file_in_mid_stream_changes_nothing(name, average, tmp_path):
    model = fresh(MODELS[name], kernel="rbf", gamma=0.4, average=average)
    model.partial_fit(X[:70], Y[4][:70], classes=range(4)).save(tmp_path / "model")
    other = ellipsoid.load(tmp_path / "model")
    for one in (model, other):
        one.partial_fit(X[70:], Y[4][70:])
    assert counts(other) == counts(model)
    assert (other.dual_coef_ == model.dual_coef_).all()
    assert all(c.observed <= c.bound for c in other.certificates())


def test_a_kernel_has_one_norm_only():
    with pytest.raises(ValueError, match="p must be 2 with a kernel"):
        ALMA(p=3, kernel="rbf").partial_fit(X, Y[2])
