"""Examples as users pass them: arrays, sparse rows, dicts of feature name to value, and lists of dicts.

Names become columns in the order in which they appear. A word becomes a feature of value 1, named by the pair of name
and word; None means that a feature is missing, and it is left out; True and False are 1 and 0.
"""

from types import NoneType
from typing import Any

import numpy as np
import scipy.sparse as sp

from ellipsoid.streams.label_kinds import refuse_masked

from .frames import refuse_columns, row_by_name
from .rows import InvalidInput, checked_csr

# Bits of an integer that is a name: model files hold it as text, and Python converts no more than 4300 digits.
LONGEST_NAME = 14_000

# The usual types of values that are numbers already.
NUMBER_TYPES = frozenset({float, int, bool, np.float64})


class Encoded(dict[Any, Any]):
    """Features by name, in which words have become features (name, word) of value 1."""


def encoded(example: dict[Any, Any]) -> dict[Any, Any]:
    """The example with a number for every value.

    >>> encoded({"rain": 0.5, "sky": "grey", "wind": None})
    {'rain': 0.5, ('sky', 'grey'): 1.0}
    """
    kinds = {*map(type, example.values())}
    if type(example) is Encoded or kinds <= NUMBER_TYPES:
        return example
    if not any(kind is NoneType or issubclass(kind, str) for kind in kinds):
        return example
    found = Encoded()
    for given, value in example.items():
        name = given if type(given) is str else checked_name(given)
        if isinstance(value, str):
            found[name, str(value)] = 1.0
        elif value is not None:
            found[name] = value
    return found


def checked_name(name: Any) -> Any:
    """The name of a feature, or ``InvalidInput`` if it cannot be one."""
    if not isinstance(name, str | int | np.integer):
        raise InvalidInput(f"feature names must be strings or integers, got {name!r}; give it another name")
    if type(name) is int and name.bit_length() > LONGEST_NAME:
        raise InvalidInput(f"a feature name is an integer of {name.bit_length()} bits; give it a shorter name")
    return int(name) if isinstance(name, np.integer) else name


def rows_of(examples: Any, columns: dict[Any, int] | None) -> tuple[Any, dict[Any, int]]:
    """Sparse rows for examples, and the columns of their new names; ``columns`` is None without names.

    >>> rows, fresh = rows_of([{"wind": 3, "rain": 0.5}], {"rain": 0})
    >>> rows.toarray(), fresh
    (array([[0.5, 3. ]]), {'wind': 1})
    """
    if columns is None:
        raise ValueError("this learner was started on arrays; give x as an array, or start a new one on dicts")
    fresh: dict[Any, int] = {}
    indices: list[int] = []
    data: list[float] = []
    ends = [0]
    for i, example in enumerate(examples):
        if not isinstance(example, dict):
            raise InvalidInput(f"row {i} of X must be a dict of features, as the first is, got {example!r}")
        pairs = []
        for given, value in (known := encoded(example)).items():
            name = given if type(known) is Encoded and type(given) is tuple else checked_name(given)
            column = columns.get(name)
            if column is None:
                column = fresh.setdefault(name, len(columns) + len(fresh))
            try:
                pairs.append((column, float(value)))
            except (TypeError, ValueError, OverflowError) as error:
                raise InvalidInput(f"feature {name!r} holds {value!r}, which is neither a number nor a word") from error
        pairs.sort()
        indices += [column for column, _ in pairs]
        data += [value for _, value in pairs]
        ends.append(len(data))
    shape = (len(ends) - 1, len(columns) + len(fresh))
    parts = np.array(data, dtype=np.float64), np.array(indices, dtype=np.int64), np.array(ends)
    return sp.csr_matrix(parts, shape=shape), fresh


def is_named(x: Any) -> bool:
    """Is x one example as a dict? Some sparse matrices of SciPy are dicts too, from positions to values."""
    return isinstance(x, dict) and not hasattr(x, "tocsr")


def are_named(X: Any) -> bool:
    """Is X a list of dicts?"""
    return isinstance(X, list | tuple) and len(X) > 0 and isinstance(X[0], dict)


def one_row(x: Any, columns: dict[Any, int] | None, model: Any = None) -> tuple[Any, dict[Any, int]]:
    """One example as a matrix of one row, and the columns of its new names; ``columns`` is None without names.

    A row of a frame is taken by its names if the model was started on a frame, or has not started.
    """
    if is_named(x):
        return rows_of([x], columns)
    if hasattr(x, "to_frame") and all(isinstance(name, str) for name in x.index):
        started = hasattr(model, "n_features_in_")
        refuse_columns(x, columns if started else None)
        if not started or hasattr(model, "feature_names_in_"):
            return row_by_name(x, getattr(model, "feature_names_in_", None)), {}
    if hasattr(x, "tocsr") and (x.ndim == 1 or x.shape[0] == 1):
        return checked_csr(x.reshape(1, -1) if x.ndim == 1 else x), {}
    refuse_masked(x, "x")
    array = x if hasattr(x, "tocsr") else np.asarray(x)
    if array.ndim != 1:
        raise ValueError(f"x must be one example (1-D), got shape {array.shape}; use partial_fit for several rows")
    return array.reshape(1, -1), {}
