"""The portrait of a learner: what it confuses, which features weigh most, how much its ellipsoid leaves open."""

from __future__ import annotations

from collections import Counter
from math import isqrt
from typing import Any

import numpy as np

from ..journal.rows import DENSE
from .history import StoreHistory, recent_rows
from .messages import Confused, HeavyFeature, Portrait, ScoreWeights, ShadowTold
from .shadow import MOST_WEIGHTS, Shadow

HEAVIEST = 8
LARGEST_SQUARE = 1024
# Labels and names of features beyond these are not shown.
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
        sample=None if recent is None else _plain(recent[-1]),
        certificates=[] if measured is None else measured.bounds,
        confusion=_confusion(published.learner.record),
        weights=weights,
        shadow=None if measured is None or measured.shadow is None else _shadow(measured.shadow, names, published),
        changes=changes[-MOST_SHOWN:],
    )


def _plain(x: Any) -> Any:
    return x if isinstance(x, dict) else x.tolist()


def _confusion(record: Any) -> list[Confused]:
    counts = sorted(record.confusion(), key=lambda each: -each[2])[: MOST_SHOWN * MOST_SHOWN]
    return [Confused(label=label, predicted=told, count=often) for label, told, often in counts]


def _names(inner: Any, stream: Any) -> list[str] | None:
    """The name of each column, None where columns are hashes."""
    if stream.schema.form == DENSE:
        return [str(column) for column in range(inner.n_features_in_)]
    if stream.bits is not None:
        return None
    names = [""] * inner.n_features_in_
    for name, column in inner._core.features.items():
        names[column] = _in_words(name)
    return names


def _in_words(name: Any) -> str:
    return name if isinstance(name, str) else " = ".join(map(str, name)) if isinstance(name, tuple) else str(name)


def _weights(published: Any, inner: Any, names: list[str] | None, recent: Any) -> list[ScoreWeights]:
    """For each label its heaviest features; of two labels, those of the second."""
    labels = published.learner.classes_known()
    if names is None:
        names, found = _of_names(published, recent)
    else:
        try:
            if (inner.n_features_in_ + 1) * len(labels) > MOST_WEIGHTS:
                return []
            found = np.asarray(inner.coef_)
        except AttributeError:
            return []  # a kernel model has no weights of features
    if not found.size or len(found) not in (1, len(labels)):
        return []
    side = isqrt(found.shape[1])
    square = found.shape[1] == side * side and side >= 4 and found.shape[1] <= LARGEST_SQUARE and names[0] == "0"
    told = []
    for label, row in list(zip(labels[-len(found) :], found, strict=True))[:MOST_SHOWN]:
        order = np.argsort(-np.abs(row), kind="stable")[:HEAVIEST]
        heaviest = [HeavyFeature(feature=names[j], weight=float(row[j])) for j in order.tolist() if row[j]]
        all_of_them = [float(f"{value:.3g}") for value in row.tolist()] if square else None
        told.append(ScoreWeights(label=label, heaviest=heaviest, square=all_of_them))
    return told


def _of_names(published: Any, recent: Any) -> tuple[list[str], Any]:
    """Names that recent examples have, and what one of each adds to the scores."""
    from ..journal.rows import as_predicted

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
        told = []
        for k, j in zip(*np.unravel_index(top, axis.shape), strict=True):
            name = "constant" if j == 0 else str(j - 1) if names is None or j > len(names) else names[j - 1]
            of = "" if len(axis) == 1 or k >= len(labels) else f" of {labels[k]}"
            told.append(HeavyFeature(feature=f"{name}{of}", weight=float(axis[k, j])))
        axes.append(told)
    longest, second = shadow.half_lengths
    return ShadowTold(longest=longest, second=second, share=shadow.share, axes=axes)
