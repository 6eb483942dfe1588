"""``ellipsoid send``: send a file of any format to a service, in batches, each row exactly once."""

import os
from pathlib import Path
from typing import Any

import click

from .reading import reading_options, stream_options
from .startup import import_libraries
from .terminal import progress_bar


@click.command(name="send", short_help="Send the rows of a file to a service.")
@click.argument("url")
@click.argument("name")
@click.argument("data", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@reading_options
@click.option("--token", envvar="ELLIPSOID_TOKEN", help="The token to send [default: $ELLIPSOID_TOKEN].")
@click.option(
    "--cafile", type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Certificates to check the service with, in PEM form [default: the public ones].",
)  # fmt: skip
@click.option("--batch", type=click.IntRange(1, 100_000), default=1000, help="Rows in a batch.")
def command(
    url: str, name: str, data: Path, token: str | None, cafile: Path | None, batch: int, **options: Any
) -> None:
    """Send the rows of the file DATA to the model NAME of the service at URL.

    The same command, given again, sends only what is missing: the service knows every row by the digest of the file
    and the row's number. Feature names in JSON lines are kept, unless --bits hashes them. Features of svmlight text are
    named by their numbers, those of Vowpal Wabbit text and of tables with words by the number of the column to which
    they are hashed; tables of numbers are sent as rows without names. Rows of importance 0 are not sent, and
    importances other than 1 are refused, because a service learns each row once.
    """
    if not data.is_file():
        raise click.UsageError(f"{data} can be read only once, but its digest must be known first: save it to a file.")
    import_libraries()
    from ellipsoid.service.client import Client
    from ellipsoid.service.sending import file_digest, send
    from ellipsoid.streams.opening import open_stream
    from ellipsoid.streams.several_files import refuse_other_kinds

    how = stream_options(options)
    if "bits" not in how:
        how["dicts"] = "keep"
    stream = open_stream(os.fspath(data), **how)
    if options["kinds"]:
        next(iter(stream))
        refuse_other_kinds(stream, options["kinds"])
    with Client(url, token, cafile=cafile) as client, progress_bar(f"sending {data.name}") as progress:
        tick = None if progress is None else lambda rows: progress(rows, None)
        total = send(client, name, stream, file_digest(data), rows=batch, tick=tick)
    if total["resumed"]:
        click.echo(f"{total['resumed']:,} rows were there already")
    click.echo(f"{total['learned']:,} rows learned")
