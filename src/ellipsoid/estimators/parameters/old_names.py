"""Names of parameters until version 0.1, which constructors and model files still accept."""

import warnings
from collections.abc import Callable
from functools import wraps
from typing import Any

# The learner, the old name, the new name, and the values that were renamed.
OLD_NAMES: tuple[tuple[str, str, str, dict[str, str]], ...] = (
    ("Perceptron", "update", "multiclass", {"prop": "proportional"}),
    ("ROMMA", "update", "multiclass", {"prop": "proportional"}),
    ("Winnow", "update", "multiclass", {"prop": "proportional"}),
    ("QuasiAdditive", "multiclass", "multiclass", {"rival": "max"}),
    ("OnlineEllipsoidalSVC", "problem", "formulation", {}),
)


def renamed(learner: Any, params: Any) -> Any:
    """Parameters with their present names and values.

    >>> renamed("Perceptron", {"update": "prop", "margin": 1.0})
    {'margin': 1.0, 'multiclass': 'proportional'}
    """
    for kind, old, new, values in OLD_NAMES:
        if learner == kind and isinstance(params, dict) and old in params:
            if new != old and new in params:
                raise ValueError(f"its parameters hold {new!r} and also {old!r}, its old name; give one of them")
            value = params[old]
            kept = {name: other for name, other in params.items() if name != old}
            params = {**kept, new: values.get(value, value) if isinstance(value, str) else value}
    return params


def taking_old_names(name: str, constructor: Callable[..., None]) -> Callable[..., None]:
    """A constructor that also takes the old names, with a warning that says the new ones."""
    if all(name != kind for kind, _, _, _ in OLD_NAMES):
        return constructor

    @wraps(constructor)
    def construct(self: Any, *args: Any, **given: Any) -> None:
        now = renamed(name, given)
        if now != given:
            new = ", ".join(f"{key}={now[key]!r}" for key in now if key not in given or now[key] is not given[key])
            warnings.warn(f"{name}: use {new}; the old name will be removed", DeprecationWarning, stacklevel=2)
        constructor(self, *args, **now)

    return construct
