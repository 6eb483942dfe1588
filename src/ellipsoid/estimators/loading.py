"""Loading of model files: the inverse of ``save``. No code from a file is ever run.

`files.saving` describes the header, and `files.soundness` the checks of what a file holds.
"""

from typing import Any

import numpy as np
from sklearn.base import clone

from ellipsoid.certificates import mixed
from ellipsoid.engine import tally as tallies
from ellipsoid.representation.table_protocol import StoredArrays
from ellipsoid.streams.label_kinds import plain_label

from .files import container
from .files.container import DamagedModel
from .files.parameters import params_from_json, set_next_start
from .files.saving import describe, feature_as_json, features_of_stream
from .files.soundness import check_finite_values, check_round_trip, check_tally, without_scratch
from .inputs.weights import LARGEST_WEIGHT, class_weight_of, restore_counts
from .parameters.old_names import renamed
from .registry import learner_named

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
    """The learner in a file, and the content of the file."""
    content = container.read(path)
    try:
        model = READERS[content.version](content.header, content.arrays)
        if kept := features_of_stream(content.header["stream"]):
            inner = model
            while "learner_" in inner.__dict__:  # wrappers ask the learner inside
                inner = inner.learner_
            inner.stream_ = kept
        return model, content
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError, RecursionError) as error:
        lacks = "it lacks " if isinstance(error, KeyError) else ""
        raise DamagedModel(f"{path} is not a sound model: {lacks}{error}") from error
    except MemoryError as error:
        raise DamagedModel(f"{path} needs more memory than there is") from error


def _version_1(header: dict[str, Any], arrays: StoredArrays) -> Any:
    """The model in a file of version 1. This reader is kept when a new version comes."""
    if sorted({*header} - OPTIONAL) != sorted(KEYS):
        raise ValueError(f"its header must hold {', '.join(KEYS)}, and holds {', '.join(map(str, header))}")
    if not isinstance(header["stream"], dict | None):
        raise ValueError("its stream is not a JSON object")
    header = {**header, **{part: renamed(header["class"], header[part]) for part in ("params", "started")}}
    check_finite_values(arrays)
    check_tally(arrays["tally"], len(_as_list(header["labels"])))
    arrays = {name: without_scratch(name, array) for name, array in arrays.items()}
    stored, arrays["tally"] = arrays["tally"], tallies.completed(arrays["tally"])
    arrays = _with_present_counts(arrays)
    model = _learner(header, arrays) if header["scaler"] is None else _scaled(header, arrays)
    if "calibration" in header:
        model = _calibrated(model, header["calibration"], arrays)
    if "conformal" in header:
        model = _conformal(model, header["conformal"], arrays)
    if "next" in header:
        set_next_start(model, header["next"])
    check_round_trip({**header, "stream": None}, {**arrays, "tally": stored}, describe(model))
    return model


READERS = {1: _version_1}


def _learner(header: dict[str, Any], arrays: StoredArrays) -> Any:
    if header["class"] == "Committee":
        return _committee(header, arrays)
    kind = learner_named(header["class"])
    params, started = params_from_json(header["params"]), header["started"]
    model = kind(**(params if started is None else params_from_json(started)))
    core = model._start()
    core.class_weight = class_weight_of(model.get_params(deep=False).get("class_weight"))
    labels = [plain_label(value) for value in _as_list(header["labels"])]
    if (not labels) is not core.numbers or len({isinstance(label, str) for label in labels}) > 1:
        raise ValueError(f"its labels must be all text or all numbers, at least one; they are {labels[:5]}")
    if header["state"].get("multilabel") and not model._takes_sets:
        raise ValueError(f"a {kind.__name__} does not learn label sets")
    core.restore(header["state"], arrays, labels)
    if core.class_weight == "balanced":
        restore_counts(core, arrays["class_counts"])
    if "mixed" in header["state"]:
        core.mixed = mixed.restore_mixed(header["state"]["mixed"], arrays["mixed_tally"])
    core.started = model.get_params(deep=False)
    if header["features"] is not None:
        core.features = {_feature(name): column for column, name in enumerate(_as_list(header["features"]))}
    for columns in (core.features, header["names"]):
        if columns is not None and len(columns) > core.width:
            raise ValueError(f"it names {len(columns)} features and has {core.width}")
    model._install(core)
    model.set_params(**params)
    if header["names"] is not None:
        model.feature_names_in_ = np.array([str(name) for name in _as_list(header["names"])], dtype=object)
    if "words" in header:
        model.word_columns_ = [str(name) for name in _as_list(header["words"])]
        if not {*model.word_columns_} <= {*(header["names"] or ())}:
            raise ValueError("its columns of words are not among its columns")
    return model


def _scaled(header: dict[str, Any], arrays: StoredArrays) -> Any:
    from .wrappers.pipeline import Scaled
    from .wrappers.scalers import SCALERS

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
        scaler.feature_names_in_ = np.array([str(name) for name in _as_list(header["names"])], dtype=object)
    model._keep(learner, scaler)
    return model


def _calibrated(learner: Any, described: dict[str, Any], arrays: StoredArrays) -> Any:
    from .wrappers.calibrated import Calibrated
    from .wrappers.calibration import Calibration

    model, calibration = Calibrated(clone(learner), **described["params"]), Calibration(described["forget"])
    if not (0.0 < model.forget <= 1.0 and 0.0 < calibration.forget <= 1.0):
        raise ValueError("its calibration forgets at an impossible rate")
    calibration.restore(arrays["calibration_table"], arrays["calibration_spread"], len(learner.classes_))
    model._keep(learner, calibration)
    return model


def _conformal(learner: Any, described: dict[str, Any], arrays: StoredArrays) -> Any:
    from .wrappers.conformal import Conformal

    miscoverage, rate, window = described["started"]
    model = Conformal(clone(learner), miscoverage=miscoverage, rate=rate, window=window)
    if not isinstance(window, int) or window > len(arrays["conformal_recent"]):
        raise ValueError("its sets are made of more rows than it holds")
    conformity = model._new_companion()
    conformity.restore({name: arrays[f"conformal_{name}"] for name in conformity.state()})
    model._keep(learner, conformity)
    return model.set_params(**params_from_json(described["params"]))


def _committee(header: dict[str, Any], arrays: StoredArrays) -> Any:
    from .wrappers.committee import Committee
    from .wrappers.council import Council
    from .wrappers.mixture import Mixture

    headers = header["members"]
    if not isinstance(headers, list) or not headers:
        raise ValueError("it holds a committee without members")
    members = []
    for number, own in enumerate(headers):
        parts = {
            name.removeprefix(f"{number}."): array for name, array in arrays.items() if name.startswith(f"{number}.")
        }
        members.append(_version_1({**own, "stream": None}, parts))
    model = Committee(**_completed(params_from_json(header["started"] or header["params"]), members))
    share, rate = model._speeds()
    council = Council(members, Mixture(len(members), share, rate), model.mix == "votes")
    council.started = model.get_params(deep=False)
    council.mixture.restore(
        {name.removeprefix("committee_"): array for name, array in arrays.items() if name.startswith("committee_")}
    )
    council.tally[:] = arrays["tally"]
    council.ahead[:] = arrays.get("ahead", 0)
    for member, ahead in zip(members, council.ahead.tolist(), strict=True):
        same = member.classes_.tolist() == members[0].classes_.tolist() and member.t_ == council.rounds + ahead
        if not same or member.n_features_in_ != members[0].n_features_in_:
            raise ValueError("the members of its committee have not learned the same rows")
    model._keep(council)
    own = _completed(params_from_json(header["params"]), [clone(member) for member in members])
    return model.set_params(**own)


def _completed(params: dict[str, Any], members: list[Any]) -> dict[str, Any]:
    """Parameters in which the members replace the word "given" of a file."""
    given = params.get("learners")
    if given not in (None, "given"):
        raise ValueError("its learners are neither the default ones nor given")
    return {**params, "learners": None if given is None else members}


def _with_present_counts(arrays: StoredArrays) -> StoredArrays:
    """The arrays of a file, for old committees with the sum of row weights and the least share that came later."""
    if "committee_counts" not in arrays:
        return arrays
    from .wrappers.mixture import COUNTED, LEAST_SHARE, TOTAL

    counts, weights = arrays["committee_counts"], arrays["committee_weights"]
    if counts.shape != (TOTAL,):
        return arrays
    largest = LARGEST_WEIGHT if arrays["tally"][tallies.WEIGHED] else 1.0
    weights = np.maximum(weights, LEAST_SHARE / max(1, weights.size))
    return {**arrays, "committee_counts": np.append(counts, largest * counts[COUNTED]), "committee_weights": weights}


def _as_list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise ValueError(f"it holds {type(value).__name__} where a list should be")
    return value


def _feature(name: Any) -> Any:
    """The name of a feature; that of a word is a pair."""
    if isinstance(name, list) and len(name) == 2 and isinstance(name[1], str):
        return feature_as_json(name[0]), name[1]
    return feature_as_json(name)
