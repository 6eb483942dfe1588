"""Weights of examples and of classes: an example of weight k counts as much as k examples.

A row of weight 0 is left out. Wrong weights are refused, with the number of the row, before anything is learned.
"""

from collections.abc import Mapping
from copy import deepcopy
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_regressor
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples

from ellipsoid.engine import NO_WEIGHTS
from ellipsoid.representation.table_protocol import Floats
from ellipsoid.streams.label_kinds import label_array, plain_label, refuse_masked

from .checks import new_classes
from .frames import table_of
from .labels import cast_labels
from .row_numbers import INPUT_ERRORS, add_progress_note, renumbered
from .rows import row_indexable

if TYPE_CHECKING:
    from ..state.learner import Learner

# From here on a float64 no longer counts copies.
LARGEST_WEIGHT = 2.0**53


def weights_of(given: Any, rows: int, name: str = "sample_weight") -> Floats:
    """A weight for each row, as an array, or ``ValueError``.

    >>> weights_of([1, 0.5, 2], 3)
    array([1. , 0.5, 2. ])
    >>> weights_of([1, -1], 2)
    Traceback (most recent call last):
        ...
    ValueError: row 1 of sample_weight holds -1.0: a weight is a finite number from 0 to 2**53
    """
    refuse_masked(given, name)
    if (getattr(getattr(given, "dtype", None), "kind", None) or "f") in "cmM":
        raise ValueError(f"{name} must hold a real number for each row, got an array of type {given.dtype}")
    try:
        weights = np.array(given, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must hold a number for each row: {error}") from error
    if weights.ndim == 0:
        weights = np.full(rows, weights)
    if weights.ndim != 1:
        raise ValueError(f"{name} must be 1-D, one weight per row, got shape {weights.shape}")
    if len(weights) != rows:
        raise ValueError(f"{name} has {len(weights)} weights for the {rows} rows of X")
    return checked_weights(weights, name)


def one_weight(given: Any) -> float:
    """The weight of one example, as a float.

    >>> one_weight([1, 2])
    Traceback (most recent call last):
        ...
    ValueError: weight must be one number, got [1, 2]; for a weight per row use sample_weight of partial_fit
    """
    if not np.isscalar(given) and getattr(given, "ndim", 1) != 0:
        raise ValueError(
            f"weight must be one number, got {given!r}; for a weight per row use sample_weight of partial_fit"
        )
    return float(weights_of([given], 1)[0])


def checked_weights(weights: Floats, name: str) -> Floats:
    """The same weights, or ``ValueError`` for the first row whose weight is not valid."""
    wrong = np.flatnonzero(~((weights >= 0.0) & (weights < LARGEST_WEIGHT)))
    if len(wrong):
        value = float(weights[wrong[0]])
        raise ValueError(f"row {wrong[0]} of {name} holds {value}: a weight is a finite number from 0 to 2**53")
    return weights


def class_weight_of(given: Any) -> Any:
    """``class_weight``, checked: None, "balanced", or a dict of label to positive number."""
    if given is None or (isinstance(given, str) and given == "balanced"):
        return given
    if not isinstance(given, Mapping):
        raise ValueError(f'class_weight must be None, "balanced" or a dict of label to weight, got {given!r}')
    found = {plain_label(label): float(weight) for label, weight in given.items()}
    for label, weight in found.items():
        if not 0.0 < weight < LARGEST_WEIGHT:
            raise ValueError(f"class_weight[{label!r}] must be positive and below 2**53, got {weight}; "
                             "leave out the rows of a class that should not count")  # fmt: skip
    return found


def drop_zero_weights(model: Any, X: Any, y: Any, given: Any, must_keep_some: bool = False) -> tuple[Any, Any, Floats]:
    """The rows of positive weight, their labels, and their weights; an empty array of weights means that each is 1."""
    X = table_of(X)
    if given is None:
        return X, y, NO_WEIGHTS
    rows = _num_samples(X)
    weights = weights_of(given, rows)
    if not weights.all() and y is not None:
        labels, kept = target_array(model, y), np.flatnonzero(weights)
        if len(labels) != rows:
            raise ValueError(f"y has {len(labels)} labels for the {rows} rows of X")
        _refuse_precomputed_kernel(model, weights)
        X, y, weights = _safe_indexing(row_indexable(X), kept), labels[kept], weights[kept]
    if must_keep_some and len(weights) == 0:
        raise ValueError("all weights are zero, so there is nothing to learn; give some rows a positive weight")
    return X, y, weights


def _refuse_precomputed_kernel(model: Any, weights: Floats) -> None:
    """Raise ``ValueError`` for a precomputed kernel: a row that is left out would still have its column there."""
    inside = [model]
    for each in inside:
        inner = [
            getattr(each, "learner", None),
            each.__dict__.get("learner_"),
            *(getattr(each, "learners", None) or ()),
        ]
        inside += [other for other in inner if other is not None]
        if isinstance(kernel := getattr(each, "kernel", None), str) and kernel == "precomputed":
            raise ValueError(f"row {np.flatnonzero(weights == 0.0)[0]} has weight 0, but its column of a precomputed "
                             "kernel would remain; leave out both")  # fmt: skip


def target_array(model: Any, y: Any) -> NDArray[Any]:
    """Labels, or the numbers of a regressor, as an array."""
    if not is_regressor(model):
        return label_array(y)
    refuse_masked(y, "y")
    return np.asarray(y)


def times_class_weight(
    weights: Floats, labels: NDArray[Any], class_weight: Any, counts: dict[Any, int] | None
) -> Floats:
    """Weights of rows times those of their classes; ``counts`` are the earlier rows of each label, None in ``fit``."""
    if class_weight is None:
        return weights
    if labels.ndim == 2:
        raise ValueError("class_weight is for one label per row; weight the rows of label sets with sample_weight")
    values, code = np.unique(labels, return_inverse=True)
    if class_weight != "balanced":
        own = np.array([class_weight.get(value, 1.0) for value in values.tolist()])[code]
    elif counts is None:
        own = len(labels) / (len(values) * np.bincount(code))[code]
    else:
        own = balanced_weights(code, np.array([counts.get(value, 0) for value in values.tolist()]), counts)
    product = own if len(weights) == 0 else own * weights
    if not product.all():
        row = int(np.argmin(product))
        given = f"{weights[row]:g} times {own[row]:g}"
        raise ValueError(f"row {row} of sample_weight times class_weight is too small for a float: {given}")
    return checked_weights(product, "sample_weight times class_weight")


def balanced_weights(code: NDArray[np.int64], before: NDArray[np.int64], counts: dict[Any, int]) -> Floats:
    """n / (K n_y) for each row, where n rows up to this one had K labels, and n_y of them the label of this row.

    >>> balanced_weights(np.array([0, 0, 1]), np.array([0, 0]), {}).tolist()
    [1.0, 1.0, 1.5]
    """
    order = np.argsort(code, kind="stable")
    firsts = np.searchsorted(code[order], np.arange(len(before)))
    earlier = np.empty(len(code), dtype=np.int64)
    earlier[order] = np.arange(len(code)) - firsts[code[order]]
    of_label = before[code] + earlier + 1
    known = sum(count > 0 for count in counts.values()) + np.cumsum(of_label == 1)
    return np.asarray((sum(counts.values()) + np.arange(1, len(code) + 1)) / (known * of_label), dtype=np.float64)


def restore_counts(learner: "Learner", array: NDArray[Any]) -> None:
    """Give a learner the counts of its labels that a file holds."""
    if array.shape != (len(learner.labels),) or (array < 0).any() or array.sum() != learner.rounds:
        raise ValueError("its counts of labels are not those of its rows")
    learner.counted = dict(zip(learner.labels.values, map(int, array), strict=True)), learner.rounds, []


def weights_for_loop(weights: Floats, model: Any, learner: "Learner") -> Floats:
    """Weights for the loop, an empty array if all are 1; ``ValueError`` if the learner takes no others."""
    other = np.flatnonzero(weights != 1.0)
    if len(other) == 0:
        return NO_WEIGHTS
    if not model._weighs(learner):
        raise ValueError(
            f"row {other[0]} has weight {float(weights[other[0]]):g}, but {type(model).__name__} takes only the "
            "weights 0 and 1, because its step does not depend on the weight. Use PassiveAggressive"
            + ('Regressor(variant="I")' if is_regressor(model) else '(variant="I"), Perceptron, OnlineSVM or AROW')
        )
    return weights


def weight_argument(weights: Floats) -> dict[str, Floats]:
    """``sample_weight`` as a keyword argument, left out if the array is empty."""
    return {"sample_weight": weights} if len(weights) else {}


def declare_classes(model: Any, classes: Any) -> None:
    """Keep the ``classes`` of a call whose rows all have weight 0: no other label may follow."""
    known = model.classes_.tolist() if hasattr(model, "classes_") else model.__dict__.get("_declared_classes", [])
    if new := new_classes(known, classes):
        model._declared_classes = new
    elif classes is not None:
        _close(model)


def _close(model: Any) -> None:
    """Let a model that has learned, and the models inside it, take no new label."""
    core = model.__dict__.get("_core")
    if core is not None:
        core.closed = True
    for inner in (model.__dict__.get("learner_"), *getattr(core, "members", ())):
        if inner is not None:
            _close(inner)


def classes_declared_before(model: Any, classes: Any) -> Any:
    """The ``classes`` for the first rows: those of this call, or of earlier calls whose rows all had weight 0."""
    before = model.__dict__.get("_declared_classes")
    if before is None:
        return classes
    declare_classes(model, classes)
    return before


def learn_predict_any_weight(model: Any, shown: Any, X: Any, y: Any, classes: Any, given: Any) -> NDArray[Any]:
    """``learn_predict`` of a learner; rows of weight 0 are predicted in their turn, but not learned."""

    def learn(trial: Any, *rows: Any) -> Any:
        return trial._learn_predict_positive(*rows)

    def predict(trial: Any, row: Any, _label: Any) -> Any:
        return trial.predict(row)[0] if hasattr(trial, "n_features_in_") else None

    shown, X = (table_of(X),) * 2 if shown is X else (shown, X)
    predicted = learn_between_zero_weights(model, (shown, X, y, classes, given), learn, predict)
    if not isinstance(predicted, list):
        return predicted
    found = np.empty(len(predicted), dtype=object)
    found[:] = predicted
    if is_regressor(model):
        found[[value is None for value in predicted]] = 0.0  # rows of weight 0 before the first that is learned
        return found.astype(np.float64)
    return cast_labels(found, model.classes_.dtype) if hasattr(model, "classes_") else found


def learn_between_zero_weights(model: Any, rows: tuple[Any, ...], learn: Any, predict: Any) -> Any:
    """The result of ``learn``; with rows of weight 0 a list of its results, and for those rows of ``predict``'s.

    The pieces between rows of weight 0 are learned by a copy; the model takes over its state unless a piece is refused.
    """
    shown, X, y, classes, given = rows
    if given is None or (weights := weights_of(given, _num_samples(X))).all():
        return learn(model, shown, X, y, classes, NO_WEIGHTS if given is None else weights)
    shown, X = (row_indexable(X),) * 2 if shown is X else (row_indexable(shown), row_indexable(X))
    labels = target_array(model, y)
    if len(labels) != len(weights):
        raise ValueError(f"y has {len(labels)} labels for the {len(weights)} rows of X")
    _refuse_precomputed_kernel(model, weights)
    if not weights.any():
        declare_classes(model, classes)
    trial = deepcopy(model)
    before = getattr(trial, "t_", 0)
    found: list[Any] = [None] * len(weights)
    start = 0
    try:
        for end in [*np.flatnonzero(weights == 0.0), len(weights)]:
            rounds, row = getattr(trial, "t_", 0), start
            if end > start:
                part = np.arange(start, end)
                piece = _safe_indexing(X, part)
                seen = piece if shown is X else _safe_indexing(shown, part)
                found[start:end] = learn(trial, seen, piece, labels[part], classes, weights[part])
                classes, row = None, end
            if end < len(weights):
                found[end] = predict(trial, _safe_indexing(shown, [end]), labels[end])
            start = end + 1
        _take_over(model, trial)
    except BaseException as error:
        if type(error) in INPUT_ERRORS and (getattr(trial, "t_", 0) == rounds or row == end):
            reworded = renumbered(error, range(row, len(weights)))
            raise reworded from (None if reworded is error else error)
        _take_over(model, trial)
        total = getattr(trial, "t_", 0)
        add_progress_note(error, total - before, len(weights), total, weights)
        raise
    return found


def _take_over(model: Any, trial: Any) -> None:
    """Take over the state of a copy, but keep the model's own parameter objects."""
    own = {name: model.__dict__[name] for name in model.get_params(deep=False) if name in model.__dict__}
    model.__dict__ = {**trial.__dict__, **own}
