"""``ellipsoid predict``: label the rows of a stream of any length by a saved model."""

import sys
from collections.abc import Iterable
from json import dumps
from typing import IO, Any

import click

from .device import device_option, has_kernel_values, set_device
from .inputs import Inputs, named_data_set
from .reading import (
    NONEMPTY_TEXT,
    NewFile,
    reading_options,
    refuse_missing,
    refuse_overwriting,
    refuse_reading_again,
    stream_options_of_model,
)
from .startup import import_libraries


@click.command(name="predict", short_help="Label every row of DATA with a saved model.")
@click.argument("model", type=click.Path(exists=True, dir_okay=False))
@click.argument("data", nargs=-1, required=True, type=NONEMPTY_TEXT, metavar="DATA...")
@click.option(
    "-o", "--output", type=NewFile(dir_okay=False, allow_dash=True), help="Write the labels to this file; - is stdout."
)
@reading_options
@click.option("--weights", type=NONEMPTY_TEXT, metavar="COLUMN", help="A column of weights, not used as a feature.")
@device_option
@click.option("--no-label", is_flag=True, help="DATA has no labels: every column of a table is a feature.")
def command(model: str, data: tuple[str, ...], output: str | None, no_label: bool, **options: Any) -> None:
    """Label every row of DATA with the saved MODEL, one label per line, as the rows are read.

    A label that holds a line break, or begins with a quotation mark, is written as JSON writes text.

    If a data set has a test part, only that part is labelled. Features that the model has never seen are ignored.
    """
    if options["label"] is not None and no_label:
        raise click.UsageError("--label and --no-label contradict each other: give one of them.")
    refuse_reading_again(data)
    refuse_overwriting("--output", output, (model, *data))
    import_libraries()
    from ellipsoid.estimators.loading import open_model
    from ellipsoid.evaluate.position import Position
    from ellipsoid.streams.atomic import atomic_write
    from ellipsoid.streams.labels import word_labels

    refuse_missing(data)
    learner, content = open_model(model)
    set_device(learner, options["device"])
    if options["device"] == "cuda" and not has_kernel_values(learner):
        raise click.UsageError("--device cuda computes kernel values, but this model has none: leave --device out.")
    record = content.header["stream"]
    kept = Position([], []) if record is None else Position.read(record)
    dataset = named_data_set(data)
    how = {**stream_options_of_model(options, learner, kept), "labelled": not no_label}
    how["word_labels"] = word_labels(learner)
    chunks: Iterable[Any] = Inputs(data, kept.columns, **how, n_features=learner.n_features_in_, extra="drop")
    if dataset is not None and dataset.test is not None:
        chunks = [dataset.test]
    if output in (None, "-"):
        _write(learner, chunks, sys.stdout)
        return
    with atomic_write(output) as file:
        _write(learner, chunks, file)


def _write(learner: Any, chunks: Iterable[Any], file: IO[Any]) -> None:
    for X, _ in chunks:
        for label in learner.predict(X).tolist():
            line = " ".join(map(str, label)) if isinstance(label, list) else _line(label)
            file.write(f"{line}\n")


def _line(label: Any) -> str:
    """A label in one line: as it is, or as JSON where that could not be read back."""
    text = str(label)
    return dumps(text) if text.startswith('"') or text.splitlines() not in ([], [text]) else text
