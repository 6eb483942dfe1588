"""CELLIP: a classifier that meets the assumption is never lost, and certainty never contradicts it.

Whether it meets the assumption is decided in exact arithmetic.
"""

from fractions import Fraction

import numpy as np


def assumption(model, stream, picks):
    """The planted classifier, as long as the radius, or None if it has not the asked margin on these rows."""
    params = model._core.started
    margin, a = float(params["margin"]), float(params["a"])
    radius = 1.0 + (1.0 - a) * margin if params["radius"] is None else float(params["radius"])
    width = model.n_features_in_
    q = stream.planted[:width] * (radius * (1.0 - 1e-12) / np.linalg.norm(stream.planted[:width]))
    exact = [Fraction(value) for value in q.tolist()]
    if sum(value * value for value in exact) > Fraction(radius) ** 2:
        return None
    asked = max(Fraction(a) * Fraction(margin), Fraction(a * margin))
    right = model.classes_[1] if len(model.classes_) > 1 else None
    for pick in picks:
        score = sum(w * Fraction(x) for w, x in zip(exact, stream.X[pick].tolist(), strict=False))
        if (score if stream.y[pick] == right else -score) < asked:
            return None
    return q


def check(model, stream, picks):
    """The version space still holds the planted classifier; returns whether there was anything to check."""
    q = assumption(model, stream, picks)
    if q is None:
        return False
    assert model.infeasible_ == 0, f"infeasible_ = {model.infeasible_}, but {q} has the asked margin on every row"
    point = np.concatenate([[0.0], q]) if model._core.constant else q
    assert model.version_space_.contains(point[None])[0], f"the version space has lost {q}"
    rows = stream.X[picks][:, : model.n_features_in_]
    sure = model.certain(rows)
    leads = rows @ q
    clear = sure & (np.abs(leads) > 1e-9 * np.linalg.norm(rows, axis=1) * np.linalg.norm(q))
    assert (model.predict(rows)[clear] == model.classes_[(leads[clear] > 0).astype(int)]).all(), "sure, and wrong"
    return True
