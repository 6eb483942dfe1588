"""What a label may be: text, or a whole number.

Whole numbers are bool, integers of 64 bits, and floats without a fraction below 2^53, from where on a float is not
exact. Text does not end with a NUL, which arrays of text drop. Labels of one model are all text or all numbers. Numbers
that are equal are one label (True, 1 and 1.0), which keeps the type in which it came first; later ones take the type of
the first label, so that ``classes_`` never turns from integers into floats in mid-stream. Everything else is refused
before anything is learned: what can be learned can be saved.
"""

from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Types whose values may be looked up among known labels unchecked. A complex number or a decimal may equal a label and
# is none.
LABEL_TYPES = frozenset(
    {str, np.str_, int, bool, float, np.bool_, np.float64, np.float32, np.float16}
    | {np.dtype(code).type for code in "bhilqBHILQ"}
)
# Kinds of arrays for which the same is true.
LABEL_DTYPE_KINDS = "biufU"

LOWEST, HIGHEST = -(2**63), 2**63 - 1
WHOLE = 2.0**53

KINDS = "all text or all whole numbers"


def label_array(y: Any, what: str = "y") -> NDArray[Any]:
    """Labels as an array of text, integers, bools or whole floats, or ``ValueError``.

    An array with more than one axis is not checked.

    >>> label_array(["a", "b"]).tolist(), label_array((True, False)).tolist(), label_array([1.0, 2.0]).tolist()
    (['a', 'b'], [True, False], [1.0, 2.0])
    >>> label_array([1, b"a"])
    Traceback (most recent call last):
    ValueError: y must hold labels of one kind, all text or all whole numbers: row 0 holds b'1': decode bytes first, ...
    """
    refuse_masked(y, what)
    refuse_sparse(y, what)
    try:
        labels = np.asarray(y)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{what} must be a sequence of labels, one per example: {error}") from error
    if labels.ndim != 1:
        return labels
    kind = labels.dtype.kind
    if not isinstance(y, np.ndarray) and (
        (kind == "U" and not all(map(is_plain_text, y)))
        or (kind == "f" and (np.abs(labels.astype(np.float64, copy=False)) == WHOLE).any())
        or (kind in "fiu" and len(labels) > 1 and has_several_types(y))
    ):
        # NumPy would turn numbers among text into text, shorten the names of an enumeration, round integers, and give
        # numbers of several types a common one.
        labels = np.fromiter(y, dtype=object, count=len(labels))
        kind = "O"
    if kind == "f":
        return _whole(labels, what)
    if kind == "u" and labels.dtype.itemsize == 8:
        _refuse_first(labels, labels > HIGHEST, what)
    if kind in "OT":
        return _objects(labels, what)
    if kind == "c":
        raise ValueError(
            f"{what} must hold labels of one kind, all text or all whole numbers. Complex data not supported"
        )
    if kind == "V":
        raise ValueError(f"{what} must hold strings or numbers, got records of type {labels.dtype}")
    if kind not in LABEL_DTYPE_KINDS:
        _refuse_first(labels, np.ones(len(labels), dtype=bool), what)
    return labels


def with_integers(labels: NDArray[Any]) -> NDArray[Any]:
    """The same labels for scikit-learn: an object array of numbers and bools becomes one of integers."""
    mixed = labels.dtype.kind == "O" and labels.ndim == 1 and len(labels) > 0 and not isinstance(labels[0], str)
    return labels.astype(np.int64) if mixed else labels


def has_several_types(y: Any) -> bool:
    """Whether labels in a list have several types, of which NumPy would make one."""
    return hasattr(y, "__iter__") and not hasattr(y, "dtype") and len(set(map(type, y))) > 1


def is_plain_text(label: Any) -> bool:
    """Whether an array of text keeps this label as it is: it drops NULs at the end, and others than text become text.

    >>> is_plain_text("a"), is_plain_text("a\\0"), is_plain_text(1)
    (True, False, False)
    """
    return type(label) in (str, np.str_) and not label.endswith("\0")


def refuse_nul(label: str, where: str = "") -> str:
    """The same text, or ``ValueError`` where it ends with a NUL: it would become one label with that without."""
    if label.endswith("\0"):
        raise ValueError(f"{where}the label {label!r} ends with a NUL, which arrays of text drop: strip it")
    return label


def refuse_masked(array: Any, what: str) -> None:
    """Raise ``ValueError`` where a masked array has masked entries."""
    if not isinstance(array, np.ma.MaskedArray):
        return
    rows = np.flatnonzero(np.ma.getmaskarray(array).reshape(len(array) if array.ndim else 1, -1).any(axis=1))
    if len(rows):
        raise ValueError(f"row {rows[0]} of {what} has masked entries; fill them in or drop the row before learning")


def refuse_sparse(y: Any, what: str) -> None:
    """Raise ``ValueError`` where labels are a sparse matrix, which NumPy would take for a single object."""
    if hasattr(y, "tocsr"):
        raise ValueError(f"{what} is sparse, and labels are read from dense arrays: give {what}.toarray()")


def is_absent(value: Any) -> bool:
    """Whether a value is None, NaN, or pandas' NA, whose comparisons give NA.

    >>> is_absent(None), is_absent(float("nan")), is_absent("nan")
    (True, True, False)
    """
    if value is None or type(value).__name__ == "NAType":
        return True
    other = value != value
    return isinstance(other, bool | np.bool_) and bool(other)


def plain_label(label: Any) -> Any:
    """A label as text or a number of Python, or ``ValueError``."""
    if isinstance(label, np.generic) and label.dtype.kind in LABEL_DTYPE_KINDS:
        label = label.item() if label.dtype.itemsize <= 8 or label.dtype.kind == "U" else float(label)
    if isinstance(label, str):
        return str.__str__(label)  # an enumeration may have a ``__str__`` of its own
    if isinstance(label, bool):
        return label
    if isinstance(label, int) and LOWEST <= label <= HIGHEST:
        return int(label)
    if isinstance(label, float) and label.is_integer() and abs(label) <= WHOLE:
        return float(label)
    raise ValueError(f"labels must be of one kind, {KINDS}, not {label!r}{_more(label)}")


def in_form_of(first: Any, label: Any) -> Any:
    """A number in the type of the first label: whole floats become integers where that is none, and the reverse.

    >>> in_form_of(0, 2.0), in_form_of(0.0, 2), in_form_of(True, 2.0), in_form_of("a", "b")
    (2, 2.0, 2, 'b')
    """
    if isinstance(first, float) and not isinstance(label, str):
        if abs(label) > WHOLE:
            raise ValueError(
                f"the label {label!r} is too large to be exact as a float, and the known labels are "
                f"floats such as {first!r}"
            )
        return float(label)
    return int(label) if isinstance(label, float) else label


def _objects(labels: NDArray[Any], what: str) -> NDArray[Any]:
    values = []
    for row, label in enumerate(labels.tolist()):
        try:
            values.append(plain_label(label))
        except ValueError:
            _refuse(row, label, what)
        if isinstance(label, str):
            refuse_nul(values[-1])
        elif isinstance(label, float) and abs(label) == WHOLE:
            _refuse(row, label, what)
        if isinstance(values[-1], str) != isinstance(values[0], str):
            raise ValueError(
                f"{what} must hold labels of one kind, {KINDS}: row {row} holds {label!r}, row 0 {values[0]!r}"
            )
    if values and not isinstance(values[0], str):
        # Integers that a float cannot tell from others stay integers: labels are looked at more than once.
        alike = [in_form_of(values[0], value) for value in values]
        values = [value if abs(value) == WHOLE else same for value, same in zip(values, alike, strict=True)]
        if len(set(map(type, values))) == 1:
            return np.array(values)
    kept = np.empty(len(values), dtype=object)  # text, or numbers of several forms
    kept[:] = values
    return kept


def _whole(labels: NDArray[Any], what: str) -> NDArray[Any]:
    with np.errstate(invalid="ignore"):
        # float16 and float32 do not hold 2^53.
        wide = labels.astype(np.float64) if labels.dtype.itemsize < 8 else labels
        _refuse_first(labels, ~((labels == np.floor(labels)) & (np.abs(wide) < WHOLE)), what)
    return labels.astype(np.float64) if labels.dtype.itemsize > 8 else labels


def _refuse_first(labels: Any, wrong: Any, what: str) -> None:
    rows = np.flatnonzero(wrong)
    if len(rows):
        _refuse(int(rows[0]), labels[int(rows[0])], what)


def _refuse(row: int, label: Any, what: str) -> None:
    if isinstance(label, np.generic):
        label = label if label.dtype.kind in "mMV" else label.item()
    if what == "classes" and is_absent(label):
        raise ValueError(f"classes must not hold None or NaN, got {label!r}: labels must be known")
    if isinstance(label, float) and not isfinite(label):
        raise ValueError(f"row {row} of {what} is NaN or inf; labels must be known (Input contains NaN)")
    raise ValueError(f"{what} must hold labels of one kind, {KINDS}: row {row} holds {label!r}{_more(label)}")


def _more(label: Any) -> str:
    """What to do instead, or scikit-learn's words for it."""
    if is_absent(label):
        return "; labels must be known"
    if isinstance(label, float) and label.is_integer():
        return ": floats of this size cannot tell whole numbers apart; use integers, or text"
    if isinstance(label, float):
        return ". Unknown label type: continuous"
    if isinstance(label, bytes):
        return ": decode bytes first, as in y.astype(str)"
    if isinstance(label, int):
        return " of 64 bits: use text for longer ones"
    if isinstance(label, np.datetime64 | np.timedelta64):
        return ": write dates as text first, as in y.astype(str)"
    return ""
