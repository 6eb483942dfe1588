"""Checks of parameters: numbers, names and weights as users pass them, or ``ValueError``."""

from inspect import signature
from math import inf, isfinite
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

# The square of a larger size, times that of a row, would overflow.
LARGEST_SIZE = 1e140


def positive(name: str, value: Any, *, zero: bool = False, infinite: bool = False, most: float = inf) -> float:
    """A positive number (or ``zero``, or ``infinite``, if allowed) as a float, or ``ValueError``."""
    kind = "non-negative" if zero else "positive"
    # No text, though float() takes it: a parameter must have the same type when it is read from a model file.
    if not isinstance(value, int | float | np.integer | np.floating | np.bool_):
        raise ValueError(f"{name} must be a {kind} number, got {value!r}")
    try:
        number = float(value)
    except OverflowError:
        raise ValueError(
            f"{name} must be a {kind} number that a float can hold, got one of {len(str(value))} digits or more"
        ) from None
    if not (number > 0.0 or (zero and number == 0.0)) or not (isfinite(number) or (infinite and number == inf)):
        raise ValueError(f"{name} must be {kind}{'' if infinite else ' and finite'}, got {value!r}")
    if number > most:
        raise ValueError(f"{name} must be at most {most:g}, got {value!r}")
    return number


def is_count(value: Any) -> bool:
    """Whether the value is a positive integer; a truth value is none."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool) and bool(value >= 1)


def whole(name: str, value: Any) -> int:
    """A positive integer, or ``ValueError``."""
    if not is_count(value):
        raise ValueError(f"{name} must be at least 1 and an integer, got {value!r}")
    return int(value)


def one_of(name: str, value: Any, choices: dict[str, Any]) -> Any:
    """The value that ``choices`` has for this name, or ``ValueError``."""
    if not isinstance(value, str) or value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}, got {value!r}")
    return choices[value]


def comparator_rows(comparator: ArrayLike, rows: int, width: int) -> NDArray[np.float64]:
    """The weights of a comparator, a row for each score: first that of the constant feature, 0 if it was left out."""
    found: NDArray[np.float64] = np.atleast_2d(np.asarray(comparator, dtype=np.float64))
    if found.shape == (rows, width):
        found = np.column_stack([np.zeros(rows), found])
    if found.shape != (rows, 1 + width):
        raise ValueError(f"comparator must have shape {(rows, 1 + width)} or {(rows, width)}, got {found.shape}")
    if not np.isfinite(found).all():
        raise ValueError("comparator holds NaN or inf")
    return found


def check_kinds(parameters: dict[str, Any]) -> None:
    """Raise ``ValueError`` for a parameter of a type that cannot be written to a file."""
    for name, value in parameters.items():
        simple = value is None or isinstance(value, bool | int | float | str | np.generic)
        simple |= name == "class_weight" and isinstance(value, dict)
        drawn = name == "random_state" and (value is np.random or isinstance(value, np.random.RandomState))
        if not (simple or drawn or (name == "kernel" and callable(value))):
            raise ValueError(f"{name} must be a number, a bool, a name or None, got {value!r}")


def check_flags(estimator: Any) -> None:
    """Raise ``ValueError`` for what is neither True nor False: "no" would count as true."""
    for name, parameter in signature(type(estimator)).parameters.items():
        if parameter.annotation in (bool, "bool"):
            check_flag(name, getattr(estimator, name))


def check_flag(name: str, value: Any) -> None:
    """Raise ``ValueError`` unless a parameter is True or False, or 1 or 0."""
    if not isinstance(value, bool | np.bool_ | int) or value not in (False, True):
        raise ValueError(f"{name} must be True or False, got {value!r}")
