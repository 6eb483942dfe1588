"""Parameters in model files, as JSON values, and the parameters with which a wrapper starts next.

``load`` gives a model the parameters with which it has learned. If ``set_params`` has since replaced the learner or
scaler in a wrapper, or a parameter of that learner, the entry ``next`` of the header holds what it is to start with.
"""

from math import inf
from typing import Any

import numpy as np

from ..inputs.weights import class_weight_of
from ..registry import estimator_named

# Parameters that do not affect what is learned: a file does not depend on the machine that made it.
MACHINE_PARAMETERS = ("device", "precision")

# Parameters that are estimators, or lists of estimators.
_ESTIMATORS = ("learner", "scaler", "learners")


def params_as_json(params: dict[str, Any]) -> dict[str, Any]:
    """Parameters as JSON values."""
    return {name: _as_json(name, value) for name, value in params.items() if name not in MACHINE_PARAMETERS}


def _as_json(name: str, value: Any) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and value == inf:
        return "inf"
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if name == "class_weight" and isinstance(value, dict):
        return [[label, weight] for label, weight in class_weight_of(value).items()]
    if name == "learners":
        return "given"  # they are written as members
    if name == "random_state":
        return None  # a generator's position is not part of what was learned
    raise ValueError(f"the parameter {name}={value!r} cannot be written to a model file")


def params_from_json(params: Any) -> dict[str, Any]:
    """Parameters from the JSON values in a file."""
    if not isinstance(params, dict):
        raise ValueError(f"it holds {type(params).__name__} where parameters should be")
    found: dict[str, Any] = {name: inf if value == "inf" else value for name, value in params.items()}
    if isinstance(found.get("class_weight"), list):
        found["class_weight"] = dict(found["class_weight"])
    return found


def next_start(model: Any) -> dict[str, Any]:
    """The entry ``next`` of a header; nothing if ``load`` can infer it from the other entries."""
    if not {"learner_", "learners"} & {*model.__dict__}:
        return {}
    start = _start_of(model)
    if start == _inferred_start(model):
        return {}
    _new_estimator(start)  # raises here rather than when the file is loaded
    return {"next": start}


def set_next_start(model: Any, start: Any) -> None:
    """Give a model that was loaded the parameters of its next start."""
    fresh = _new_estimator(start)
    if type(fresh) is not type(model):
        raise ValueError(f"its next start is a {type(fresh).__name__}, but it is a {type(model).__name__}")
    model.set_params(**{name: value for name, value in fresh.get_params(deep=False).items() if name in start})


def _start_of(model: Any) -> dict[str, Any]:
    """What an estimator would start with: its class, its parameters, and the same for the estimators inside it."""
    params = model.get_params(deep=False)
    start: dict[str, Any] = {"class": type(model).__name__}
    if hasattr(model, "_seeded"):
        start["learner"] = _start_of(model._seeded())
        del params["random_state"]  # the learner has it
    if "scaler" in params:
        start["scaler"] = _start_of(model._new_scaler())
    if params.get("learners") is not None:
        start["learners"] = [_start_of(member) for member in model._fresh().members]
    return start | {
        "params": params_as_json({name: value for name, value in params.items() if name not in _ESTIMATORS})
    }


def _inferred_start(model: Any) -> dict[str, Any]:
    """What ``load`` infers for the same model from a file without ``next``."""
    start = _start_of(model)
    if "learners" in start:
        start["learners"] = [_inferred_start(member) for member in model._learned().members]
    if "learner_" not in model.__dict__:
        return start
    learner = _inferred_start(model.learner_)
    if "scaler" in start:
        if learner["class"] == start["learner"]["class"]:
            learner["params"] = start["learner"]["params"]
        scaler = _start_of(model.scaler_)
        if scaler["class"] == start["scaler"]["class"]:
            # Dicts make a scaler accept wider rows, whatever its parameter was.
            scaler["params"]["grow_features"] = start["scaler"]["params"]["grow_features"]
        start["scaler"] = scaler
    return start | {"learner": learner}


def _new_estimator(start: Any) -> Any:
    parts: dict[str, Any] = {name: _new_estimator(start[name]) for name in ("learner", "scaler") if name in start}
    if "learners" in start:
        parts["learners"] = [_new_estimator(member) for member in start["learners"]]
    return estimator_named(start["class"])(**params_from_json(start["params"]), **parts)
