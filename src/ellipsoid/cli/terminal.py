"""The output of commands: tables on stdout, progress bars and warnings on stderr, plain text in pipes."""

import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from io import TextIOWrapper
from time import monotonic
from typing import Any

COMPILING = "compiling, once on this machine"


@contextmanager
def _bar(description: str, count: Any, waiting: dict[str, Any]) -> Iterator[Callable[..., None]]:
    """A progress bar on stderr; the block gets a function that updates its description, count, total and note.

    The column ``count`` says how far it is. While code is compiled the bar shows the values ``waiting``.
    """
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    from ellipsoid.engine.native.compile_server import compile_server

    columns = (TextColumn("{task.description}"), BarColumn(), count, TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(description, total=None, note="")
        compile_server.on_wait = lambda: bar.update(task, **waiting)
        yield lambda **values: bar.update(task, **values)


@contextmanager
def progress_bar(description: str, *, quiet: bool = False) -> Iterator[Callable[[int, int | None], None] | None]:
    """A progress bar on stderr; the block gets a function that takes rows done and rows in all.

    Where stderr is no terminal nothing is shown, and the block gets None.
    """
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.progress import MofNCompleteColumn

    with _bar(description, MofNCompleteColumn(), {"description": f"{description}, {COMPILING}"}) as update:
        yield lambda done, total: update(description=description, completed=done, total=total)


@contextmanager
def warnings_as_lines() -> Iterator[None]:
    """Show each warning once, as a sentence on stderr, without the line of code that Python shows."""
    import warnings

    import click

    shown: set[str] = set()

    def show(message: Warning | str, *_: object, **__: object) -> None:
        if str(message) not in shown:
            shown.add(str(message))
            click.echo(f"Warning: {message}", err=True)

    with warnings.catch_warnings():
        warnings.showwarning = show
        yield


Tick = Callable[[int, float, tuple[int, int | None], int | None], None]


@contextmanager
def stream_progress(description: str, *, lines: bool = False) -> Iterator[Tick | None]:
    """Progress over a stream on stderr; the block gets a function that takes the number of rows, the error so far, what
    is done with what there is in all (None: unknown), and the number of support patterns of a kernel learner.

    On a terminal it is a bar. Elsewhere it is a line each time that the rows have doubled if ``lines``, else nothing,
    and the block gets None.
    """
    if not sys.stderr.isatty():
        yield _lines_when_doubled(description) if lines else None
        return
    from rich.progress import TextColumn

    with _bar(description, TextColumn("{task.fields[note]}"), {"note": COMPILING}) as update:
        speed = _Speed()

        def tick(rows: int, error: float, done: tuple[int, int | None], patterns: int | None = None) -> None:
            update(completed=done[0], total=done[1], note=_note(rows, error, speed.at(rows), patterns))

        yield tick


class _Speed:
    """Rows a second since the first call, at which everything is compiled."""

    start: tuple[int, float] | None = None

    def at(self, rows: int) -> float | None:
        now = monotonic()
        if self.start is None:
            self.start = rows, now
        return (rows - self.start[0]) / (now - self.start[1]) if rows > self.start[0] and now > self.start[1] else None


def _lines_when_doubled(description: str) -> Tick:
    due, speed = 1024, _Speed()

    def tick(rows: int, error: float, done: tuple[int, int | None], patterns: int | None = None) -> None:
        nonlocal due
        rate = speed.at(rows)
        if rows >= due:
            print(f"{description}: {_note(rows, error, rate, patterns)}", file=sys.stderr, flush=True)
            while due <= rows:
                due *= 2

    return tick


def _note(rows: int, error: float, rate: float | None, patterns: int | None) -> str:
    note = f"{rows:,} rows, {100 * error:.2f} % wrong"
    note += "" if patterns is None else f", {patterns:,} support patterns"
    return note + ("" if rate is None else f", {rate:,.0f} rows/s")


def show_table(
    titles: Sequence[str],
    lines: Sequence[Sequence[str]],
    *,
    words: Sequence[int] = (0,),
    bold: Collection[tuple[int, int]] = (),
) -> None:
    """Print a table; the columns ``words`` hold text, which may wrap on a terminal, the others numbers."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    if isinstance(sys.stdout, TextIOWrapper):
        # A character that the encoding of stdout lacks is no reason to show nothing.
        sys.stdout.reconfigure(errors="backslashreplace")
    terminal = sys.stdout.isatty()
    # In a pipe or file a row of the table stays on one line, however long it is.
    width = sum(4 + max(map(len, column)) for column in zip(titles, *lines, strict=True))
    console = Console() if terminal else Console(width=width)
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=any(titles))
    for i, title in enumerate(titles):
        heading = title.replace(" ", "\n", 1) if terminal and i not in words else title
        table.add_column(heading, justify="left" if i in words else "right", no_wrap=i not in words, overflow="fold")
    for i, line in enumerate(lines):
        table.add_row(*(Text(text, style="bold" if (i, j) in bold else "") for j, text in enumerate(line)))
    console.print(table)


def show_certificates(model: Any) -> None:
    """Print the bounds that hold for a model as a table; nothing where there are none."""
    import click

    from ellipsoid.report.table import bound_in_words, number

    lines = [(c.name, number(c.observed), bound_in_words(c, model.t_), c.holds_if) for c in model.certificates()]
    if lines:
        click.echo()
        show_table(("certificate", "observed", "bound", "holds if"), lines, words=(0, 3))
