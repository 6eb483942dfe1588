"""The explicit list of what can be reproduced."""

from __future__ import annotations

from . import crammer2003, loosli2007, momma2010, momma2010_exact, momma2010_small, shalev2006, yang2009
from .entry import Entry

ENTRIES: tuple[Entry, ...] = (
    *crammer2003.ENTRIES,
    *shalev2006.ENTRIES,
    *yang2009.ENTRIES,
    *momma2010_exact.ENTRIES,
    *momma2010_small.ENTRIES,
    *momma2010.ENTRIES,
    *loosli2007.ENTRIES,
)


def named(name: str) -> Entry:
    """The entry called ``name``.

    >>> named("yang2009-fig1").name
    'yang2009-fig1'
    >>> named("yang2010")
    Traceback (most recent call last):
        ...
    ValueError: no reproduction 'yang2010'; there are crammer2003-table2, ...
    """
    for entry in ENTRIES:
        if entry.name == name:
            return entry
    raise ValueError(f"no reproduction {name!r}; there are {', '.join(entry.name for entry in ENTRIES)}")
