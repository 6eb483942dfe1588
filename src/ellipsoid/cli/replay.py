"""``ellipsoid replay``: rebuild a model of a service as it was, or let another learner learn the same examples."""

import sys
from pathlib import Path
from typing import Any

import click

from .learn import parameters_of
from .reading import NewFile
from .startup import import_libraries
from .terminal import show_table


@click.command(name="replay", short_help="Learn again what a model of a service has learned.")
@click.argument("store", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.argument("name")
@click.option("--until", metavar="T", type=click.IntRange(min=0), help="Stop after T examples [default: all].")
@click.option("--learner", metavar="NAME", help="Another learner, to compare with the champion.")
@click.option("--param", "settings", metavar="KEY=VALUE", multiple=True, help="A parameter of that learner.")
@click.option(
    "--scale", type=click.Choice(["none", "standard", "unit"]), default="none",
    help="The scaler in front of that learner.",
)  # fmt: skip
@click.option("--save", "target", type=NewFile(dir_okay=False), help="Write the model to this file.")
@click.option(
    "--rows", "lines", type=NewFile(dir_okay=False, allow_dash=True),
    help="Only write the examples, as JSON lines, to this file (- for stdout); learn nothing.",
)  # fmt: skip
def command(store: Path, name: str, until: int | None, lines: str | None, **options: Any) -> None:
    """Replay the journal of the model NAME in the folder STORE, which a service may be using.

    Without --learner the model that the service had after T examples is rebuilt, to the last bit. With --learner
    another one learns the same examples, and both are shown side by side; --save writes the other one.
    `ellipsoid learn - --format jsonl` learns the same model from the lines of --rows, with the --bits or --keep-names
    that the model was made with.
    """
    for option, given in (("--param", options["settings"]), ("--scale", options["scale"] != "none")):
        if given and not options["learner"]:
            raise click.UsageError(f"{option} needs --learner: give a learner too, or leave it out.")
    if lines is not None and (options["learner"] or options["target"]):
        raise click.UsageError("--rows writes examples and learns nothing: leave --learner and --save out.")
    for option, target in (("--save", options["target"]), ("--rows", lines)):
        # A file with the name of the journal or of the lock would replace it under a running service.
        if target not in (None, "-") and Path(target).resolve().is_relative_to(store.resolve()):
            raise click.UsageError(f"{option} {target} is in the store itself: name a file in another folder.")
    import_libraries()
    from ellipsoid.report.table import table
    from ellipsoid.service.models.replaying import PastStream, Replay, comparison
    from ellipsoid.streams.atomic import atomic_write

    past = PastStream(store, name, until)
    try:
        if lines is not None:
            if lines == "-":
                past.write_lines(sys.stdout)
            else:
                with atomic_write(lines) as file:
                    click.echo(f"wrote {past.write_lines(file):,} examples to {lines}")
            return
        replays = {"champion": Replay(past, None)}
        if options["learner"]:
            replays[options["learner"]] = Replay(past, _new_learner(options))
        for label, replay in replays.items():
            replay.run()
            if replay.refused:
                count = f"{len(replay.refused):,} example" + "s" * (len(replay.refused) > 1)
                click.echo(f"Note: {label} passed over {count}, the first because {replay.refused[0]}", err=True)
    finally:
        past.close()
    wanted = list(replays.values())[-1]
    if options["target"]:
        with atomic_write(options["target"], "wb") as file:
            file.write(wanted.file())
    click.echo(f"{past.name}: {past.until:,} examples of {past.end:,}")
    # A champion that was read from a snapshot of all examples has learned nothing here that could be compared.
    learned = {label: replay for label, replay in replays.items() if replay.recorder.rows}
    if learned:
        titles, rows, best = table(comparison(learned))
        show_table(titles, rows, bold=best)
    else:
        click.echo("a snapshot already holds them all: there was nothing to replay")
    if options["target"]:
        click.echo(f"wrote {options['target']}")


def _new_learner(options: dict[str, Any]) -> Any:
    from ellipsoid.service.messages import NewLearner

    params = parameters_of(options["settings"])
    return NewLearner(learner=options["learner"], params=params, scale=options["scale"])
