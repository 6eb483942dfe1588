"""What the arrays of an ellipsoid must satisfy before compiled code may trust them.

Compiled loops do not check bounds: a count or an index from a forged file would make them read, or write, memory that
is not theirs. Arrays that come from outside pass here first. Values as such are free, any numbers make some ellipsoid,
but for those that a loop waits for.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .forms.column import stays
from .forms.gram import BLOCK, PAIR, RIVAL, RIVAL_SIGN
from .forms.names import ARRAYS, FORMS, LATER
from .state import CUTS, DEFERRED, DIM, HALT, LOG_KEPT, OLD_SIZE, SIZE, STORED, USED
from .table import EllipsoidTable

Arrays = dict[str, NDArray[Any]]

# Beyond this a log volume no longer feels an update: a loop that waits for it to fall would wait for ever.
LARGEST_LOG = 1e12


def check_form(table: EllipsoidTable, arrays: Arrays, form: Any) -> None:
    """Raise ``ValueError`` unless the arrays fit a table of this many functions and features, kept in this form."""
    numbers = check_counts(arrays, len(arrays["rounds"]))
    if numbers[DIM] != table.dim:
        raise ValueError(f"its ellipsoid has dimension {numbers[DIM]:g}, its weights have {table.dim}")
    if form is None:
        return
    if form not in FORMS:
        raise ValueError(f"its shape has the unknown form {form!r}")
    # A form that has lost its digits gave way to products, whatever was asked for.
    allowed = (None, form, "column", "gram") if form == "product" else (None, form)
    if table.by_class is (form == "sparse") or table.forced not in allowed:
        raise ValueError(f"its shape has the form {form!r}, which is not one for its weights and parameters")
    parts = {name: arrays[f"form_{name}"] for name in ARRAYS[form] if name not in LATER or f"form_{name}" in arrays}
    capacity = max((len(parts[name]) for name in ("H", "S") if name in parts), default=0)
    functions, columns = table.scores, 1 + table.width
    expected = {
        "H": (capacity, functions, columns),
        "debt": (2, capacity),
        "T": (capacity, capacity),
        "S": (capacity, capacity),
        "pairs": (capacity, PAIR),
        "Z": (None, capacity) if form == "sparse" else (capacity, columns),
        "J": (functions, columns, functions, columns),
        "small": (5, capacity),
        "lengths": (capacity,),
        "slot": (None,),
    }
    for name, array in parts.items():
        _check_shape(name, array, expected[name])
    if form != "full" and numbers[STORED] > capacity:
        raise ValueError(f"its ellipsoid has {numbers[STORED]:g} examples in arrays for {capacity}")
    if numbers[DEFERRED] and not (form == "column" and "debt" in parts and stays(numbers, functions, columns)):
        raise ValueError("its weights owe something that it does not hold")
    if "pairs" in parts:
        check_pairs(parts["pairs"][: int(numbers[STORED])], functions)
    if "slot" in parts:
        slot = parts["slot"]
        if len(slot) < columns or slot.min() < 0 or slot.max() > numbers[USED] or numbers[USED] >= len(parts["Z"]):
            raise ValueError("its table of stored examples names rows that are not there")


def check_counts(arrays: Arrays, rounds: int) -> Any:
    """The scalars of an ellipsoid with sane counts."""
    numbers = arrays["numbers"]
    _check_shape("numbers", numbers, (OLD_SIZE if len(numbers) == OLD_SIZE else SIZE,))
    counts = numbers[[CUTS, STORED, USED, DIM]]
    if not (np.isfinite(counts) & (counts >= 0) & (counts == np.floor(counts))).all():
        raise ValueError("its counts are not all whole and non-negative")
    if arrays["rounds"].ndim != 1 or numbers[CUTS] != rounds:
        raise ValueError(f"it counts {numbers[CUTS]:g} updates and lists {rounds}")
    if not abs(numbers[LOG_KEPT]) <= LARGEST_LOG:
        raise ValueError(f"the log volume of its ellipsoid cannot be {numbers[LOG_KEPT]:g}")
    if numbers[HALT]:
        raise ValueError("it was written in the middle of a step")
    return numbers


def check_pairs(pairs: NDArray[np.float64], functions: int) -> None:
    """Every stored example must belong to functions that are there."""
    blocks = np.concatenate([pairs[:, BLOCK], pairs[pairs[:, RIVAL_SIGN] != 0.0, RIVAL]])
    if not ((blocks >= 0) & (blocks < functions) & (blocks == np.floor(blocks))).all():
        raise ValueError("its stored examples belong to classes that are not there")


def check_patterns(arrays: Arrays, functions: int) -> None:
    """Raise ``ValueError`` unless the arrays make a kernel expansion of so many functions."""
    patterns, stored = len(arrays["SV"]), len(arrays["S"])
    numbers = check_counts(arrays, patterns)
    _check_shape("SV", arrays["SV"], (patterns, None))
    _check_shape("coef", arrays["coef"], (patterns, functions))
    _check_shape("rounds", arrays["rounds"], (patterns,))
    _check_shape("S", arrays["S"], (stored, stored))
    _check_shape("pairs", arrays["pairs"], (stored, PAIR))
    if arrays["SV"].shape[1] < 1 or numbers[STORED] != stored or stored > patterns:
        raise ValueError("its stored examples are not among its support patterns")
    check_pairs(arrays["pairs"], functions)


def _check_shape(name: str, array: NDArray[Any], expected: tuple[int | None, ...]) -> None:
    if array.ndim != len(expected) or any(
        want is not None and have != want for have, want in zip(array.shape, expected, strict=True)
    ):
        raise ValueError(f"its array {name!r} has the wrong shape {array.shape}")
