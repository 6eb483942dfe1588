"""What is promised to users: no scale, no chunk, no form of a row matters; labels and features may come at any time."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

import ellipsoid
from ellipsoid import EllipsoidClassifier
from ellipsoid.representation.speeds.table import NARROW

SETTINGS = [
    EllipsoidClassifier(),
    EllipsoidClassifier(speeds=1, average=True),
    EllipsoidClassifier(margin="unit", average=False, fit_intercept=False),
    EllipsoidClassifier(shape="diagonal", C=np.inf),
]


def rows_of(n=200, d=9, classes=3, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, n)
    X = rng.normal(size=(n, d)) + 1.5 * np.eye(classes, d)[y]
    X[rng.random(X.shape) < 0.3] = 0.0
    return X.astype(np.float32).astype(float), y


def state(model):
    core = model._core
    return {name: array.tobytes() for name, array in {"tally": core.tally, **core.table.state(core.scores)}.items()}


@pytest.mark.parametrize("model", SETTINGS, ids=repr)
@pytest.mark.parametrize("classes", [2, 3])
def test_features_scaled_by_powers_of_two_change_no_bit(model, classes):
    X, y = rows_of(classes=classes)
    scale = 2.0 ** np.random.default_rng(1).integers(-60, 60, X.shape[1])
    one, other = clone(model).partial_fit(X, y), clone(model).partial_fit(X * scale, y)
    assert (one.speed_, one.head_) == (other.speed_, other.head_)
    assert (one.decision_function(X) == other.decision_function(X * scale)).all()


@pytest.mark.long
@pytest.mark.parametrize("model", SETTINGS, ids=repr)
@pytest.mark.parametrize("classes", [2, 3])
def test_dense_sparse_and_single_precision_learn_the_same_bits(model, classes):
    X, y = rows_of(classes=classes)
    kinds = [X, sp.csr_matrix(X), X.astype(np.float32), np.asfortranarray(X)]
    states = [state(clone(model).partial_fit(rows, y)) for rows in kinds]
    assert all(found == states[0] for found in states)


@pytest.mark.parametrize("model", SETTINGS, ids=repr)
def test_learn_predict_says_what_predict_would_have_said(model):
    X, y = rows_of()
    watched, asked = clone(model), clone(model)
    said = watched.learn_predict(X, y)
    for i in range(len(y)):
        if i:
            assert asked.predict(X[i : i + 1])[0] == asked.predict_one(X[i]) == said[i]
        asked.learn_one(X[i], y[i])
    assert said[0] is None or said[0] in y
    assert state(watched) == state(asked)


def test_three_speeds_begin_with_the_usual_one():
    """They share a metric, and only that: while every row is learned by all, the first of three is the one alone."""
    X, y = rows_of(n=3)
    three = EllipsoidClassifier().partial_fit(X, y, classes=range(3))
    one = EllipsoidClassifier(speeds=1).partial_fit(X, y, classes=range(3))
    assert (three._core.table.weights_of(0, 0, 3) == one._core.table.weights_of(0, 0, 3)).all()


def test_the_better_head_predicts():
    """The labels of a stream that turns around: the average lags behind for ever, the last weights follow."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(3000, 3))
    y = (X[:, 0] > 0).astype(int)
    steady = EllipsoidClassifier().partial_fit(X, np.where(rng.random(3000) < 0.2, 1 - y, y))
    assert steady.head_ == "average"
    y[1000:] = np.where(np.arange(2000) // 50 % 2, y[1000:], 1 - y[1000:])
    assert EllipsoidClassifier().partial_fit(X, y).head_ == "last"
    assert EllipsoidClassifier(average=True).partial_fit(X, y).head_ == "average"
    assert EllipsoidClassifier(average=False).partial_fit(X, y).head_ == "last"


def test_late_features_change_the_form():
    X, y = rows_of(n=300, d=NARROW + 6)
    narrow = EllipsoidClassifier(grow_features=True)
    narrow.partial_fit(X[:100, :NARROW], y[:100])
    assert narrow._core.table.full
    narrow.partial_fit(X[100:], y[100:])
    assert not narrow._core.table.full
    assert not EllipsoidClassifier().partial_fit(X, y)._core.table.full
    assert narrow.score(X[200:], y[200:]) > 0.75
    assert all(c.observed <= c.bound for c in narrow.certificates())


def test_features_not_met_yet_do_not_matter():
    """A dictionary learned word by word is the matrix of all words."""
    X, y = rows_of(n=150, d=8)
    X[:60, 3:] = 0.0
    names = [f"word {j}" for j in range(8)]
    model = EllipsoidClassifier()
    for row, label in zip(X, y, strict=True):
        model.learn_one({name: value for name, value in zip(names, row, strict=True) if value != 0.0}, int(label))
    columns = [names.index(name) for name in model._core.features]
    whole = EllipsoidClassifier().partial_fit(X[:, columns], y)
    np.testing.assert_allclose(model.coef_, whole.coef_, rtol=1e-9, atol=1e-12)


def test_a_third_label_leaves_what_two_have_learned():
    X, y = rows_of(classes=2)
    model = EllipsoidClassifier().partial_fit(X, y)
    lead = model.decision_function(X)
    model._core.add_label(2)
    scores = model.decision_function(X)
    np.testing.assert_allclose(scores[:, 1] - scores[:, 0], lead, rtol=1e-12, atol=1e-12)
    assert not scores[:, 2].any()


@pytest.mark.parametrize("model", SETTINGS, ids=repr)
@pytest.mark.parametrize("classes", [2, 3])
def test_a_file_goes_on_where_it_stopped(model, classes, tmp_path):
    X, y = rows_of(classes=classes)
    model = clone(model).partial_fit(X[:100], y[:100])
    model.save(tmp_path / "m")
    other = ellipsoid.load(tmp_path / "m")
    assert (other.decision_function(X) == model.decision_function(X)).all()
    for one in (model, other):
        one.partial_fit(X[100:], y[100:])
    assert state(model) == state(other)
    assert model.certificates() == other.certificates()


@pytest.mark.parametrize("size", [1e-145, 1e-99, 1e140])
def test_rows_of_any_size_learn_finite_weights(size):
    X, y = rows_of(n=300)
    mixed = X * np.where(np.arange(len(y)) % 3, 1.0, size)[:, np.newaxis]
    for rows in (X * size, mixed):
        for model in SETTINGS:
            learned = clone(model).partial_fit(rows, y)
            assert np.isfinite(learned.decision_function(rows)).all()
            assert np.isfinite(learned.coef_).all()
            assert all(c.observed <= c.bound for c in learned.certificates())


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"speeds": 2}, "speeds must be 1 or 3"), ({"speeds": True}, "speeds"), ({"C": 0.0}, "C must be positive"),
        ({"damping": -1.0}, "damping"), ({"margin": 1.0}, "margin must be one of"), ({"shape": "dense"}, "shape"),
        ({"average": "vote"}, "average must be"),
    ],
)  # fmt: skip
def test_bad_parameters_are_refused(parameters, words):
    X, y = rows_of(n=9)
    with pytest.raises(ValueError, match=words):
        EllipsoidClassifier(**parameters).fit(X, y)
