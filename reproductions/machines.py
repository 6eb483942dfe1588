"""The models that entries name: the learners of the command line, and machines that see all rows at once."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ellipsoid.evaluate.lineup import learner

from .entry import Spec

AT_ONCE = {"EllipsoidalSVC": "ellipsoid.batch", "BayesPointMachine": "ellipsoid.batch", "SVC": "sklearn.svm"}


def machine(spec: Spec) -> Any:
    """The model that a spec describes.

    >>> machine(Spec("SVC", {"C": 2.0})).C
    2.0
    """
    if spec.grid is not None:
        from sklearn.model_selection import GridSearchCV, StratifiedKFold

        folds = StratifiedKFold(3, shuffle=True, random_state=0)
        return GridSearchCV(machine(spec._replace(grid=None)), {k: list(v) for k, v in spec.grid.items()}, cv=folds)
    if spec.kind in AT_ONCE:
        return getattr(import_module(AT_ONCE[spec.kind]), spec.kind)(**spec.parameters)
    return learner(spec.kind, dict(spec.parameters))
