"""Streams that a second-order learner may meet: easy, noisy, badly scaled, and made to hurt."""

import numpy as np


def noisy(rng, rows=60, features=5, classes=2, noise=0.15):
    """Linear labels, some of them wrong."""
    X = rng.normal(size=(rows, features))
    y = (X @ rng.normal(size=(features, classes))).argmax(axis=1)
    wrong = rng.random(rows) < noise
    y[wrong] = rng.integers(0, classes, wrong.sum())
    y[:classes] = range(classes)
    return X, y


def badly_scaled(rng, **how):
    """Features, and some rows, that differ by many powers of ten."""
    X, y = noisy(rng, **how)
    X = X * 10.0 ** rng.uniform(-4, 4, X.shape[1])
    X[rng.random(len(X)) < 0.2] *= 10.0 ** rng.uniform(-3, 3)
    return X, y


def alternating(rng, **how):
    """One row, or a few nearly parallel ones, with labels that change every time."""
    X, y = noisy(rng, **how)
    X = X[:1] + rng.choice([0.0, 1e-8, 1e-3]) * X
    return X, np.arange(len(X)) % (y.max() + 1)


def orthogonal(rng, **how):
    """Each row has one feature: nothing learned from the others helps."""
    X, y = noisy(rng, **how)
    return np.eye(X.shape[1])[np.arange(len(X)) % X.shape[1]] * rng.uniform(0.1, 3.0, (len(X), 1)), y


def separable(rng, **how):
    return noisy(rng, **{**how, "noise": 0.0})


def hostile(rng, **how):
    """One of them."""
    kinds = (noisy, badly_scaled, alternating, orthogonal, separable)
    return kinds[rng.integers(len(kinds))](rng, **how)


def signed(X, y, scores=None, intercept=False):
    """z of every row of a binary stream."""
    X = np.column_stack([np.ones(len(X)), X]) if intercept else X
    return np.where(np.asarray(y)[:, None] == 1, X, -X)
