"""The attributes of an online learner that end in an underscore: what it has learned so far."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ellipsoid.engine import tally as tallies

from ..inputs.checks import LabelArray


def missing(model: Any, name: str) -> str:
    """The message for an attribute that a model does not have."""
    kind = type(model).__name__
    message = f"{kind!r} object has no attribute {name!r}"
    if "_proba" in name:
        return f"{message}: scores are not probabilities; Calibrated({kind}(...)) learns them from scores"
    return message


class NoProbabilities:
    """In place of ``predict_proba``: these classifiers have none, and the error names the wrapper that has."""

    def __set_name__(self, owner: Any, name: str) -> None:
        self.name = name

    def __get__(self, model: Any, owner: Any) -> Any:
        raise AttributeError(missing(model, self.name))


class LearnedAttributes:
    """Labels, weights and counts; each raises ``AttributeError`` before something was learned."""

    _core: Any

    predict_proba = NoProbabilities()
    predict_log_proba = NoProbabilities()
    predict_proba_one = NoProbabilities()

    def _fitted(self, name: str) -> Any:
        if "_core" not in self.__dict__:
            raise AttributeError(f"{type(self).__name__} has no {name} before it has learned something")
        return self._core

    @property
    def classes_(self) -> LabelArray:
        """Known labels, in the order of their indices."""
        return self._fitted("classes_").labels.array()

    @property
    def coef_(self) -> NDArray[np.float64]:
        """Weights of the features, one row per score."""
        return np.array(self._fitted("coef_").weights()[:, 1:])

    @property
    def intercept_(self) -> NDArray[np.float64]:
        """What is added to the scores: the weight of the constant feature times its value (zero without one)."""
        core = self._fitted("intercept_")
        return np.array(core.weights()[:, 0]) * (core.constant or 1.0)

    @property
    def t_(self) -> int:
        """Examples seen."""
        return self._fitted("t_").rounds

    @property
    def mistakes_(self) -> int:
        """Examples with margin <= 0 when they were seen: ties count.

        They are mistakes of the hypothesis that learns, to which the bounds apply, also where an average or votes
        predict; for the errors of predictions see ``learn_predict`` and ``prequential``.
        """
        return int(self._fitted("mistakes_").tally[tallies.MISTAKES])

    @property
    def updates_(self) -> int:
        """Examples that changed the hypothesis."""
        return int(self._fitted("updates_").tally[tallies.UPDATES])

    @property
    def shards_(self) -> int:
        """How many streams were learned separately and merged: 1 if nothing was merged."""
        mixed = self._fitted("shards_").mixed
        return 1 if mixed is None else int(mixed.shards)

    @property
    def rounds_(self) -> int:
        """How many times they were merged."""
        mixed = self._fitted("rounds_").mixed
        return 0 if mixed is None else int(mixed.rounds)
