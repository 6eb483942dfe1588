"""Explain a prediction by what each feature does for or against the predicted label.

A feature's push is what the lead of the predicted label over its first rival loses when the feature is removed. For a
linear model that is its part of the lead; for others it is its effect at this example.
"""

from typing import Any

import numpy as np

from ..journal.rows import as_predicted
from ..messages import Push, Reasons
from ..models.learning import without_scaler
from ..models.published import Published

# The most features that are removed, the largest first; the push of the others is not computed.
MOST_PUSHES = 1024


def reasons_for(published: Published, x: Any) -> Reasons:
    """Reasons for the label of one example, a row of a matrix or a list with one dict."""
    model = published.learner.model
    names, rows = _without_each(x)
    X = as_predicted(rows, published.learner.bits)
    with published.lock:
        scores = np.asarray(model.decision_function(X))
        inner, own = without_scaler(model, as_predicted(x, published.learner.bits))
        sure = float(inner.confidence(own)[0]) if hasattr(inner, "confidence") else None
        labels = model.classes_.tolist()
    if scores.ndim == 1:
        scores = np.column_stack([-0.5 * scores, 0.5 * scores])
    if scores.shape[1] < 2:
        return Reasons(rival=None, lead=None, confidence=sure, pushes=[])
    best, rival = np.argsort(-scores[0], kind="stable")[:2].tolist()
    leads = scores[:, best] - scores[:, rival]
    pushes = (leads[0] - leads[1:]).tolist()
    order = sorted(range(len(names)), key=lambda i: -abs(pushes[i]))
    shown = [Push(feature=names[i][0], value=names[i][1], push=pushes[i]) for i in order if pushes[i]]
    return Reasons(rival=labels[rival], lead=float(leads[0]), confidence=sure, pushes=shown)


def _without_each(x: Any) -> tuple[list[tuple[str, Any]], Any]:
    """Features as (name, value), and the example followed by itself without each of them."""
    if isinstance(x, list):
        every = sorted(x[0].items(), key=lambda item: -abs(item[1]) if isinstance(item[1], int | float) else -1.0)
        names = every[:MOST_PUSHES]
        return names, [x[0], *({n: v for n, v in x[0].items() if n != name} for name, _ in names)]
    row = x[0]
    there = np.flatnonzero(row)
    there = there[np.argsort(-np.abs(row[there]), kind="stable")][:MOST_PUSHES]
    rows = np.repeat(x, len(there) + 1, axis=0)
    rows[1 + np.arange(len(there)), there] = 0.0
    return [(str(j), float(row[j])) for j in there.tolist()], rows
