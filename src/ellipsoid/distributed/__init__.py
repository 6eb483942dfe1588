"""Learning on many machines: parts of the data are learned separately and merged, round by round.

Dask is only needed, and imported, for a cluster: ``pip install 'ellipsoid[distributed]'``.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .comparing import compare as compare
    from .fitting import fit as fit
    from .predicting import predict as predict

FUNCTIONS = {"compare": "comparing", "fit": "fitting", "predict": "predicting"}

__all__ = ["compare", "fit", "predict"]


def __getattr__(name: str) -> Any:
    if name not in FUNCTIONS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{FUNCTIONS[name]}"), name)
    globals()[name] = value
    return value
