"""``python -m ellipsoid``: the command line where its script is not on the path."""

from ellipsoid.cli import main

main(prog_name="ellipsoid")
