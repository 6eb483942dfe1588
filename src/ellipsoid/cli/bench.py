"""``ellipsoid bench``: run the benchmarks, which compare the speed of this library with that of its peers.

The benchmarks are part of the source checkout, not of the package, because they need peers and data that a user of the
library does not. This command finds and runs them.
"""

import subprocess
import sys
from pathlib import Path

import click

from .checkout import checkout


@click.command(name="bench", short_help="Compare the speed of this library with its peers.")
@click.argument("groups", nargs=-1, metavar="[GROUP]...")
@click.option(
    "--quick", is_flag=True, help="A quick trial on few rows; keeps no results and skips the targets for whole sets."
)
@click.option(
    "--repeats", type=click.IntRange(min=1), help="Repeats, taken in turn with the peers' [default: 9, quick: 3]."
)
@click.option(
    "--seconds",
    type=click.FloatRange(min=0, min_open=True),
    help="Seconds that each peer gets for a case [default: 40, quick: 3].",
)
@click.option(
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder for the results [default: benchmarks/results of the checkout; none with --quick].",
)
def command(
    groups: tuple[str, ...], quick: bool, repeats: int | None, seconds: float | None, output: Path | None
) -> None:
    """Time this library and its peers on the same work, in turn, and show the ratios.

    GROUP is startup, single, epochs, memory, growth, iellip, esvm, kernels, dual, online_svm, changing, streams,
    streams_large, front, service or distributed [default: all]. Peers that are not installed and data sets that are not
    at hand (see ELLIPSOID_DATA) are named and left out.
    """
    arguments = [*groups, *(["--quick"] if quick else [])]
    for name, value in (("--repeats", repeats), ("--seconds", seconds), ("--output", output and output.resolve())):
        if value is not None:
            arguments += [name, str(value)]
    done = subprocess.run([sys.executable, "-m", "benchmarks", *arguments], cwd=checkout("benchmarks"), check=False)
    sys.exit(done.returncode)
