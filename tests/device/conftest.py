"""Learners on a device, which is NumPy unless there is a GPU, beside the same on the CPU."""

import copy

import numpy as np
import pytest

from ellipsoid.ellipsoids.shapes import device as device_shape
from ellipsoid.ellipsoids.tables import kernel as kernel_table
from ellipsoid.estimators import ellipsoidal
from ellipsoid.estimators.state import device_learner, expansion
from ellipsoid.representation.kernel import device

RNG = np.random.default_rng(1)
X = RNG.normal(size=(200, 12))
y = (X[:, 0] * X[:, 1] > 0).astype(int) + (X[:, 2] > 0.8)
# Rows of a run in Python, which needs more time for each than for all those before it.
FEW = 60
# Told at the start, they spare the compiler the loop of the rows before the third label.
CLASSES = range(3)
RBF, POLY = {"kernel": "rbf", "gamma": 0.1}, {"kernel": "poly", "degree": 3, "gamma": 0.05, "coef0": 1.0}


def put_numpy_in_place(monkeypatch):
    """Let NumPy be the arrays of the device."""
    for module in (device, device_learner):
        monkeypatch.setattr(module, "cuda_arrays", lambda: np)


@pytest.fixture(params=["numpy", pytest.param("cuda", marks=pytest.mark.gpu)])
def on_device(request, monkeypatch):
    if request.param == "numpy":
        put_numpy_in_place(monkeypatch)
        monkeypatch.setattr(device, "PIECE_VALUES", 1 << 9)  # several pieces
    else:
        pytest.importorskip("cupy")
    # Sixty rows meet three borders of blocks, a shape that goes to the device, and several writes of what waits there.
    for module in (expansion, ellipsoidal):
        monkeypatch.setattr(module, "SCORED_AHEAD_ON_DEVICE", 19)
    for module in (device_shape, kernel_table):
        monkeypatch.setattr(module, "MOST_WAITING", 8)
    monkeypatch.setattr(kernel_table, "LARGE_SHAPE", 15)


def on(model, **more):
    return copy.deepcopy(model).set_params(device="cuda", **more)


def agree(one, other, rows=X[:FEW], rtol=1e-10):
    assert one.updates_ == other.updates_
    assert one.mistakes_ == other.mistakes_
    assert np.array_equal(one.support_vectors_, other.support_vectors_)
    scores = one.decision_function(rows)
    np.testing.assert_allclose(other.decision_function(rows), scores, rtol=0, atol=rtol * np.abs(scores).max())
    assert other._core.table.device is not None
