"""Short streams that are hard to learn, drawn by number."""

import numpy as np

from ellipsoid import EllipsoidClassifier

KINDS = ("random", "scales", "one-hot", "collinear", "repeated", "empty")


def stream(seed):
    """Rows, labels, number of classes."""
    rng = np.random.default_rng(seed)
    n, d, classes = int(rng.integers(5, 60)), int(rng.integers(1, 7)), int(rng.integers(2, 6))
    kind = KINDS[seed % len(KINDS)]
    X = rng.normal(size=(n, d))
    if kind == "scales":
        X = X * 10.0 ** rng.uniform(-4, 4, d)
    elif kind == "one-hot":
        X = np.eye(d)[rng.integers(0, d, n)]
    elif kind == "collinear":
        X = np.outer(rng.normal(size=n), rng.normal(size=d)) + 1e-3 * X
    elif kind == "repeated":
        X = X[rng.integers(0, 3, n)]
    elif kind == "empty":
        X[rng.random(X.shape) < 0.7] = 0.0
    y = rng.integers(0, classes, n)
    if rng.random() < 0.5:
        y = (X @ rng.normal(size=(d, classes))).argmax(1)
    return X, y, classes


def learner(seed):
    """A single copy with settings drawn at random."""
    rng = np.random.default_rng([seed, 1])
    return EllipsoidClassifier(
        speeds=1, C=float(rng.choice([0.1, 1.0, 3.0, np.inf])), damping=float(rng.choice([0.0, 0.03, 0.1, 1.0])),
        margin=str(rng.choice(["unit", "length"])), shape=str(rng.choice(["full", "diagonal"])),
        fit_intercept=bool(rng.random() < 0.7),
    )  # fmt: skip


def flipped(model, X, classes):
    """Labels by an adversary: always one that the last weights do not predict."""
    twin, labels = EllipsoidClassifier(**{**model.get_params(), "average": False}), []
    for row in X:
        predicted = int(twin.predict(row[np.newaxis])[0]) if labels else 0
        labels.append((predicted + 1) % classes)
        twin.partial_fit(row[np.newaxis], labels[-1:], classes=None if len(labels) > 1 else range(classes))
    return np.array(labels)
