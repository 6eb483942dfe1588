"""Checks that the content of a model file could have been written by a learner.

The main check is general: the learner made from a file must be written as the same header and arrays. It refuses arrays
of wrong names, shapes or types and contradictory headers for every learner, also for future ones. What compiled code
relies on beyond that (indices within bounds) is checked by each learner before it takes an array.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ellipsoid.engine import tally as tallies
from ellipsoid.representation.table_protocol import StoredArrays

# Arrays in which infinities are allowed, as sums of squares of large rows may overflow; so may the divisor of a p-norm
# in ``sums``, whose other numbers its table checks. NaN is allowed nowhere.
MAY_BE_INFINITE = ("numbers", "tally", "window_cap", "sums")

# The number of first rows of an array that are scratch space: files may hold any numbers there.
SCRATCH = {"form_small": 3}

# Beyond this a float no longer counts exactly.
MOST_ROUNDS = 2.0**53


def check_finite_values(arrays: StoredArrays) -> None:
    """Raise ``ValueError`` for NaN, and for infinities where they are not allowed."""
    for name, array in arrays.items():
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            if last_part(name) in MAY_BE_INFINITE and not np.isnan(array).any():
                continue
            raise ValueError(f"its array {name!r} holds NaN or inf")


def check_tally(tally: NDArray[Any], labels: int) -> None:
    """Raise ``ValueError`` for counts that no stream could have made, and for negative sums of squares or weights."""
    tally = tallies.completed(tally)
    counts = tally[[tallies.ROUNDS, tallies.MISTAKES, tallies.UPDATES, tallies.PARTS, tallies.ZEROS,
                    tallies.WEIGHED]]  # fmt: skip
    if not ((counts >= 0.0) & (counts <= MOST_ROUNDS) & (counts == np.floor(counts))).all():
        raise ValueError("its counts are not all whole and non-negative")
    if (counts[1:] > counts[0] * np.array([1, 1, labels, 1, 1])).any():
        raise ValueError("it counts more mistakes or updates than rows")
    if (tally[[tallies.RADIUS2, tallies.LOSS2, tallies.WEIGHT, tallies.LARGEST, tallies.HEAVY]] < 0.0).any():
        raise ValueError("a sum of squares or of weights of its run is negative")


def without_scratch(name: str, array: NDArray[Any]) -> NDArray[Any]:
    """The array with zeros in its scratch space."""
    own = last_part(name)
    if own not in SCRATCH or array.ndim != 2 or array.dtype.kind != "f":
        return array
    kept = array.copy()
    kept[: SCRATCH[own]] = 0.0
    return kept


def check_round_trip(header: dict[str, Any], arrays: StoredArrays, made: tuple[dict[str, Any], StoredArrays]) -> None:
    """Raise ``ValueError`` if a file differs from ``made``: the header and arrays of the model that was made from it.

    Parameters and scalars that the file does not mention were added later, and have their defaults.
    """
    for key, value in made[0].items():
        if not _agrees(header[key], value):
            raise ValueError(f"its {key} contradict the rest of the file")
    if set(arrays) != set(made[1]):
        odd = sorted(set(arrays) ^ set(made[1]))[0]
        raise ValueError(f"its array {odd!r} is {'superfluous' if odd in arrays else 'missing'}")
    for name, array in made[1].items():
        if not _same(arrays[name], array):
            raise ValueError(f"its array {name!r} contradicts the rest of the file")


def _agrees(stored: Any, value: Any) -> bool:
    if isinstance(stored, dict) and isinstance(value, dict):
        return all(key in value and _agrees(stored[key], value[key]) for key in stored)
    if isinstance(stored, list) and isinstance(value, list) and len(stored) == len(value):
        return all(map(_agrees, stored, value))
    return bool(stored == value)


def _same(one: NDArray[Any], other: NDArray[Any]) -> bool:
    """Are two arrays equal, apart from zeros at the end of an axis? A table keeps room to grow."""
    if one.ndim != other.ndim or one.dtype != other.dtype:
        return False
    common = tuple(slice(0, min(a, b)) for a, b in zip(one.shape, other.shape, strict=True))
    if not np.array_equal(one[common], other[common]):
        return False
    return one.shape == other.shape or all(
        np.count_nonzero(array) == np.count_nonzero(array[common]) for array in (one, other)
    )


def last_part(name: str) -> str:
    """The name of an array without the number of the committee member that it belongs to.

    >>> last_part("numbers"), last_part("12.numbers")
    ('numbers', 'numbers')
    """
    return name.rpartition(".")[2]
