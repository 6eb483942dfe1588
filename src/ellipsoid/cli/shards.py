"""``ellipsoid learn`` over shards of the data, in several processes or on a Dask cluster."""

from collections.abc import Callable
from typing import Any

import click

from .reading import NewFile, stream_options
from .summary import labels_asked, show_proof
from .terminal import show_certificates, show_table

# The defaults of options that a run over shards does not take.
SINGLE_STREAM_DEFAULTS = {
    "epochs": 1, "shuffle": False, "seed": None, "save_every": None, "plot": None, "curve": False, "weights": None,
    "device": None,
}  # fmt: skip
# The defaults of options that only a run over shards takes.
SHARD_DEFAULTS = {"shards": 16, "rounds": None, "way": "auto", "checkpoint": None}


def shard_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of a run over shards."""
    for option in reversed(
        (
            click.option("--scheduler", metavar="ADDRESS", help="Learn in shards on this Dask cluster."),
            click.option("--workers", type=click.IntRange(min=1),
                         help="Learn in shards with this many processes on this machine."),
            click.option("--shards", type=click.IntRange(min=1), default=16,
                         help="Number of parts that are learned separately; take two to four for each worker."),
            click.option("--rounds", type=click.IntRange(min=1),
                         help="Passes over all shards [default: 5, or 1 for models that add up exactly]."),
            click.option("--merge", "way", type=click.Choice(["auto", "dual"]), default="auto",
                         help="How to combine the models."),
            click.option("--checkpoint", type=NewFile(dir_okay=False),
                         help="Write the model of every round to this file, to continue from it with --resume."),
        )
    ):  # fmt: skip
        command = option(command)
    return command


def is_sharded(options: dict[str, Any]) -> bool:
    """Is a run over shards asked for?"""
    return bool(options["scheduler"] or options["workers"])


def refuse_changed(options: dict[str, Any], defaults: dict[str, Any], why: str) -> None:
    """Refuse options that would be ignored."""
    for name, value in defaults.items():
        if options[name] != value:
            shown = {"curve": "test-then-train", "way": "merge"}.get(name, name.replace("_", "-"))
            raise click.UsageError(f"--{shown} is {why}.")


def learn_shards(options: dict[str, Any], chosen: Any) -> None:
    """Learn DATA in shards by the chosen learner, save the model, and show it."""
    from ellipsoid import distributed
    from ellipsoid.certificates.mixed import REPLAY
    from ellipsoid.distributed.engines.engine import LostWorkers, NoWorkers
    from ellipsoid.distributed.initial_model import merge_kind
    from ellipsoid.estimators.files.saving import save
    from ellipsoid.streams.sets.datasets import plain_labels

    refuse_changed(options, SINGLE_STREAM_DEFAULTS, "not for a run over shards: leave it out")
    if options["scheduler"] and options["workers"]:
        raise click.UsageError("--scheduler and --workers exclude each other: give one of them.")
    if options["resume"] and options["checkpoint"] not in (None, options["resume"]):
        raise click.UsageError("--resume continues its own file: leave --checkpoint out, or give the same file.")
    how = stream_options(options)
    if options["classes"]:
        how["classes"] = plain_labels(options["classes"])
    try:
        model = distributed.fit(
            chosen, list(options["data"]), client=options["scheduler"], workers=options["workers"],
            shards=options["shards"], rounds=options["rounds"], merge=options["way"], scale=options["scale"],
            checkpoint=options["resume"] or options["checkpoint"], resume=bool(options["resume"]),
            validate=options["validate"], progress=lambda line: click.echo(line, err=True), **how,
        )  # fmt: skip
    except (LostWorkers, NoWorkers) as error:
        raise ConnectionError("; ".join([str(error), *getattr(error, "__notes__", ())])) from error
    if options["target"]:
        save(model, options["target"], stream=model.stream_)
    inner = getattr(model, "learner_", model)
    lines = [
        ("learner", repr(model)), ("shards", f"{inner.shards_}, in {max(1, len(model.history_))} rounds"),
        ("rows", f"{inner.t_:,} learned"),
        ("mistakes", f"{inner.mistakes_:,}, of the hypotheses of all shards"), ("updates", f"{inner.updates_:,}"),
    ]  # fmt: skip
    if merge_kind(inner, options["way"]) != REPLAY:  # of a replay only the rows that cut are known, all asked for
        lines += labels_asked(model)
    errors = [each["error"] for each in model.history_ if each["error"] is not None]
    if errors:
        lines.append(("validation error", ", ".join(f"{100 * error:.2f} %" for error in errors) + " after each round"))
    if options["target"]:
        lines.append(("saved in", options["target"]))
    show_table(("", ""), lines, words=(0, 1))
    show_certificates(inner)
    show_proof(model)
