"""Data frames with columns of words: the rows that a table of the same columns is read as.

Numbers and truth values keep their columns, in their order; behind them lie ``2**18`` columns in which each word sets a
one, at its hash seeded with the hash of the column's name. A missing word sets none.
"""

from typing import Any

import numpy as np

from ellipsoid.streams.onehot import beside
from ellipsoid.streams.options import DEFAULT_BITS
from ellipsoid.streams.scan.hashing import hash_name, hash_strings
from ellipsoid.streams.scan.table import NO_HASH

from .inputs import InvalidInput


def word_columns(frame: Any) -> list[str]:
    """The columns whose first value that is not missing is a word."""
    return [
        name
        for name, kind in zip(frame.columns, frame.dtypes, strict=True)
        if isinstance(name, str) and getattr(kind, "kind", "O") not in "fiub" and _begins_with_word(frame[name])
    ]


def _begins_with_word(column: Any) -> bool:
    return isinstance(next((value for value in np.asarray(column, dtype=object) if not _missing(value)), None), str)


def _missing(value: Any) -> bool:
    return value is None or value != value or type(value).__name__ == "NAType"


def frame_rows(frame: Any, words: list[str]) -> Any:
    """The rows of a frame as a sparse matrix, in which these columns are of words."""
    absent = [name for name in words if name not in frame.columns]
    if absent:
        raise ValueError(f"X has no column {absent[0]!r}, which held words when learning started")
    columns = [name for name in frame.columns if name not in words]
    numbers = np.empty((len(frame), len(columns)))
    for j, name in enumerate(columns):
        try:
            numbers[:, j] = np.asarray(frame[name], dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise InvalidInput(f"column {name!r} of X held numbers when learning started: {error}") from error
    hashes = np.column_stack([_hashes(frame[name], name) for name in words])
    bad = np.flatnonzero(~np.isfinite(numbers).all(axis=1))
    if len(bad):
        raise ValueError(f"row {bad[0]} of X holds NaN or inf; impute or drop it before learning")
    return beside(numbers, hashes, DEFAULT_BITS)


def _hashes(column: Any, name: str) -> Any:
    values = np.asarray(column, dtype=object)
    there = np.array([not _missing(value) for value in values], dtype=bool)
    for i in np.flatnonzero(there):
        if not isinstance(values[i], str):
            raise InvalidInput(f"row {i} of X holds {values[i]!r} in the column {name!r} of words")
    words = [value.encode("utf-8", "surrogatepass") for value in values[there]]
    offsets = np.concatenate([[0], np.cumsum([len(word) for word in words])]).astype(np.int64)
    found, seeds = np.empty(len(words), dtype=np.int64), np.full(len(words), hash_name(name), dtype=np.int64)
    hash_strings(
        np.frombuffer(bytearray(b"".join(words)), dtype=np.uint8), offsets, seeds, (1 << DEFAULT_BITS) - 1, found
    )
    out = np.full(len(values), NO_HASH, dtype=np.int64)
    out[there] = found
    return out
