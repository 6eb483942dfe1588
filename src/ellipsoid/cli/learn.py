"""``ellipsoid learn``: one learner, one stream, one online pass."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click


@click.command(name="learn")
@click.argument("data")
@click.option("--model", "name", metavar="NAME", help="The learner's class, such as MIRA; a wrong name lists all.")
@click.option("--param", "settings", metavar="KEY=VALUE", multiple=True, help="A parameter of the learner.")
@click.option("--epochs", type=click.IntRange(min=1), default=1, show_default=True, help="Passes over the data.")
@click.option("--shuffle", is_flag=True, help="A new random order in every pass, instead of the data's own.")
@click.option("--seed", type=int, default=0, show_default=True, help="What the random orders are drawn from.")
@click.option("--label", metavar="COLUMN", help="The label's column of a CSV file with a header [default: the last].")
@click.option(
    "--classes",
    metavar="A,B,…",
    help="Announce the labels of a file beforehand; bounds may need it [default: none].",
)
@click.option("--save", "target", type=click.Path(dir_okay=False), help="Write the model to this file.")
@click.option("--resume", type=click.Path(exists=True, dir_okay=False), help="Go on with the model in this file.")
def command(**options: Any) -> None:
    """Learn DATA online: predict each row, then learn it.

    The labels of a named data set are announced beforehand; those of a file appear as they are met.
    Prints the error of those predictions, the updates, the speed, and the bounds that hold for this run.
    """
    model = _model(options["name"], options["settings"], options["resume"])

    from ellipsoid.cli.terminal import progress_bar
    from ellipsoid.evaluate.prequential import prequential, shifted
    from ellipsoid.streams.datasets import plain_labels
    from ellipsoid.streams.files import open_data

    source = open_data(options["data"], label=options["label"], n_features=getattr(model, "n_features_in_", None))
    classes = source.classes
    if options["classes"]:
        classes = plain_labels([label.strip() for label in options["classes"].split(",")])
    if options["resume"]:
        classes = None
    epochs = options["epochs"]
    total = None if source.n_rows is None else epochs * source.n_rows
    runs: list[Any] = []
    with progress_bar(type(model).__name__) as progress:
        for rows in _passes(source, epochs, options["seed"] if options["shuffle"] else None):
            done = sum(run.rows for run in runs)
            runs.append(prequential(model, rows, classes=classes, progress=shifted(progress, done, total)))
            classes = None
    if options["target"]:
        model.save(options["target"])
    _show(model, source, runs, options["target"])


def _model(name: str | None, settings: tuple[str, ...], resume: str | None) -> Any:
    from ellipsoid.estimators import load
    from ellipsoid.evaluate.lineup import learner, parameter

    if resume is None:
        if name is None:
            raise click.UsageError("Missing option '--model' (or '--resume', to go on with a saved model).")
        try:
            return learner(name, dict(parameter(setting) for setting in settings))
        except ValueError as error:
            raise click.UsageError(str(error)) from error
    if settings:
        raise click.UsageError("--param cannot change a saved model: leave it out with --resume.")
    model = load(resume)
    if name not in (None, type(model).__name__):
        raise click.UsageError(f"--model {name} contradicts --resume {resume}, which holds a {type(model).__name__}.")
    return model


def _passes(source: Any, epochs: int, seed: int | None) -> Iterator[Any]:
    if seed is None:
        for _ in range(epochs):
            yield source
        return
    import numpy as np

    X, y = source.arrays()
    rng = np.random.default_rng(seed)
    for _ in range(epochs):
        order = rng.permutation(len(y))
        yield X[order], y[order]


def _show(model: Any, source: Any, runs: list[Any], target: str | None) -> None:
    from ellipsoid.cli.terminal import show_table
    from ellipsoid.evaluate.cell import error_rate
    from ellipsoid.report.table import number, significant

    rows = sum(run.rows for run in runs)
    seconds = sum(run.seconds for run in runs)
    lines = [("learner", repr(model)), ("data", f"{source.name}, {runs[0].rows:,} rows")]
    for i, run in enumerate(runs, start=1):
        which = f", pass {i}" if len(runs) > 1 else ""
        lines.append((f"online error{which}", f"{100 * run.error:.2f} % ({run.errors:,} rows)"))
    if source.test is not None:
        error = error_rate(model.predict(source.test[0]), source.test[1])
        lines.append(("test error", f"{100 * error:.2f} % (of {len(source.test[1]):,} rows)"))
    lines += [
        ("mistakes", f"{sum(run.mistakes for run in runs):,} (ties included)"),
        ("updates", f"{sum(run.updates for run in runs):,}"),
        ("speed", f"{significant(rows / max(seconds, 1e-9))} rows/s ({seconds:.3f} s)"),
    ]
    if target:
        lines.append(("saved in", target))
    show_table(("", ""), lines, words=(0, 1))
    certificates = [(c.name, number(c.observed), number(c.bound), c.holds_if) for c in model.certificates()]
    if certificates:
        click.echo()
        show_table(("certificate", "observed", "bound", "holds if"), certificates, words=(0, 3))
