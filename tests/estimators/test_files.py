"""Model files: what was learned comes back to the last bit; anything else is refused, and nothing is ever executed."""

import json
import os
import pickle
import struct
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import load as read_arrays
from safetensors.numpy import save as write_arrays

from ellipsoid import MIRA, PassiveAggressive, Perceptron, load
from ellipsoid.estimators import LEARNERS, persist
from ellipsoid.estimators.persist import DamagedModel

CLOSED = ("CELLIP",)


def dense(learner, X, y):
    return learner().partial_fit(X, y, classes=range(3)), X


def sparse(learner, X, y):
    C = sp.csr_matrix(X)
    return learner().partial_fit(C, y, classes=range(3)), C


def averaged(learner, X, y):
    return learner(average=True, fit_intercept=False).partial_fit(X, y, classes=range(3)), X


def fitted(learner, X, y):
    return learner(random_state=np.random.RandomState(0), n_epochs=np.int64(2)).fit(X, y), X


def binary(learner, X, y):
    return learner().partial_fit(X, y % 2), X


def grown(learner, X, y):
    return learner(grow_features=True).partial_fit(X[:60, :5], y[:60] % 2).partial_fit(X, y % 2), X


def lone(learner, X, y):
    """One class only."""
    return learner().partial_fit(X, np.zeros(len(y), dtype=int)), X


STORIES = [dense, sparse, averaged, fitted, binary, grown, lone]


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.__name__)
@pytest.mark.parametrize("name", LEARNERS)
def test_round_trip(name, story, blobs, state, tmp_path):
    X, y = blobs
    model, rows = story(LEARNERS[name], X, y)
    path = tmp_path / "a model"
    model.save(path)
    other = load(path)
    assert type(other) is type(model)
    assert state(other) == state(model)
    assert (other.decision_function(rows) == model.decision_function(rows)).all()
    assert other.certificates() == model.certificates()
    labels = model.classes_[y % len(model.classes_)]
    assert state(other.partial_fit(rows, labels)) == state(model.partial_fit(rows, labels))
    given, taken = model.get_params(), other.get_params()
    given.pop("random_state"), taken.pop("random_state")
    assert given == taken


def again(model, folder):
    model.save(folder / "again")
    return load(folder / "again")


@pytest.mark.parametrize("name", [name for name in LEARNERS if name not in CLOSED])
def test_open_labels_go_on_after_loading(name, blobs, state, tmp_path):
    X, y = blobs
    labels = np.array(["één", "two", "drei\n\0"])[np.sort(y)]
    model = LEARNERS[name]().partial_fit(X[:50], labels[:50])
    for start in (50, 90):
        model.save(tmp_path / "m")
        other = load(str(tmp_path / "m"))
        model.partial_fit(X[start : start + 40], labels[start : start + 40])
        other.partial_fit(X[start : start + 40], labels[start : start + 40])
        # Saved and loaded once more, both have the same room to grow.
        assert state(again(other, tmp_path)) == state(again(model, tmp_path))
    assert model.classes_.tolist() == [*dict.fromkeys(labels.tolist())]


@pytest.mark.parametrize("name", LEARNERS)
def test_dict_features_go_on_after_loading(name, state, tmp_path):
    model = LEARNERS[name](average=True)
    rng = np.random.default_rng(0)
    for i in range(40):
        example = {word: float(rng.normal()) for word in ("rain", "wind", 7, "ß")[: 1 + i // 10]}
        label = sum(example.values()) > 0.0
        if i in (15, 35):
            model.save(tmp_path / "m")
            other = load(tmp_path / "m")
            assert other.predict_one(example) == model.predict_one(example)
            assert state(other.learn_one(example, label)) == state(model.learn_one(example, label))
            model = other
        model.learn_one(example, label)
    assert model._core.features == {"rain": 0, "wind": 1, 7: 2, "ß": 3}


def test_closed_labels_stay_closed(blobs, tmp_path):
    X, y = blobs
    MIRA().partial_fit(X, y, classes=range(3)).save(tmp_path / "m")
    with pytest.raises(ValueError, match="not in classes"):
        load(tmp_path / "m").learn_one(X[0], 9)


def test_names_of_columns_come_back(blobs, tmp_path):
    pandas = pytest.importorskip("pandas", reason="pandas is not installed: data frames cannot be tested")
    X, y = blobs
    frame = pandas.DataFrame(X, columns=[f"feature {i}" for i in range(X.shape[1])])
    MIRA().fit(frame, y).save(tmp_path / "m")
    assert load(tmp_path / "m").feature_names_in_.tolist() == frame.columns.tolist()
    with pytest.raises(ValueError, match="feature names should match"):
        load(tmp_path / "m").predict(frame[frame.columns[::-1]])


@pytest.mark.parametrize("labels", [[True, False], [1.0, 2.0], [-5, 10**15], ["a", "b"]], ids=str)
def test_kinds_of_labels_come_back(labels, blobs, tmp_path):
    X, y = blobs
    model = PassiveAggressive(C=np.inf).partial_fit(X, np.array(labels)[y % 2])
    model.save(tmp_path / "m")
    other = load(tmp_path / "m")
    assert other.classes_.dtype == model.classes_.dtype
    assert other.classes_.tolist() == model.classes_.tolist()
    assert other.get_params()["C"] == np.inf


def test_what_cannot_be_written_is_said_and_leaves_no_file(blobs, tmp_path):
    X, y = blobs
    dated = MIRA().partial_fit(X, np.array(["2020-01-01", "2021-01-01", "2022-01-01"], dtype="M8[D]")[y])
    with pytest.raises(ValueError, match="labels that are strings or numbers"):
        dated.save(tmp_path / "m")
    with pytest.raises(ValueError, match="feature names that are strings or integers"):
        MIRA().learn_one({(1, 2): 1.0}, "a").save(tmp_path / "m")
    assert list(tmp_path.iterdir()) == []


# -- damage --------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    rng = np.random.default_rng(0)
    path = tmp_path_factory.mktemp("model") / "m"
    Perceptron(average=True).partial_fit(rng.normal(size=(20, 2)), rng.integers(0, 3, 20), classes=range(3)).save(path)
    return path.read_bytes()


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tmp_path_factory.mktemp("damaged") / "m"


@settings(max_examples=300)
@given(data=st.data())
def test_any_changed_byte_is_noticed(written, place, data):
    index = data.draw(st.integers(0, len(written) - 1))
    byte = data.draw(st.integers(0, 255).filter(lambda value: value != written[index]))
    place.write_bytes(written[:index] + bytes([byte]) + written[index + 1 :])
    with pytest.raises(DamagedModel):
        load(place)


@settings(max_examples=60)
@given(data=st.data())
def test_a_file_cut_short_or_made_longer_is_noticed(written, place, data):
    length = data.draw(st.integers(0, len(written) - 1))
    for blob in (
        written[:length],
        written + written[: 1 + length],
        written[length:] + written[:length] if length else b"",
    ):
        place.write_bytes(blob)
        with pytest.raises((DamagedModel, OSError)):
            load(place)


@settings(max_examples=100)
@given(blob=st.binary(max_size=400))
def test_noise_is_no_model(place, blob):
    place.write_bytes(blob)
    with pytest.raises((DamagedModel, OSError)):
        load(place)


def header_of(blob):
    (length,) = struct.unpack("<Q", blob[:8])
    return json.loads(json.loads(blob[8 : 8 + length])["__metadata__"]["ellipsoid"])


def forge(blob, place, header=None, arrays=None):
    """A file with a right checksum: what a hostile writer can make."""
    header = header_of(blob) if header is None else header
    arrays = read_arrays(blob) if arrays is None else arrays
    header.pop("checksum", None)
    header["checksum"] = persist._checksum(header, arrays)
    place.write_bytes(write_arrays(arrays, metadata={"ellipsoid": json.dumps(header)}))


def test_a_forged_file_that_changes_nothing_is_read(written, place):
    """Otherwise the tests below could pass for a wrong reason."""
    forge(written, place)
    assert load(place).t_ == 20


FORGED_HEADERS = {
    "class": [[], {}, None, 5, "os.system", "BaseEstimator", "__class__", "DamagedModel"],
    "format": [0, 2, "1", None, [1]],
    "params": [{"margin": -1.0}, {"nonsense": 1}, {"update": []}, {"update": {"a": 1}}, {"margin": "x"}, [], None, "x"],
    "labels": [{"values": [0, 1]}, {"values": [0, 0, 1]}, {"values": [[0], 1, 2]}, {"values": None}, {}, None,
               {"values": "abc"}, {"values": list(range(10**5))}, {"values": [None, 1, 2]}],
    "features": [[[1], 2], 5, ["a", "b", "c"], "ab", [None, 1]],
    "names": [5, ["a", "b", "c", "d"]],
    "state": [{}, None, 7, []],
}  # fmt: skip


@pytest.mark.parametrize("key", FORGED_HEADERS)
def test_forged_headers(key, written, place):
    for value in FORGED_HEADERS[key]:
        forge(written, place, header={**header_of(written), key: value})
        with pytest.raises(DamagedModel):
            load(place)
    missing = header_of(written)
    del missing[key]
    forge(written, place, header=missing)
    if key != "names":
        with pytest.raises(DamagedModel):
            load(place)


def test_forged_arrays(written, place):
    good = read_arrays(written)
    for name, array in good.items():
        for bad in (
            array[..., :-1], array.ravel() if array.ndim > 1 else array[None], np.full_like(array, np.nan),
            np.full_like(array, np.inf), np.zeros((0, 0)), np.zeros((3, 10**6)),
        ):  # fmt: skip
            forge(written, place, arrays={**good, name: np.ascontiguousarray(bad)})
            with pytest.raises(DamagedModel):
                load(place)
        forge(written, place, arrays={key: value for key, value in good.items() if key != name})
        with pytest.raises(DamagedModel):
            load(place)


@pytest.mark.parametrize("text", ["[" * 100_000, "{}", "[]", "7", "null", '"x"', "NaN", "", "\x00", "{"], ids=repr)
def test_a_header_that_is_no_header(text, written, place):
    place.write_bytes(write_arrays(read_arrays(written), metadata={"ellipsoid": text}))
    with pytest.raises(DamagedModel):
        load(place)
    place.write_bytes(write_arrays(read_arrays(written), metadata={"other": text}))
    with pytest.raises(DamagedModel):
        load(place)


class Bomb:
    def __reduce__(self):
        return os.mkdir, ("exploded",)


def test_a_pickle_is_refused_and_not_run(place, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        place.write_bytes(pickle.dumps(Bomb(), protocol=protocol))
        with pytest.raises(DamagedModel):
            load(place)
    with open(place, "wb") as file:
        np.save(file, np.array([Bomb()], dtype=object), allow_pickle=True)
    with pytest.raises(DamagedModel):
        load(place)
    assert not Path("exploded").exists()


def test_missing_files_and_folders(tmp_path):
    for path in (tmp_path / "nothing", tmp_path, tmp_path / "no folder" / "m"):
        with pytest.raises(OSError, match=str(path)):
            load(path)
    model = MIRA().partial_fit([[1.0], [2.0]], [0, 1])
    for path in (tmp_path, tmp_path / "no folder" / "m"):
        with pytest.raises(OSError):  # noqa: PT011 (the system's own words)
            model.save(path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("stage", ["write", "fsync", "replace"])
def test_a_failing_write_leaves_the_old_file(stage, blobs, state, tmp_path, monkeypatch):
    X, y = blobs
    model = MIRA().partial_fit(X, y)
    model.save(tmp_path / "m")
    before = state(model)
    model.partial_fit(X, y)

    def full(*args, **kwargs):
        raise OSError("no space left on the device")

    if stage == "write":
        monkeypatch.setattr(os, "fdopen", full)
    else:
        monkeypatch.setattr(os, stage, full)
    with pytest.raises(OSError, match="no space left"):
        model.save(tmp_path / "m")
    monkeypatch.undo()
    assert [path.name for path in tmp_path.iterdir()] == ["m"]
    assert state(load(tmp_path / "m")) == before


def test_a_saved_file_has_ordinary_permissions(tmp_path):
    model = MIRA().partial_fit([[1.0], [2.0]], [0, 1])
    model.save(tmp_path / "m")
    (tmp_path / "plain").write_bytes(b"")
    assert (tmp_path / "m").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_nothing_learned_nothing_saved(tmp_path):
    from sklearn.exceptions import NotFittedError

    with pytest.raises(NotFittedError):
        MIRA().save(tmp_path / "m")
    assert list(tmp_path.iterdir()) == []
