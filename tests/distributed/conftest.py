"""Files for runs over shards."""

import hashlib

import numpy as np
import pytest
from sklearn.datasets import load_digits

from ellipsoid.estimators.files import container, saving


def digest(model):
    """SHA-256 of everything that a model file would hold."""
    return hashlib.sha256(container.encode(*saving.describe(model))).hexdigest()


def write_table(path, X, y):
    """Numbers between commas, the label last."""
    lines = (",".join(map(repr, [*row, label])) for row, label in zip(X.tolist(), y.tolist(), strict=True))
    path.write_text("\n".join(lines) + "\n")
    return str(path)


@pytest.fixture(scope="session")
def digits():
    X, y = load_digits(return_X_y=True)
    return X / 16.0, y


@pytest.fixture(scope="session")
def table(digits, tmp_path_factory):
    """Digits in two files of dense rows."""
    X, y = digits
    folder = tmp_path_factory.mktemp("tables")
    return [write_table(folder / f"{name}.csv", X[part], y[part]) for name, part in
            (("first", slice(0, 900)), ("second", slice(900, None)))]  # fmt: skip


@pytest.fixture(scope="session")
def stream():
    """A few noisy rows of three classes."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(90, 4))
    y = (X @ rng.normal(size=(4, 3))).argmax(axis=1)
    y[:9] = rng.integers(0, 3, size=9)
    return X, y
