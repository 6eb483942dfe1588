"""How sure the Gaussian is: probabilities, queries, and labels that are not asked for."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import ndtr, ndtri

from ellipsoid import AROW, SCW, ConfidenceWeighted

from .streams import noisy, separable


@pytest.mark.parametrize("classes", [2, 3])
def test_confidence_is_the_share_of_classifiers_that_agree(classes):
    X, y = noisy(np.random.default_rng(1), rows=40, features=3, classes=classes)
    model = AROW(shape="dense", fit_intercept=False).partial_fit(X, y, classes=range(classes))
    rng = np.random.default_rng(2)
    root = np.linalg.cholesky(model.ellipsoid_.shape_matrix())
    drawn = model.coef_.ravel() + rng.normal(size=(20_000, model.coef_.size)) @ root.T
    scores = np.einsum("nkd,td->tnk", drawn.reshape(-1, *model.coef_.shape), X[:8])
    found = model.confidence(X[:8])
    for t in range(8):
        if classes == 2:
            agree = (scores[t, :, 0] > 0.0) == (model.decision_function(X[t : t + 1])[0] > 0.0)
        else:
            order = np.argsort(model.decision_function(X[t : t + 1])[0])
            agree = scores[t, :, order[-1]] > scores[t, :, order[-2]]
        assert agree.mean() == pytest.approx(found[t], abs=0.02)


def test_an_example_of_a_step_is_as_sure_as_was_asked():
    X, y = noisy(np.random.default_rng(3), rows=30)
    model, steps = ConfidenceWeighted(eta=0.8, shape="dense"), 0
    for t in range(len(X)):
        updates = model.updates_ if t else 0
        model.partial_fit(X[t : t + 1], y[t : t + 1], classes=None if t else [0, 1])
        if model.updates_ > updates:
            steps += 1
            assert model.predict(X[t : t + 1])[0] == y[t]
            assert model.confidence(X[t : t + 1])[0] == pytest.approx(0.8, rel=1e-9)
    assert steps > 10


@pytest.mark.parametrize("shape", ["diagonal", "sketch", "gram"])
def test_every_form_knows_how_sure_it_is(shape):
    X, y = noisy(np.random.default_rng(3), rows=30)
    model = AROW(shape=shape, size=4, fit_intercept=False).partial_fit(X, y)
    ratio = np.abs(model.decision_function(X)) / model.ellipsoid_.width(X)
    np.testing.assert_allclose(model.confidence(X), ndtr(ratio), rtol=1e-9)


def test_confidence_lies_between_a_coin_and_certainty():
    X, y = noisy(np.random.default_rng(4))
    model = SCW().partial_fit(X, y)
    found = model.confidence(np.vstack([X, np.zeros((1, 5)), 1e6 * X]))
    assert ((found >= 0.5) & (found <= 1.0)).all()
    one = AROW(fit_intercept=False).partial_fit(X[:1], [0])
    assert one.confidence(X[:2]).tolist() == [0.5, 0.5]


def test_queries_are_asked_below_the_certainty():
    X, y = noisy(np.random.default_rng(5), classes=3)
    model = AROW(certainty=0.75).partial_fit(X, y)
    found = model.confidence(X)
    clear = np.abs(found - 0.75) > 1e-9
    np.testing.assert_array_equal(model.query(X)[clear], (found <= 0.75)[clear])
    assert 0 < model.query(X).sum() < len(X)


@pytest.mark.parametrize("rows", [np.asarray, sp.csr_matrix], ids=["dense", "csr"])
@pytest.mark.parametrize("shape", ["dense", "diagonal"])
def test_a_selective_run_asks_where_it_would_query(rows, shape):
    X, y = separable(np.random.default_rng(6), rows=120, classes=3)
    model, asked = AROW(selective=True, certainty=0.8, shape=shape), 0
    for t in range(len(X)):
        known = t > 0 and y[t] in model.classes_
        wanted = not known or bool(model.query(rows(X[t : t + 1]))[0])
        model.partial_fit(rows(X[t : t + 1]), y[t : t + 1])
        asked += wanted
        assert model.asked_ == asked
    assert asked < 100
    assert model.mistakes_ <= asked
    full = AROW(shape=shape).partial_fit(rows(X), y)
    assert full.asked_ == 120
    assert model.score(X, y) > full.score(X, y) - 0.1


def test_label_sets_look_at_the_label_nearest_to_the_line():
    rng = np.random.default_rng(7)
    X = rng.normal(size=(60, 4))
    Y = (X @ rng.normal(size=(4, 3)) > 0.0).astype(int)
    model = AROW(shape="dense", fit_intercept=False).partial_fit(X, Y)
    scores = model.decision_function(X)
    nearest = np.abs(scores).argmin(axis=1)
    blocks = np.zeros((60, 3, 4))
    blocks[np.arange(60), nearest] = X
    ratio = np.abs(scores).min(axis=1) / model.ellipsoid_.width(blocks)
    np.testing.assert_allclose(ndtri(model.confidence(X)), ratio, rtol=1e-6)


@pytest.mark.parametrize("certainty", [0.5, 1.0, 0.3, 2.0])
def test_certainty_is_a_probability_above_a_coin(certainty):
    with pytest.raises(ValueError, match=r"certainty must lie between 0\.5 and 1"):
        AROW(certainty=certainty).partial_fit([[1.0]], [0])


def test_parameters_that_mean_nothing_are_refused():
    X, y = [[1.0], [-1.0]], [0, 1]
    for model, word in (
        (AROW(r=0.0), "r must be positive"),
        (AROW(r=np.inf), "r must be positive and finite"),
        (SCW(C=0.0), "C must be positive"),
        (ConfidenceWeighted(eta=0.5), "eta must lie between"),
        (ConfidenceWeighted(eta=1.0), "eta must lie between"),
        (AROW(shape="column"), "shape must be one of"),
        (AROW(kernel="rbf", shape="dense"), "shape must be one of"),
        (AROW(size=0), "size must be at least 1"),
        (AROW(diagonal="exact"), "diagonal must be one of"),
    ):
        with pytest.raises(ValueError, match=word):
            model.partial_fit(X, y)
