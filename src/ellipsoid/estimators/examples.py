"""Single examples as users pass them: arrays, sparse rows, and dicts of feature name to value.

Names become columns in the order in which they appear.
"""

from typing import Any

import numpy as np
import scipy.sparse as sp

from ellipsoid.streams.label_kinds import refuse_masked

from .inputs import InvalidInput


def row_of(example: dict[Any, Any], columns: dict[Any, int]) -> tuple[Any, dict[Any, int]]:
    """A sparse row for an example, and the columns of the names it brings.

    >>> row, fresh = row_of({"wind": 3, "rain": 0.5}, {"rain": 0})
    >>> row.toarray(), fresh
    (array([[0.5, 3. ]]), {'wind': 1})
    """
    fresh: dict[Any, int] = {}
    pairs = []
    for given, value in example.items():
        if not isinstance(given, str | int | np.integer):
            raise InvalidInput(f"feature names must be strings or integers, got {given!r}; give it another name")
        name = int(given) if isinstance(given, np.integer) else given
        column = columns.get(name)
        if column is None:
            column = fresh[name] = len(columns) + len(fresh)
        try:
            pairs.append((column, float(value)))
        except (TypeError, ValueError, OverflowError) as error:
            raise InvalidInput(
                f"feature {name!r} holds {value!r}, which is not a number; encode categories as features of value 1"
            ) from error
    pairs.sort()
    indices = np.array([column for column, _ in pairs], dtype=np.int64)
    data = np.array([value for _, value in pairs])
    width = len(columns) + len(fresh)
    return sp.csr_matrix((data, indices, np.array([0, len(pairs)])), shape=(1, width)), fresh


def one_row(x: Any, columns: dict[Any, int] | None) -> tuple[Any, dict[Any, int]]:
    """One example as a 1-row matrix, and the columns of the names it brings; ``columns`` is None without names."""
    if isinstance(x, dict):
        if columns is None:
            raise ValueError("this learner was started on arrays; give x as an array, or start a new one on dicts")
        return row_of(x, columns)
    if hasattr(x, "tocsr") and (x.ndim == 1 or x.shape[0] == 1):
        return (x.reshape(1, -1) if x.ndim == 1 else x).tocsr(), {}
    refuse_masked(x, "x")
    array = x if hasattr(x, "tocsr") else np.asarray(x)
    if array.ndim != 1:
        raise ValueError(f"x must be one example (1-D), got shape {array.shape}; use partial_fit for several rows")
    return array.reshape(1, -1), {}
