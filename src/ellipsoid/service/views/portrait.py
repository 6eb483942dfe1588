"""The portrait of a learner: the labels it confuses, its heaviest features, its certificates and its ellipsoid."""

from collections import Counter
from math import isqrt
from typing import Any

import numpy as np

from ..journal.rows import DENSE, as_predicted
from .history import StoreHistory, recent_rows
from .messages import Confused, HeavyFeature, Portrait, ScoreWeights, ShadowTold
from .shadow import MOST_WEIGHTS, Shadow

HEAVIEST = 8
LARGEST_SQUARE = 1024
# The most labels that are shown, and the most names of features that are weighed.
MOST_SHOWN = 40
MOST_NAMES = 400


def portrait_of(history: StoreHistory, stream: Any, learner: str) -> Portrait:
    """The learner as it predicts now."""
    published = stream.learners[learner].published
    known = published.learner.has_learned
    measured = history.measure(stream, learner)
    recent = recent_rows(stream, None)
    body = published.learner.body
    with published.lock:
        inner = getattr(published.learner.model, "learner_", published.learner.model)
        names = _names(inner, stream) if known else None
        weights = _weights(published, inner, names, recent) if known else []
        changes = [int(row) for row in getattr(inner, "changes_", ())] if known else []
    return Portrait(
        name=stream.name,
        of=learner,
        learner=body.learner,
        t=published.t,
        params=body.params,
        scale=body.scale,
        classes=published.learner.classes_known(),
        features=published.learner.model.n_features_in_ if known else None,
        form=stream.schema.form,
        sample=None if recent is None else recent[-1] if isinstance(recent[-1], dict) else recent[-1].tolist(),
        certificates=[] if measured is None else measured.bounds,
        confusion=_confusion(published.learner.record),
        weights=weights,
        shadow=None if measured is None or measured.shadow is None else _shadow(measured.shadow, names, published),
        changes=changes[-MOST_SHOWN:],
    )


def _confusion(record: Any) -> list[Confused]:
    counts = sorted(record.confusion(), key=lambda each: -each[2])[: MOST_SHOWN * MOST_SHOWN]
    return [Confused(label=label, predicted=guess, count=count) for label, guess, count in counts]


def _names(inner: Any, stream: Any) -> list[str] | None:
    """The name of each column, None where columns are hashes."""
    if stream.schema.form == DENSE:
        return [str(column) for column in range(inner.n_features_in_)]
    if stream.bits is not None:
        return None
    names = [""] * inner.n_features_in_
    for name, column in inner._core.features.items():
        # A tuple is a feature with a word as its value.
        names[column] = " = ".join(map(str, name)) if isinstance(name, tuple) else str(name)
    return names


def _weights(published: Any, inner: Any, names: list[str] | None, recent: Any) -> list[ScoreWeights]:
    """For each label its heaviest features; of two labels only the second has weights."""
    labels = published.learner.classes_known()
    if names is None:
        names, coefficients = _weights_of_names(published, recent)
    else:
        try:
            if (inner.n_features_in_ + 1) * len(labels) > MOST_WEIGHTS:
                return []
            coefficients = np.asarray(inner.coef_)
        except AttributeError:
            return []  # a kernel model has no weights of features
    if not coefficients.size or len(coefficients) not in (1, len(labels)):
        return []
    width = coefficients.shape[1]
    square = width == isqrt(width) ** 2 and 16 <= width <= LARGEST_SQUARE and names[0] == "0"
    shown = []
    for label, row in list(zip(labels[-len(coefficients) :], coefficients, strict=True))[:MOST_SHOWN]:
        order = np.argsort(-np.abs(row), kind="stable")[:HEAVIEST]
        heaviest = [HeavyFeature(feature=names[j], weight=float(row[j])) for j in order.tolist() if row[j]]
        picture = [float(f"{value:.3g}") for value in row.tolist()] if square else None
        shown.append(ScoreWeights(label=label, heaviest=heaviest, square=picture))
    return shown


def _weights_of_names(published: Any, recent: Any) -> tuple[list[str], Any]:
    """The names in recent examples, whose columns are hashes, and what a value of 1 of each adds to the scores."""
    counts = Counter(name for x in recent or () for name, value in x.items() if not isinstance(value, str))
    names = [name for name, _ in counts.most_common(MOST_NAMES)]
    if not names:
        return [], np.zeros((0, 0))
    X = as_predicted([{}, *({name: 1.0} for name in names)], published.learner.bits)
    scores = np.asarray(published.learner.model.decision_function(X))
    scores = scores.reshape(len(scores), -1)
    return names, (scores[1:] - scores[0]).T


def _shadow(shadow: Shadow, names: list[str] | None, published: Any) -> ShadowTold:
    labels = published.learner.classes_known()
    axes = []
    for axis in shadow.axes:
        size = np.abs(axis).ravel()
        top = np.argsort(-size, kind="stable")[:3]
        heaviest = []
        for k, j in zip(*np.unravel_index(top, axis.shape), strict=True):
            name = "constant" if j == 0 else str(j - 1) if names is None or j > len(names) else names[j - 1]
            of = "" if len(axis) == 1 or k >= len(labels) else f" of {labels[k]}"
            heaviest.append(HeavyFeature(feature=f"{name}{of}", weight=float(axis[k, j])))
        axes.append(heaviest)
    longest, second = shadow.half_lengths
    return ShadowTold(longest=longest, second=second, share=shadow.share, axes=axes)
