"""Evaluating the user's functions, and checking their arguments and results."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ellipsoid.representation.table_protocol import Floats

Oracle = Callable[[Floats], tuple[float, Any]]


def start_ball(x0: ArrayLike, radius: float) -> tuple[Floats, float]:
    """The centre and radius of the start ball, checked."""
    centre = np.array(x0, dtype=np.float64)
    if centre.ndim != 1 or centre.size == 0:
        raise ValueError(f"x0 must be a vector with at least one coordinate, got shape {centre.shape}")
    if not np.isfinite(centre).all():
        raise ValueError("x0 must be finite, it contains NaN or inf")
    if not 0.0 < radius < np.inf:
        raise ValueError(f"radius must be a positive finite number, got {radius}")
    return centre, float(radius)


def check_cut(cut: str) -> bool:
    """Whether the cut rule is the central one."""
    if cut not in ("deep", "central"):
        raise ValueError(f"cut must be 'deep' or 'central', got {cut!r}")
    return cut == "central"


def vector(values: Any, dim: int, name: str, iteration: int) -> Floats:
    """A subgradient or normal of length ``dim``, finite."""
    result = np.array(values, dtype=np.float64)
    if result.shape != (dim,):
        raise ValueError(f"{name} must have shape ({dim},), got {result.shape} at iteration {iteration}")
    if not np.isfinite(result).all():
        raise ValueError(f"{name} contains NaN or inf at iteration {iteration}")
    return result


def checked_number(value: Any, name: str, iteration: int) -> float:
    """A finite scalar."""
    array = np.asarray(value, dtype=np.float64)
    if array.size != 1:
        raise ValueError(f"{name} must be one number, got shape {array.shape} at iteration {iteration}")
    result = float(array.reshape(()))
    if not np.isfinite(result):
        raise ValueError(f"{name} is {result} at iteration {iteration}")
    return result


def evaluate(oracle: Oracle, x: Floats, name: str, iteration: int) -> tuple[float, Floats]:
    """(value, subgradient) of one function at x."""
    # The oracle gets a copy, because it may write to its argument.
    answer = oracle(x.copy())
    if not isinstance(answer, tuple) or len(answer) != 2:
        raise ValueError(f"{name} must return a pair (value, subgradient), got {type(answer).__name__}")
    value = checked_number(answer[0], f"the value of {name}", iteration)
    return value, vector(answer[1], x.size, f"the subgradient of {name}", iteration)
