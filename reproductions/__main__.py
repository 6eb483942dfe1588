"""``python -m reproductions``: the same as ``ellipsoid reproduce``."""

from ellipsoid.cli.reproduce import command

command()
