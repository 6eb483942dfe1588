"""Weighted learners run as the Python they are written in: what a weight means does not depend on the compiler."""

import numpy as np
import pytest

from ellipsoid.estimators.inputs import rows as inputs
from ellipsoid.estimators.state import expansion, learner, one_row
from ellipsoid.estimators.state import scaled as scaled_learners
from ellipsoid.estimators.wrappers import scalers


@pytest.fixture(autouse=True)
def plain(request, interpret):
    if "compiled" not in request.fixturenames:
        interpret(expansion, inputs, learner, one_row, scaled_learners, scalers)


@pytest.fixture
def compiled():
    """Run machine code: bits are promised of it."""


@pytest.fixture
def noisy():
    """36 rows of two labels, not separable, and whole weights from 0 to 3."""
    rng = np.random.default_rng(4)
    X = rng.normal(size=(36, 3))
    return X, np.where(X[:, 0] + 0.7 * rng.normal(size=36) > 0.0, 1, -1), rng.integers(0, 4, 36)
