"""Errors that name a row, and notes that count rows: both by the rows of the whole call.

Where some rows of a call are learned without the others, the number of a row among them is replaced by its number among
all. So is the number of rows that were learned, from which the caller can go on.
"""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from ellipsoid.representation.kernel.functions import BadKernel

from .rows import InvalidInput

# Only these are raised for bad input, before anything is learned: subclasses may mean that a row contradicts others.
INPUT_ERRORS = (ValueError, InvalidInput)


@contextmanager
def row_numbers_before_dropping(given: Any) -> Iterator[None]:
    """A context in which errors name and count rows among all rows, those of weight 0 included."""
    try:
        yield
    except BaseException as error:
        if np.ndim(given) == 0:
            raise
        told: Any = vars(error).get("_progress")
        if told is not None and told[1] is not None:
            learned, dropped, total = told[1]
            add_progress_note(error, learned, dropped, total, given)
        reworded = renumbered(error, np.flatnonzero(np.asarray(given, dtype=np.float64)))
        if reworded is error:
            raise
        raise reworded from error


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


def add_progress_note(error: BaseException, learned: int, rows: int, total: int, given: Any = None) -> None:
    """Add to an exception how many rows of the call were learned, if rows have weights with those of weight 0.

    Rows of weight 0 before the one at which the call was broken off count as well: the caller goes on with that row.
    """
    weights = np.ones(rows) if np.ndim(given) == 0 else np.asarray(given, dtype=np.float64)
    kept = np.flatnonzero(weights)
    done = kept[learned] if learned < len(kept) else len(weights)
    were = "were learned" if len(kept) == len(weights) else "were learned or have weight 0"
    if learned:
        note = (
            f"{done} of the {len(weights)} rows of this call {were}: the model has learned {total} rows and can go on"
        )
    else:
        note = "no row of this call was learned: the model is as it was before"
    put_note(error, note, (learned, rows, total))


def put_note(error: BaseException, note: str, counts: Any = None) -> None:
    """Add a note to an exception, in place of the note about a learner inside this one."""
    inner, _ = vars(error).get("_progress", (None, None))
    if isinstance(error, BadKernel):
        error.args = (f"{str(error).removesuffix(f'; {inner}')}; {note}",)
    else:
        notes = getattr(error, "__notes__", [])
        if inner in notes:
            notes.remove(inner)
        error.add_note(note)
    vars(error)["_progress"] = note, counts
