"""Labels as a stream meets them: their kind must not depend on how the stream is cut.

Whole numbers are integers, up to the first number that is not whole; from there on they are floats. The row where that
happens begins a new piece, so that every cut of the stream gives every row the same label.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import numpy as np

from .label_kinds import is_kept, label_array, several_forms

# Beyond this, neighbouring integers are the same float.
_EXACT = 2.0**53


class Numbers:
    """Gives labels read as float64 the type they keep.

    >>> numbers = Numbers()
    >>> [y.tolist() for part, y in numbers.pieces(np.array([1.0, 2.0, 2.5, 3.0]))]
    [[1, 2], [2.5, 3.0]]
    >>> [y.tolist() for part, y in numbers.pieces(np.array([4.0]))]
    [[4.0]]
    """

    def __init__(self) -> None:
        self._whole = True

    def pieces(self, y: Any) -> Iterator[tuple[slice, Any]]:
        """Consecutive pieces of the labels, of one type each."""
        start = 0
        if self._whole:
            fits = (y == np.rint(y)) & (np.abs(y) < _EXACT)
            start = len(y) if fits.all() else int(fits.argmin())
            if start:
                yield slice(0, start), y[:start].astype(np.int64)
            self._whole = start == len(y)
        if start < len(y):
            yield slice(start, len(y)), np.array(y[start:])


def as_they_are(y: Any) -> Any:
    """Labels as an array: beside a word, NumPy would make a word of a number, and beside a float one of a long integer.

    >>> as_they_are([1, "x"]).tolist()
    [1, 'x']
    """
    words = [label for label in y if isinstance(label, str)] if isinstance(y, list | tuple) else []
    odd = words and not (len(words) == len(y) and all(map(is_kept, words)))
    if not words and isinstance(y, list | tuple) and several_forms(y):
        with suppress(ValueError):  # of numbers to be learned, which are no labels
            return label_array(y)
    return np.array(y, dtype=object) if odd else np.asarray(y)


def word_labels(model: Any) -> bool | None:
    """True where a model has learned words as labels, of which ``7`` may be one; None where rows are to tell."""
    known = getattr(model, "classes_", None)
    return True if known is not None and len(known) and isinstance(known[0], str) else None
