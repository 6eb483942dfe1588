"""What parameters were called until 0.1: constructors and model files still take the old names."""

import warnings
from collections.abc import Callable
from functools import wraps
from typing import Any

# The learner, the old name, the new one, and values that were renamed too.
OLD_NAMES: tuple[tuple[str, str, str, dict[str, str]], ...] = (
    ("Perceptron", "update", "multiclass", {"prop": "proportional"}),
    ("ROMMA", "update", "multiclass", {"prop": "proportional"}),
    ("Winnow", "update", "multiclass", {"prop": "proportional"}),
    ("QuasiAdditive", "multiclass", "multiclass", {"rival": "max"}),
    ("OnlineEllipsoidalSVC", "problem", "formulation", {}),
)


def renamed(learner: Any, params: Any) -> Any:
    """Parameters under the names and values that they have now.

    >>> renamed("Perceptron", {"update": "prop", "margin": 1.0})
    {'margin': 1.0, 'multiclass': 'proportional'}
    """
    for kind, old, new, values in OLD_NAMES:
        if learner == kind and isinstance(params, dict) and old in params:
            if new != old and new in params:
                raise ValueError(f"its parameters hold {new!r} and also {old!r}, the name of the same before")
            value = params[old]
            kept = {name: other for name, other in params.items() if name != old}
            params = {**kept, new: values.get(value, value) if isinstance(value, str) else value}
    return params


def taking_old_names(name: str, constructor: Callable[..., None]) -> Callable[..., None]:
    """A constructor that takes the old names too, and says which ones have come in their place."""
    if all(name != kind for kind, _, _, _ in OLD_NAMES):
        return constructor

    @wraps(constructor)
    def construct(self: Any, *args: Any, **given: Any) -> None:
        now = renamed(name, given)
        if now != given:
            told = ", ".join(f"{key}={now[key]!r}" for key in now if key not in given or now[key] is not given[key])
            warnings.warn(f"{name}: write {told}; the old name will go", DeprecationWarning, stacklevel=2)
        constructor(self, *args, **now)

    return construct
