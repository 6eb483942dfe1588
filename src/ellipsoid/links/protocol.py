"""Generic functions for rules whose weights are behind a link: how far to prolong a step, and which sums to keep."""

from typing import Any

from ellipsoid.engine.generic import generic


@generic(1, default=True)
def prolongation(rule: Any) -> tuple[float, float]:
    """Rule: the margin up to which a step is prolonged, and its largest length; 0 for no prolongation."""
    return 0.0, 0.0


@generic(1, default=True)
def record_rise(rule: Any, margin: float, alpha: float, rise: float, tally: Any) -> None:
    """Rule: record a step ``alpha`` taken at ``margin`` that raised G by ``rise``; by default nothing."""
