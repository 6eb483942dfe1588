"""The ellipsoid method for convex programming: minimise with a proven gap, find a point or a proof."""

from .cutting import iteration_bound, log_volume_ratio
from .feasibility import feasible_point
from .minimization import minimize
from .results import Cut, FeasibilityResult, MinimizeResult, Step

__all__ = [
    "Cut",
    "FeasibilityResult",
    "MinimizeResult",
    "Step",
    "feasible_point",
    "iteration_bound",
    "log_volume_ratio",
    "minimize",
]
