"""Labels as they are read from a stream: their type must not depend on how the stream is cut into pieces.

Whole numbers are integers, up to the first number that is not whole; from there on they are floats. The row where that
happens begins a new piece, so that every cut of the stream gives every row the same label.
"""

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import numpy as np

from .label_kinds import WHOLE, has_several_types, is_plain_text, label_array, refuse_nul

# An array of text has room for its longest word in every row, and four bytes for each character.
LONGEST_LABEL = 1000
_MOST_CHARACTERS = 1 << 23


class NumericLabels:
    """Gives labels read as float64 the type they keep, and makes arrays of lists of words.

    >>> labels = NumericLabels()
    >>> [y.tolist() for X, y, weights in labels.pieces("abcd", np.array([1.0, 2.0, 2.5, 3.0]))]
    [[1, 2], [2.5, 3.0]]
    >>> [y.tolist() for X, y, weights in labels.pieces("e", np.array([4.0]))]
    [[4.0]]
    """

    def __init__(self) -> None:
        self._whole = True

    def pieces(self, X: Any, y: Any, weights: Any = None) -> Iterator[tuple[Any, Any, Any]]:
        """Pieces of the rows with labels of one type each; arrays that are not of float64 stay as they are."""
        if isinstance(y, list):
            most = _MOST_CHARACTERS // (max(map(len, y)) or 1)
            if most >= len(y):
                yield X, np.array(y), weights
                return
            for part in (slice(start, start + most) for start in range(0, len(y), most)):
                yield X[part], np.array(y[part]), None if weights is None else weights[part]
            return
        if y is None or y.dtype != np.float64:
            yield X, y, weights
            return
        start = 0
        if self._whole:
            fits = (y == np.rint(y)) & (np.abs(y) < WHOLE)
            start = len(y) if fits.all() else int(fits.argmin())
            self._whole = start == len(y)
        for part, kind in ((slice(0, start), np.int64), (slice(start, len(y)), np.float64)):
            count = part.stop - part.start
            if count == len(y):
                yield X, y.astype(kind), weights
            elif count:
                yield X[part], y[part].astype(kind), None if weights is None else weights[part]


def label_word(word: str) -> str:
    """The same word, or ``ValueError`` where it cannot be a label.

    >>> label_word("\\ud800")
    Traceback (most recent call last):
    ValueError: the label '\\ud800' is not valid Unicode: it holds half of a pair of surrogates
    """
    if len(word) > LONGEST_LABEL:
        raise ValueError(f"a label must have at most {LONGEST_LABEL:,} characters, got one of {len(word):,}")
    try:
        word.encode()
    except UnicodeEncodeError:
        raise ValueError(f"the label {word!r} is not valid Unicode: it holds half of a pair of surrogates") from None
    return refuse_nul(word)


def refuse_fractions(y: Any, name: str, column: str | None, row: int | None = 0) -> None:
    """Raise ``ValueError`` where a number is no label of a class: a column of labels was perhaps not named.

    ``name`` is the stream's, ``column`` its column of labels in words, ``row`` the number of the first of these rows;
    None where the format has no columns, and where rows are not counted.

    >>> refuse_fractions(np.array([1.0, 0.5]), "prices.csv", "the last column, 'price',", 7)
    Traceback (most recent call last):
    ValueError: prices.csv, row 8: the last column, 'price', holds 0.5, and a label is a word or a whole number ...
    """
    if y is None or y.ndim != 1 or y.dtype.kind != "f":
        return
    wrong = ~((y == np.floor(y)) & (np.abs(y) < WHOLE))
    if wrong.any():
        first = int(wrong.argmax())
        where = name if row is None else f"{name}, row {row + first}"
        advice = "" if column is None else "name the column of the labels by label, or "
        raise ValueError(
            f"{where}: {column or 'the label'} {'is' if column is None else 'holds'} {y[first].item()!r}, and a label "
            f"is a word or a whole number below 2^53: {advice}learn numbers with a regressor"
        )


def label_values(y: Any) -> Any:
    """Labels as an array that keeps their types: NumPy would turn 1 beside "x" into "1", integers beside floats into
    floats.

    >>> label_values([1, "x"]).tolist()
    [1, 'x']
    """
    words = [label for label in y if isinstance(label, str)] if isinstance(y, list | tuple) else []
    odd = words and not (len(words) == len(y) and all(map(is_plain_text, words)))
    if not words and isinstance(y, list | tuple) and has_several_types(y):
        with suppress(ValueError):  # they may be numbers for a regressor
            return label_array(y)
    return np.array(y, dtype=object) if odd else np.asarray(y)


def word_labels(model: Any) -> bool | None:
    """True where a model has learned words as labels, so that ``7`` is read as a word; None where it has not."""
    known = getattr(model, "classes_", None)
    return True if known is not None and len(known) and isinstance(known[0], str) else None
