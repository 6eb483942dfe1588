"""``learn_predict`` says what ``predict`` would have said just before each row was learned."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from ellipsoid import MIRA, PassiveAggressive, Perceptron
from ellipsoid.estimators import LEARNERS

CLOSED = ("CELLIP", "Winnow")


def slowly(model, X, y, classes=None):
    """Predict a row, then learn it."""
    predicted = []
    for i in range(len(y)):
        predicted.append(model.predict(X[i : i + 1])[0] if model.__sklearn_is_fitted__() else None)
        model.partial_fit(X[i : i + 1], y[i : i + 1], classes=classes if i == 0 else None)
    return predicted


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "csr"])
@pytest.mark.parametrize("name", [name for name in LEARNERS if name not in CLOSED])
def test_with_labels_that_appear_one_after_another(name, sparse, blobs, state):
    X, y = blobs
    y = y.copy()
    y[:5], y[5:12] = 2, np.where(y[5:12] == 1, 0, 2)
    y[60::7] = 40
    rows = sp.csr_matrix(X) if sparse else X
    watched, slow = LEARNERS[name](), LEARNERS[name]()
    chunks = [watched.learn_predict(rows[a:b], y[a:b]) for a, b in ((0, 1), (1, 8), (8, 120))]
    assert chunks[0].tolist() == [None]
    assert [label for chunk in chunks for label in chunk.tolist()] == slowly(slow, rows, y)
    assert state(watched) == state(slow)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("name", LEARNERS)
def test_with_classes_announced(name, classes, blobs, state):
    X, y = blobs
    watched, slow = LEARNERS[name](), LEARNERS[name]()
    predicted = watched.learn_predict(X, y % classes, classes=range(classes))
    expected = slowly(slow, X, y % classes, classes=range(classes))
    assert predicted[1:].tolist() == expected[1:]
    # Before anything is learned all labels tie, and the first wins.
    assert predicted[0] == 0
    assert state(watched) == state(slow)


@settings(max_examples=20)
@given(seed=st.integers(0, 2**32), classes=st.integers(2, 5))
def test_where_ties_abound(seed, classes):
    rng = np.random.default_rng(seed)
    X, y = rng.integers(-1, 2, size=(25, 2)).astype(float), rng.integers(0, classes, 25)
    for update in ("uniform", "ovr"):
        watched = Perceptron(update=update, fit_intercept=False)
        slow = Perceptron(update=update, fit_intercept=False)
        assert watched.learn_predict(X, y).tolist() == slowly(slow, X, y)


def test_labels_keep_their_full_length_and_size(blobs):
    """Labels known from earlier may be longer than those of the chunk at hand."""
    X, y = blobs
    names = np.array(["a rather long name", "b", "c"])
    model = PassiveAggressive().partial_fit(X, names[y])
    assert set(model.learn_predict(X, names[1 + y % 2]).tolist()) == set(names.tolist())
    model = PassiveAggressive().partial_fit(X, np.array([300, 1, 2])[y])
    assert set(model.learn_predict(X, np.array([1, 2], dtype=np.int8)[y % 2]).tolist()) == {300, 1, 2}


def test_predictions_have_the_type_of_the_classes(blobs):
    X, y = blobs
    model = MIRA().partial_fit(X, y)
    for labels in (y, y.astype(np.int8), y.astype(float)):
        assert model.learn_predict(X, labels).dtype == model.predict(X).dtype


def test_an_averaging_learner_is_watched_as_it_learns(blobs):
    """The hypothesis that meets the row and makes the mistakes is the running one; ``predict`` averages."""
    X, y = blobs
    plain, averaged = (MIRA(average=a) for a in (False, True))
    predicted = averaged.learn_predict(X, y, classes=range(3))
    assert predicted.tolist() == plain.learn_predict(X, y, classes=range(3)).tolist()
    assert (predicted != y).sum() <= averaged.mistakes_
