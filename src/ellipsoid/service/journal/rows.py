"""Rows of examples: how they are checked, written into the journal, read from it again, and given to a learner.

A row of numbers is kept as float64, named features as JSON text. A text becomes the counts of its words before it is
journalled, so that what is learned does not depend on how a later Python splits text into words.
"""

from __future__ import annotations

import re
from collections import Counter
from math import isfinite
from typing import Any, NamedTuple

import msgspec
import numpy as np

from ellipsoid.streams.label_kinds import refuse_nul
from ellipsoid.streams.readers.examples import hashed

DENSE, NAMED = "dense", "named"
# The squares of features up to this size, and their sums, are finite in every learner.
LARGEST_FEATURE = 1e130
WHOLE_LABEL = 2**53

_WORD = re.compile(r"\w+")
_NAMED = msgspec.json.Decoder(list[dict[str, str | bool | int | float]])
_LABELS = msgspec.json.Decoder(list[str | int])


class Rows(NamedTuple):
    """Consecutive examples: ``x`` a float64 matrix or a list of dicts, ``y`` their labels as text or whole numbers."""

    x: Any
    y: list[Any]

    @property
    def form(self) -> str:
        """DENSE or NAMED."""
        return NAMED if isinstance(self.x, list) else DENSE

    @property
    def width(self) -> int | None:
        """How many numbers a row has, None where features have names."""
        return None if isinstance(self.x, list) else int(self.x.shape[1])

    @property
    def size(self) -> int:
        """About how many bytes they take, long words included."""
        if not isinstance(self.x, list):
            return int(self.x.nbytes)
        return 100 * sum(1 + len(each) for each in self.x) + len(msgspec.json.encode(self.x))

    def only(self, kept: list[int]) -> Rows:
        """The rows with these places."""
        x = [self.x[i] for i in kept] if isinstance(self.x, list) else self.x[kept]
        return Rows(x, [self.y[i] for i in kept])

    def part(self, start: int, stop: int) -> Rows:
        """The rows ``start`` to ``stop - 1``."""
        return Rows(self.x[start:stop], self.y[start:stop])


def joined(parts: list[Rows]) -> Rows:
    """Rows of one form, one after another."""
    if len(parts) == 1:
        return parts[0]
    y = [label for part in parts for label in part.y]
    if isinstance(parts[0].x, list):
        return Rows([x for part in parts for x in part.x], y)
    return Rows(np.concatenate([part.x for part in parts]), y)


def features_of(x: dict[str, Any], bits: int | None) -> dict[str, Any]:
    """Named features without missing ones, each checked; ``{"text": ...}`` becomes the counts of its words where names
    are hashed.

    >>> features_of({"text": "To be or not to be"}, bits=18)
    {'to': 2, 'be': 2, 'or': 1, 'not': 1}
    """
    if bits is not None and len(x) == 1 and isinstance(x.get("text"), str):
        return dict(Counter(_WORD.findall(x["text"].lower())))
    for name, value in x.items():
        if value is not None and not isinstance(value, str) and not abs(value) <= LARGEST_FEATURE:
            raise ValueError(
                f"feature {name!r} is {value!r}: numbers must be finite, and no larger than {LARGEST_FEATURE:g}"
            )
    return {name: value for name, value in x.items() if value is not None} if None in x.values() else x


def check_numbers(x: Any) -> None:
    """Raise ``ValueError`` for rows of numbers that no learner could take."""
    wrong = ~(np.abs(x) <= LARGEST_FEATURE).all(axis=1)
    if wrong.any():
        raise ValueError(f"numbers must be finite, and no larger than {LARGEST_FEATURE:g}")


def label_of(y: Any) -> str | int:
    """A label as text or a whole number.

    >>> label_of("spam"), label_of(True), label_of(3.0)
    ('spam', 1, 3)
    >>> label_of("spam\\0")
    Traceback (most recent call last):
    ValueError: the label 'spam\\x00' ends with a NUL, which arrays of text drop: strip it
    """
    if isinstance(y, str):
        return refuse_nul(y)
    if isinstance(y, float) and not (isfinite(y) and y.is_integer()):
        raise ValueError(f"a label must be text or a whole number, got {y!r}")
    if abs(y) >= WHOLE_LABEL:
        raise ValueError(f"the label {y!r} is too large for a whole number: use text for longer ones")
    return int(y)


def as_journalled(rows: Rows) -> tuple[str, bytes, bytes]:
    """The form, the features and the labels as they are written into the journal."""
    x = msgspec.json.encode(rows.x) if isinstance(rows.x, list) else np.ascontiguousarray(rows.x, "<f8").tobytes()
    return rows.form, x, msgspec.json.encode(rows.y)


def read_back(form: str, x: bytes, y: bytes) -> Rows:
    """What `as_journalled` wrote."""
    labels = _LABELS.decode(y)
    if form == NAMED:
        return Rows(_NAMED.decode(x), labels)
    return Rows(np.frombuffer(x, dtype="<f8").reshape(len(labels), -1), labels)


def as_learned(rows: Rows, bits: int | None) -> tuple[Any, Any]:
    """X and y as ``ellipsoid learn`` reads them from the same examples in JSON lines."""
    return as_predicted(rows.x, bits), np.array(rows.y)


def as_predicted(x: Any, bits: int | None) -> Any:
    """X of examples that may have no labels."""
    return hashed(x, bits) if isinstance(x, list) and bits is not None else x
