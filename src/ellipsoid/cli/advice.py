"""What ``ellipsoid learn`` advises: a smaller constant feature beside the small entries of sparse rows."""

from __future__ import annotations

from typing import Any

# Beside entries smaller than this a constant feature of 1 is one of the largest, and its weight swings with every step.
SMALL_ENTRY = 0.3


def typical_entry(X: Any, scale: str | None) -> float:
    """The size of an entry of sparse rows as they are learned, the root of its mean square; 1 of all others."""
    if not hasattr(X, "tocsr") or X.nnz == 0 or scale == "standard":
        return 1.0
    import numpy as np

    return float(np.sqrt(X.shape[0] / X.nnz if scale == "unit" else np.mean(np.square(X.data))))


def advice(entry: float | None, constant: Any) -> list[tuple[str, str]]:
    """A line for the report, where the constant feature is 1 and far larger than an entry.

    >>> advice(0.1, 1.0)
    [('hint', 'the constant feature is 10 times an entry: try --param intercept_scaling=0.1')]
    >>> advice(0.1, 0.1), advice(0.8, 1.0), advice(0.1, False)
    ([], [], [])
    """
    if entry is None or not 0.0 < entry < SMALL_ENTRY or constant is False or constant != 1.0:
        return []
    return [("hint", f"the constant feature is {1.0 / entry:.0f} times an entry: try --param intercept_scaling=0.1")]
