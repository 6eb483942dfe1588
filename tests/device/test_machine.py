"""The ellipsoidal SVM with its kernel matrix on a device: the same certified optimum."""

import numpy as np
import pytest

from ellipsoid import EllipsoidalSVC
from ellipsoid.batch import device as matrices
from ellipsoid.batch import esvc

RNG = np.random.default_rng(0)
X = RNG.normal(size=(320, 6))
y = (X[:, 0] * X[:, 1] + 0.3 * RNG.normal(size=320) > 0).astype(int)


@pytest.fixture(params=["numpy", pytest.param("cuda", marks=pytest.mark.gpu)], autouse=True)
def on_device(request, monkeypatch):
    if request.param == "cuda":
        pytest.importorskip("cupy")
        return
    for module in (matrices, esvc):
        monkeypatch.setattr(module, "cuda_arrays", lambda: np)


@pytest.mark.parametrize("kernel", [{"gamma": 0.3, "nu": 0.05}, {"kernel": "poly", "degree": 2, "coef0": 1.0}])
def test_the_same_optimum_within_both_gaps(kernel):
    here = EllipsoidalSVC(random_state=0, tol=1e-4, **kernel).fit(X, y)
    there = EllipsoidalSVC(random_state=0, tol=1e-4, device="cuda", **kernel).fit(X, y)
    assert there.solver_ == "block"
    gaps = here.duality_gap_ + there.duality_gap_
    assert there.duality_gap_ <= 1e-4 * max(1.0, abs(there.dual_objective_) + 1e3)
    assert abs(here.dual_objective_ - there.dual_objective_) <= gaps
    assert (here.predict(X) == there.predict(X)).mean() > 0.99
    np.testing.assert_allclose(there.ellipsoid_width(X[:9]), here.ellipsoid_width(X[:9]), rtol=0.05)


def test_scores_on_the_device_are_those_of_the_same_model():
    model = EllipsoidalSVC(random_state=0, device="cuda").fit(X, y + (X[:, 2] > 1))
    there = model.decision_function(X)
    np.testing.assert_allclose(model.set_params(device="cpu").decision_function(X), there, atol=1e-10)


@pytest.mark.parametrize("parameters", [{"kernel": "linear"}, {"solver": "features"}, {"formulation": "exact"}])
def test_impossible_devices_are_refused(parameters):
    with pytest.raises(ValueError, match='device="cuda" is for kernel'):
        EllipsoidalSVC(device="cuda", **parameters).fit(X, y)


def test_unknown_devices_are_refused():
    with pytest.raises(ValueError, match="device must be one of"):
        EllipsoidalSVC(device="tpu").fit(X, y)
