"""Learners with a confidence in files, and what they say before they learn."""

import numpy as np
import pytest
from sklearn.base import clone

from ellipsoid import AROW, SCW, DamagedModel, SecondOrderPerceptron, load

from .streams import noisy

KEPT = {
    "dense": AROW(shape="dense"),
    "diagonal": AROW(shape="diagonal"),
    "diagonal, averaged": SCW(shape="diagonal", average=True),
    "sketch": AROW(shape="sketch", size=4, average=True),
    "gram": AROW(shape="gram", average=True),
    "kernel": SecondOrderPerceptron(kernel="rbf", gamma=0.2),
}


@pytest.mark.parametrize("name", KEPT)
@pytest.mark.parametrize("classes", [2, 3])
def test_a_file_holds_everything(name, classes, tmp_path):
    X, y = noisy(np.random.default_rng(14), rows=36, classes=classes)
    model = clone(KEPT[name]).partial_fit(X[:24], y[:24])
    model.save(tmp_path / "model")
    other = load(tmp_path / "model")
    for each in (model, other):
        each.partial_fit(X[24:], y[24:])
    assert model.decision_function(X).tobytes() == other.decision_function(X).tobytes()
    assert model.confidence(X).tobytes() == other.confidence(X).tobytes()
    assert model.certificates() == other.certificates()
    other.save(tmp_path / "other")
    model.save(tmp_path / "model")
    assert (tmp_path / "model").read_bytes() == (tmp_path / "other").read_bytes()


def test_forged_variances_are_refused(tmp_path):
    X, y = noisy(np.random.default_rng(15))
    model = AROW(shape="diagonal").partial_fit(X, y)
    for wrong in (-1.0, 2.0):
        model._core.table.variances()[0, 1] = wrong
        model.save(tmp_path / "model")
        with pytest.raises(DamagedModel, match="variances"):
            load(tmp_path / "model")


@pytest.mark.parametrize("name", ["dense", "diagonal", "diagonal, averaged", "sketch"])
def test_predictions_before_learning_are_those_of_predict(name):
    X, y = noisy(np.random.default_rng(16), classes=3)
    model, other = clone(KEPT[name]), clone(KEPT[name])
    model.partial_fit(X[:10], y[:10])
    said = model.learn_predict(X[10:], y[10:])
    other.partial_fit(X[:10], y[:10])
    for t in range(10, len(X)):
        assert other.predict(X[t : t + 1])[0] == said[t - 10]
        other.partial_fit(X[t : t + 1], y[t : t + 1])
    assert model.coef_.tobytes() == other.coef_.tobytes()
