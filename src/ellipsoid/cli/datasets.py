"""``ellipsoid datasets``: list the data sets that can be named as DATA."""

import click

from .terminal import show_table


@click.command(name="datasets", short_help="List the data sets that have a name.")
def command() -> None:
    """List the data sets that have a name, and where each comes from.

    Set the environment variable ELLIPSOID_DATA to a folder of data sets (its reader load.py is executed)
    for more.
    """
    from ellipsoid.streams.sets.datasets import names

    show_table(("name", "from"), list(names().items()), words=(0, 1))
