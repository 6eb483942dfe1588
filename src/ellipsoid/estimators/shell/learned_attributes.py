"""What an online learner has learned so far, as the attributes that scikit-learn's users look for."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ellipsoid.engine import tally as tallies

from ..inputs.checks import Labelled


def missing(model: Any, name: str) -> str:
    """What to say of an attribute that a model does not have."""
    kind = type(model).__name__
    told = f"{kind!r} object has no attribute {name!r}"
    if "_proba" in name:
        return f"{told}: scores are no probabilities; Calibrated({kind}(...)) learns them from scores"
    return told


class NoProbabilities:
    """Stands where a classifier may have a method: it has none, and the error says which wrapper has."""

    def __set_name__(self, owner: Any, name: str) -> None:
        self.name = name

    def __get__(self, model: Any, owner: Any) -> Any:
        raise AttributeError(missing(model, self.name))


class LearnedAttributes:
    """Labels, weights and counts; none of them is there before something was learned."""

    _core: Any

    predict_proba = NoProbabilities()
    predict_log_proba = NoProbabilities()
    predict_proba_one = NoProbabilities()

    def _fitted(self, name: str) -> Any:
        if "_core" not in self.__dict__:
            raise AttributeError(f"{type(self).__name__} has no {name} before it has learned something")
        return self._core

    @property
    def classes_(self) -> Labelled:
        """Known labels, in the order of their indices."""
        return self._fitted("classes_").labels.array()

    @property
    def coef_(self) -> NDArray[np.float64]:
        """Weights of the features, one row per score."""
        return np.array(self._fitted("coef_").weights()[:, 1:])

    @property
    def intercept_(self) -> NDArray[np.float64]:
        """What is added to the scores: the weights of the constant feature times its value (zero without one)."""
        core = self._fitted("intercept_")
        return np.array(core.weights()[:, 0]) * (core.constant or 1.0)

    @property
    def t_(self) -> int:
        """Examples seen."""
        return self._fitted("t_").rounds

    @property
    def mistakes_(self) -> int:
        """Examples with margin <= 0 when they were seen: ties count.

        They are those of the hypothesis that learns, which the bounds speak of, also where an average or votes predict:
        the errors of predictions are what ``learn_predict`` and ``prequential`` tell.
        """
        return int(self._fitted("mistakes_").tally[tallies.MISTAKES])

    @property
    def updates_(self) -> int:
        """Examples that changed the hypothesis."""
        return int(self._fitted("updates_").tally[tallies.UPDATES])

    @property
    def shards_(self) -> int:
        """How many streams were learned apart and put together: 1 where nothing was."""
        mixed = self._fitted("shards_").mixed
        return 1 if mixed is None else int(mixed.shards)

    @property
    def rounds_(self) -> int:
        """How many times they were put together."""
        mixed = self._fitted("rounds_").mixed
        return 0 if mixed is None else int(mixed.rounds)
