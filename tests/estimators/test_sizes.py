"""Rows of every accepted size: what was learned can be saved, loaded and gone on with; a forged count cannot."""

import numpy as np
import pytest

from ellipsoid import MIRA, OnlineEllipsoidalSVC, Perceptron, Scaled, load
from ellipsoid.engine import tally as tallies
from ellipsoid.estimators import LEARNERS
from ellipsoid.estimators.files import container

SIZES = [1e-145, 1e-100, 1e-77, 1e76, 1e78, 1e100, 1e143]


def check_goes_on(model, X, y, path):
    """The file is read, and the two models go on as one."""
    half = len(y) // 2
    model.partial_fit(X[:half], y[:half], classes=range(3))
    model.save(path)
    other = load(path)
    for one in (model, other):
        one.partial_fit(X[half:], y[half:])
        one.save(path.with_suffix(f".{id(one)}"))
    assert path.with_suffix(f".{id(model)}").read_bytes() == path.with_suffix(f".{id(other)}").read_bytes()
    assert model.predict(X).tolist() == other.predict(X).tolist()


@pytest.mark.few_learners
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", LEARNERS)
def test_a_model_of_rows_of_any_size_is_saved_and_goes_on(name, size, blobs, tmp_path):
    X, y = blobs
    check_goes_on(LEARNERS[name](), X * size, y, tmp_path / "m")


@pytest.mark.parametrize("size", SIZES)
def test_rows_of_very_different_sizes(size, blobs, tmp_path):
    X, y = blobs
    X = X * np.where(np.arange(len(y)) % 3, 1.0, size)[:, np.newaxis]
    for model in (Perceptron(average=True), Perceptron(multiclass="ovr"), Scaled(MIRA()), OnlineEllipsoidalSVC()):
        check_goes_on(model, X, y, tmp_path / "m")


@pytest.fixture(scope="module")
def content(blobs, tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "m"
    X, y = blobs
    Perceptron(average=True).partial_fit(X, y, classes=range(3)).save(path)
    return container.read(path)


@pytest.mark.parametrize(
    ("slot", "value"),
    [
        (tallies.ROUNDS, -5.0), (tallies.ROUNDS, 119.5), (tallies.ROUNDS, np.inf), (tallies.ROUNDS, 1e300),
        (tallies.ROUNDS, 3.0), (tallies.MISTAKES, -1.0), (tallies.MISTAKES, 121.0), (tallies.UPDATES, 1e9),
        (tallies.UPDATES, 0.5), (tallies.PARTS, -2.0), (tallies.PARTS, 361.0), (tallies.ZEROS, -1.0),
        (tallies.ZEROS, 121.0), (tallies.RADIUS2, -1.0), (tallies.LOSS2, -np.inf), (tallies.LOSS2, np.nan),
        (tallies.WEIGHT, -1.0), (tallies.LARGEST, -1.0),
    ],
)  # fmt: skip
def test_a_forged_count_is_refused(slot, value, content, tmp_path):
    tally = content.arrays["tally"].copy()
    container.write(tmp_path / "m", content.header, {**content.arrays, "tally": tally})
    assert load(tmp_path / "m").t_ == 120
    tally[slot] = value
    container.write(tmp_path / "m", content.header, {**content.arrays, "tally": tally})
    with pytest.raises(container.DamagedModel, match=r"counts|negative|NaN"):
        load(tmp_path / "m")
