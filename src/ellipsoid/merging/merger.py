"""``merge``: one model of several that were learned separately."""

from collections.abc import Sequence
from copy import deepcopy
from typing import Any

import numpy as np

from ellipsoid.engine import tally as tallies
from ellipsoid.estimators.ellipsoid_classifier import CopiesLearner
from ellipsoid.estimators.ellipsoidal import EllipsoidLearner
from ellipsoid.estimators.state.expansion import ExpansionLearner
from ellipsoid.representation.kernel.threads import one_thread
from ellipsoid.rules.iellip import IELLIPRule

from . import ellipsoid_classifier, expansions, gaussian, iellip, sums, tables
from .agreement import check_agreement, check_kind, check_scalers, check_start
from .parts import Part, add_two, in_pairs

WEIGHTS = {"mistakes": tallies.MISTAKES, "updates": tallies.UPDATES}


def merge(models: Sequence[Any], *, weights: str = "uniform", start: Any = None) -> Any:
    """Merge models that were learned separately, on different rows of the same kind.

    The hypotheses are averaged in the space in which the learner adds up examples, so that its certificates still hold,
    with sums weighted as the models are; AROW and the second-order Perceptron add up their information exactly. Models
    must be of one class, with the same parameters, labels, and features; learners that cannot be merged are refused. A
    mixture of kernel models holds the support patterns of all. The result can learn on, be saved and be merged again
    like any other model.

    Parameters
    ----------
    models : fitted models of one class; they are not changed
    weights : {"uniform", "mistakes", "updates"}
        The weights of the models: equal, or in proportion to their mistakes or updates.
    start : the model of which all were copies when they began to learn; None if each began without one

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from ellipsoid import MIRA, merge
    >>> X, y = load_digits(return_X_y=True)
    >>> models = [MIRA().partial_fit(X[i:1500:4], y[i:1500:4], classes=range(10)) for i in range(4)]
    >>> model = merge(models)
    >>> mean = sum(each.score(X[1500:], y[1500:]) for each in models) / 4
    >>> model.t_, model.shards_, model.score(X[1500:], y[1500:]) > mean
    (1500, 4, True)
    >>> all(c.observed <= c.bound for c in model.certificates())
    True
    """
    models = list(models)
    if not models:
        raise ValueError("merge needs at least one model")
    if weights not in ("uniform", *WEIGHTS):
        raise ValueError(f"weights must be uniform, mistakes or updates, got {weights!r}")
    known = models if start is None else [*models, start]
    if any(hasattr(model, "scaler_") for model in known):
        check_scalers(models, start)
        merged = deepcopy(models[0])
        began = None if start is None else start.learner_
        merged.learner_ = merge([model.learner_ for model in models], weights=weights, start=began)
        return merged
    for model in known:
        check_kind(model)
    known = same_width(known)
    models, start = known[: len(models)], None if start is None else known[-1]
    check_agreement(models, start)
    if start is not None:
        check_start(models, start)
    if len(models) == 1:
        return deepcopy(models[0])
    if isinstance(models[0]._core, ExpansionLearner):
        alike = expansions.same_patterns(models if start is None else [start, *models])
        start, models = (None, alike) if start is None else (alike[0], alike[1:])
    parts = [contribution(model, start) for model in models]
    shares = coefficients([model._core for model in models], None if start is None else start._core, weights)
    weighted = [part if share == 1.0 else part.times(share) for part, share in zip(parts, shares, strict=True)]
    total = in_pairs(weighted, add_two)
    return put_together(total, models[0], start, weights)


def same_width(models: list[Any]) -> list[Any]:
    """The models widened to the features that any of them has seen, where features may be added."""
    width = max(model._core.width for model in models)
    grown = []
    for model in models:
        if model._core.width < width and model._started_with("grow_features") and model._counts_features is not True:
            model = deepcopy(model)
            model._core.open(width, by_class=model._core.table.by_class)
            model.n_features_in_ = width
        grown.append(model)
    return grown


def coefficients(cores: list[Any], start: Any, weights: str) -> list[float]:
    """The weights of the shards, not yet divided by their sum."""
    if weights == "uniform":
        return [1.0] * len(cores)
    slot = WEIGHTS[weights]
    before = 0.0 if start is None else float(start.tally[slot])
    return shares_of([float(core.tally[slot]) - before for core in cores])


def shares_of(counts: list[float]) -> list[float]:
    """Weights in proportion to counts, equal ones where nothing was counted.

    >>> shares_of([3.0, 0.0]), shares_of([0.0, 0.0])
    ([3.0, 0.0], [1.0, 1.0])
    """
    return counts if any(counts) else [1.0] * len(counts)


def contribution(model: Any, start: Any = None) -> Part:
    """What a model that began as a copy of ``start`` contributes."""
    core, began = model._core, None if start is None else start._core
    own = sums.take_sums(core, began)
    with one_thread():
        weighted, added, largest = _take_and_put(core)[0](core, began)
    added = {**own["added"], **added, **_class_counts(core, began)}
    return Part(1, 1.0, {**own["weighted"], **weighted}, added, {**own["largest"], **largest}, own["heaviest"])


def _take_and_put(core: Any) -> tuple[Any, Any]:
    """The functions that extract the contribution of a learner of this kind, and that apply the sum of all."""
    if isinstance(core, CopiesLearner):
        return ellipsoid_classifier.take_copies, ellipsoid_classifier.put_copies
    if isinstance(core, ExpansionLearner):
        return expansions.take_expansions, expansions.put_expansions
    if isinstance(core.rule, IELLIPRule):
        return iellip.take_metric, iellip.put_metric
    if isinstance(core, EllipsoidLearner):
        return gaussian.take_gaussian, gaussian.put_gaussian
    return tables.take_tables, tables.put_tables


def put_together(part: Part, like: Any, start: Any, weights: str = "uniform", cap: float = 1.0) -> Any:
    """The merged model of all shards; ``like`` is one of their models, ``start`` the one they began as, or None."""
    model = deepcopy(like if start is None else start)
    core, began = model._core, None if start is None else start._core
    core.split |= bool(part.largest["split"][0])
    sums.put_sums(core, part, began, weights, cap)
    if "classes" in part.added:
        counted = part.added["classes"]
        if began is not None:
            counted = counted + np.array([began.counts.get(label, 0) for label in core.labels.values], dtype=float)
        known = dict(zip(core.labels.values, counted.astype(int).tolist(), strict=True))
        core.counted = known, core.rounds, []
    with one_thread():
        _take_and_put(core)[1](core, part, began)
    # They hold references to the tables of before.
    core.fast = core.named = core._predictor = None
    return model


def _class_counts(core: Any, start: Any) -> dict[str, Any]:
    if core.class_weight != "balanced":
        return {}
    before = {} if start is None else start.counts
    return {"classes": np.array([float(core.counts.get(k, 0) - before.get(k, 0)) for k in core.labels.values])}
