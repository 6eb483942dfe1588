"""``ellipsoid reproduce``: compute a table or figure of a paper again, and show the paper's numbers beside ours.

The reproductions are part of the source checkout, not of the package; this command finds and runs them.
"""

import sys
from pathlib import Path
from typing import Any

import click

from .checkout import checkout
from .terminal import progress_bar, show_table


@click.command(name="reproduce", short_help="Compute the tables and figures of papers again.")
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--list", "listing", is_flag=True, help="List the names.")
@click.option("--quick", is_flag=True, help="Use only a few rows, in under a minute; the report says so.")
@click.option("--jobs", type=int, default=1, help="Number of processes to use.")
@click.option(
    "--output", type=click.Path(file_okay=False, path_type=Path), default="ellipsoid-reproductions",
    help="Folder for the results, with a subfolder for each NAME (NAME-quick for a quick run).",
)  # fmt: skip
@click.option(
    "--page", type=click.Path(dir_okay=False, path_type=Path),
    help="Write one Markdown page of all full runs found in the folder.",
)  # fmt: skip
@click.option("--quiet", is_flag=True, help="Write the files without printing anything.")
def command(names: tuple[str, ...], listing: bool, page: Path | None, output: Path, quiet: bool, **how: Any) -> None:
    """Run the experiments behind a table or figure, and put the paper's numbers beside ours.

    NAME is one of --list, or all. Every finished cell (a learner, a data set, an order of its rows) is kept: a run that
    was interrupted goes on where it was, to the same result. Writes a self-contained HTML report, the same as Markdown,
    pictures (PNG, SVG) and the raw results of every order (JSON).
    """
    root = str(checkout("reproductions"))
    if root not in sys.path:
        sys.path.append(root)
    from reproductions import ENTRIES, named

    if listing:
        show_table(("name", "shows", "paper"), [(e.name, e.title, e.paper) for e in ENTRIES], words=(0, 1, 2))
        return
    if not names and page is None:
        raise click.UsageError("give a NAME to reproduce; --list shows the names")
    from ellipsoid.report.plots import need_matplotlib

    need_matplotlib()
    for entry in ENTRIES if names == ("all",) else tuple(map(named, names)):
        _run(entry, output, quiet, **how)
    if page is not None:
        from reproductions.overview import write_page

        done = write_page(output, page)
        if not quiet:
            click.echo(f"wrote {page} of {', '.join(done)}")


def _run(entry: Any, output: Path, quiet: bool, *, quick: bool, jobs: int) -> None:
    from reproductions.render import FILES, verdict_lines, warnings, write
    from reproductions.run import STORE, reproduce

    folder = output / (f"{entry.name}-quick" if quick else entry.name)
    try:
        with progress_bar(entry.name, quiet=quiet) as progress:
            results = reproduce(entry, folder, store=output / STORE, quick=quick, n_jobs=jobs, progress=progress)
    except KeyboardInterrupt:
        click.echo(f"interrupted; finished cells are kept in {output / STORE}, the same command goes on", err=True)
        raise
    report = write(entry, results, folder)
    if quiet:
        return
    for sentence in (*warnings(results), *verdict_lines(results, report)):
        click.echo(sentence)
    click.echo()
    for name in FILES:
        click.echo(f"wrote {folder / name}")
