"""Parameters in model files: as JSON values; and of learners made of others, what they are to start with next.

``load`` gives a model the parameters with which it has learned. ``set_params`` may have put another learner or scaler
into it since, or another parameter into that learner: then the header says in ``next`` what the whole is to start with.
"""

from math import inf
from typing import Any

import numpy as np

from ..inputs.weights import class_weight_of
from ..registry import estimator_named

# Parameters that say nothing of what was learned: a file is the same whatever machine made it.
OF_THE_MACHINE = ("device", "precision")

# Parameters that are estimators, or lists of some.
_ESTIMATORS = ("learner", "scaler", "learners")


def params_as_json(params: dict[str, Any]) -> dict[str, Any]:
    """Parameters as a file holds them."""
    return {name: _plain(name, value) for name, value in params.items() if name not in OF_THE_MACHINE}


def _plain(name: str, value: Any) -> Any:
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
    """Parameters that a file holds."""
    if not isinstance(params, dict):
        raise ValueError(f"it holds {type(params).__name__} where parameters are due")
    found: dict[str, Any] = {name: inf if value == "inf" else value for name, value in params.items()}
    if isinstance(found.get("class_weight"), list):
        found["class_weight"] = dict(found["class_weight"])
    return found


def next_start(model: Any) -> dict[str, Any]:
    """The entry ``next`` of a header, nothing where ``load`` would find out by itself."""
    if not {"learner_", "learners"} & {*model.__dict__}:
        return {}
    told = _start_of(model)
    if told == _loaded(model):
        return {}
    _made(told)  # what cannot be loaded is not saved
    return {"next": told}


def set_next_start(model: Any, told: Any) -> None:
    """Give a model that was loaded the parameters of its next start."""
    fresh = _made(told)
    if type(fresh) is not type(model):
        raise ValueError(f"it is to start next as a {type(fresh).__name__}, and is a {type(model).__name__}")
    model.set_params(**{name: value for name, value in fresh.get_params(deep=False).items() if name in told})


def _start_of(model: Any) -> dict[str, Any]:
    """What an estimator would start with: its class, its parameters, and the like of the estimators it is made of."""
    params = model.get_params(deep=False)
    told: dict[str, Any] = {"class": type(model).__name__}
    if hasattr(model, "_seeded"):
        told["learner"] = _start_of(model._seeded())
        del params["random_state"]  # the learner has it
    if "scaler" in params:
        told["scaler"] = _start_of(model._new_scaler())
    if params.get("learners") is not None:
        told["learners"] = [_start_of(member) for member in model._fresh().members]
    return told | {"params": params_as_json({name: value for name, value in params.items() if name not in _ESTIMATORS})}


def _loaded(model: Any) -> dict[str, Any]:
    """The same of the model that ``load`` makes of a file without ``next``."""
    told = _start_of(model)
    if "learners" in told:
        told["learners"] = [_loaded(member) for member in model._learned().members]
    if "learner_" not in model.__dict__:
        return told
    learner = _loaded(model.learner_)
    if "scaler" in told:
        if learner["class"] == told["learner"]["class"]:
            learner["params"] = told["learner"]["params"]
        scaler = _start_of(model.scaler_)
        if scaler["class"] == told["scaler"]["class"]:
            # Dicts make a scaler take wider rows, whatever it was told.
            scaler["params"]["grow_features"] = told["scaler"]["params"]["grow_features"]
        told["scaler"] = scaler
    return told | {"learner": learner}


def _made(told: Any) -> Any:
    """A new estimator."""
    parts: dict[str, Any] = {name: _made(told[name]) for name in ("learner", "scaler") if name in told}
    if "learners" in told:
        parts["learners"] = [_made(member) for member in told["learners"]]
    return estimator_named(told["class"])(**params_from_json(told["params"]), **parts)
