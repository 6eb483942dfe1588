"""Checks whether models can be merged; the errors say why not, and what to do instead."""

from typing import Any

import numpy as np

from ellipsoid.certificates.mixed import COUNTS
from ellipsoid.estimators.state.expansion import ExpansionLearner
from ellipsoid.representation.kernel.expansion import ExpansionTable

# Parameters that may differ, since they have no effect on what was learned from given rows.
NO_EFFECT = {
    "n_epochs", "shuffle", "random_state", "grow_features", "early_stopping", "validation_fraction", "n_iter_no_change",
    "tol", "device", "precision",
}  # fmt: skip

UNPROVED = {
    "IntervalRegressor": "its set of weights belongs to one stream",
    "OnlineEllipsoidalSVC": "its dual needs each shard's share of the rows",
    "ConfidenceWeighted": "its steps depend on all earlier ones; use AROW, a related learner whose parts add up "
    "exactly",
    "SCW": "its steps depend on all earlier ones; use AROW, a related learner whose parts add up exactly",
    "NHERD": "its steps depend on all earlier ones; use AROW, a related learner whose parts add up exactly",
}

DRIFTS = "how much they trust a row depends on when it came; learn without drift, or from one stream"


def check_kind(model: Any) -> None:
    """Refuse a model of a kind that cannot be merged."""
    name = type(model).__name__
    if hasattr(model, "calibration_") or name == "Calibrated":
        raise ValueError(
            "calibrated models cannot be merged: their calibrations are for different scores; merge the learners "
            "inside, and calibrate the result on separate rows"
        )
    if name in ("Committee", "Conformal"):
        raise ValueError(
            f"{name} models cannot be merged: their counts belong to one stream; merge the learners inside, member "
            "by member, and put the results in a new one"
        )
    if name in UNPROVED:
        raise ValueError(f"{name} models cannot be merged: {UNPROVED[name]}")
    if getattr(getattr(model, "_core", None), "started", {}).get("drift"):
        raise ValueError(f"{name} models with a drift cannot be merged: {DRIFTS}")
    if not hasattr(model, "_core"):
        raise ValueError(f"merge needs models that have learned something, but a {name} has learned nothing yet")
    core = model._core
    kernel = getattr(core, "started", {}).get("kernel", "linear")
    linear = isinstance(kernel, str) and kernel == "linear"
    if isinstance(core, ExpansionLearner):
        _check_expansion(name, core)
    elif not linear:
        raise ValueError(
            f"{name} models with a kernel cannot be merged: each keeps its covariance over its own patterns; "
            "use Perceptron, PassiveAggressive or MIRA with a kernel"
        )


def _check_expansion(name: str, core: Any) -> None:
    """Refuse a kernel expansion whose coefficients cannot be mixed."""
    if type(core.table) is ExpansionTable and core.kernel[0] != "precomputed" and not core.vote:
        return
    why = (
        "its budget has dropped patterns" if core.budget is not None
        else "votes of hypotheses cannot be mixed" if core.vote
        else "the columns of a precomputed kernel are rows of one stream" if core.kernel[0] == "precomputed"
        else f"a {name} rescales or keeps changing its coefficients"
    )  # fmt: skip
    raise ValueError(f"this {name} with a kernel cannot be merged: {why}")


def _named(models: list[Any], start: Any) -> list[tuple[str, Any]]:
    """The models, and their start if there is one, with the names that errors call them by."""
    named = [(f"model {number}", model) for number, model in enumerate(models, start=1)]
    return named if start is None else [*named, ("start", start)]


def check_agreement(models: list[Any], start: Any = None) -> None:
    """Refuse models with different classes, features or parameters."""
    first = models[0]
    for name, model in _named(models, start)[1:]:
        if type(model) is not type(first):
            raise ValueError(
                f"only models of one class can be merged, but {name} is a {type(model).__name__}, "
                f"and model 1 a {type(first).__name__}"
            )
        _compare_parameters(first, model, name)
        one, other = first._core, model._core
        if one.multilabel != other.multilabel or one.labels.values != other.labels.values:
            raise ValueError(
                f"models must know the same labels in the same order; model 1 has {_first_few(one.labels.values)}, "
                f"{name} has {_first_few(other.labels.values)}; announce them with classes= at the first call"
            )
        names = [getattr(each, "feature_names_in_", None) for each in (first, model)]
        named = [None if each is None else list(each) for each in names]
        if one.features != other.features or named[0] != named[1]:
            raise ValueError(
                f"model 1 and {name} have features with different names, or in another order; learn "
                "them from the same columns"
            )
        kinds = [getattr(getattr(each.table, "patterns", None), "sparse", None) for each in (one, other)]
        if kinds[0] != kinds[1]:
            raise ValueError(
                f"one of model 1 and {name} has learned dense rows, the other sparse rows; give both the same kind"
            )
        if one.width != other.width:
            raise ValueError(
                f"models must have the same number of features; model 1 has {one.width}, {name} has {other.width}; "
                "give n_features, or bits, to the reader of each"
            )


def check_start(models: list[Any], start: Any) -> None:
    """Refuse a start that has learned more than a model that began as it: weights and counts would be negative."""
    for number, model in enumerate(models, start=1):
        if (model._core.tally[COUNTS] < start._core.tally[COUNTS]).any():
            raise ValueError(
                f"model {number} has learned less than start: give the model that all of them began with, or leave "
                "start out"
            )


def _compare_parameters(first: Any, model: Any, called: str) -> None:
    one, other = first._core.started, model._core.started
    for name in one:
        if name in NO_EFFECT or _same(one[name], other.get(name)):
            continue
        raise ValueError(
            f"models must have been learned with the same parameters, but {called} has "
            f"{name}={other.get(name)!r}, and model 1 {name}={one[name]!r}"
        )


def _same(one: Any, other: Any) -> bool:
    return bool(one is other or one == other or (one != one and other != other))


def _first_few(labels: list[Any]) -> str:
    first = ", ".join(map(repr, labels[:5]))
    return first if len(labels) <= 5 else f"{first}, … ({len(labels)} in all)"


def check_scalers(models: list[Any], start: Any = None) -> None:
    """Refuse scaled models whose scalers differ, since their weights are in different units."""
    named = _named(models, start)
    for name, model in named:
        if not hasattr(model, "scaler_"):
            raise ValueError(
                f"merge needs models that have learned something, all of them Scaled or none of them, but {name} "
                "differs from the others"
            )
    first = models[0].scaler_
    settings, arrays = first.state()
    for name, model in named[1:]:
        scaler = model.scaler_
        own, parts = scaler.state()
        same = (
            type(scaler) is type(first) and own == settings and all(np.array_equal(parts[k], arrays[k]) for k in arrays)
        )
        if not same:
            raise ValueError(
                f"the scalers of model 1 and {name} differ, so their weights are in different units; scale the "
                "rows with one scaler before learning, as distributed.fit does, or with UnitNorm"
            )
