"""A report before it is Markdown, HTML or a picture: words, tables of text, and panels of points."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ellipsoid.evaluate.compare import Spread


class Table(NamedTuple):
    """Titles and lines of text; the first ``words`` columns hold words, the rest numbers."""

    title: str
    titles: tuple[str, ...]
    lines: list[tuple[str, ...]]
    note: str = ""
    words: int = 1


class Curve(NamedTuple):
    """Points of a learner; ``sd`` are the standard deviations of y, ``sd_x`` those of x. ``dashed`` has open marks:
    what the paper printed, or the second of two kinds.
    """

    label: str
    x: Sequence[float]
    y: Sequence[float]
    sd: Sequence[float] = ()
    dashed: bool = False
    sd_x: Sequence[float] = ()


class Panel(NamedTuple):
    """One pair of axes; ``joined``: the points of a curve are in an order that a line may follow."""

    title: str
    x: str
    y: str
    curves: list[Curve]
    joined: bool = True
    # Names for the places 0, 1, ... of the x axis, where it has no numbers.
    names: tuple[str, ...] = ()
    logarithmic: bool = False


class Report(NamedTuple):
    """``verdicts``: what agrees with the paper and what does not, in sentences. ``choices``: what the paper leaves
    open, what was chosen, and how much it matters.
    """

    lead: str
    verdicts: list[str]
    tables: list[Table]
    panels: list[Panel]
    choices: list[str]


def shown(value: Spread, form: str = ".2f") -> str:
    """Mean and deviation.

    >>> shown(Spread(4.666, 0.11)), shown(Spread(3206.0, 20.0), ",.0f")
    ('4.67 (0.11)', '3,206 (20)')
    """
    return f"{value.mean:{form}} ({value.sd:{form}})"


def ratio(above: Sequence[float], below: Sequence[float]) -> Spread:
    """The ratio of two counts, order by order."""
    return Spread.of([a / max(b, 1e-12) for a, b in zip(above, below, strict=True)])


def beside(ours: Sequence[float], theirs: Sequence[float]) -> str:
    """How two learners compare that met the same orders.

    >>> beside([1.0, 2.0], [2.0, 3.0]), beside([1.0, 2.0], [0.5, 3.0]), beside([1.0], [1.0])
    ('lower in every order', 'lower in 1 order, higher in 1', 'equal in every order')
    """
    lower = sum(a < b for a, b in zip(ours, theirs, strict=True))
    higher = sum(a > b for a, b in zip(ours, theirs, strict=True))
    counts = {"lower": lower, "higher": higher, "equal": len(ours) - lower - higher}
    found = {word: count for word, count in counts.items() if count}
    if len(found) == 1:
        return f"{next(iter(found))} in every order"
    (first, n), *rest = found.items()
    return ", ".join([f"{first} in {n} order{'s' if n > 1 else ''}", *(f"{word} in {m}" for word, m in rest)])
