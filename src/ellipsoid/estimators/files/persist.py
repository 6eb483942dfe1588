"""Learners as model files: what is written of one, and how a file is made a learner again. No code is ever run.

`container` says how a file is laid out. Its header is a JSON object:

    class       the learner, one of a fixed list
    params      its parameters (JSON values; inf as "inf")
    started     the parameters it was started with, null where they are the same
    labels      the known labels, in the order of their indices
    features    names of dict features in the order of their columns, or null
    names       names of the columns of a data frame, or null
    state       scalars of what was learned
    scaler      the scaler in front of the learner, or null
    stream      where in which input a command stopped, and what the numbers of its columns mean, or null
    calibration how its scores become probabilities; not there without
    words       the columns of a data frame that hold words; not there without
    conformal   how its sets are made; not there without
    members     of a committee the headers of its members; not there without
    next        what it is to start with next, where that is not told by the rest; not there without
    run         which run over shards it is a checkpoint of, and after which round; not there without

A file is believed only if the learner made from it would be written as the same header and arrays. That one test
refuses arrays of wrong names, shapes or types and contradictory headers for every learner, those to come included; what
compiled code relies on beyond that (indices within bounds) each learner checks before it takes an array.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ellipsoid.certificates import mixed
from ellipsoid.engine import tally as tallies
from ellipsoid.representation.table_protocol import StoredArrays
from ellipsoid.streams.label_kinds import plain
from ellipsoid.streams.options import CELL_KINDS

from ..inputs.weights import class_weight_of, restored_counts
from ..parameters.old_names import renamed
from . import container
from .committees import describe_committee, last_part, read_committee, with_total
from .container import DamagedModel
from .parameters import next_start, params_as_json, params_from_json, set_next_start

# Arrays in which infinities have a meaning; NaN has one nowhere. Sums of squares of large rows may overflow.
MAY_BE_INFINITE = ("numbers", "tally", "window_cap")

# Rows of an array that a file may hold though they mean nothing: as many from the first on.
SCRATCH = {"form_small": 3}

# Beyond this a float no longer counts.
MOST_ROUNDS = 2.0**53

# What a record of a stream tells of the features: how the next file must be read, wherever the last one stopped.
FEATURES = {"columns": list, "zero_based": bool, "bits": int, "kinds": dict}

KEYS = ("class", "params", "started", "labels", "features", "names", "state", "scaler", "stream")
OPTIONAL = {"calibration", "conformal", "words", "members", "next", "run"}


def save(model: Any, path: Any, stream: dict[str, Any] | None = None, run: dict[str, Any] | None = None) -> None:
    """Write a learner to ``path``, atomically: a crash leaves the old file whole.

    Without a ``stream`` it tells what is known of the features of the one that was learned, and of no place in it.
    """
    header, arrays = describe(model)
    stream = _of_features(getattr(model, "stream_", None)) if stream is None else stream
    container.write(path, {**header, "stream": stream, **({} if run is None else {"run": run})}, arrays)


def load(path: Any) -> Any:
    """Read a learner written by ``save``.

    >>> import tempfile, os
    >>> from ellipsoid import MIRA, load
    >>> model = MIRA().fit([[0.0, 1.0], [1.0, 0.0]], ["north", "east"])
    >>> path = os.path.join(tempfile.mkdtemp(), "compass.model")
    >>> model.save(path)
    >>> str(load(path).predict_one([0.0, 2.0]))
    'north'
    """
    return open_model(path)[0]


def open_model(path: Any) -> tuple[Any, container.Content]:
    """The learner of a file, and the file's content."""
    content = container.read(path)
    try:
        model = READERS[content.version](content.header, content.arrays)
        if kept := _of_features(content.header["stream"]):
            inner = model
            while "learner_" in inner.__dict__:  # all that is around it asks it
                inner = inner.learner_
            inner.stream_ = kept
        return model, content
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError, RecursionError) as error:
        raise DamagedModel(f"{path} is not a sound model: {_words(error)}") from error
    except MemoryError as error:
        raise DamagedModel(f"{path} asks for more memory than there is") from error


def _of_features(record: Any) -> dict[str, Any] | None:
    """What a record of a stream tells of the features, None if nothing."""
    kept = {name: record[name] for name in FEATURES if record is not None and record.get(name) is not None}
    good = all(type(value) is FEATURES[name] for name, value in kept.items())
    good = good and all(isinstance(name, str) for name in (*kept.get("columns", ()), *kept.get("kinds", ())))
    if not good or not {*kept.get("kinds", {}).values()} <= {None, *CELL_KINDS}:
        raise ValueError(f"its record of its stream is not understood: {kept!r}")
    return kept or None


def describe(model: Any) -> tuple[dict[str, Any], StoredArrays]:
    """The header and the arrays of a model; None stands for the stream."""
    header, arrays = _described(model)
    # What is inside starts next as the whole says.
    return {name: value for name, value in header.items() if name != "next"} | next_start(model), arrays


def _described(model: Any) -> tuple[dict[str, Any], StoredArrays]:
    if "conformity_" in model.__dict__:
        return _describe_conformal(model)
    if "calibration_" in model.__dict__:
        return _describe_calibrated(model)
    if "scaler_" in model.__dict__:
        return _describe_scaled(model)
    core = model._learned()
    if hasattr(core, "members"):
        return describe_committee(model, describe, params_as_json)
    params, started = params_as_json(model.get_params(deep=False)), params_as_json(core.started)
    header: dict[str, Any] = {
        "class": type(model).__name__,
        "params": params,
        "started": None if started == params else started,
        "labels": [plain(value) for value in core.labels.values],
        "features": None if core.features is None else [_name(name) for name in core.features],
        "names": None if not hasattr(model, "feature_names_in_") else [str(n) for n in model.feature_names_in_],
        "state": core.scalars(),
        "scaler": None,
        "stream": None,
        **({"words": model.word_columns_} if hasattr(model, "word_columns_") else {}),
    }
    arrays = {"tally": tallies.trimmed(core.tally), **core.table.state(core.scores)}
    if core.class_weight == "balanced":
        arrays["class_counts"] = np.array([core.counts.get(label, 0) for label in core.labels.values], dtype=np.int64)
    if core.mixed is not None:
        header["state"]["mixed"], arrays["mixed_tally"] = mixed.describe_mixed(core.mixed), core.mixed.apart
    return header, arrays


def _describe_scaled(model: Any) -> tuple[dict[str, Any], StoredArrays]:
    header, arrays = describe(model.learner_)
    following, started = model._seeded(), params_as_json(model.learner_._core.started)
    # Another learner's are told in `next`.
    same = type(following) is type(model.learner_)
    params = params_as_json((following if same else model.learner_).get_params(deep=False))
    scalars, parts = model.scaler_.state()
    header |= {
        "params": params,
        "started": None if started == params else started,
        "names": [str(name) for name in model.feature_names_in_] if hasattr(model, "feature_names_in_") else None,
        "scaler": {
            "class": type(model.scaler_).__name__,
            "params": params_as_json(model.scaler_.get_params(deep=False)),
            "state": scalars,
        },
    }
    return header, arrays | {f"scaler_{name}": array for name, array in parts.items()}


def _describe_calibrated(model: Any) -> tuple[dict[str, Any], StoredArrays]:
    header, arrays = describe(model.learner_)
    calibration = model.calibration_
    header["calibration"] = {"params": {"forget": float(model.forget)}, "forget": calibration.forget}
    return header, arrays | {"calibration_table": calibration.table, "calibration_spread": calibration.spread}


def _describe_conformal(model: Any) -> tuple[dict[str, Any], StoredArrays]:
    header, arrays = describe(model.learner_)
    conformity, parts = model.conformity_, model.conformity_.state()
    header["conformal"] = {
        "params": params_as_json({name: getattr(model, name) for name in ("miscoverage", "rate", "window")}),
        "started": [conformity.miscoverage, conformity.rate, len(conformity.recent)],
    }
    return header, arrays | {f"conformal_{name}": array.copy() for name, array in parts.items()}


def _version_1(header: dict[str, Any], arrays: StoredArrays) -> Any:
    """The model of a file of version 1. This reader stays when another version comes."""
    if sorted({*header} - OPTIONAL) != sorted(KEYS):
        raise ValueError(f"its header must hold {', '.join(KEYS)}, and holds {', '.join(map(str, header))}")
    if not isinstance(header["stream"], dict | None):
        raise ValueError("its stream is no JSON object")
    header = {**header, **{part: renamed(header["class"], header[part]) for part in ("params", "started")}}
    _check_values(arrays)
    _check_tally(arrays["tally"], len(_listed(header["labels"])))
    arrays = {name: _meant(name, array) for name, array in arrays.items()}
    stored, arrays["tally"] = arrays["tally"], tallies.completed(arrays["tally"])
    arrays = with_total(arrays)
    model = _learner(header, arrays) if header["scaler"] is None else _scaled(header, arrays)
    if "calibration" in header:
        model = _calibrated(model, header["calibration"], arrays)
    if "conformal" in header:
        model = _conformal(model, header["conformal"], arrays)
    if "next" in header:
        set_next_start(model, header["next"])
    agrees({**header, "stream": None}, {**arrays, "tally": stored}, describe(model))
    return model


READERS = {1: _version_1}


def _learner(header: dict[str, Any], arrays: StoredArrays) -> Any:
    from .. import learner_named

    if header["class"] == "Committee":
        return read_committee(header, arrays, _version_1, params_from_json)
    kind = learner_named(header["class"])
    params, started = params_from_json(header["params"]), header["started"]
    model = kind(**(params if started is None else params_from_json(started)))
    core = model._start()
    core.class_weight = class_weight_of(model.get_params(deep=False).get("class_weight"))
    labels = [plain(value) for value in _listed(header["labels"])]
    if (not labels) is not core.numbers or len({isinstance(label, str) for label in labels}) > 1:
        raise ValueError(f"its labels must be all text or all numbers, and one at least; they are {labels[:5]}")
    if header["state"].get("multilabel") and not model._takes_sets:
        raise ValueError(f"a {kind.__name__} does not learn label sets")
    core.restore(header["state"], arrays, labels)
    if core.class_weight == "balanced":
        restored_counts(core, arrays["class_counts"])
    if "mixed" in header["state"]:
        core.mixed = mixed.restore_mixed(header["state"]["mixed"], arrays["mixed_tally"])
    core.started = model.get_params(deep=False)
    if header["features"] is not None:
        core.features = {_feature(name): column for column, name in enumerate(_listed(header["features"]))}
    for columns in (core.features, header["names"]):
        if columns is not None and len(columns) > core.width:
            raise ValueError(f"it names {len(columns)} features and has {core.width}")
    model._install(core)
    model.set_params(**params)
    if header["names"] is not None:
        model.feature_names_in_ = np.array([str(name) for name in _listed(header["names"])], dtype=object)
    if "words" in header:
        model.word_columns_ = [str(name) for name in _listed(header["words"])]
        if not {*model.word_columns_} <= {*(header["names"] or ())}:
            raise ValueError("its columns of words are none of its columns")
    return model


def _scaled(header: dict[str, Any], arrays: StoredArrays) -> Any:
    from sklearn.base import clone

    from ..wrappers.pipeline import Scaled
    from ..wrappers.scalers import SCALERS

    described = header["scaler"]
    if described["class"] not in SCALERS:
        raise ValueError(f"it holds the unknown scaler {described['class']!r}; there are {', '.join(SCALERS)}")
    scaler = SCALERS[described["class"]](**params_from_json(described["params"]))
    parts = {name.removeprefix("scaler_"): array for name, array in arrays.items() if name.startswith("scaler_")}
    scaler.restore(described["state"], parts)
    learner = _learner({**header, "names": None}, arrays)
    if scaler.n_features_in_ != learner.n_features_in_:
        raise ValueError(f"its scaler has {scaler.n_features_in_} features, its learner {learner.n_features_in_}")
    model = Scaled(clone(learner), scaler=clone(scaler))
    if header["names"] is not None:
        scaler.feature_names_in_ = np.array([str(name) for name in _listed(header["names"])], dtype=object)
    model._keep(learner, scaler)
    return model


def _calibrated(learner: Any, described: dict[str, Any], arrays: StoredArrays) -> Any:
    from sklearn.base import clone

    from ..wrappers.calibrated import Calibrated
    from ..wrappers.calibration import Calibration

    model, calibration = Calibrated(clone(learner), **described["params"]), Calibration(described["forget"])
    if not (0.0 < model.forget <= 1.0 and 0.0 < calibration.forget <= 1.0):
        raise ValueError("its calibration forgets at an impossible rate")
    calibration.restore(arrays["calibration_table"], arrays["calibration_spread"], len(learner.classes_))
    model._keep(learner, calibration)
    return model


def _conformal(learner: Any, described: dict[str, Any], arrays: StoredArrays) -> Any:
    from sklearn.base import clone

    from ..wrappers.conformal import Conformal

    miscoverage, rate, window = described["started"]
    model = Conformal(clone(learner), miscoverage=miscoverage, rate=rate, window=window)
    if not isinstance(window, int) or window > len(arrays["conformal_recent"]):
        raise ValueError("its sets are made of more rows than it holds")
    conformity = model._new()
    conformity.restore({name: arrays[f"conformal_{name}"] for name in conformity.state()})
    model._keep(learner, conformity)
    return model.set_params(**params_from_json(described["params"]))


def agrees(header: dict[str, Any], arrays: StoredArrays, made: tuple[dict[str, Any], StoredArrays]) -> None:
    """Raise ``ValueError`` where a file differs from what the model made from it would be written as.

    Parameters and scalars that the file does not mention are younger than it: they have their defaults.
    """
    for key, value in made[0].items():
        if not _says(header[key], value):
            raise ValueError(f"its {key} contradict what else it holds")
    if set(arrays) != set(made[1]):
        odd = sorted(set(arrays) ^ set(made[1]))[0]
        raise ValueError(f"its array {odd!r} is {'superfluous' if odd in arrays else 'missing'}")
    for name, array in made[1].items():
        if not _same(arrays[name], array):
            raise ValueError(f"its array {name!r} contradicts what else it holds")


def _says(told: Any, value: Any) -> bool:
    if isinstance(told, dict) and isinstance(value, dict):
        return all(key in value and _says(told[key], value[key]) for key in told)
    if isinstance(told, list) and isinstance(value, list) and len(told) == len(value):
        return all(map(_says, told, value))
    return bool(told == value)


def _same(one: NDArray[Any], other: NDArray[Any]) -> bool:
    """Equal, apart from zeros at the end of an axis: a table keeps room to grow."""
    if one.ndim != other.ndim or one.dtype != other.dtype:
        return False
    common = tuple(slice(0, min(a, b)) for a, b in zip(one.shape, other.shape, strict=True))
    if not np.array_equal(one[common], other[common]):
        return False
    return one.shape == other.shape or all(
        np.count_nonzero(array) == np.count_nonzero(array[common]) for array in (one, other)
    )


def _check_values(arrays: StoredArrays) -> None:
    for name, array in arrays.items():
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            if last_part(name) in MAY_BE_INFINITE and not np.isnan(array).any():
                continue
            raise ValueError(f"its array {name!r} holds NaN or inf")


def _check_tally(tally: NDArray[Any], labels: int) -> None:
    """Counts that some stream could have made, and sums that no loop or bound stumbles over."""
    tally = tallies.completed(tally)
    counts = tally[[tallies.ROUNDS, tallies.MISTAKES, tallies.UPDATES, tallies.PARTS, tallies.ZEROS,
                    tallies.WEIGHED]]  # fmt: skip
    if not ((counts >= 0.0) & (counts <= MOST_ROUNDS) & (counts == np.floor(counts))).all():
        raise ValueError("its counts are not all whole and non-negative")
    if (counts[1:] > counts[0] * np.array([1, 1, labels, 1, 1])).any():
        raise ValueError("it counts more mistakes or updates than rows")
    if (tally[[tallies.RADIUS2, tallies.LOSS2, tallies.WEIGHT, tallies.LARGEST, tallies.HEAVY]] < 0.0).any():
        raise ValueError("a sum of squares or of weights of its run is negative")


def _meant(name: str, array: NDArray[Any]) -> NDArray[Any]:
    """An array without what only its place in memory meant."""
    own = last_part(name)
    if own not in SCRATCH or array.ndim != 2 or array.dtype.kind != "f":
        return array
    kept = array.copy()
    kept[: SCRATCH[own]] = 0.0
    return kept


def _words(error: Exception) -> str:
    return f"it lacks {error}" if isinstance(error, KeyError) else str(error)


def _listed(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise ValueError(f"it holds {type(value).__name__} where a list is due")
    return value


def _name(name: Any) -> Any:
    """A feature's name as JSON has it: a word's is a list of its feature's name and the word."""
    if isinstance(name, tuple):
        return [_name(name[0]), name[1]]
    if not isinstance(name, str | int):
        raise ValueError(f"a model file holds feature names that are strings or integers, not {name!r}")
    return name


def _feature(name: Any) -> Any:
    """A feature's name as a learner has it."""
    if isinstance(name, list) and len(name) == 2 and isinstance(name[1], str):
        return _name(name[0]), name[1]
    return _name(name)
