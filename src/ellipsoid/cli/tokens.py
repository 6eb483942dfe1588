"""``ellipsoid tokens``: make, list and remove the tokens by which people and programs may call a service."""

from pathlib import Path

import click


@click.group(name="tokens", short_help="Make, list and remove the tokens of a service.")
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@click.pass_context
def command(context: click.Context, file: Path) -> None:
    """Make, list and remove the tokens of FILE, which `ellipsoid serve --tokens FILE` reads.

    A token is shown once, when it is made; the file has only its hash.
    """
    context.obj = file


@command.command(name="add")
@click.argument("name")
@click.option(
    "--role",
    type=click.Choice(["read", "predict", "label", "learn", "admin"]),
    required=True,
    help="What the token allows; each role includes those before it.",
)
@click.pass_obj
def _add(file: Path, name: str, role: str) -> None:
    """Make a token for NAME and show it."""
    from ellipsoid.service.http.tokens import add_token

    click.echo(add_token(file, name, role))


@command.command(name="list")
@click.pass_obj
def _show(file: Path) -> None:
    """List names and roles."""
    from ellipsoid.service.http.tokens import listed_tokens

    for holder in listed_tokens(file):
        click.echo(f"{holder.name} {holder.role}")


@command.command(name="remove")
@click.argument("name")
@click.pass_obj
def _remove(file: Path, name: str) -> None:
    """Remove the token of NAME; it is refused from then on."""
    from ellipsoid.service.http.tokens import remove_token

    remove_token(file, name)
