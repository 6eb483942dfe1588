"""Several files as one stream: what the first ones show of their features holds for all of them."""

import os
from collections.abc import Sequence
from typing import Any

from .opening import open_stream
from .options import OF_WORDS
from .readers.blocks import BLOCK_BYTES
from .readers.errors import NoRows


def kinds_and_base(
    names: Sequence[str], options: dict[str, Any], asked: dict[str, str] | None = None
) -> dict[str, Any]:
    """``kinds`` and ``zero_based`` as the first block of one file with the rows of all would show them.

    A column without a value in the first file may have one in a later file, and a feature 0 of svmlight text may come
    later too. Pipes, which can be read only once, are not opened, nor files after a pipe or after one with an error.

    ``asked`` are the kinds of some columns, which the user has named; those of the options are of all.
    """
    kinds, zero_based, size = options.get("kinds"), options.get("zero_based"), 0
    for name in names:
        if size >= BLOCK_BYTES or not os.path.isfile(name):
            break
        size += os.path.getsize(name)
        try:
            stream = open_stream(name, **{**options, "kinds": {**(kinds or {}), **(asked or {})} or None, "threads": 0})
            next(iter(stream))
        except NoRows:
            continue
        except (ValueError, OSError):
            break
        own = stream.kinds or {}
        kinds = stream.kinds if kinds is None else {name: kind or own.get(name) for name, kind in kinds.items()}
        zero_based = stream.zero_based if options.get("zero_based") is None else zero_based
        if None not in (kinds or {}).values() and (zero_based is not False or options.get("zero_based") is False):
            break
    return {"kinds": kinds, "zero_based": zero_based}


def check_columns(
    stream: Any,
    learned: list[str] | None,
    kinds: dict[str, str | None] | None = None,
    *,
    columns: str = "columns",
    unlabelled: str | None = None,
) -> list[str] | None:
    """The columns of numbers that the next table must have, once a stream has given its first rows.

    Raises ``ValueError`` if it has other columns than the tables before: a number's feature is known by its place, a
    word's by the name of its column.

    ``learned`` are the columns of numbers of the tables before, None while no names are known, and ``kinds`` all of
    their columns. ``columns`` and ``unlabelled`` are the caller's names of these options, for the message.
    """
    own, words = stream.columns, _of_words(kinds)
    if own is None and learned is not None:
        if stream.bits is not None or words:
            # The hash of a word depends on the name of its column.
            raise ValueError(f"{stream.name} has words but no header, by which the model knows its columns; add one")
        return learned
    _refuse_others("numbers", stream.name, own, learned, columns, unlabelled)
    own_words = _of_words(stream.kinds)
    if set(own_words or ()) != set(words or ()):
        _refuse_others("words", stream.name, own_words, words, columns, unlabelled)
    return own


def refuse_other_kinds(stream: Any, asked: dict[str, str]) -> None:
    """Refuse kinds of columns that a stream, of which the first rows are read, does not have or know by itself."""
    if not asked:
        return
    own = stream.kinds
    if own is None:
        raise ValueError(f"kinds names columns of CSV text, but {stream.name!r} is no such text: leave it out")
    # Without a header columns have numbers, and the label is behind the features.
    numbered = [str(j) for j in range(len(own) + stream.options.labelled)]
    names = stream.header or (numbered if stream.columns is None else list(own))
    for name, kind in asked.items():
        if name not in names:
            raise ValueError(f"{stream.name} has no column {name!r} for kinds; it has {first_of(names)}")
        if own.get(name, kind) != kind:
            raise ValueError(
                f"the column {name!r} of {stream.name} holds {own[name]} by its type: kinds names columns of CSV text"
            )


def refuse_empty_table(empty: Any, learned: list[str] | None, kinds: dict[str, str | None] | None) -> None:
    """Refuse a table without rows whose only line is not the header of the other tables: it may be a row."""
    if empty.header is not None and (learned is None or not set(kinds or learned) <= set(empty.header)):
        raise ValueError(
            f"{empty.name} has no rows, and its first line is not the header of the other tables; give header=False if "
            "it is a row"
        )


def _of_words(kinds: dict[str, str | None] | None) -> list[str] | None:
    return None if kinds is None else [name for name, kind in kinds.items() if kind == OF_WORDS]


def _refuse_others(what: str, name: str, own: Any, learned: Any, columns: str, unlabelled: str | None) -> None:
    if own is None or learned is None or own == learned:
        return
    raise ValueError(
        f"the columns of {what} in {name} are {first_of(own) or 'none'}, where the model learned "
        f"{first_of(learned) or 'none'}; "
        + (
            f"give {unlabelled} if it has no label"
            if unlabelled is not None and own == learned[:-1]
            else f"name its columns in that order by {columns}, or give it a header if it has none"
        )
    )


def first_of(things: Sequence[str], most: int = 12) -> str:
    """The first things of a list between commas, and how many there are.

    >>> first_of(["a", "b", "c"], most=2)
    'a, b, … (3 in all)'
    """
    return ", ".join(things[:most]) + (f", … ({len(things):,} in all)" if len(things) > most else "")
