"""What the commands show: tables on stdout, a progress bar on stderr, plain text in pipes."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from io import TextIOWrapper
from time import monotonic
from typing import Any

COMPILING = "compiling, once on this machine"


def _tell_of_compiling(tell: Callable[[], object]) -> None:
    """Have the moving bar say why it moves without counting, when a learner meets a kind of rows for the first time."""
    from ellipsoid.engine.native.compile_server import compile_server

    compile_server.tell = tell


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
        _tell_of_compiling(lambda: bar.update(task, description=f"{description}, {COMPILING}"))
        yield lambda done, total: bar.update(task, description=description, completed=done, total=total)


@contextmanager
def warnings_as_lines() -> Iterator[None]:
    """Warnings on stderr as a sentence, each once, without the line of code that Python shows."""
    import warnings

    import click

    told: set[str] = set()

    def show(message: Warning | str, *_: object, **__: object) -> None:
        if str(message) not in told:
            told.add(str(message))
            click.echo(f"Warning: {message}", err=True)

    with warnings.catch_warnings():
        warnings.showwarning = show
        yield


Tick = Callable[[int, float, tuple[int, int | None], int | None], None]


@contextmanager
def stream_progress(description: str, *, lines: bool = False) -> Iterator[Tick | None]:
    """Progress over a stream, on stderr: given rows, the error so far, what is done and what there is in all (None:
    unknown), and the support patterns of a kernel learner. It tells rows a second, of those after the first ones.

    A bar on a terminal; elsewhere nothing, or a line each time that the rows have doubled if ``lines``.
    """
    if not sys.stderr.isatty():
        yield _doubling(description) if lines else None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[told]}"), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(description, total=None, told="")
        _tell_of_compiling(lambda: bar.update(task, told=COMPILING))
        speed = _Speed()

        def tick(rows: int, error: float, done: tuple[int, int | None], patterns: int | None = None) -> None:
            bar.update(task, completed=done[0], total=done[1], told=_told(rows, error, speed.at(rows), patterns))

        yield tick


class _Speed:
    """Rows a second since the first call, which comes when everything is compiled."""

    begun: tuple[int, float] | None = None

    def at(self, rows: int) -> float | None:
        now = monotonic()
        if self.begun is None:
            self.begun = rows, now
        return (rows - self.begun[0]) / (now - self.begun[1]) if rows > self.begun[0] and now > self.begun[1] else None


def _doubling(description: str) -> Tick:
    due, speed = 1024, _Speed()

    def tick(rows: int, error: float, done: tuple[int, int | None], patterns: int | None = None) -> None:
        nonlocal due
        rate = speed.at(rows)
        if rows >= due:
            print(f"{description}: {_told(rows, error, rate, patterns)}", file=sys.stderr, flush=True)
            while due <= rows:
                due *= 2

    return tick


def _told(rows: int, error: float, rate: float | None, patterns: int | None) -> str:
    told = f"{rows:,} rows, {100 * error:.2f} % wrong"
    told += "" if patterns is None else f", {patterns:,} support patterns"
    return told + ("" if rate is None else f", {rate:,.0f} rows/s")


def show_table(
    titles: Sequence[str],
    lines: Sequence[Sequence[str]],
    *,
    words: Sequence[int] = (0,),
    bold: Collection[tuple[int, int]] = (),
) -> None:
    """A table on stdout; the columns ``words`` hold text, which may wrap on a terminal, the rest numbers."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    if isinstance(sys.stdout, TextIOWrapper):
        # A letter that cannot be written where stdout goes is no reason to show nothing.
        sys.stdout.reconfigure(errors="backslashreplace")
    terminal = sys.stdout.isatty()
    # In a pipe nobody scrolls sideways: a line of the table stays one line.
    wide = sum(4 + max(map(len, column)) for column in zip(titles, *lines, strict=True))
    console = Console() if terminal else Console(width=wide)
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=any(titles))
    for i, title in enumerate(titles):
        heading = title.replace(" ", "\n", 1) if terminal and i not in words else title
        table.add_column(heading, justify="left" if i in words else "right", no_wrap=i not in words, overflow="fold")
    for i, line in enumerate(lines):
        table.add_row(*(Text(text, style="bold" if (i, j) in bold else "") for j, text in enumerate(line)))
    console.print(table)


def show_certificates(model: Any) -> None:
    """The bounds that hold for a model, as a table behind the others; nothing where there are none."""
    import click

    from ellipsoid.report.table import bound_in_words, number

    lines = [(c.name, number(c.observed), bound_in_words(c, model.t_), c.holds_if) for c in model.certificates()]
    if lines:
        click.echo()
        show_table(("certificate", "observed", "bound", "holds if"), lines, words=(0, 3))
