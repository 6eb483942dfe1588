"""How much rounds over shards lose against one stream, with fixed seeds."""

import numpy as np
import pytest
from sklearn.preprocessing import normalize, scale

from ellipsoid import MIRA, Perceptron, merge


def single(learner, X, y, passes):
    model = learner(average=True, fit_intercept=False)
    for _ in range(passes - 1):
        model.partial_fit(X, y, classes=np.unique(y))
    before = model.t_
    whole = model._core.table.weights(len(model.classes_), before) * before if before else 0.0
    model.partial_fit(X, y, classes=None if before else np.unique(y))
    # The average of the last pass, as a round has it.
    return (model._core.table.weights(len(model.classes_), model.t_) * model.t_ - whole) / len(y)


def shards_in_rounds(learner, X, y, shards, rounds):
    from copy import deepcopy

    start = None
    for _ in range(rounds):
        models = [
            (learner(average=True, fit_intercept=False) if start is None else deepcopy(start)).partial_fit(
                X[i::shards], y[i::shards], classes=np.unique(y) if start is None else None
            )
            for i in range(shards)
        ]
        start = merge(models, start=start)
    return start


def error(weights, X, y):
    return float(((X @ weights[:, 1:].T + weights[:, 0]).argmax(axis=1) != y).mean())


def compare(learner, X, y, Xt, yt):
    model = shards_in_rounds(learner, X, y, 16, 5)
    apart = error(model._core.table.weights(len(model.classes_), model.t_), Xt, yt)
    alone = error(single(learner, X, y, 5), Xt, yt)
    # Beside the ratio, two deviations of an error on so many rows.
    assert apart <= 1.10 * alone + 2.0 * np.sqrt(alone * (1.0 - alone) / len(yt))
    assert apart == pytest.approx(1.0 - model.score(Xt, yt))


@pytest.mark.parametrize("learner", [Perceptron, MIRA])
def test_sixteen_shards_of_digits_in_five_rounds(learner, digits):
    X, y = digits
    order = np.random.default_rng(0).permutation(len(y))
    X, y = normalize(scale(X))[order], y[order]
    compare(learner, X[:1300], y[:1300], X[1300:], y[1300:])


@pytest.mark.slow
@pytest.mark.parametrize("learner", [Perceptron, MIRA])
def test_sixteen_shards_of_letters_in_five_rounds(learner, dataset):
    X, y = dataset("letter").train
    order = np.random.default_rng(0).permutation(len(y))
    X, y = normalize(scale(np.asarray(X, dtype=float)))[order], np.unique(y, return_inverse=True)[1][order]
    compare(learner, X[:16000], y[:16000], X[16000:], y[16000:])
