"""``ellipsoid learn``: learn a stream online, save the model on the way, and resume a run where it stopped."""

from os.path import realpath
from typing import Any

import click

from .compile_ahead import compile_learner_ahead
from .device import device_option, set_device
from .reading import (
    LABELS,
    NONEMPTY_TEXT,
    NewFile,
    reading_options,
    refuse_missing,
    refuse_overwriting,
    refuse_reading_again,
)
from .run import LearningRun
from .shards import SHARD_DEFAULTS, is_sharded, learn_shards, refuse_changed, shard_options
from .startup import import_libraries
from .summary import show_summary


@click.command(name="learn")
@click.argument("data", nargs=-1, required=True, type=NONEMPTY_TEXT, metavar="DATA...")
@click.option(
    "--model", "name", metavar="NAME",
    help="The learner's class, such as MIRA; an unknown name lists all of them "
    "[required, but for --resume and --task regression].",
)  # fmt: skip
@click.option(
    "--task", type=click.Choice(["classification", "regression"]),
    help="Learn labels or numbers [default: what the learner learns]; regression works without --model.",
)  # fmt: skip
@click.option(
    "--param", "settings", metavar="KEY=VALUE", multiple=True, help="A parameter of the learner; may be repeated."
)
@click.option(
    "--scale", type=click.Choice(["none", "standard", "unit"]),
    help="Standardise features with the rows so far, or divide each row by its 2-norm (unit) [default: none].",
)  # fmt: skip
@click.option("--epochs", type=click.IntRange(min=1), default=1, help="Passes over the data.")
@click.option("--shuffle", is_flag=True, help="Use a new random order in every pass; needs all rows in memory.")
@click.option("--seed", type=click.IntRange(min=0), help="Seed for the random orders [default: 0].")
@reading_options
@click.option("--weights", type=NONEMPTY_TEXT, metavar="COLUMN", help="Column of a table that holds the rows' weights.")
@click.option(
    "--classes", type=LABELS, metavar="A,B,…",
    help="Labels of a file, announced beforehand; some bounds need this [default: none].",
)  # fmt: skip
@click.option("--save", "target", type=NewFile(dir_okay=False), help="Write the model to this file.")
@click.option("--save-every", metavar="N|Ns", help="Also save after every N rows, or every N seconds.")
@click.option("--plot", type=NewFile(dir_okay=False), help="Plot error, mistakes and their bounds in this PNG file.")
@click.option("--resume", type=click.Path(exists=True, dir_okay=False), help="Continue with the model in this file.")
@click.option("--test-then-train", "curve", is_flag=True, help="Show the error of the predictions during the run.")
@click.option("--validate", type=NONEMPTY_TEXT, metavar="DATA", help="Show the error on these rows after learning.")
@device_option
@click.option("--progress", is_flag=True, help="Show progress on stderr even if that is not a terminal.")
@shard_options
def command(**options: Any) -> None:
    """Learn DATA online: predict each row, then learn it.

    DATA are files (svmlight or LIBSVM text, CSV, Vowpal Wabbit text, JSON lines, Parquet, Arrow, NumPy; text may be
    compressed with gzip, bzip2, xz or Zstandard), the name of a data set, or - for standard input. The labels of a
    named data set are announced beforehand; those of a file are collected as they appear. Prints the error of the
    predictions, the updates, the speed, and the bounds that hold for this run.

    To continue a run that was killed, repeat the command with --resume and the file it saved to: it goes on where it
    last saved. With other DATA than the killed run's, or without --save-every after a run that was completed, --resume
    learns all rows of DATA.
    """
    if options["save_every"] and not options["target"]:
        raise click.UsageError("--save-every needs --save, the file to write to.")
    every = _every(options["save_every"])
    if not is_sharded(options):
        refuse_changed(
            options, SHARD_DEFAULTS, "only for a run over shards: give --workers or --scheduler too, or leave it out"
        )
        if options["seed"] is not None and not options["shuffle"]:
            raise click.UsageError("--seed is the seed of --shuffle: give --shuffle too, or leave --seed out.")
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
    from ellipsoid.streams.atomic import check_folder

    if options["plot"]:
        from ellipsoid.report.plots import need_matplotlib

        need_matplotlib()
    for name in ("target", "plot", "checkpoint"):
        # A file that could not be written is refused before anything is learned.
        if options[name]:
            check_folder(options[name])
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
    run = LearningRun(model, options, _position(options, record), every)
    compile_learner_ahead(model, options["data"][0], run.inputs.reading(), len(options["classes"] or ()))
    run.learn()
    run.save(final=True)
    if options["plot"] and run.results and hasattr(run.results[0], "errors"):
        from ellipsoid.report.bounds import write_run

        title = f"{type(model).__name__} on {', '.join(run.inputs.names)}, first pass"
        write_run(run.results[0], options["plot"], title)
    show_summary(run, options)


# Parameters that only `fit` reads, and what a command has in their place.
OF_FIT = {
    "n_epochs": ": use --epochs",
    "shuffle": ": use --shuffle",
    **dict.fromkeys(("early_stopping", "validation_fraction", "n_iter_no_change", "tol"), ": leave it out"),
}


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


def parameters_of(settings: tuple[str, ...]) -> dict[str, Any]:
    """The parameters of a learner that the options ``--param KEY=VALUE`` give."""
    from ellipsoid.evaluate.lineup import parameter

    try:
        return dict(parameter(setting) for setting in settings)
    except ValueError as error:
        raise click.UsageError(str(error)) from error


def _new_model(options: dict[str, Any]) -> Any:
    """The learner that the options name."""
    from ellipsoid.evaluate.lineup import learner

    name = options["name"] or ("PassiveAggressiveRegressor" if options["task"] == "regression" else None)
    if name is None:
        # A run over shards needs --model even with --resume.
        instead = "" if is_sharded(options) else " (or '--resume', to go on with a saved model)"
        raise click.UsageError(f"Missing option '--model'{instead}. To begin with, try EllipsoidClassifier.")
    parameters = parameters_of(options["settings"])
    for key in parameters:
        if key in OF_FIT:
            raise click.UsageError(
                f"--param {key} would change nothing, because rows are learned as they come{OF_FIT[key]}."
            )
    try:
        return learner(name, parameters)
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
    parameters = parameters_of(options["settings"])
    model, content = open_model(resume)
    inner = getattr(model, "learner_", model)
    params = inner.get_params()
    if any(key not in params or params[key] != value for key, value in parameters.items()):
        raise click.UsageError(
            f"--param cannot change a saved model, which is {inner!r}. Leave --param out with --resume."
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
        raise click.UsageError(f"--task {task} contradicts the learner: {type(model).__name__} is for {found}.")


def _position(options: dict[str, Any], record: Any) -> Any:
    """Where to begin: at the first row, or where an interrupted run over the same inputs stopped."""
    from ellipsoid.evaluate.position import KEPT, Position

    start = Position.start(options["data"], options["epochs"], (options["seed"] or 0) if options["shuffle"] else None)
    if record is None:
        return start
    kept = Position.read(record)
    for name in ("columns", "missing", *KEPT):
        setattr(start, name, getattr(kept, name))
    continues = options["save_every"] or not kept.complete
    if continues and kept.order is not None and kept.same_run(start) and kept.has_grown(start):
        raise ValueError(
            f"DATA has grown since {options['resume']} was saved, and --shuffle draws one order for all rows: give the "
            "files as they were, and learn the added rows, in files of their own, with another run"
        )
    if kept.complete:
        if "-" in start.inputs or not kept.same_run(start):
            return start
        if not options["save_every"]:
            click.echo(f"Note: {options['resume']} has already learned all of DATA; it learns it once more.", err=True)
            return start
        # The command was repeated after the run had already been completed and saved.
        click.echo(
            f"Note: {options['resume']} had learned all of DATA; only the rows added since are learned now.", err=True
        )
        kept.reopen()
    if not kept.same_run(start):
        raise ValueError(
            f"{options['resume']} was saved in the middle of a run ({kept}); resume it with the same DATA and "
            "--epochs, --shuffle, --seed, or load and save it in Python to make it forget where it stopped"
        )
    kept.inputs, kept.heads = start.inputs, start.heads
    return kept
