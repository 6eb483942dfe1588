"""Mutated model files: an error or a right answer, never a crash, a hang or a fortune in memory.

Three kinds of mutants: bytes changed as an accident would (the checksum must notice, or the change meant nothing),
tables of contents rewritten, and headers and arrays rewritten under a right checksum, as a forger would. What a forger
gets past the checks is some model: it must then predict and learn, or refuse to, as any other.
"""

import copy
import faulthandler
import json
import math
import warnings
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from ellipsoid import (
    ALMA,
    IELLIP,
    ROMMA,
    OnlineSVM,
    PassiveAggressive,
    Perceptron,
    QuasiAdditive,
    Winnow,
    load,
)
from ellipsoid.ellipsoids.state import LIFT_AT, LOG_KEPT
from ellipsoid.estimators.files import container, saving

SEEDS = {path.stem: path.read_bytes() for path in sorted((Path(__file__).parent / "version_1").glob("*.model"))}
KEPT = Path(__file__).parent / "mutants"
# Seconds that one mutant may take.
PATIENCE = 600
ROWS = np.arange(12.0).reshape(2, 6) / 4.0 - 1.0

ODD = [
    None, True, False, 0, -1, 1, 2, 3, 7, 1 << 31, 1 << 63, -(1 << 70), 10**400, 0.5, -0.0, 1e308, -1e308, float("nan"),
    float("inf"), -float("inf"), "", "inf", "nan", "x", "\x00", "linear", "rbf", "gram", "full", "sparse", "MIRA",
    "CELLIP", "Scaled", [], {}, [[]], [0], ["a"], [None], {"a": 1}, {"class": "MIRA"}, [0, 1, 2, 3, 4, 5, 6],
]  # fmt: skip
ODD_FLOATS = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    2.0,
    3.0,
    17.0,
    1e9,
    1e18,
    -1e18,
    1e300,
    -1e300,
    1e-320,
    np.inf,
    -np.inf,
    np.nan,
]
ODD_KINDS = [np.float32, np.float16, np.int64, np.int32, np.uint8, np.int8]


def pick(rng, things):
    return things[rng.integers(len(things))]


def accident(rng, blob):
    """Bytes changed, lost, repeated, moved or taken from another file."""
    data = bytearray(blob)
    for _ in range(rng.integers(1, 4)):
        start = int(rng.integers(0, len(data) + 1))
        stop = min(len(data), start + int(rng.integers(1, 64)))
        kind = rng.integers(6)
        if kind == 0:
            data[start:stop] = rng.bytes(stop - start)
        elif kind == 1 and start < len(data):
            data[start] ^= 1 << int(rng.integers(8))
        elif kind == 2:
            del data[start:stop]
        elif kind == 3:
            data[start:start] = data[start:stop]
        elif kind == 4:
            del data[start:]
        else:
            other = pick(rng, list(SEEDS.values()))
            data[start:stop] = other[start:stop]
    return bytes(data)


def split(blob):
    length = int.from_bytes(blob[:8], "little")
    return json.loads(blob[8 : 8 + length]), blob[8 + length :]


def table_of_contents(rng, blob):
    """The container's own table rewritten: shapes, offsets, types, names."""
    table, body = split(blob)
    for _ in range(rng.integers(1, 3)):
        shake(rng, table)
    top = json.dumps(table).encode()
    return len(top).to_bytes(8, "little") + top + body


def shake(rng, tree):
    """Change one place of a JSON tree."""
    places = []

    def walk(node):
        keys = list(node) if isinstance(node, dict) else range(len(node))
        for key in keys:
            places.append((node, key))
            if isinstance(node[key], dict | list):
                walk(node[key])

    walk(tree)
    if not places:
        return
    node, key = pick(rng, places)
    kind = rng.integers(5)
    if kind == 0:
        del node[key]
    elif kind == 1 and isinstance(node, dict):
        node[pick(rng, ["new", "class", "W", "tally", "form", "average", "kernel"])] = copy.deepcopy(node[key])
    elif kind == 2 and isinstance(node[key], int | float) and not isinstance(node[key], bool):
        node[key] = node[key] + pick(rng, [1, -1, 8, 1e6])
    elif kind == 3:
        other, there = pick(rng, places)
        node[key] = copy.deepcopy(other[there]) if there in other or isinstance(other, list) else None
    else:
        node[key] = copy.deepcopy(pick(rng, ODD))


def bend(rng, arrays):
    """Change one array: its values, shape, type or name."""
    name = pick(rng, sorted(arrays))
    array = arrays[name]
    kind = rng.integers(8)
    if kind <= 2 and array.size:
        array = array.copy()
        flat = array.reshape(-1)
        for _ in range(rng.integers(1, 4)):
            with np.errstate(invalid="ignore", over="ignore"):
                flat[rng.integers(flat.size)] = np.array(pick(rng, ODD_FLOATS)).astype(array.dtype)
        arrays[name] = array
    elif kind == 3:
        axis = int(rng.integers(array.ndim)) if array.ndim else 0
        arrays[name] = np.ascontiguousarray(
            np.repeat(array, pick(rng, [0, 1, 2, 3]), axis=axis) if array.ndim else array
        )
    elif kind == 4:
        arrays[name] = np.ascontiguousarray(
            array[..., : int(rng.integers(array.shape[-1] + 1))] if array.ndim else array
        )
    elif kind == 5:
        arrays[name] = pick(
            rng, [array.reshape(-1), array[None], np.zeros((0, 0)), np.zeros((0, 1 << 20)), np.zeros(())]
        )
    elif kind == 6:
        with np.errstate(invalid="ignore", over="ignore"):
            arrays[name] = array.astype(pick(rng, ODD_KINDS))
    elif rng.integers(2):
        del arrays[name]
    else:
        arrays[pick(rng, ["W", "U", "SV", "numbers", "form_H", "form_slot", "scaler_moments"])] = array


def forgery(rng, blob):
    """Header and arrays rewritten under a right checksum."""
    table, body = split(blob)
    header = json.loads(table["__metadata__"]["header"])
    arrays = {}
    for name, entry in table.items():
        if name != "__metadata__":
            start, stop = entry["data_offsets"]
            kind = (container.FLOATS | container.INTEGERS)[entry["dtype"]]
            arrays[name] = np.frombuffer(body[start:stop], dtype=kind).reshape(entry["shape"])
    for _ in range(rng.integers(1, 4)):
        if rng.integers(2) and arrays:
            bend(rng, arrays)
        else:
            shake(rng, header)
    return container.encode(header, arrays)


def younger():
    """Files of learners that came after the ones in ``SEEDS``: made anew, which takes its time."""
    X = np.round(4.0 * np.random.default_rng(0).normal(size=(40, 6))) / 4.0
    y = (X[:, 0] > 0.0).astype(int) + (X[:, 1] > 0.5)
    sparse = sp.csr_matrix(X)
    models = {
        "romma": ROMMA().partial_fit(X, y, classes=range(3)),
        "alma": ALMA(p=3).partial_fit(sparse, y > 0),
        "quasi-additive": QuasiAdditive(link="p-norm", p=3.0, average=True).partial_fit(X, y, classes=range(3)),
        "winnow": Winnow().partial_fit(np.abs(X) / 10.0, y > 0),
        "online-svm": OnlineSVM(window=16).partial_fit(X, y, classes=range(3)),
        "online-svm-sparse": OnlineSVM(window=16).partial_fit(sparse, y, classes=range(3)),
        "online-svm-kernel": OnlineSVM(window=8, kernel="rbf", gamma=0.5, average=True).partial_fit(
            X, y, classes=range(3)
        ),
        "kernel": PassiveAggressive(kernel="rbf", gamma=0.5, average=True).partial_fit(X, y, classes=range(3)),
        "kernel-sparse": Perceptron(kernel="poly", gamma=0.5).partial_fit(sparse, y > 0),
        "kernel-vote": Perceptron(kernel="rbf", gamma=0.5, average="vote").partial_fit(X, y, classes=range(3)),
    }
    return {name: container.encode(*saving.describe(model)) for name, model in models.items()}


MUTATIONS = [accident, table_of_contents, forgery, forgery, forgery]


def scores(model):
    try:
        return model.decision_function(ROWS)
    except ValueError:
        return model.decision_function(sp.csr_matrix(ROWS))


def survives(blob, place, learn, right=None):
    """Load, and if that works use the model; returns whether it loaded."""
    place.unlink(missing_ok=True)  # where an old file is overwritten a file system may wait for the disk
    place.write_bytes(blob)
    try:
        model = load(place)
    except (ValueError, OSError):
        return False
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = scores(model)
            model.certificates()
            if learn:
                model.learn_one(ROWS[0], model.classes_[0])
                model.partial_fit(ROWS, model.classes_[:1].repeat(2))
        except (ValueError, OSError, ArithmeticError):
            found = None
    if right is not None and found is not None:
        assert found.tobytes() == right.tobytes()
    return True


def fuzz(place, count, seed, learn, seeds=SEEDS):
    right = {}
    loaded = 0
    for name, blob in seeds.items():
        place.write_bytes(blob)
        right[name] = scores(load(place))
    for number in range(count):
        rng = np.random.default_rng([seed, number])
        name = pick(rng, list(seeds))
        mutate = pick(rng, MUTATIONS)
        blob = mutate(rng, seeds[name])
        # A hang is ended, with a trace of where it was, and the mutant is still in its place.
        faulthandler.dump_traceback_later(PATIENCE, exit=True)
        try:
            loaded += survives(blob, place, learn, right[name] if mutate is not forgery else None)
        except BaseException:
            (place.parent / f"failed-{name}-{number}.model").write_bytes(blob)
            raise
        finally:
            faulthandler.cancel_dump_traceback_later()
    return loaded


def test_mutants_do_no_harm(tmp_path):
    loaded = fuzz(tmp_path / "m", 1500, seed=1, learn=False)
    assert 0 < loaded < 500


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "count"), [(2, 80_000), (3, 20_000)])
def test_a_hundred_thousand_mutants_do_no_harm(tmp_path, seed, count):
    assert fuzz(tmp_path / "m", count, seed, learn=True, seeds=SEEDS if seed == 2 else younger()) > 0


@pytest.mark.parametrize("log_kept", [-math.inf, math.inf, -1e300])
@pytest.mark.parametrize("lift_at", [-math.inf, 0.0])
def test_a_volume_that_no_update_would_change_is_refused(log_kept, lift_at, tmp_path):
    """A learner would wait for ever until it falls."""
    content = container.read(KEPT / "log-volume-infinite.model")
    numbers = content.arrays["numbers"].copy()
    numbers[[LOG_KEPT, LIFT_AT]] = log_kept, lift_at
    (tmp_path / "m").write_bytes(container.encode(content.header, {**content.arrays, "numbers": numbers}))
    with pytest.raises(ValueError, match="log volume of its ellipsoid cannot be"):
        load(tmp_path / "m")


def test_a_model_that_never_finds_room_says_so(monkeypatch):
    X = np.random.default_rng(0).normal(size=(200, 6))
    model = IELLIP().partial_fit(X[:2], [0, 1])
    monkeypatch.setattr(model._core.table, "grow", lambda *_: None)
    with pytest.raises(ValueError, match="finds no room for another example"):
        model.partial_fit(X, np.random.default_rng(1).integers(0, 2, 200))


@pytest.mark.parametrize("path", sorted(KEPT.glob("*.model")), ids=lambda path: path.stem)
def test_mutants_that_once_did_harm(path, tmp_path):
    survives(path.read_bytes(), tmp_path / "m", learn=True)
