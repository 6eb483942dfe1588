"""Parameters of a shell, or the sentence that says what is wrong with one."""

from math import inf, isfinite
from typing import Any


def positive(name: str, value: Any, *, zero: bool = False, infinite: bool = False) -> float:
    """A positive number, or the sentence that says what is wrong with a parameter."""
    kind = "non-negative" if zero else "positive"
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be a {kind} number, got {value!r}") from None
    if not (number > 0.0 or (zero and number == 0.0)) or not (isfinite(number) or (infinite and number == inf)):
        raise ValueError(f"{name} must be {kind}{'' if infinite else ' and finite'}, got {value!r}")
    return number


def one_of(name: str, value: Any, choices: dict[str, Any]) -> Any:
    """The meaning of a named choice."""
    if not isinstance(value, str) or value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}, got {value!r}")
    return choices[value]
