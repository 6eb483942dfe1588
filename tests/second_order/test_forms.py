"""Forms of the covariance against each other, scales, classes and chunks."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from ellipsoid import AROW, NHERD, SCW, ConfidenceWeighted, SecondOrderPerceptron
from ellipsoid.ellipsoids.state import DROPPED
from ellipsoid.estimators import second_order

from .streams import noisy

FULL = {
    "AROW": AROW(r=0.5),
    "SOP": SecondOrderPerceptron(a=0.5),
    "NHERD": NHERD(C=0.5),
    "CW stdev": ConfidenceWeighted(eta=0.8),
    "CW variance": ConfidenceWeighted(eta=0.8, variant="variance"),
    "SCW-I": SCW(C=0.5, eta=0.8),
    "SCW-II": SCW(C=0.5, eta=0.8, variant="II"),
}


def learned(model, X, y, **parameters):
    """A model of these parameters; all labels are known from the first row on."""
    classes = None if np.ndim(y) == 2 else range(max(2, np.max(y) + 1))
    return clone(model).set_params(**parameters).partial_fit(X, y, classes=classes)


def variances_of(model, X):
    """x'Sx of every row; ``width`` would round it up by what a form may be off."""
    return np.einsum("ij,jk,ik->i", X, model.ellipsoid_.shape_matrix(), X)


@pytest.mark.parametrize("name", FULL)
def test_covariance_only_shrinks(name):
    X, y = noisy(np.random.default_rng(1), rows=30)
    model, before = clone(FULL[name]).set_params(shape="dense"), np.eye(6)
    for t in range(len(X)):
        model.partial_fit(X[t : t + 1], y[t : t + 1], classes=None if t else [0, 1])
        after = model.ellipsoid_.shape_matrix()
        assert np.linalg.eigvalsh(before - after).min() > -1e-14
        assert np.linalg.eigvalsh(after).min() > 0.0
        before = after
    assert model.log_volume_ == pytest.approx(np.linalg.slogdet(after)[1], rel=1e-10)
    assert model.ellipsoid_.log_volume == pytest.approx(model.log_volume_, rel=1e-10)


@pytest.mark.parametrize("name", FULL)
def test_rows_of_one_feature_make_no_difference_between_forms(name):
    rng = np.random.default_rng(2)
    X = np.eye(4)[rng.integers(0, 4, 60)] * rng.uniform(0.2, 2.0, (60, 1))
    y = rng.integers(0, 2, 60)
    names = ("exact", "project", "drop") if name == "NHERD" else ("inverse", "drop")
    full = learned(FULL[name], X, y, shape="dense", fit_intercept=False)
    for kind in names if name != "SOP" else (None,):
        more = {} if kind is None else {"diagonal": kind}
        model = learned(FULL[name], X, y, shape="diagonal", fit_intercept=False, **more)
        np.testing.assert_allclose(model.coef_, full.coef_, rtol=1e-10)
        np.testing.assert_allclose(model.ellipsoid_.shape_matrix(), full.ellipsoid_.shape_matrix(), rtol=1e-9)


def test_inverse_shrinks_at_least_as_much_as_the_other_diagonals():
    X = np.random.default_rng(3).normal(size=(1, 5))
    for model, others in ((AROW(), ["drop"]), (NHERD(diagonal="project"), ["exact", "drop"])):
        least = learned(model, X, [1], shape="diagonal").ellipsoid_.shape_matrix()
        for other in others:
            more = learned(model, X, [1], shape="diagonal", diagonal=other).ellipsoid_.shape_matrix()
            assert (np.diag(more) >= np.diag(least)).all()


@pytest.mark.parametrize("classes", [2, 3])
def test_inverse_of_arow_sums_squares(classes):
    X, y = noisy(np.random.default_rng(4), rows=50, classes=classes)
    model = AROW(r=0.25, shape="diagonal", fit_intercept=False, trigger="mistake")
    precision = np.ones((classes if classes > 2 else 1, X.shape[1]))
    for t in range(len(X)):
        scores = model.decision_function(X[t : t + 1])[0] if t else np.zeros(classes)
        before = model.updates_ if t else 0
        model.partial_fit(X[t : t + 1], y[t : t + 1], classes=None if t else range(classes))
        if model.updates_ > before:
            rival = max((k for k in range(classes) if k != y[t]), key=lambda k: (scores[k], -k)) if classes > 2 else 0
            precision[[y[t], rival] if classes > 2 else [0]] += X[t] ** 2 / 0.25
    np.testing.assert_allclose(np.diag(model.ellipsoid_.shape_matrix()), 1.0 / precision.ravel(), rtol=1e-12)


# CW variance has no parameter that makes good for a scale.
@pytest.mark.parametrize("name", [name for name in FULL if name != "CW variance"])
@pytest.mark.parametrize("shape", ["dense", "diagonal"])
def test_scaling_the_rows_scales_the_parameters(name, shape):
    # Rows times k: r times k^2, C as the scale table says, weights over k; bits where k is a power of two.
    X, y = noisy(np.random.default_rng(5), rows=60)
    k = 4.0
    more = {
        "AROW": {"r": 0.5 * k**2}, "SOP": {"a": 0.5 * k**2}, "NHERD": {"C": 0.5 / k**2}, "CW stdev": {},
        "SCW-I": {"C": 0.5 / k}, "SCW-II": {"C": 0.5 / k**2},
    }  # fmt: skip
    one = learned(FULL[name], X, y, shape=shape, fit_intercept=False)
    other = learned(FULL[name], k * X, y, shape=shape, fit_intercept=False, **more[name])
    assert (one.mistakes_, one.updates_) == (other.mistakes_, other.updates_)
    # AROW's weights at the scale k have the margin of those at 1: over k. Confidence-weighted ones are in units of S.
    factor = k if name in ("AROW", "SOP", "NHERD") else 1.0
    np.testing.assert_allclose(other.coef_ * factor, one.coef_, rtol=1e-9 if name.startswith(("CW", "SCW")) else 0.0)


@pytest.mark.long
@pytest.mark.parametrize("name", [name for name in FULL if name != "CW variance"])
def test_two_classes_in_two_rows_are_one_row_of_twice_the_variance(name, compiled):
    # Label sets of two labels keep a row for each; the binary run of 2 a has the difference of the two.
    X, y = noisy(np.random.default_rng(6), rows=50)
    more = {
        "AROW": {"r": 0.25}, "SOP": {"a": 0.25}, "NHERD": {"C": 1.0}, "CW stdev": {},
        "SCW-I": {"C": 0.5 * np.sqrt(2.0)}, "SCW-II": {"C": 1.0},
    }  # fmt: skip
    rows = learned(FULL[name], X, np.eye(2, dtype=int)[y], shape="dense")
    one = learned(FULL[name], X, y, shape="dense", **more[name])
    factor = np.sqrt(2.0) if name.startswith(("CW", "SCW")) else 1.0
    assert (one.mistakes_, one.updates_) == (rows.mistakes_, rows.updates_)
    np.testing.assert_allclose(rows.coef_[1] - rows.coef_[0], factor * one.coef_[0], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(rows.coef_.sum(axis=0), 0.0, atol=1e-12)


@pytest.mark.parametrize("shape", ["dense", "diagonal", "sketch", "gram"])
def test_a_third_class_goes_on_where_two_were(shape):
    X, y = noisy(np.random.default_rng(7), rows=60)
    model = AROW(shape=shape, size=4, fit_intercept=False).partial_fit(X, y)
    scores, variances = model.decision_function(X), variances_of(model, X)
    model._core.add_label(2)
    after = model.decision_function(X)
    np.testing.assert_allclose(after[:, 1] - after[:, 0], scores, rtol=1e-10, atol=1e-13)
    pairs = np.column_stack([-X, X, np.zeros_like(X)])
    np.testing.assert_allclose(variances_of(model, pairs), variances, rtol=1e-9)
    # The new class is as uncertain as the others were.
    alone = np.column_stack([np.zeros_like(X), np.zeros_like(X), X])
    np.testing.assert_allclose(variances_of(model, alone), 0.5 * (X**2).sum(axis=1), rtol=1e-12)


def test_relabelling_permutes_the_rows():
    X, y = noisy(np.random.default_rng(8), rows=80, classes=3)
    for model in (AROW(shape="dense"), AROW(shape="diagonal"), SCW(shape="dense")):
        # The first rows tie, and a tie goes to the smallest label: start from weights.
        one = clone(model).partial_fit(X, y, classes=[0, 1, 2])
        swapped = np.array([0, 2, 1])[y]
        other = clone(model).partial_fit(X, swapped, classes=[0, 2, 1])
        np.testing.assert_array_equal(one.coef_, other.coef_)


@pytest.mark.parametrize("classes", [2, 3])
def test_a_large_sketch_is_the_whole(classes):
    X, y = noisy(np.random.default_rng(9), rows=60, classes=classes)
    whole = AROW(shape="dense").partial_fit(X, y)
    sketch = AROW(shape="sketch", size=200).partial_fit(X, y)
    np.testing.assert_allclose(sketch.coef_, whole.coef_, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(sketch.ellipsoid_.shape_matrix(), whole.ellipsoid_.shape_matrix(), rtol=1e-8, atol=1e-12)
    # Of rank no more than its size it loses nothing by being compressed, again and again.
    small = AROW(shape="sketch", size=18).partial_fit(X, y)
    assert small.updates_ > 36 or classes == 2
    np.testing.assert_allclose(small.coef_, whole.coef_, rtol=1e-8, atol=1e-12)


def test_a_sketch_lies_between_the_covariance_and_what_it_dropped():
    X, y = noisy(np.random.default_rng(10), rows=120, features=12)
    model = AROW(shape="sketch", size=5, fit_intercept=False)
    rows = []
    for t in range(len(X)):
        before = model.updates_ if t else 0
        model.partial_fit(X[t : t + 1], y[t : t + 1], classes=None if t else [0, 1])
        if model.updates_ > before:
            rows.append(X[t])
    assert len(rows) > 40
    inverse = np.linalg.inv(model.ellipsoid_.shape_matrix())
    dropped = np.linalg.eigvalsh(np.eye(12) + np.array(rows).T @ np.array(rows) - inverse)
    most = model._core.table.numbers[DROPPED]
    assert dropped.min() > -1e-9
    assert 0.0 < dropped.max() <= most * (1.0 + 1e-9)
    tail = np.linalg.eigvalsh(np.array(rows).T @ np.array(rows))[:-3].sum()
    assert most <= tail / (5 + 1 - 3) * (1.0 + 1e-9)


def check_chunks(shape, rows, classes=None):
    """One call, or calls of one row, of two, of many: the same bits."""
    X, y = noisy(np.random.default_rng(11), rows=40, classes=3)
    whole = AROW(shape=shape, size=4).partial_fit(rows(X), y, classes=classes)
    parts, cuts = AROW(shape=shape, size=4), [0, 1, 2, 9, 20, 21, 40]
    for start, stop in itertools.pairwise(cuts):
        parts.partial_fit(rows(X[start:stop]), y[start:stop], classes=classes)
    assert whole.coef_.tobytes() == parts.coef_.tobytes()
    assert whole.confidence(X).tobytes() == parts.confidence(X).tobytes()


@pytest.mark.parametrize("shape", ["dense", "sketch", "gram"])
@pytest.mark.parametrize("rows", [np.asarray, sp.csr_matrix], ids=["dense", "csr"])
def test_chunks_make_no_difference(shape, rows):
    check_chunks(shape, rows)


@pytest.mark.long
@pytest.mark.parametrize("rows", [np.asarray, sp.csr_matrix], ids=["dense", "csr"])
def test_chunks_make_no_difference_to_variances(compiled, rows):
    # With the labels told the loop of the rows before the third need not be compiled.
    check_chunks("diagonal", rows, classes=range(3))


def test_a_covariance_too_large_to_keep_goes_on_as_its_diagonal(monkeypatch):
    monkeypatch.setattr(second_order, "LARGEST_WHOLE", 20)
    X, y = noisy(np.random.default_rng(12), rows=40, features=12)
    for kind in ("inverse", "drop"):
        model = AROW(diagonal=kind, grow_features=True, fit_intercept=False).partial_fit(X, y)
        assert model._core.table.form_name == "full"
        covariance, scores = model.ellipsoid_.shape_matrix(), model.decision_function(X)
        wanted = np.diag(covariance) if kind == "drop" else 1.0 / np.diag(np.linalg.inv(covariance))
        # A zero row that is wider: it brings features, and nothing to learn.
        model.partial_fit(np.zeros((1, 24)), [0])
        assert model._core.table.form_name == "diagonal"
        kept = np.diag(model.ellipsoid_.shape_matrix())
        np.testing.assert_allclose(kept[:12], wanted, rtol=1e-9)
        assert kept[12:].tolist() == [1.0] * 12
        np.testing.assert_allclose(model.decision_function(np.column_stack([X, X])), scores, rtol=1e-12)
        assert model.certificates() == []


def test_auto_is_whole_for_few_weights_and_diagonal_for_many():
    X, y = noisy(np.random.default_rng(13), rows=3, features=100)
    assert AROW().partial_fit(X, y)._core.table.form_name == "full"
    X, y = noisy(np.random.default_rng(13), rows=7, features=100, classes=6)
    assert AROW().partial_fit(X, y, classes=range(6))._core.table.form_name == "diagonal"
    assert AROW().partial_fit(X, y)._core.table.form_name == "diagonal"


@pytest.mark.interpreted
def test_a_row_too_light_to_shrink_the_covariance_leaves_what_follows_alone():
    X, y = noisy(np.random.default_rng(5), rows=20)
    inner_product = AROW(kernel="poly", degree=1, gamma=1.0, coef0=0.0, fit_intercept=False)
    light = inner_product.partial_fit(1e-15 * X[:1], [1], classes=[0, 1], sample_weight=[1e-300]).partial_fit(X, y)
    without = learned(AROW(), X, y, shape="dense", fit_intercept=False)
    np.testing.assert_allclose(light.confidence(X), without.confidence(X), rtol=1e-9)
