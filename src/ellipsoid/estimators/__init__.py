"""scikit-learn shells: parameters around a learner."""

from typing import Any

from .cellip import CELLIP
from .dual import QuasiAdditive
from .iellip import IELLIP
from .linear import MIRA, PassiveAggressive, Perceptron
from .online_svm import OnlineSVM
from .persist import load
from .pipeline import Scaled
from .scaled import ALMA, ROMMA
from .scalers import StandardStream, UnitNorm

# The explicit list of learners: the command line, the model files and the shared tests read it.
LEARNERS: dict[str, Any] = {
    learner.__name__: learner
    for learner in (Perceptron, PassiveAggressive, MIRA, ROMMA, ALMA, QuasiAdditive, OnlineSVM, IELLIP, CELLIP)
}

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
    "Scaled",
    "StandardStream",
    "UnitNorm",
    "load",
]
