"""``ellipsoid compare``: run several learners on the same stream; write a table, a picture and an HTML report."""

import json
from pathlib import Path
from typing import Any

import click

from .compile_ahead import compile_comparison_ahead
from .device import device_option, set_device_of_kernels
from .reading import NONEMPTY_TEXT, NewFile, array_options, stream_options
from .startup import import_libraries
from .terminal import progress_bar, show_table


@click.command(name="compare", short_help="Run several learners over DATA, side by side.")
@click.argument("data", type=NONEMPTY_TEXT)
@click.option(
    "--models", type=NONEMPTY_TEXT, metavar="A,B,…",
    help="Learners, each as NAME or NAME:key=value:key=value [default: a line-up].",
)  # fmt: skip
@click.option("--passes", type=click.IntRange(min=1), default=1, help="Passes over the rows.")
@click.option("--seed", type=click.IntRange(min=0), help="Seed for shuffling the rows [default: the data's own order].")
@click.option(
    "--shuffles",
    type=click.IntRange(min=1),
    help="Number of random orders to run; their seeds count up from --seed (or 0).",
)
@click.option(
    "--scale", type=click.Choice(["none", "unit", "standard"]), default="none",
    help="Divide each row by its 2-norm (unit), or standardise features with statistics of the whole training part.",
)  # fmt: skip
@click.option(
    "--hold-out", type=click.FloatRange(0, 1, max_open=True), default=0.2,
    help="Share of the rows, taken from the end, to test on if the data has no test part.",
)  # fmt: skip
@array_options
@device_option
@click.option("--jobs", type=int, default=1, help="Number of processes to use.")
@click.option(
    "--output", type=NewFile(file_okay=False, path_type=Path), default="ellipsoid-report",
    help="Folder for curves.png, report.html and results.json.",
)  # fmt: skip
@click.option("--quiet", is_flag=True, help="Write the files without printing anything.")
def command(data: str, output: Path, quiet: bool, **options: Any) -> None:
    """Run several learners over DATA, row by row in the same order, and show how they did.

    Prints a table and writes curves (PNG), a self-contained HTML report and the raw results (JSON).
    """
    import_libraries()
    from ellipsoid.evaluate.cell import Protocol
    from ellipsoid.evaluate.compare import compare
    from ellipsoid.report.html import write_html
    from ellipsoid.report.plots import need_matplotlib, write_png
    from ellipsoid.report.table import table
    from ellipsoid.streams.atomic import atomic_write
    from ellipsoid.streams.labels import refuse_fractions
    from ellipsoid.streams.opening import open_stream
    from ellipsoid.streams.several_files import refuse_other_kinds

    need_matplotlib()
    stream = open_stream(data, **stream_options(options))
    source = stream.in_memory()
    refuse_other_kinds(stream, options["kinds"])
    y = source.arrays()[1]
    refuse_fractions(y, stream.name, stream.label_column)
    models = _models(options["models"], y)
    set_device_of_kernels(models, options["device"])
    protocol = Protocol(
        passes=options["passes"],
        seeds=_seeds(options["seed"], options["shuffles"]),
        hold_out=options["hold_out"],
        scale=options["scale"],
    )
    output.mkdir(parents=True, exist_ok=True)
    if options["jobs"] == 1 and len(models) > 1:
        compile_comparison_ahead(models, source, protocol)
    with progress_bar("comparing", quiet=quiet) as progress:
        found = compare(models, source, protocol, n_jobs=options["jobs"], progress=progress)
    write_png(found, output / "curves.png")
    write_html(found, output / "report.html")
    with atomic_write(output / "results.json") as file:
        json.dump(found.to_dict(), file, allow_nan=False)
    if quiet:
        return
    titles, lines, best = table(found)
    show_table(titles, lines, bold=best)
    click.echo()
    for name in ("report.html", "curves.png", "results.json"):
        click.echo(f"wrote {output / name}")


def _models(specs: str | None, y: Any) -> dict[str, Any]:
    import numpy as np

    from ellipsoid.evaluate.lineup import from_spec, line_up

    if specs is None:
        return line_up(y.shape[1] if y.ndim == 2 else len(np.unique(y)))
    try:
        named = [from_spec(spec.strip()) for spec in specs.split(",")]
        labels = [label for label, _ in named]
        twice = [label for label in labels if labels.count(label) > 1]
        if twice:
            raise ValueError(f"it names {twice[0]} twice")
        return dict(named)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="'--models'") from error


def _seeds(seed: int | None, shuffles: int | None) -> tuple[int | None, ...]:
    if seed is None and shuffles is None:
        return (None,)
    first = seed or 0
    return tuple(range(first, first + (shuffles or 1)))
