"""Streams cut into shards, and rounds of learning and mixing without a cluster."""

from copy import deepcopy

import numpy as np
from sklearn.base import clone

from ellipsoid import merge


def stream(seed, classes=2, rows=60, width=4, kind="noisy"):
    """Rows of length about one, their labels, and the weights that made them; ``sorted``: by label."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=(classes, width))
    X = rng.normal(size=(rows, width)) / np.sqrt(width)
    if kind == "separable":
        scores = np.sort(X @ truth.T, axis=1)
        gaps = scores[:, -1] - scores[:, -2]
        # Weights that are nearly equal separate no row by much: then the better half.
        X = X[gaps >= min(0.3, float(np.median(gaps)))]
    y = (X @ truth.T).argmax(axis=1)
    if kind == "noisy":
        flipped = rng.random(len(y)) < 0.15
        y[flipped] = rng.integers(0, classes, size=int(flipped.sum()))
    if kind == "sorted":
        order = np.argsort(y, kind="stable")
        X, y = X[order], y[order]
    return X, y, truth


def parts(X, y, shards, kind="noisy"):
    """The rows of each shard: dealt in turn, or neighbours where the stream is sorted."""
    if kind == "sorted":
        return list(zip(np.array_split(X, shards), np.array_split(y, shards), strict=True))
    return [(X[i::shards], y[i::shards]) for i in range(shards)]


def learned(learner, pieces, classes):
    """A model of each piece."""
    return [clone(learner).partial_fit(X, y, classes=range(classes)) for X, y in pieces]


def in_rounds(learner, pieces, classes, rounds, weights="uniform", watch=None, start=None):
    """Mix, let every shard go on with the mixture, and mix again; ``start`` is what all begin with."""
    went = [deepcopy(start).partial_fit(X, y) for X, y in pieces if start is not None]
    models = went or learned(learner, pieces, classes)
    for number in range(rounds):
        mixed = merge(models, weights=weights, start=start)
        if watch is not None:
            watch(start, models, mixed)
        start = mixed
        if number + 1 < rounds:
            models = [deepcopy(start).partial_fit(X, y) for X, y in pieces]
    return start
