"""Model files made learners again. No code of a file is ever run.

`saving` says what a header holds, `soundness` when a file is believed.
"""

from typing import Any

import numpy as np

from ellipsoid.certificates import mixed
from ellipsoid.engine import tally as tallies
from ellipsoid.representation.table_protocol import StoredArrays
from ellipsoid.streams.label_kinds import plain

from ..inputs.weights import class_weight_of, restored_counts
from ..parameters.old_names import renamed
from . import container
from .committees import read_committee, with_total
from .container import DamagedModel
from .parameters import params_from_json, set_next_start
from .saving import describe, feature_as_json, features_of_stream
from .soundness import agrees, check_finite_values, check_tally, without_scratch

KEYS = ("class", "params", "started", "labels", "features", "names", "state", "scaler", "stream")
OPTIONAL = {"calibration", "conformal", "words", "members", "next", "run"}


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
        if kept := features_of_stream(content.header["stream"]):
            inner = model
            while "learner_" in inner.__dict__:  # all that is around it asks it
                inner = inner.learner_
            inner.stream_ = kept
        return model, content
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError, RecursionError) as error:
        raise DamagedModel(f"{path} is not a sound model: {_words(error)}") from error
    except MemoryError as error:
        raise DamagedModel(f"{path} asks for more memory than there is") from error


def _version_1(header: dict[str, Any], arrays: StoredArrays) -> Any:
    """The model of a file of version 1. This reader stays when another version comes."""
    if sorted({*header} - OPTIONAL) != sorted(KEYS):
        raise ValueError(f"its header must hold {', '.join(KEYS)}, and holds {', '.join(map(str, header))}")
    if not isinstance(header["stream"], dict | None):
        raise ValueError("its stream is no JSON object")
    header = {**header, **{part: renamed(header["class"], header[part]) for part in ("params", "started")}}
    check_finite_values(arrays)
    check_tally(arrays["tally"], len(_listed(header["labels"])))
    arrays = {name: without_scratch(name, array) for name, array in arrays.items()}
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


def _words(error: Exception) -> str:
    return f"it lacks {error}" if isinstance(error, KeyError) else str(error)


def _listed(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise ValueError(f"it holds {type(value).__name__} where a list is due")
    return value


def _feature(name: Any) -> Any:
    """A feature's name as a learner has it."""
    if isinstance(name, list) and len(name) == 2 and isinstance(name[1], str):
        return feature_as_json(name[0]), name[1]
    return feature_as_json(name)
