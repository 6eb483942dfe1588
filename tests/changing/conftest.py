"""Streams that tests of changing streams share."""

import numpy as np
import pytest


def drifting(n=200, width=4, classes=2, seed=0):
    """Rows whose truth turns, with some labels wrong; values that float32 and CSR hold exactly."""
    rng = np.random.default_rng(seed)
    X = np.round(8.0 * rng.normal(size=(n, width))) / 8.0
    turns = np.cumsum(rng.normal(size=(n, classes, width)) * 0.2, axis=0) + rng.normal(size=(classes, width))
    y = np.einsum("nd,ncd->nc", X, turns).argmax(axis=1)
    y[rng.random(n) < 0.1] = rng.integers(0, classes)
    return X, y


HOSTILE = {
    "one row, both labels in turn": lambda: (np.ones((60, 2)), np.arange(60) % 2),
    "labels at random": lambda: (
        np.random.default_rng(1).normal(size=(60, 2)),
        np.random.default_rng(2).integers(0, 2, 60),
    ),
    "right for long, then always wrong": lambda: (np.ones((80, 2)), (np.arange(80) >= 40).astype(int)),
    "huge and tiny rows": lambda: (
        np.random.default_rng(3).normal(size=(60, 2)) * 10.0 ** np.random.default_rng(4).integers(-30, 30, (60, 1)),
        np.random.default_rng(5).integers(0, 2, 60),
    ),
    "three labels that come late": lambda: (
        drifting(60, 2, 3)[0],
        np.minimum(np.arange(60) // 20, drifting(60, 2, 3)[1]),
    ),
}


@pytest.fixture(params=HOSTILE)
def hostile(request):
    return HOSTILE[request.param]()


def known(model):
    """All that a committee has learned, to the last bit."""
    council = model._core
    inner = [getattr(member, "learner_", member)._core for member in council.members]
    return (
        [array.tobytes() for array in council.mixture.state().values()],
        council.tally.tobytes(),
        council.labels.values,
        [(core.tally.tobytes(), core.table.weights(core.scores, 0).tobytes()) for core in inner],
    )
