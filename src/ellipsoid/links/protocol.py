"""What weights behind a link ask of a rule: how far to prolong a step, and which sums to keep of it."""

from typing import Any

from ellipsoid.engine.generic import generic


@generic(1, default=True)
def search(rule: Any) -> tuple[float, float]:
    """Rule: prolong a step until the margin is the first number, to the second at most; 0: leave it."""
    return 0.0, 0.0


@generic(1, default=True)
def risen(rule: Any, margin: float, alpha: float, rise: float, tally: Any) -> None:
    """Rule: keep sums for a step ``alpha`` taken at ``margin`` that raised G by ``rise``; by default none."""
