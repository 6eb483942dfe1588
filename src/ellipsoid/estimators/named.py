"""Examples as dicts of feature name to value: names become columns in the order in which they appear."""

from typing import Any

import numpy as np
import scipy.sparse as sp

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
