"""The compiled loop and the only place that knows numba's machinery."""

from .compile import clear_cache, compiled, entry, entry_of_block, side_by_side
from .generic import generic
from .loop import NO_WEIGHTS, decide, inspect, learn, scores_of
from .rows import CSR, Dense
from .tasks import Binary, Multiclass, MultiLabel, OneVsRest, Regression

__all__ = [
    "CSR",
    "NO_WEIGHTS",
    "Binary",
    "Dense",
    "MultiLabel",
    "Multiclass",
    "OneVsRest",
    "Regression",
    "clear_cache",
    "compiled",
    "decide",
    "entry",
    "entry_of_block",
    "generic",
    "inspect",
    "learn",
    "scores_of",
    "side_by_side",
]
