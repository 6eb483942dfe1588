"""The ellipsoid method for convex programming: minimise with a proven gap, find a point or a proof."""

from ellipsoid.convex.cutting import iteration_bound, log_volume_ratio
from ellipsoid.convex.feasibility import feasible_point
from ellipsoid.convex.minimization import minimize
from ellipsoid.convex.results import Cut, FeasibilityResult, MinimizeResult, Step

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
