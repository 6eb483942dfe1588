"""The learners as scikit-learn estimators: a file for each family, and a folder for each thing they share.

A learner is imported when it is asked for (PEP 562): each brings the compiled parts that it is made of.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .files.loading import load

if TYPE_CHECKING:
    from .arow import AROW as AROW
    from .arow import SecondOrderPerceptron as SecondOrderPerceptron
    from .cellip import CELLIP as CELLIP
    from .confidence_weighted import SCW as SCW
    from .confidence_weighted import ConfidenceWeighted as ConfidenceWeighted
    from .dual import QuasiAdditive as QuasiAdditive
    from .ellipsoid_classifier import EllipsoidClassifier as EllipsoidClassifier
    from .iellip import IELLIP as IELLIP
    from .interval_regressor import IntervalRegressor as IntervalRegressor
    from .linear import MIRA as MIRA
    from .linear import PassiveAggressive as PassiveAggressive
    from .linear import Perceptron as Perceptron
    from .nherd import NHERD as NHERD
    from .online_esvc import OnlineEllipsoidalSVC as OnlineEllipsoidalSVC
    from .online_svm import OnlineSVM as OnlineSVM
    from .passive_aggressive_regressor import PassiveAggressiveRegressor as PassiveAggressiveRegressor
    from .scaled import ALMA as ALMA
    from .scaled import ROMMA as ROMMA
    from .winnow import Winnow as Winnow
    from .wrappers.committee import Committee as Committee

    LEARNERS: dict[str, Any]

# The explicit list of learners, with the module of each: the command line, the model files and, as LEARNERS, a
# dictionary of the classes, the shared tests read it.
HOMES = {
    "EllipsoidClassifier": "ellipsoid_classifier",
    "Perceptron": "linear",
    "PassiveAggressive": "linear",
    "MIRA": "linear",
    "ROMMA": "scaled",
    "ALMA": "scaled",
    "Winnow": "winnow",
    "QuasiAdditive": "dual",
    "OnlineSVM": "online_svm",
    "IELLIP": "iellip",
    "CELLIP": "cellip",
    "OnlineEllipsoidalSVC": "online_esvc",
    "AROW": "arow",
    "SecondOrderPerceptron": "arow",
    "ConfidenceWeighted": "confidence_weighted",
    "SCW": "confidence_weighted",
    "NHERD": "nherd",
}

# Learners of numbers, and those made of others: the command line and the model files know them too.
FURTHER = {
    "Committee": "wrappers.committee",
    "IntervalRegressor": "interval_regressor",
    "PassiveAggressiveRegressor": "passive_aggressive_regressor",
}


__all__ = ["LEARNERS", "learner_named", "load", *HOMES, *FURTHER]  # noqa: PLE0604 - the names are strings


def learner_named(name: str) -> Any:
    """The class of a learner, for the command line and the model files.

    >>> learner_named("MIRA")
    <class 'ellipsoid.estimators.linear.MIRA'>
    >>> learner_named("Adaline")
    Traceback (most recent call last):
        ...
    ValueError: no learner 'Adaline'; there are ...
    """
    homes = {**HOMES, **FURTHER}
    if name not in homes:
        raise ValueError(f"no learner {name!r}; there are {', '.join(homes)}")
    return getattr(import_module(f"{__name__}.{homes[name]}"), name)


def __getattr__(name: str) -> Any:
    if name == "LEARNERS":
        value: Any = {learner: learner_named(learner) for learner in HOMES}
    elif name in HOMES or name in FURTHER:
        value = learner_named(name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
