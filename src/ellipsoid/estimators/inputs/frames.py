"""Data frames (pandas, polars) and Arrow tables, which may have columns of words, as numeric rows.

The rows are those of a file with the same columns. Numbers and truth values keep their columns, in their order. After
them come ``2**18`` columns of hashed words: each word sets a one at its hash, seeded with the hash of the column's
name; a missing word sets none. Columns of other types, such as dates, are refused by name: numpy would make numbers of
them, and of a missing date the lowest number of all.
"""

import sys
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np
from sklearn.utils.validation import _check_feature_names

from ellipsoid.streams.label_kinds import is_absent
from ellipsoid.streams.options import DEFAULT_BITS
from ellipsoid.streams.readers.onehot import with_one_hot_words
from ellipsoid.streams.scan.hashing import hash_name, hash_strings
from ellipsoid.streams.scan.table import NO_HASH

from .rows import InvalidInput

_NUMBERS = "fiub"


def table_of(X: Any) -> Any:
    """X itself, but for an Arrow record batch the table, which scikit-learn can handle."""
    arrow = sys.modules.get("pyarrow")
    return arrow.Table.from_batches([X]) if arrow is not None and isinstance(X, arrow.RecordBatch) else X


def refuse_columns(X: Any, features: dict[Any, int] | None) -> None:
    """Raise ``ValueError`` for a frame, or a row of one, if the model was started on dicts."""
    if features is not None and (hasattr(X, "columns") or hasattr(X, "to_frame")):
        advice = 'with X.to_dict("records")' if hasattr(X, "columns") else "with x.to_dict()"
        raise ValueError(
            "this learner was started on dicts and knows its features by name, not by column: "
            f"give dicts here too, {advice}"
        )


def refuse_unnamed_columns(source: Any, core: Any, names: Any) -> None:
    """Raise ``ValueError`` for rows that bring more columns than names to a model that was started on dicts."""
    named = None if core.features is None else len(core.features) + len(names or ())
    if named is not None and source.width > named:
        raise ValueError(
            f"this learner was started on dicts and knows {named} features by name, but X has {source.width} columns: "
            "give dicts here too"
        )


def innermost(model: Any) -> Any:
    """The learner itself, without a scaler or other wrappers."""
    while hasattr(model, "learner_"):
        model = model.learner_
    return model


def refuse_other_columns(model: Any, frame: Any) -> None:
    """Raise ``ValueError`` for a frame whose columns are not the model's; its rows are then passed as arrays."""
    frame = table_of(frame)
    refuse_columns(frame, getattr(getattr(innermost(model), "_core", None), "features", None))
    if hasattr(model, "feature_names_in_"):
        _check_feature_names(model, frame, reset=False)
    frame_rows(frame, [])


def row_by_name(x: Any, names: Any) -> Any:
    """A row of a frame, a pandas Series, as a frame of one row with its columns in the order of ``names``.

    ``names`` is None before any are known.
    """
    if names is None:
        return x.to_frame().T
    if sorted(x.index) != sorted(names):
        raise ValueError(f"x must have the features {', '.join(names)} by name, got {', '.join(x.index)}")
    return x[list(names)].to_frame().T


def word_columns(frame: Any) -> list[str]:
    """The names of the columns whose first value that is not missing is a word, or whose type says so."""
    return [name for name in _odd_columns(frame) if isinstance(name, str) and _is_of_words(frame[name])]


def _odd_columns(frame: Any) -> list[Any]:
    """The names of the columns whose type is not that of numbers or truth values."""
    names, pandas = _names(frame), hasattr(frame, "iloc")
    repeated = len(set(names)) < len(names)
    kinds = [getattr(kind, "kind", "O") for kind in frame.dtypes] if pandas else []
    if repeated and not (pandas and set("".join(kinds)) <= set(_NUMBERS)):
        raise ValueError(f"X has two columns with the same name: {', '.join(map(str, names))}; rename one")
    if not pandas:
        kinds = [np.asarray(frame[name][:0]).dtype.kind for name in names]
    return [name for name, kind in zip(names, kinds, strict=True) if kind not in _NUMBERS]


def _names(frame: Any) -> list[Any]:
    return list(frame.column_names if hasattr(frame, "column_names") else frame.columns)


def _is_of_words(column: Any) -> bool:
    values = np.asarray(column, dtype=object)
    first = next((value for value in values if not is_absent(value)), None)
    if first is not None:
        return isinstance(first, str)
    # All values are missing: only the type of the column can say.
    kind = str(getattr(column, "type", getattr(column, "dtype", "")))
    return kind == "str" or kind.startswith(("string", "large_string", "String"))


def frame_rows(frame: Any, words: list[str] | None = None) -> Any:
    """The frame as sparse rows if it has columns of words, else as it is; ``words`` None: look for such columns."""
    frame = table_of(frame)
    if words is None:
        words = word_columns(frame)
    names, odd = _names(frame), _odd_columns(frame)
    absent = [name for name in words if name not in names]
    if absent:
        raise ValueError(f"X has no column {absent[0]!r}, which held words when learning started")
    if not words:
        for name in odd:
            _numbers(frame[name], name)
        return frame
    plain = [name for name in names if name not in words]
    numbers = np.empty((len(frame), len(plain)))
    for j, name in enumerate(plain):
        numbers[:, j] = _numbers(frame[name], name)
    hashes = np.column_stack([_hashes(frame[name], name) for name in words])
    bad = np.flatnonzero(~np.isfinite(numbers).all(axis=1))
    if len(bad):
        raise ValueError(f"row {bad[0]} of X holds NaN or inf; impute or drop it before learning")
    return with_one_hot_words(numbers, hashes, DEFAULT_BITS)


def _numbers(column: Any, name: Any) -> Any:
    """A column of numbers, NaN where they are missing; ``InvalidInput`` if it holds something else."""
    values = np.asarray(column)
    if values.dtype.kind in _NUMBERS:
        return values.astype(np.float64)
    advice = "leave it out, or turn it into numbers"
    if values.dtype.kind != "O":
        raise InvalidInput(f"column {name!r} of X must hold numbers or words, but holds {values.dtype}: {advice}")
    for row, value in enumerate(values):
        if not (isinstance(value, Real | Decimal | np.bool_) or is_absent(value)):
            if isinstance(value, str):
                advice += ", or read it from a file with open_stream, which hashes words"
            raise InvalidInput(f"row {row} of X holds {value!r} in the column {name!r} of numbers: {advice}")
    return np.array([np.nan if is_absent(value) else value for value in values], dtype=np.float64)


def _hashes(column: Any, name: str) -> Any:
    values = np.asarray(column, dtype=object)
    there = np.array([not is_absent(value) for value in values], dtype=bool)
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
