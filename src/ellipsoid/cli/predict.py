"""``ellipsoid predict``: the labels a saved model gives."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import IO, Any

import click


@click.command(name="predict")
@click.argument("model", type=click.Path(exists=True, dir_okay=False))
@click.argument("data")
@click.option("-o", "--output", type=click.Path(dir_okay=False), help="Write the labels to this file, not to stdout.")
@click.option("--label", metavar="COLUMN", help="The column of a CSV file to leave out [default: the last].")
@click.option("--no-label", is_flag=True, help="DATA has no labels: every column of a CSV file is a feature.")
def command(model: str, data: str, output: str | None, label: str | None, no_label: bool) -> None:
    """Label every row of DATA by the saved MODEL, one label a line.

    Of a data set that has a test part, that part is labelled.
    """
    if label is not None and no_label:
        raise click.UsageError("--label and --no-label contradict each other.")
    from ellipsoid.estimators import load
    from ellipsoid.streams.atomic import atomic_write
    from ellipsoid.streams.files import open_data
    from ellipsoid.streams.source import from_arrays

    learner = load(model)
    source = open_data(data, label=label, labelled=not no_label, n_features=learner.n_features_in_)
    if source.test is not None:
        source = from_arrays(source.name, *source.test)
    if output is None:
        _write(_labels(learner, source), sys.stdout)
        return
    with atomic_write(output) as file:
        _write(_labels(learner, source), file)


def _labels(learner: Any, source: Any) -> Iterator[Any]:
    for X, _ in source:
        yield learner.predict(X)


def _write(chunks: Iterator[Any], file: IO[Any]) -> None:
    for labels in chunks:
        lines = (" ".join(map(str, label)) if labels.ndim == 2 else str(label) for label in labels)
        file.writelines(f"{line}\n" for line in lines)
