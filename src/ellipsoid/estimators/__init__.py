"""The learners as scikit-learn estimators: a file for each family, and folders for the code that they share.

A learner is imported when it is first used (PEP 562), because its import loads compiled code.
"""

from typing import TYPE_CHECKING, Any

from .loading import load
from .registry import FURTHER, HOMES, learner_named

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

__all__ = ["LEARNERS", "learner_named", "load", *HOMES, *FURTHER]  # noqa: PLE0604 - the names are strings


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
