"""Model files that are damaged, forged or too new are refused with a sentence; nothing in them is ever executed."""

import json
import os
import pickle
import signal
import struct
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import load as read_arrays
from safetensors.numpy import save as write_arrays

from ellipsoid import AROW, CELLIP, IELLIP, MIRA, OnlineSVM, Perceptron, SecondOrderPerceptron, Winnow, load
from ellipsoid.ellipsoids.state import COMPLETE, LOG_SCALE
from ellipsoid.estimators.files import container
from ellipsoid.estimators.files.container import DamagedModel, checksum
from ellipsoid.links.weights import DIVISOR
from ellipsoid.representation.window.slots import SEEN


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    rng = np.random.default_rng(0)
    path = tmp_path_factory.mktemp("model") / "m"
    Perceptron(average=True).partial_fit(rng.normal(size=(20, 2)), rng.integers(0, 3, 20), classes=range(3)).save(path)
    return path.read_bytes()


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tmp_path_factory.mktemp("damaged") / "m"


def put(place, blob):
    """Write a file anew: where an old one is overwritten a file system may wait for the disk."""
    place.unlink(missing_ok=True)
    place.write_bytes(blob)


@settings(max_examples=300)
@given(data=st.data())
def test_any_changed_byte_is_noticed(written, place, data):
    index = data.draw(st.integers(0, len(written) - 1))
    byte = data.draw(st.integers(0, 255).filter(lambda value: value != written[index]))
    put(place, written[:index] + bytes([byte]) + written[index + 1 :])
    with pytest.raises(DamagedModel):
        load(place)


@pytest.mark.parametrize("other", [b"\t", b"\n", b"\r"])
def test_a_blank_that_became_another_is_noticed(other, written, place):
    """It changes nothing that JSON says, and so no checksum."""
    end = 8 + int.from_bytes(written[:8], "little")
    blanks = [i for i in range(8, end) if written[i : i + 1] == b" "]
    assert len(blanks) > 20
    for i in blanks:
        put(place, written[:i] + other + written[i + 1 :])
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
        put(place, blob)
        with pytest.raises((DamagedModel, OSError)):
            load(place)


@settings(max_examples=100)
@given(blob=st.binary(max_size=400))
def test_noise_is_no_model(place, blob):
    put(place, blob)
    with pytest.raises((DamagedModel, OSError)):
        load(place)


def metadata_of(blob):
    (length,) = struct.unpack("<Q", blob[:8])
    return json.loads(blob[8 : 8 + length])["__metadata__"]


def header_of(blob):
    return json.loads(metadata_of(blob)["header"])


def forge(blob, place, header=None, arrays=None, version="1"):
    """A file with a right checksum: what a hostile writer can make."""
    text = json.dumps(header_of(blob) if header is None else header)
    arrays = read_arrays(blob) if arrays is None else arrays
    metadata = {"ellipsoid": version, "header": text, "sha256": checksum(text, arrays)}
    put(place, write_arrays(arrays, metadata=metadata))


def test_a_forged_file_that_changes_nothing_is_read(written, place):
    """Otherwise the tests below could pass for a wrong reason."""
    forge(written, place)
    assert load(place).t_ == 20


FORGED_HEADERS = {
    "class": [[], {}, None, 5, "os.system", "BaseEstimator", "__class__", "DamagedModel"],
    "started": [{"margin": -1.0}, {"average": False}, [], "x", {"nonsense": 1}],
    "scaler": [5, {}, {"class": "MIRA"}, []],
    "stream": [5, [], "x", {"columns": "ab"}, {"columns": [1, 2]}, {"zero_based": 1}, {"bits": True}],
    "params": [
        {"margin": -1.0}, {"nonsense": 1}, {"multiclass": []}, {"multiclass": {"a": 1}}, {"margin": "x"},
        {"update": []}, {"update": "max", "multiclass": "max"}, [], None, "x",
    ],
    "labels": [[0, 1], [0, 0, 1], [[0], 1, 2], None, {}, "abc", list(range(10**5)), [None, 1, 2], [0, 1, "a"],
               [float("nan"), 1.0, 2.0], [0.0, 1.0, float("inf")], []],
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
    with pytest.raises(DamagedModel):
        load(place)
    forge(written, place, header={**header_of(written), "news": 1})
    with pytest.raises(DamagedModel, match="news"):
        load(place)


def test_a_newer_version_asks_for_an_update(written, place):
    forge(written, place, version="2")
    with pytest.raises(DamagedModel, match=r"version 2 .* reads versions up to 1. Update ellipsoid"):
        load(place)
    for version in ("0", "-1", "1.0", "", "x", "9" * 5000):
        forge(written, place, version=version)
        with pytest.raises(DamagedModel):
            load(place)


def test_a_file_cut_short_is_called_so(written, place):
    put(place, written[:100])
    with pytest.raises(DamagedModel, match="cut short"):
        load(place)
    put(place, written[:-1])
    with pytest.raises(DamagedModel, match="not fully covered"):
        load(place)


@pytest.mark.parametrize("kind", [np.float32, np.float16])
def test_other_float_formats_are_read(kind, written, place):
    arrays = {name: array.astype(kind) for name, array in read_arrays(written).items()}
    forge(written, place, arrays=arrays)
    model = load(place)
    assert model._core.table.W.tobytes() == arrays["W"].astype(np.float64).tobytes()
    assert model.learn_one(np.ones(2), 1).t_ == 21


def test_types_that_hold_no_weights_are_refused(written, place):
    good = read_arrays(written)
    for kind in (np.int64, np.uint8, np.bool_, np.uint32):
        metadata = {**metadata_of(written)}
        arrays = {**good, "W": good["W"].astype(kind)}
        if kind in (np.int64, np.uint8):
            metadata["sha256"] = checksum(metadata["header"], arrays)
        put(place, write_arrays(arrays, metadata=metadata))
        with pytest.raises(DamagedModel):
            load(place)


def test_an_array_without_entries_cannot_claim_a_huge_shape(written, place):
    """Such a shape costs the writer nothing and would cost the reader all memory."""
    good = read_arrays(written)
    header = header_of(written)
    for shape in ((0, 1 << 20), (0, 1 << 40), (0, 1 << 62), (1 << 62, 0), (0, 0)):
        entry = {"dtype": "F64", "shape": list(shape), "data_offsets": [0, 0]}
        offset, parts, body = 0, {"W": entry, "U": entry}, b""
        for name in sorted(good.keys() - {"W", "U"}):
            raw = good[name].tobytes()
            parts[name] = {"dtype": "F64", "shape": [*good[name].shape], "data_offsets": [offset, offset + len(raw)]}
            offset, body = offset + len(raw), body + raw
        text = json.dumps({**header, "labels": []})
        digest = checksum(text, {**good, "W": np.zeros((0, 1)), "U": np.zeros((0, 1))})
        metadata = {"ellipsoid": "1", "header": text, "sha256": digest}
        top = json.dumps({"__metadata__": metadata, **parts}).encode()
        put(place, struct.pack("<Q", len(top)) + top + body)
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
    arrays = read_arrays(written)
    for metadata in (
        {"ellipsoid": "1", "header": text, "sha256": checksum(text, arrays)},
        {"ellipsoid": "1", "header": text},
        {"ellipsoid": text},
        {"other": text},
    ):
        put(place, write_arrays(arrays, metadata=metadata))
        with pytest.raises(DamagedModel):
            load(place)


class Bomb:
    def __reduce__(self):
        return os.mkdir, ("exploded",)


def test_a_pickle_is_refused_and_not_run(place, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        put(place, pickle.dumps(Bomb(), protocol=protocol))
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

    def first_part(*args, **kwargs):
        yield b"a part of it"
        full()

    if stage == "write":
        monkeypatch.setattr("ellipsoid.estimators.files.container.pieces", first_part)
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


def save_for_ever(model, path, ready):
    """What a forked process does until it is killed."""
    try:
        model.save(path)
        os.write(ready, b"!")
        while True:
            model.save(path)
    finally:
        os._exit(1)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_kill_in_the_middle_of_a_save_leaves_a_whole_file(tmp_path):
    rng = np.random.default_rng(0)
    path = tmp_path / "m"
    model = Perceptron(average=True).partial_fit(rng.normal(size=(9, 60_000)), np.arange(9) % 3, classes=range(3))
    model.save(path)
    whole = path.read_bytes()
    for pause in (0.0, 0.003, 0.011):
        told, ready = os.pipe()
        child = os.fork()
        if child == 0:
            save_for_ever(model, path, ready)
        os.close(ready)
        assert os.read(told, 1) == b"!"
        os.close(told)
        signal.sigtimedwait([], pause)
        os.kill(child, signal.SIGKILL)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
        assert path.read_bytes() == whole
        assert load(path).t_ == 9


@pytest.mark.parametrize("seed", [-1, 2**31, 10**30])
def test_a_forged_seed_of_random_choices(seed, place):
    IELLIP().partial_fit([[1.0, 2.0], [2.0, 1.0]], [0, 1]).save(place)
    blob = place.read_bytes()
    header = header_of(blob)
    header["state"]["seed"] = seed
    forge(blob, place, header=header)
    with pytest.raises(DamagedModel, match="seed"):
        load(place)


@pytest.mark.interpreted
@pytest.mark.parametrize(
    ("model", "array", "place_in_row", "values"),
    [
        # A compiled loop would write beyond its arrays: it asks for no more room where no update needs any.
        (AROW(shape="gram"), "numbers", COMPLETE, (1.0, -2.0)),
        (AROW(kernel="rbf"), "numbers", COMPLETE, (1.0, 0.5)),
        (SecondOrderPerceptron(shape="gram"), "numbers", COMPLETE, (1.0,)),
        (CELLIP(margin=0.01, shape="gram"), "numbers", COMPLETE, (1.0,)),
        (IELLIP(), "numbers", COMPLETE, (2.0, -1.0)),
        (AROW(), "numbers", LOG_SCALE, (1e300, -1e300)),
        (Winnow(), "sums", DIVISOR, (0.0, -1.0)),
        (OnlineSVM(window=5), "window_numbers", SEEN, (1e300, -5.0)),
        (OnlineSVM(window=5), "window_own", 0, (-1e300,)),
        (OnlineSVM(window=5), "window_alpha", 0, (-1.0,)),
    ],
)
def test_forged_numbers_that_a_loop_relies_on(model, array, place_in_row, values, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.0, 1.0, (30, 3))
    model.partial_fit(X, (X[:, 0] > 0.1).astype(int)).save(tmp_path / "model")
    content = container.read(tmp_path / "model")
    for value in values:
        forged = content.arrays[array].copy()
        forged.reshape(-1)[place_in_row] = value
        container.write(tmp_path / "forged", content.header, {**content.arrays, array: forged})
        with pytest.raises(DamagedModel, match="is not a sound model"):
            load(tmp_path / "forged")
    assert load(tmp_path / "model").t_ == 30
