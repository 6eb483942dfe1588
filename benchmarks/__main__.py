"""``python -m benchmarks [GROUP…]``: run groups one after another, show the tables, keep the results."""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from .machine import ONE_THREAD

HERE = Path(__file__).resolve().parent
# Each is a module of this package with `run(quick, effort)`, which yields results.
GROUPS = (
    "startup",
    "single",
    "epochs",
    "memory",
    "growth",
    "iellip",
    "esvm",
    "kernels",
    "dual",
    "online_svm",
    "changing",
    "streams",
    "streams_large",
    "front",
    "service",
    "distributed",
)


def main() -> int:
    """Exit code 1 if a group failed; a missed target is shown, not an error."""
    parser = argparse.ArgumentParser(prog="benchmarks", description="This library beside its peers, as ratios.")
    parser.add_argument("groups", nargs="*", metavar="GROUP", help=f"of {', '.join(GROUPS)} [default: all]")
    parser.add_argument("--quick", action="store_true", help="a smoke run on few rows; nothing is kept, no targets")
    parser.add_argument("--repeats", type=int, help="interleaved repeats [default: 9, quick: 3]")
    parser.add_argument("--seconds", type=float, help="a peer's share of a case in seconds [default: 40, quick: 3]")
    parser.add_argument("--output", type=Path, help="folder for results [default: benchmarks/results, quick: none]")
    options = parser.parse_args()
    unknown = set(options.groups) - set(GROUPS)
    if unknown:
        parser.error(f"no group {', '.join(sorted(unknown))}; there are {', '.join(GROUPS)}")
    repeats = options.repeats or (3 if options.quick else 9)
    seconds = options.seconds or (3.0 if options.quick else 40.0)
    output = options.output or (None if options.quick else HERE / "results")
    results: list[dict[str, Any]] = []
    failed = []
    with tempfile.TemporaryDirectory() as scratch:
        folder = output or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        for group in options.groups or GROUPS:
            print(f"{group}", file=sys.stderr, flush=True)
            file = folder / f"{group}.json"
            command = [sys.executable, "-m", "benchmarks.group", group, str(file.resolve())]
            command += ["--repeats", str(repeats), "--seconds", str(seconds), *(["--quick"] if options.quick else [])]
            if subprocess.run(command, cwd=HERE.parent, env={**os.environ, **ONE_THREAD}, check=False).returncode:
                failed.append(group)
            else:
                results += json.loads(file.read_text("utf-8"))["results"]
    show(results)
    if output is not None:
        from .report import write_page

        print(f"wrote {write_page(output)}")
    if failed:
        print(f"failed: {', '.join(failed)}; the errors are above", file=sys.stderr)
    return 1 if failed else 0


def show(results: list[dict[str, Any]]) -> None:
    """Tables on stdout."""
    from ellipsoid.cli.terminal import show_table

    from .report import FIGURES, RATIOS, figures, ratios

    for titles, rows, words in ((RATIOS, ratios(results), (0, 1, 2)), (FIGURES, figures(results), (0, 1, 5))):
        if rows:
            print()
            show_table(titles, rows, words=words)


if __name__ == "__main__":
    sys.exit(main())
