"""The compiled loop, generic functions, and all that knows numba."""

from .compile import call, compiled, entry, without_lock
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
    "call",
    "compiled",
    "decide",
    "entry",
    "generic",
    "inspect",
    "learn",
    "scores_of",
    "without_lock",
]
