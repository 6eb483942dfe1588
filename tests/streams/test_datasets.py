"""Named data sets: what always works, what a folder brings, what is fetched, what is said otherwise."""

import pickle
from types import SimpleNamespace

import numpy as np
import pytest

from ellipsoid import datasets

READER = """
import numpy as np
def names(): return ["tiny", "labels"]
def load(name):
    if name == "tiny":
        return dict(X_train=np.eye(3), y_train=np.arange(3), X_test=np.eye(3)[:1], y_test=np.zeros(1, int))
    return dict(X=np.eye(2), Y=np.eye(2, dtype=np.uint8))
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "load.py").write_text(READER)
    monkeypatch.setenv("ELLIPSOID_DATA", str(tmp_path))
    return tmp_path


@pytest.fixture
def no_folder(monkeypatch):
    monkeypatch.delenv("ELLIPSOID_DATA", raising=False)


def test_digits_come_as_they_are_in_file_order():
    from sklearn.datasets import load_digits

    data = datasets.load("digits")
    np.testing.assert_array_equal(data.X, load_digits().data)
    np.testing.assert_array_equal(data.y, load_digits().target)
    assert data.test is None


def test_chess_board_follows_its_published_recipe():
    data = datasets.load("chess-board")
    rng = np.random.default_rng(0)
    np.testing.assert_array_equal(data.X_train, rng.random((10_000, 2)))
    np.testing.assert_array_equal(data.X_test, rng.random((10_000, 2)))
    squares = [(int(8 * a) + int(8 * b)) % 8 for a, b in data.X_test]
    assert data.y_test.tolist() == squares


def test_seed_draws_another_board_and_suits_no_other_set():
    assert not np.array_equal(datasets.load("chess-board", seed=1).X_train, datasets.load("chess-board").X_train)
    with pytest.raises(ValueError, match="only 'chess-board'"):
        datasets.load("digits", seed=1)


def test_folder_brings_its_own_reader_and_is_not_written_to(folder):
    assert datasets.names()["tiny"] == "ELLIPSOID_DATA"
    data = datasets.load("tiny")
    X, _ = datasets.stream(data)
    assert X.shape == (3, 3)
    assert data.test[1].tolist() == [0]
    assert datasets.load("labels").train[1].shape == (2, 2)
    assert [path.name for path in folder.iterdir()] == ["load.py"]


def test_folder_without_reader_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv("ELLIPSOID_DATA", str(tmp_path))
    with pytest.raises(ValueError, match="ELLIPSOID_DATA must name a folder with a reader"):
        datasets.load("usps")


def test_unknown_name_lists_the_known_ones(no_folder):
    with pytest.raises(ValueError, match=r"no data set 'nonesuch'; there are digits, chess-board.*ELLIPSOID_DATA"):
        datasets.load("nonesuch")


def test_openml_set_is_split_as_usual(no_folder, monkeypatch):
    def fetch(name, **options):
        assert (name, options["version"]) == ("mnist_784", 1)
        n = 70_000
        labels = (np.arange(n) % 10).astype(str).astype(object)
        return SimpleNamespace(data=np.arange(n)[:, None], target=labels, feature_names=["pixel"])

    monkeypatch.setattr("sklearn.datasets.fetch_openml", fetch)
    data = datasets.load("mnist_784")
    assert data.name == "mnist"
    assert data.X_train.shape == (60_000, 1)
    assert data.X_test[0, 0] == 60_000
    assert data.y_test.dtype == np.int64


def test_failed_download_says_what_to_do(no_folder, monkeypatch):
    def fetch(*args, **options):
        raise OSError("no route to host")

    monkeypatch.setattr("sklearn.datasets.fetch_openml", fetch)
    with pytest.raises(OSError, match=r"could not be fetched.*no route to host.*ELLIPSOID_DATA"):
        datasets.load("fashion-mnist")


def test_missing_array_is_an_attribute_error_and_pickling_works():
    data = datasets.Dataset("mine", X=np.eye(2), y=np.arange(2))
    with pytest.raises(AttributeError, match="has no 'X_train'; it has X, y"):
        data.X_train  # noqa: B018
    assert pickle.loads(pickle.dumps(data)).name == "mine"


@pytest.mark.parametrize(("name", "shape"), [("usps", (7291, 256)), ("a1a", (1605, 123))])
def test_sets_of_the_folder(dataset, name, shape):
    X, y = dataset(name).train
    assert X.shape == shape
    assert len(y) == shape[0]
