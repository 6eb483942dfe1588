"""The names of all estimators, and the modules that define them.

An estimator is imported when it is asked for by its name: modules that all of them import, such as those of model
files, can name an estimator without importing any.
"""

from importlib import import_module
from typing import Any

# The classifiers and their modules, for the command line and model files; the shared tests go through all of them.
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

# Regressors, and learners made of others: the command line and model files know them too.
FURTHER = {
    "Committee": "wrappers.committee",
    "IntervalRegressor": "interval_regressor",
    "PassiveAggressiveRegressor": "passive_aggressive_regressor",
}

# Wrappers around learners, and scalers: only model files know them.
AROUND = {
    "Scaled": "wrappers.pipeline",
    "Calibrated": "wrappers.calibrated",
    "Conformal": "wrappers.conformal",
    "StandardStream": "wrappers.scalers",
    "UnitNorm": "wrappers.scalers",
}


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
    return _imported(name, homes[name])


def estimator_named(name: str) -> Any:
    """The class of a learner, a wrapper or a scaler.

    >>> estimator_named("UnitNorm")
    <class 'ellipsoid.estimators.wrappers.scalers.UnitNorm'>
    """
    return _imported(name, AROUND[name]) if name in AROUND else learner_named(name)


def _imported(name: str, home: str) -> Any:
    return getattr(import_module(f"{__package__}.{home}"), name)
