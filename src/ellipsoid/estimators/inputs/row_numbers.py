"""Error messages that name a row: the number of a row among some rows is replaced by its number among all."""

import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import numpy as np

from .rows import InvalidInput

# Only these are raised for bad input, before anything is learned: subclasses may mean that a row contradicts others.
INPUT_ERRORS = (ValueError, InvalidInput)


def row_numbers_before_dropping(given: Any) -> AbstractContextManager[None]:
    """A context in which errors name a row by its number among all rows, those of weight 0 included."""
    return original_row_numbers(
        lambda: None if np.ndim(given) == 0 else np.flatnonzero(np.asarray(given, dtype=np.float64))
    )


@contextmanager
def original_row_numbers(rows: Callable[[], Any]) -> Iterator[None]:
    """A context in which errors about row i of a part name it ``rows()[i]``, its number among all rows."""
    try:
        yield
    except ValueError as error:
        reworded = renumbered(error, rows())
        if reworded is error:
            raise
        raise reworded from error


def renumbered(error: BaseException, rows: Any) -> BaseException:
    """An error about row i of a part, reworded to name row ``rows[i]``; any other error is returned as it is."""
    found = re.match(r"row (\d+)\b", str(error))
    if rows is None or type(error) not in INPUT_ERRORS or found is None or int(found[1]) >= len(rows):
        return error
    return type(error)(f"row {rows[int(found[1])]}{str(error)[found.end() :]}")
