"""Saving of a learner as a header, which is a JSON object, and arrays; `container` describes the layout of the file.

The header holds:

    class       the learner, one of a fixed list
    params      its parameters (JSON values; inf as "inf")
    started     the parameters it was started with, null if they are the same
    labels      the known labels, in the order of their indices
    features    names of dict features in the order of their columns, or null
    names       names of the columns of a data frame, or null
    state       scalars of what was learned
    scaler      the scaler in front of the learner, or null
    stream      the input and the place where a command stopped, and the meaning of its columns, or null

and, only if needed,

    calibration the parameters by which its scores become probabilities
    words       the columns of a data frame that hold words
    conformal   the parameters of its prediction sets
    members     the headers of a committee's members
    next        the parameters with which it is to start next, if they cannot be inferred
    run         the run over shards of which it is a checkpoint, and the round
"""

from typing import Any

import numpy as np

from ellipsoid.certificates import mixed
from ellipsoid.engine import tally as tallies
from ellipsoid.representation.table_protocol import StoredArrays
from ellipsoid.streams.label_kinds import plain_label
from ellipsoid.streams.options import CELL_KINDS

from . import container
from .parameters import next_start, params_as_json
from .soundness import check_finite_values

# The entries of ``stream`` that describe features: the next file must be read in the same way.
FEATURES = {"columns": list, "zero_based": bool, "bits": int, "kinds": dict, "missing": str}


class UnwritableModel(ValueError):
    """A model with numbers that no reader of its file would take."""


def save(model: Any, path: Any, stream: dict[str, Any] | None = None, run: dict[str, Any] | None = None) -> None:
    """Write a learner to ``path``, atomically: a crash leaves the old file whole.

    ``stream`` defaults to the description of the features that were learned, without a place.
    """
    header, arrays = describe_for_file(model)
    stream = features_of_stream(getattr(model, "stream_", None)) if stream is None else stream
    container.write(path, {**header, "stream": stream, **({} if run is None else {"run": run})}, arrays)


def describe_for_file(model: Any) -> tuple[dict[str, Any], StoredArrays]:
    """The header and the arrays of a model, or `UnwritableModel`."""
    header, arrays = describe(model)
    try:
        check_finite_values(arrays)
    except ValueError as error:
        raise UnwritableModel(
            f"the model cannot be written to a file: {error}; learn with less extreme parameters, weights or rows"
        ) from None
    return header, arrays


def describe(model: Any) -> tuple[dict[str, Any], StoredArrays]:
    """The header and the arrays of a model; ``stream`` is None."""
    header, arrays = _described(model)
    # The entry of the outermost model holds for all inside it.
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
        return _describe_committee(model)
    params, started = params_as_json(model.get_params(deep=False)), params_as_json(core.started)
    header: dict[str, Any] = {
        "class": type(model).__name__,
        "params": params,
        "started": None if started == params else started,
        "labels": [plain_label(value) for value in core.labels.values],
        "features": None if core.features is None else [feature_as_json(name) for name in core.features],
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
    # The parameters of another learner are in `next`.
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


def _describe_committee(model: Any) -> tuple[dict[str, Any], StoredArrays]:
    """The header of each member, and their arrays under names that begin with its number."""
    council = model._learned()
    headers, arrays = [], {"tally": tallies.trimmed(council.tally)}
    for number, member in enumerate(council.members):
        header, parts = describe(member)
        headers.append(header)
        arrays |= {f"{number}.{name}": array for name, array in parts.items()}
    arrays |= {f"committee_{name}": array.copy() for name, array in council.mixture.state().items()}
    if council.ahead.any():
        arrays["ahead"] = council.ahead.copy()
    own, started = params_as_json(model.get_params(deep=False)), params_as_json(council.started)
    header = {
        "class": "Committee",
        "params": own,
        "started": None if started == own else started,
        "labels": [plain_label(value) for value in council.labels.values],
        "features": headers[0]["features"],
        "names": headers[0]["names"],
        "state": {},
        "scaler": None,
        "stream": None,
        "members": headers,
    }
    return header, arrays


def features_of_stream(record: Any) -> dict[str, Any] | None:
    """The entries of a ``stream`` record that describe features, None if there are none."""
    kept = {name: record[name] for name in FEATURES if record is not None and record.get(name) is not None}
    good = all(type(value) is FEATURES[name] for name, value in kept.items())
    good = good and all(isinstance(name, str) for name in (*kept.get("columns", ()), *kept.get("kinds", ())))
    good = good and {*kept.get("kinds", {}).values()} <= {None, *CELL_KINDS} and kept.get("missing") in (None, "zero")
    if not good:
        raise ValueError(f"its record of its stream cannot be read: {kept!r}")
    return kept or None


def feature_as_json(name: Any) -> Any:
    """The name of a feature as a JSON value; for a word it is a list of the feature's name and the word."""
    if isinstance(name, tuple):
        return [feature_as_json(name[0]), name[1]]
    if not isinstance(name, str | int):
        raise ValueError(f"feature names in a model file must be strings or integers, got {name!r}")
    return name
