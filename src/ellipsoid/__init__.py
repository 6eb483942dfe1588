"""Learning from a stream, one example at a time, with guarantees you can read off.

The public names are listed once, in ``_HOMES``, and are imported when first used (PEP 562): to import
``ellipsoid`` costs next to nothing, so that ``ellipsoid --help`` answers without loading a compiler.
"""

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

__version__ = "0.2.0"

_HOMES = {
    "ellipsoid": "distributed",
    "ellipsoid.batch": "BayesPointMachine EllipsoidalSVC",
    "ellipsoid.batch.problem": "NotSeparable",
    "ellipsoid.certificates": "Certificate",
    "ellipsoid.convex": "feasible_point minimize",
    "ellipsoid.ellipsoids": "Ellipsoid",
    "ellipsoid.ellipsoids.tables.around_weights": "EmptyVersionSpace",
    "ellipsoid.estimators": (
        "ALMA AROW CELLIP Committee ConfidenceWeighted EllipsoidClassifier IELLIP IntervalRegressor MIRA NHERD "
        "OnlineEllipsoidalSVC OnlineSVM PassiveAggressive PassiveAggressiveRegressor Perceptron QuasiAdditive "
        "ROMMA SCW SecondOrderPerceptron Winnow load"
    ),
    "ellipsoid.estimators.files.container": "DamagedModel",
    "ellipsoid.estimators.files.onnx": "export_onnx",
    "ellipsoid.estimators.wrappers.calibrated": "Calibrated",
    "ellipsoid.estimators.wrappers.conformal": "Conformal",
    "ellipsoid.estimators.wrappers.pipeline": "Scaled",
    "ellipsoid.estimators.wrappers.scalers": "StandardStream UnitNorm",
    "ellipsoid.evaluate": "compare prequential",
    "ellipsoid.merging": "merge",
    "ellipsoid.service.client": "Client ServiceError",
    "ellipsoid.streams.opening": "open_stream",
    "ellipsoid.streams.readers.errors": "LineError",
    "ellipsoid.streams.sets": "datasets",
}
_EXPORTS = {name: home for home, names in _HOMES.items() for name in names.split()}

# Type checkers and editors do not run __getattr__: they read this block; a test holds it equal to _EXPORTS.
if TYPE_CHECKING:
    from ellipsoid import distributed as distributed
    from ellipsoid.batch import BayesPointMachine as BayesPointMachine
    from ellipsoid.batch import EllipsoidalSVC as EllipsoidalSVC
    from ellipsoid.batch.problem import NotSeparable as NotSeparable
    from ellipsoid.certificates import Certificate as Certificate
    from ellipsoid.convex import feasible_point as feasible_point
    from ellipsoid.convex import minimize as minimize
    from ellipsoid.ellipsoids import Ellipsoid as Ellipsoid
    from ellipsoid.ellipsoids.tables.around_weights import EmptyVersionSpace as EmptyVersionSpace
    from ellipsoid.estimators import ALMA as ALMA
    from ellipsoid.estimators import AROW as AROW
    from ellipsoid.estimators import CELLIP as CELLIP
    from ellipsoid.estimators import IELLIP as IELLIP
    from ellipsoid.estimators import MIRA as MIRA
    from ellipsoid.estimators import NHERD as NHERD
    from ellipsoid.estimators import ROMMA as ROMMA
    from ellipsoid.estimators import SCW as SCW
    from ellipsoid.estimators import Committee as Committee
    from ellipsoid.estimators import ConfidenceWeighted as ConfidenceWeighted
    from ellipsoid.estimators import EllipsoidClassifier as EllipsoidClassifier
    from ellipsoid.estimators import IntervalRegressor as IntervalRegressor
    from ellipsoid.estimators import OnlineEllipsoidalSVC as OnlineEllipsoidalSVC
    from ellipsoid.estimators import OnlineSVM as OnlineSVM
    from ellipsoid.estimators import PassiveAggressive as PassiveAggressive
    from ellipsoid.estimators import PassiveAggressiveRegressor as PassiveAggressiveRegressor
    from ellipsoid.estimators import Perceptron as Perceptron
    from ellipsoid.estimators import QuasiAdditive as QuasiAdditive
    from ellipsoid.estimators import SecondOrderPerceptron as SecondOrderPerceptron
    from ellipsoid.estimators import Winnow as Winnow
    from ellipsoid.estimators import load as load
    from ellipsoid.estimators.files.container import DamagedModel as DamagedModel
    from ellipsoid.estimators.files.onnx import export_onnx as export_onnx
    from ellipsoid.estimators.wrappers.calibrated import Calibrated as Calibrated
    from ellipsoid.estimators.wrappers.conformal import Conformal as Conformal
    from ellipsoid.estimators.wrappers.pipeline import Scaled as Scaled
    from ellipsoid.estimators.wrappers.scalers import StandardStream as StandardStream
    from ellipsoid.estimators.wrappers.scalers import UnitNorm as UnitNorm
    from ellipsoid.evaluate import compare as compare
    from ellipsoid.evaluate import prequential as prequential
    from ellipsoid.merging import merge as merge
    from ellipsoid.service.client import Client as Client
    from ellipsoid.service.client import ServiceError as ServiceError
    from ellipsoid.streams.opening import open_stream as open_stream
    from ellipsoid.streams.readers.errors import LineError as LineError
    from ellipsoid.streams.sets import datasets as datasets

# Names that are modules themselves: they are imported as such, so that their packages need not re-export them.
MODULES = ("datasets", "distributed")

# Names that the extra `serve` is needed for; ``import *`` passes over them without it.
_SERVED = () if find_spec("msgspec") else ("Client", "ServiceError")

__all__ = ["__version__", *(name for name in _EXPORTS if name not in _SERVED)]  # noqa: PLE0604 - the names are strings


def __getattr__(name: str) -> Any:
    if name not in _EXPORTS:
        raise AttributeError(f"module 'ellipsoid' has no attribute {name!r}")
    home = _EXPORTS[name]
    value = import_module(f"{home}.{name}") if name in MODULES else getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
