"""``ellipsoid datasets``: the names that DATA may be."""

from __future__ import annotations

import click


@click.command(name="datasets", short_help="List the data sets that can be named.")
def command() -> None:
    """List the data sets that can be named, and where each comes from.

    Set the environment variable ELLIPSOID_DATA to a folder of data sets (its reader load.py is executed)
    for more.
    """
    from ellipsoid.streams.sets.datasets import names

    from .terminal import show_table

    show_table(("name", "from"), list(names().items()), words=(0, 1))
