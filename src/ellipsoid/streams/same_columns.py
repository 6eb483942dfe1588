"""Tables that are read one after another must have the same columns: features are told apart by their places alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def same_columns(
    stream: Any, learned: list[str] | None, *, columns: str = "columns", unlabelled: str | None = None
) -> list[str] | None:
    """The columns that the next table is held to, once a stream has given its first rows; refuses it if it has others.

    ``learned`` are those before it, None while no names are known. The sentence advises what the caller calls
    ``columns``, and ``unlabelled`` where the table lacks no more than a label and may do so.
    """
    own = stream.columns
    if learned is None or own == learned:
        return own if learned is None else learned
    if own is None:
        if stream.bits is not None:
            # A word's feature is found by the name of its column.
            raise ValueError(f"{stream.name} has words and no header, which the model knows their columns by")
        return learned
    raise ValueError(
        f"the columns of numbers in {stream.name} are {some(own)}, where the model learned {some(learned)}; "
        + (
            f"give {unlabelled} if it has no label"
            if unlabelled is not None and own == learned[:-1]
            else f"name its columns in that order by {columns}, or give it a header if it has none"
        )
    )


def some(things: Sequence[str], most: int = 12) -> str:
    """The first of many things between commas.

    >>> some(["a", "b", "c"], most=2)
    'a, b, … (3 in all)'
    """
    return ", ".join(things[:most]) + (f", … ({len(things):,} in all)" if len(things) > most else "")
