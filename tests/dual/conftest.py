"""Six rows that every run of dual ascent was computed for by hand-written code of another kind, and what came out."""

import numpy as np
import pytest

from ..disk import nobody_waits_for_the_disk  # noqa: F401 (for every test here)

X = np.array([[0.5, 0.8], [0.7, -0.6], [-0.7, 0.4], [0.1, 0.9], [0.3, -0.1], [0.2, 0.9]])
Y = np.array([1, 1, 0, 1, 0, 0])


@pytest.fixture(scope="session")
def six():
    """Rows and labels of the golden runs."""
    return X, Y


def dual_vector(model):
    """theta, one row per function, without a column for a constant feature that is not there."""
    return model._core.theta()


@pytest.fixture(scope="session")
def theta_of():
    return dual_vector
