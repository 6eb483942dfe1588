"""What the arrays of an ellipsoid must satisfy before compiled code may trust them.

Compiled loops do not check bounds: a count or an index from a forged file would make them read, or write, memory that
is not theirs. Arrays that come from outside pass here first. Values as such are free, any numbers make some ellipsoid,
but for those that a loop waits for.
"""

from typing import Any

import numpy as np

from .forms.form import FormArrays, check_shape
from .forms.vector_forms import ProductForm
from .state import CUTS, DIM, HALT, LOG_KEPT, OLD_SIZE, SIZE, STORED, USED
from .table import FORMS, EllipsoidTable

# Beyond this a log volume no longer feels an update: a loop that waits for it to fall would wait for ever.
LARGEST_LOG_VOLUME = 1e12


def check_form(table: EllipsoidTable, arrays: FormArrays, name: Any) -> None:
    """Raise ``ValueError`` unless the arrays fit a table of this many functions and features, kept in this form."""
    numbers = check_counts(arrays, len(arrays["rounds"]))
    if numbers[DIM] != table.dim:
        raise ValueError(f"its ellipsoid has dimension {numbers[DIM]:g}, its weights have {table.dim}")
    if name is None:
        return
    if name not in FORMS:
        raise ValueError(f"its shape has the unknown form {name!r}")
    kind, forced = FORMS[name], table.forced
    # A form that has lost its digits gave way to products, whatever was asked for.
    allowed = forced is None or forced is kind or (forced.gives_way and kind is ProductForm)
    if kind.by_class != table.by_class or not allowed:
        raise ValueError(f"its shape has the form {name!r}, which is not one for its weights and parameters")
    kind.check(numbers, arrays, *table.extent)


def check_counts(arrays: FormArrays, rounds: int) -> Any:
    """The scalars of an ellipsoid with sane counts."""
    numbers = arrays["numbers"]
    check_shape("numbers", numbers, (OLD_SIZE if len(numbers) == OLD_SIZE else SIZE,))
    counts = numbers[[CUTS, STORED, USED, DIM]]
    if not (np.isfinite(counts) & (counts >= 0) & (counts == np.floor(counts))).all():
        raise ValueError("its counts are not all whole and non-negative")
    if arrays["rounds"].ndim != 1 or numbers[CUTS] != rounds:
        raise ValueError(f"it counts {numbers[CUTS]:g} updates and lists {rounds}")
    if not abs(numbers[LOG_KEPT]) <= LARGEST_LOG_VOLUME:
        raise ValueError(f"the log volume of its ellipsoid cannot be {numbers[LOG_KEPT]:g}")
    if numbers[HALT]:
        raise ValueError("it was written in the middle of a step")
    return numbers
