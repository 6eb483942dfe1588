"""What the tests of the shells share: all that a learner has learned, as one value that can be compared."""

import numpy as np
import pytest

from ..disk import nobody_waits_for_the_disk  # noqa: F401 (for every test here)


def everything(model):
    """Labels, features, counts and every array of a learner, to the last bit; spare capacity is left out."""
    if "_core" not in vars(model):
        return None
    core = model._core
    names = ("coef_", "intercept_") if hasattr(model, "coef_") else ("dual_coef_",)
    arrays = {"tally": core.tally, **core.table.state(core.scores), **{name: getattr(model, name) for name in names}}
    return {
        "labels": list(core.labels.values),
        "features": core.features,
        "names": getattr(model, "feature_names_in_", np.array([])).tolist(),
        "width": model.n_features_in_,
        "counts": (model.t_, model.mistakes_, model.updates_),
        "scalars": core.scalars(),
        "arrays": {name: bits(trimmed(array) if name.startswith("form_") else array) for name, array in arrays.items()},
    }


def bits(array):
    return array.dtype.str, array.shape, array.tobytes()


def trimmed(array):
    """Without the zeros at the end of each axis, which a table may keep as room to grow."""
    for axis in range(array.ndim):
        used = np.flatnonzero(array.any(axis=tuple(other for other in range(array.ndim) if other != axis)))
        array = array.take(range(used[-1] + 1 if len(used) else 0), axis=axis)
    return np.ascontiguousarray(array)


@pytest.fixture(scope="session")
def state():
    return everything


@pytest.fixture(scope="session")
def blobs():
    """120 examples of three classes, with values that float32 and CSR hold exactly, some of them zero."""
    rng = np.random.default_rng(11)
    y = rng.integers(0, 3, 120)
    X = np.round(8.0 * (rng.normal(size=(120, 19)) + 3.0 * np.eye(3, 19)[y])) / 8.0
    X[rng.random(X.shape) < 0.3] = 0.0
    y[rng.random(120) < 0.1] = 1
    return X, y
