"""What the commands show: tables on stdout, a progress bar on stderr, plain text in pipes."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager


@contextmanager
def progress_bar(description: str, *, quiet: bool = False) -> Iterator[Callable[[int, int | None], None] | None]:
    """A bar on stderr, moved by calling what the block is given with rows done and rows in all.

    Nothing is shown, and None given, where stderr is no terminal.
    """
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(description, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def show_table(
    titles: Sequence[str],
    lines: Sequence[Sequence[str]],
    *,
    bold: set[tuple[int, int]] | None = None,
    words: int = 1,
) -> None:
    """A table on stdout; the first ``words`` columns are text, the others numbers, aligned to the right."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    terminal = sys.stdout.isatty()
    # In a pipe nobody scrolls sideways: a line of the table stays one line.
    console = (
        Console() if terminal else Console(width=sum(20 + max(map(len, column)) for column in zip(*lines, strict=True)))
    )
    table = Table(box=SIMPLE_HEAD if terminal else None, pad_edge=False, show_header=any(titles))
    for i, title in enumerate(titles):
        table.add_column(title, justify="left" if i < words else "right", overflow="fold")
    for i, line in enumerate(lines):
        table.add_row(*(Text(text, style="bold" if (i, j) in (bold or ()) else "") for j, text in enumerate(line)))
    console.print(table)
