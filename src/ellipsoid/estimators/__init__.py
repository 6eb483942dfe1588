"""scikit-learn shells: parameters around a learner."""

from importlib import import_module
from typing import Any

from .cellip import CELLIP
from .dual import QuasiAdditive
from .iellip import IELLIP
from .linear import MIRA, PassiveAggressive, Perceptron
from .online_svm import OnlineSVM
from .persist import load
from .scaled import ALMA, ROMMA
from .winnow import Winnow

# The explicit list of learners: the command line, the model files and the shared tests read it.
LEARNERS: dict[str, Any] = {
    learner.__name__: learner
    for learner in (Perceptron, PassiveAggressive, MIRA, ROMMA, ALMA, Winnow, QuasiAdditive, OnlineSVM, IELLIP, CELLIP)
}

# Learners of other rooms, imported when they are asked for: what they need beyond the engine takes time to load.
ELSEWHERE = {"OnlineEllipsoidalSVC": "ellipsoid.batch"}


def learner_named(name: str) -> Any:
    """The class of a learner, for the command line and the model files.

    >>> learner_named("MIRA") is MIRA
    True
    >>> learner_named("Adaline")
    Traceback (most recent call last):
        ...
    ValueError: no learner 'Adaline'; there are ...
    """
    if name in ELSEWHERE:
        return getattr(import_module(ELSEWHERE[name]), name)
    if name not in LEARNERS:
        raise ValueError(f"no learner {name!r}; there are {', '.join((*LEARNERS, *ELSEWHERE))}")
    return LEARNERS[name]


__all__ = [
    "ALMA",
    "CELLIP",
    "IELLIP",
    "LEARNERS",
    "MIRA",
    "ROMMA",
    "OnlineSVM",
    "PassiveAggressive",
    "Perceptron",
    "QuasiAdditive",
    "Winnow",
    "learner_named",
    "load",
]
