"""Holdout runs of batch estimators: fitted on a random part of the rows, tested on the others."""

from __future__ import annotations

from time import process_time

import numpy as np

from ellipsoid.streams.scale import scale

from .cell import Cell, CellTask, error_rate
from .prequential import Progress


def fit_and_test(task: CellTask, progress: Progress | None = None) -> Cell:
    """Fit a clone of the model on ``task.at_once`` rows drawn by the seed; ``elapsed`` is the processor's time of the
    fit alone, which other programs on the machine do not lengthen.
    """
    from sklearn.base import clone

    model = clone(task.model)
    if model.get_params().get("random_state", 0) is None:
        model.set_params(random_state=task.seed or 0)
    X, y = task.train
    size = task.at_once or 0
    if not 0 < size < len(y):
        raise ValueError(f"{task.learner}: at_once must leave rows to test on, got {size} of {len(y)} rows")
    order = np.random.default_rng(task.seed).permutation(len(y)) if task.seed is not None else np.arange(len(y))
    learned, tested = order[:size], order[size:]
    X_train, X_test = scale(task.scale, X[learned], X[tested])
    began = process_time()
    try:
        model.fit(X_train, y[learned])
    except ValueError as error:
        raise ValueError(f"{task.learner}: {error}") from error
    elapsed = process_time() - began
    wrong = error_rate(model.predict(X_test), y[tested])
    if progress is not None:
        progress(task.rows, task.rows)
    weights = getattr(model, "coef_", np.empty((0, 0)))
    kept = tuple(map(float, weights[0])) if len(weights) == 1 else ()
    return Cell(task.learner, task.seed, (), (wrong,), (), (), elapsed, kept)
