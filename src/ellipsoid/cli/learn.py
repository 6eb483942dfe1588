"""``ellipsoid learn``: learn a stream online, save the model on the way, and resume a run where it stopped."""

from __future__ import annotations

from collections.abc import Iterator
from os.path import realpath
from time import monotonic
from typing import Any

import click

from .compile_ahead import compile_ahead
from .device import device_option, set_device
from .reading import (
    LABELS,
    NONEMPTY_TEXT,
    Inputs,
    NewFile,
    named_data_set,
    reading_options,
    refuse_missing,
    refuse_overwriting,
    refuse_reading_again,
    stream_options_of_model,
)
from .shards import SHARD_DEFAULTS, is_sharded, learn_shards, refuse_changed, shard_options
from .startup import import_libraries
from .summary import parameter_of, show_summary, support_patterns, typical_entry
from .terminal import stream_progress


@click.command(name="learn")
@click.argument("data", nargs=-1, required=True, metavar="DATA...")
@click.option("--model", "name", metavar="NAME", help="The learner's class, such as MIRA; a wrong name lists all.")
@click.option(
    "--task", type=click.Choice(["classification", "regression"]),
    help="Learn labels, or numbers [default: what the learner learns]; a regressor needs no --model.",
)  # fmt: skip
@click.option("--param", "settings", metavar="KEY=VALUE", multiple=True, help="A parameter of the learner.")
@click.option(
    "--scale", type=click.Choice(["none", "standard", "unit"]),
    help="Standardise features by the rows so far, or divide each row by its 2-norm [default: none].",
)  # fmt: skip
@click.option("--epochs", type=click.IntRange(min=1), default=1, help="Passes over the data.")
@click.option("--shuffle", is_flag=True, help="A new random order in every pass; needs all rows in memory.")
@click.option("--seed", type=click.IntRange(min=0), help="What the random orders are drawn from [default: 0].")
@reading_options
@click.option("--weights", type=NONEMPTY_TEXT, metavar="COLUMN", help="The column of a table with the rows' weights.")
@click.option(
    "--classes", type=LABELS, metavar="A,B,…",
    help="Announce the labels of a file beforehand; bounds may need it [default: none].",
)  # fmt: skip
@click.option("--save", "target", type=NewFile(dir_okay=False), help="Write the model to this file.")
@click.option("--save-every", metavar="N|Ns", help="Write it also after every N rows, or every N seconds.")
@click.option("--plot", type=NewFile(dir_okay=False), help="Draw error, mistakes and their bounds to this PNG file.")
@click.option("--resume", type=click.Path(exists=True, dir_okay=False), help="Go on with the model in this file.")
@click.option("--test-then-train", "curve", is_flag=True, help="Show the error of the predictions on the way.")
@click.option("--validate", type=NONEMPTY_TEXT, metavar="DATA", help="Show the error on these rows after learning.")
@device_option
@click.option("--progress", is_flag=True, help="Say on stderr how far it is, also where that is no terminal.")
@shard_options
def command(**options: Any) -> None:
    """Learn DATA online: predict each row, then learn it.

    DATA are files (svmlight or LIBSVM text, CSV, Vowpal Wabbit text, JSON lines, Parquet, Arrow, NumPy; text may be
    packed by gzip, bzip2, xz or Zstandard), the name of a data set, or - for standard input. The labels of a named data
    set are announced beforehand; those of a file appear as they are met. Prints the error of the predictions, the
    updates, the speed, and the bounds that hold for this run.

    A run that was killed goes on where it last saved: repeat the command with --resume and the file it saved to. With
    other DATA than the killed run's, or without --save-every after a run that came to its end, --resume learns all rows
    of DATA.
    """
    if options["save_every"] and not options["target"]:
        raise click.UsageError("--save-every needs --save, the file to write to.")
    every = _every(options["save_every"])
    if not is_sharded(options):
        refuse_changed(options, SHARD_DEFAULTS, "for a run over shards: give --workers or --scheduler too")
        if options["seed"] is not None and not options["shuffle"]:
            raise click.UsageError("--seed draws the orders of --shuffle: give --shuffle too, or leave --seed out.")
    rows = (*options["data"], options["validate"])
    refuse_reading_again(options["data"], 1 if options["shuffle"] else options["epochs"])
    refuse_reading_again(rows)
    refuse_overwriting("--save", options["target"], rows)
    refuse_overwriting("--checkpoint", options["checkpoint"], rows)
    refuse_overwriting("--plot", options["plot"], (*rows, options["resume"]))
    if options["plot"] and options["target"] and realpath(options["plot"]) == realpath(options["target"]):
        raise click.UsageError("--plot would overwrite what --save has written: name another file.")
    if options["checkpoint"] and options["target"] and realpath(options["checkpoint"]) == realpath(options["target"]):
        raise click.UsageError("--save would overwrite the last --checkpoint: name another file.")
    import_libraries()
    if options["plot"]:
        from ellipsoid.report.plots import need_matplotlib

        need_matplotlib()
    _check_folders(options)
    if is_sharded(options):
        refuse_missing([options["validate"]])
        chosen = _new_model(options)
        _check_task(chosen, options["task"])
        learn_shards(options, chosen)
        return
    refuse_missing(rows)
    model, record = _model(options)
    set_device(model, options["device"])
    _check_task(model, options["task"])
    run = _Run(model, options, _position(options, record), every)
    compile_ahead(model, options["data"][0], run.inputs.options, len(options["classes"] or ()))
    run.learn()
    run.save(final=True)
    if options["plot"] and run.results and hasattr(run.results[0], "errors"):
        from ellipsoid.report.bounds import write_run

        title = f"{type(model).__name__} on {', '.join(run.inputs.names)}, first pass"
        write_run(run.results[0], options["plot"], title)
    show_summary(run, options)


def _check_folders(options: dict[str, Any]) -> None:
    """Refuse, before anything is learned, a file that could not be written afterwards."""
    from ellipsoid.streams.atomic import check_folder

    for name in ("target", "plot", "checkpoint"):
        if options[name]:
            check_folder(options[name])


def _every(text: str | None) -> tuple[int | None, float | None]:
    """The number of rows or of seconds between saves; the other is None."""
    if text is None:
        return None, None
    try:
        seconds = float(text[:-1]) if text.endswith("s") else None
        rows = None if seconds is not None else int(text)
    except ValueError:
        raise click.UsageError(
            f"--save-every must be a number of rows, or of seconds as in 30s, got {text!r}."
        ) from None
    if (rows is not None and rows < 1) or (seconds is not None and not seconds > 0):
        raise click.UsageError(f"--save-every must be positive, got {text!r}.")
    return rows, seconds


def _parameters(options: dict[str, Any]) -> dict[str, Any]:
    from ellipsoid.evaluate.lineup import parameter

    try:
        return dict(parameter(setting) for setting in options["settings"])
    except ValueError as error:
        raise click.UsageError(str(error)) from error


def _new_model(options: dict[str, Any]) -> Any:
    """The learner that the options name."""
    from ellipsoid.evaluate.lineup import learner

    name = options["name"] or ("PassiveAggressiveRegressor" if options["task"] == "regression" else None)
    if name is None:
        # A run over shards needs --model even with --resume.
        instead = "" if is_sharded(options) else " (or '--resume', to go on with a saved model)"
        raise click.UsageError(f"Missing option '--model'{instead}.")
    try:
        return learner(name, _parameters(options))
    except ValueError as error:
        raise click.UsageError(str(error)) from error


def _model(options: dict[str, Any]) -> tuple[Any, Any]:
    """The learner, new or read from a file, and that file's record of the stream it learned."""
    from ellipsoid.estimators.loading import open_model
    from ellipsoid.estimators.wrappers.pipeline import scaled_as
    from ellipsoid.estimators.wrappers.scalers import SCALES

    name, resume = options["name"], options["resume"]
    if resume is None:
        return scaled_as(_new_model(options), options["scale"]), None
    parameters = _parameters(options)
    model, content = open_model(resume)
    inner = getattr(model, "learner_", model)
    params = inner.get_params()
    if any(key not in params or params[key] != value for key, value in parameters.items()):
        raise click.UsageError(
            f"--param cannot change a saved model: it is {inner!r}. Leave --param out with --resume."
        )
    if name not in (None, type(inner).__name__):
        raise click.UsageError(f"--model {name} contradicts --resume {resume}, which holds a {type(inner).__name__}.")
    scaler = type(getattr(model, "scaler_", None))
    kept = next((scale for scale, kind in SCALES.items() if kind is scaler), "none")
    if options["scale"] not in (None, kept):
        raise click.UsageError(f"--scale {options['scale']} contradicts --resume {resume}, whose scale is {kept}.")
    return model, content.header["stream"]


def _check_task(model: Any, task: str | None) -> None:
    """Refuse a classifier where a regressor was asked for, and the other way round."""
    from sklearn.base import is_regressor

    found = "regression" if is_regressor(model) else "classification"
    if task not in (None, found):
        raise click.UsageError(f"--task {task} contradicts the learner: {type(model).__name__} is one of {found}.")


def _position(options: dict[str, Any], record: Any) -> Any:
    """Where to begin: at the first row, or where an interrupted run over the same inputs stopped."""
    from ellipsoid.evaluate.position import KEPT, Position

    start = Position.start(options["data"], options["epochs"], (options["seed"] or 0) if options["shuffle"] else None)
    if record is None:
        return start
    kept = Position.read(record)
    for name in ("columns", *KEPT):
        setattr(start, name, getattr(kept, name))
    continues = options["save_every"] or not kept.complete
    if continues and kept.order is not None and kept.same_run(start) and kept.has_grown(start):
        raise ValueError(
            f"DATA has grown since {options['resume']} was saved, and --shuffle draws one order of all rows: give the "
            "files as they were, and what was added, as files of its own, to a run of its own"
        )
    if kept.complete:
        if "-" in start.inputs or not kept.same_run(start):
            return start
        if not options["save_every"]:
            click.echo(f"Note: {options['resume']} has learned all of DATA before, and learns it once more.", err=True)
            return start
        # The command was repeated after the run had already been completed and saved.
        click.echo(
            f"Note: {options['resume']} had learned all of DATA; what has been added to it is learned.", err=True
        )
        kept.reopen()
    if not kept.same_run(start):
        raise ValueError(
            f"{options['resume']} was saved in the middle of a run ({kept}); resume it with the same DATA and "
            "--epochs, --shuffle, --seed, or load and save it in Python to forget where it stopped"
        )
    kept.inputs, kept.heads = start.inputs, start.heads
    return kept


class _Run:
    """One run: a model, its inputs, and the position reached in them."""

    def __init__(
        self, model: Any, options: dict[str, Any], position: Any, every: tuple[int | None, float | None]
    ) -> None:
        from ellipsoid.streams.labels import word_labels

        self.model, self.options, self.position, self.every = model, options, position, every
        self.rows_before = position.rows
        self.results: list[Any] = []
        self.entry: float | None = None
        self.dataset = named_data_set(options["data"])
        growing = not hasattr(model, "n_features_in_") or parameter_of(model, "grow_features")
        width = {} if growing else {"n_features": model.n_features_in_}
        how = {**stream_options_of_model(options, model, position), "word_labels": word_labels(model)}
        self.inputs = Inputs(options["data"], position.columns, **how, **width)

    def learn(self) -> None:
        """Learn what is left of all passes."""
        from ellipsoid.evaluate.position import in_steps, without_first
        from ellipsoid.evaluate.prequential import recorder_for

        position, classes = self.position, self._classes()
        with stream_progress(type(self.model).__name__, lines=self.options["progress"]) as tick:
            for rows in self._passes():
                recorder = recorder_for(self.model, None, 1000, classes, bounds=bool(self.options["plot"]))
                recorder.stops, recorder.seen = recorder.bounds, position.row
                errors_before, saved_at = position.errors, monotonic()
                counted_before = position.rows - position.weightless
                left = in_steps(without_first(rows, position.row), position.row, self.every[0])
                for X, y, weight in self._cut_at_wider_rows(left):
                    self._allow_growth(X)
                    recorder.feed(X, y, weight)
                    position.advance(len(y))
                    position.errors = errors_before + recorder.errors
                    position.weightless = position.rows - counted_before - recorder.rows
                    if tick is not None:
                        tick(
                            position.rows, position.error, self.inputs.done(position.row), support_patterns(self.model)
                        )
                    if self._save_is_due(saved_at):
                        self.save()
                        saved_at = monotonic()
                classes = None
                if recorder.rows:
                    self.results.append(recorder.result())
                position.next_epoch()

    def _passes(self) -> Iterator[Any]:
        """For each pass its rows, labels and weights in their order."""
        position = self.position
        if position.order is None:
            while position.epoch < position.epochs:
                yield self.inputs.weighted()
            return
        import numpy as np

        from ellipsoid.streams.opening import open_stream

        weights: list[Any] = []

        def chunks() -> Iterator[Any]:
            for X, y, weight in self.inputs.weighted():
                weights.append(np.ones(len(y)) if weight is None else weight)
                yield X, y

        X, y = open_stream(chunks()).arrays()
        weight = np.concatenate(weights)
        rng = np.random.default_rng(position.order)
        for epoch in range(position.epochs):
            order = rng.permutation(len(y))
            if epoch == position.epoch:
                yield [(X[order], y[order], None if (weight == 1.0).all() else weight[order])]

    def _classes(self) -> Any:
        from ellipsoid.streams.sets.datasets import plain_labels

        if self.options["classes"]:
            return plain_labels(self.options["classes"])
        from sklearn.base import is_regressor

        known = hasattr(self.model, "n_features_in_") or is_regressor(self.model)
        return None if known or self.dataset is None else self.dataset.classes

    def _allow_growth(self, X: Any) -> None:
        """Let a learner of sparse text grow, because later rows may have more features."""
        if self.entry is None:
            self.entry = typical_entry(X, self.options["scale"])
        if (
            hasattr(self.model, "n_features_in_")
            or not hasattr(X, "tocsr")
            or self.inputs.reader.n_features is not None
        ):
            return
        if parameter_of(self.model, "kernel") not in (None, "linear") and isinstance(
            parameter_of(self.model, "gamma"), str
        ):
            raise ValueError(
                "gamma would follow the number of features, which sparse text does not tell before its end; "
                "give it: --param gamma=0.1, say"
            )
        getattr(self.model, "learner", self.model).set_params(grow_features=True)

    def _cut_at_wider_rows(self, chunks: Iterator[Any]) -> Iterator[Any]:
        """Cut chunks where a row is wider than all before it, for a learner whose steps depend on the width."""
        import numpy as np

        from ellipsoid.streams.widening import split_where_wider

        counts = getattr(getattr(self.model, "learner", self.model), "_counts_features", False)
        mark = None if counts is True else counts
        for X, y, weight in chunks:
            if counts and hasattr(X, "tocsr") and self.inputs.reader.n_features is None:
                rows = np.arange(len(y))
                for part, own in split_where_wider(X, rows, getattr(self.model, "n_features_in_", 0), mark):
                    yield part, y[own], None if weight is None else weight[own]
            else:
                yield X, y, weight

    def _save_is_due(self, saved_at: float) -> bool:
        rows, seconds = self.every
        if rows is not None:
            return bool(self.position.row % rows == 0)
        return seconds is not None and monotonic() - saved_at >= seconds

    def save(self, final: bool = False) -> None:
        """Write the model, and the position that a resumed run begins at."""
        from ellipsoid.estimators.files.saving import save
        from ellipsoid.evaluate.position import KEPT

        if self.options["target"]:
            self.position.complete, self.position.columns = final, self.inputs.learned
            for option in KEPT:
                setattr(self.position, option, self.inputs.options[option])
            save(self.model, self.options["target"], stream=self.position.record())
