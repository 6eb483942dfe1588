"""Is what a model file holds something that a learner could have written? Checks of values, counts and the whole.

A file is believed only if the learner made from it would be written as the same header and arrays. That one test
refuses arrays of wrong names, shapes or types and contradictory headers for every learner, those to come included; what
compiled code relies on beyond that (indices within bounds) each learner checks before it takes an array.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ellipsoid.engine import tally as tallies
from ellipsoid.representation.table_protocol import StoredArrays

# Arrays in which infinities have a meaning; NaN has one nowhere. Sums of squares of large rows may overflow.
MAY_BE_INFINITE = ("numbers", "tally", "window_cap")

# Rows of an array that a file may hold though they mean nothing: as many from the first on.
SCRATCH = {"form_small": 3}

# Beyond this a float no longer counts.
MOST_ROUNDS = 2.0**53


def check_finite_values(arrays: StoredArrays) -> None:
    """Refuse NaN, and infinities where none can be."""
    for name, array in arrays.items():
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            if last_part(name) in MAY_BE_INFINITE and not np.isnan(array).any():
                continue
            raise ValueError(f"its array {name!r} holds NaN or inf")


def check_tally(tally: NDArray[Any], labels: int) -> None:
    """Counts that some stream could have made, and sums that no loop or bound stumbles over."""
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
    """An array without what only its place in memory meant."""
    own = last_part(name)
    if own not in SCRATCH or array.ndim != 2 or array.dtype.kind != "f":
        return array
    kept = array.copy()
    kept[: SCRATCH[own]] = 0.0
    return kept


def agrees(header: dict[str, Any], arrays: StoredArrays, made: tuple[dict[str, Any], StoredArrays]) -> None:
    """Raise ``ValueError`` where a file differs from what the model made from it would be written as.

    Parameters and scalars that the file does not mention are younger than it: they have their defaults.
    """
    for key, value in made[0].items():
        if not _says(header[key], value):
            raise ValueError(f"its {key} contradict what else it holds")
    if set(arrays) != set(made[1]):
        odd = sorted(set(arrays) ^ set(made[1]))[0]
        raise ValueError(f"its array {odd!r} is {'superfluous' if odd in arrays else 'missing'}")
    for name, array in made[1].items():
        if not _same(arrays[name], array):
            raise ValueError(f"its array {name!r} contradicts what else it holds")


def _says(told: Any, value: Any) -> bool:
    if isinstance(told, dict) and isinstance(value, dict):
        return all(key in value and _says(told[key], value[key]) for key in told)
    if isinstance(told, list) and isinstance(value, list) and len(told) == len(value):
        return all(map(_says, told, value))
    return bool(told == value)


def _same(one: NDArray[Any], other: NDArray[Any]) -> bool:
    """Equal, apart from zeros at the end of an axis: a table keeps room to grow."""
    if one.ndim != other.ndim or one.dtype != other.dtype:
        return False
    common = tuple(slice(0, min(a, b)) for a, b in zip(one.shape, other.shape, strict=True))
    if not np.array_equal(one[common], other[common]):
        return False
    return one.shape == other.shape or all(
        np.count_nonzero(array) == np.count_nonzero(array[common]) for array in (one, other)
    )


def last_part(name: str) -> str:
    """What an array is called by the model that it is of, be it alone or a member.

    >>> last_part("numbers"), last_part("12.numbers")
    ('numbers', 'numbers')
    """
    return name.rpartition(".")[2]
