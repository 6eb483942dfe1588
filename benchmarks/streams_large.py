"""Files of two gigabytes, made for the purpose: peak memory of ``ellipsoid learn``, and whether its speed lasts.

The command runs as a user runs it, in a process of its own with every optional package installed, and is looked at from
outside: how far it has read its file, the processor's time it has had, and the most memory it has held, libraries
included. It runs twice: first with an empty cache for compiled loops, as after an installation, then with a full one.
The most memory of a first run is the larger of the command's and its compiler's, which is another process.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .harness import Effort, Target, figure
from .processes import ROOT

GIGABYTE = 10**9
SLICES = 20
COLUMNS, CLASSES = 40, 5
MOST_MEMORY = 300
# Speed of the second half of a file beside that of the first, by the processor's time.
FLAT = 0.9
# What is read ahead of the first learned row, while compiled loops are loaded: the clock starts behind it.
AHEAD = 1 << 24
TICK = 1 / os.sysconf("SC_CLK_TCK")


class Mark(NamedTuple):
    """How far the process has read, and the seconds on the wall and of the processor until then."""

    read: int
    wall: float
    cpu: float


def run(quick: bool, effort: Effort) -> Iterator[dict[str, Any]]:
    """A CSV file, then svmlight text."""
    if not Path("/proc/self/status").is_file():
        yield {"figure": "files of 2 GB", "skipped": "the peak of a process's memory is read from /proc"}
        return
    size = GIGABYTE // 50 if quick else 2 * GIGABYTE
    for kind in ("csv", "svm"):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / f"large.{kind}"
            write(path, size, kind)
            yield from measured(path, None if quick else MOST_MEMORY)


def write(path: Path, size: int, kind: str) -> None:
    """At least ``size`` bytes of rows labelled by normal prototypes; a tenth of them is repeated, for speed's sake."""
    rng = np.random.default_rng(0)
    prototypes = rng.standard_normal((COLUMNS, CLASSES))
    with open(path, "wb") as file:
        while file.tell() < size:
            X = rng.standard_normal((20_000, COLUMNS)).round(5)
            y = (X @ prototypes).argmax(axis=1)
            if kind == "csv":
                lines = (",".join(map(repr, x)) + f",{label}\n" for x, label in zip(X.tolist(), y, strict=True))
            else:
                lines = (
                    f"{label} " + " ".join(f"{j}:{v!r}" for j, v in enumerate(x, start=1)) + "\n"
                    for x, label in zip(X.tolist(), y, strict=True)
                )
            part = "".join(lines).encode()
            for _ in range(10):
                file.write(part)


def measured(path: Path, most: float | None) -> Iterator[dict[str, Any]]:
    """Memory and speed of one pass."""
    with tempfile.TemporaryDirectory() as cache:
        _, first = learn(path, cache)
        marks, peak = learn(path, cache)
    size = path.stat().st_size
    setting = f"{path.name}, {size / GIGABYTE:.1f} GB, ellipsoid learn --model PassiveAggressive --save"
    limit = Target(most, False) if most else None
    yield figure("peak memory of the process", f"{setting}, libraries included", peak, "MB", limit)
    yield figure(
        "peak memory of a first run", f"{setting}, nothing compiled yet, its compiler included", first, "MB", limit
    )
    begun = max((mark for mark in marks if mark.read <= AHEAD), key=lambda mark: mark.wall)
    after = [mark for mark in marks if mark.wall >= begun.wall]
    step = (size - begun.read) / SLICES
    at = [min(after, key=lambda mark: abs(mark.read - begun.read - k * step)) for k in range(SLICES + 1)]
    yield figure(
        "speed",
        setting,
        between(at[0], at[-1])[0],
        "MB/s",
        of_the_processor=between(at[0], at[-1])[1],
        each_twentieth=[round(between(a, b)[0]) for a, b in pairwise(at)],
    )
    first, second = between(at[0], at[SLICES // 2]), between(at[SLICES // 2], at[-1])
    yield figure(
        "speed of the second half beside the first",
        setting,
        second[1] / first[1],
        "times, by the processor",
        Target(FLAT) if most else None,
        on_the_wall=second[0] / first[0],
    )


def between(a: Mark, b: Mark) -> tuple[float, float]:
    """Megabytes a second between two marks, on the wall and of the processor."""
    megabytes = (b.read - a.read) / 1e6
    return megabytes / max(b.wall - a.wall, TICK), megabytes / max(b.cpu - a.cpu, TICK)


def learn(path: Path, cache: str) -> tuple[list[Mark], float]:
    """Marks along the file, and megabytes at the peak, of one run of the command."""
    code = "from ellipsoid.cli import main; main()"
    arguments = ["learn", str(path), "--model", "PassiveAggressive", "--save", str(path.with_suffix(".model"))]
    child = subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        cwd=ROOT,
        env={**os.environ, "NUMBA_CACHE_DIR": cache},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    marks: list[Mark] = []
    peak = 0.0
    process = Path(f"/proc/{child.pid}")
    while child.poll() is None:
        # The file has been closed, or the process is on its way out.
        with suppress(OSError, TypeError, ValueError):
            peak = max(peak, *map(_peak, [child.pid, *_children(child.pid)]))
            place = _opened(process, path)
            if place is not None:
                read = int((process / "fdinfo" / place).read_text().split()[1])
                fields = _stat(process)
                marks.append(Mark(read, time.perf_counter(), (int(fields[11]) + int(fields[12])) * TICK))
        time.sleep(0.005)
    output, error = child.communicate()
    if child.returncode or not marks:
        raise RuntimeError(error.decode() or output.decode())
    return marks, peak


def _children(pid: int) -> Iterator[int]:
    """Processes that a process has started and that have not ended."""
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError, IndexError):
            if _stat(process)[1] == str(pid):
                yield int(process.name)


def _stat(process: Path) -> list[str]:
    """What the system counts of a process, from its state on."""
    return (process / "stat").read_text().rsplit(")", 1)[1].split()


def _peak(pid: int) -> float:
    """Megabytes that a process has held at most."""
    status = Path(f"/proc/{pid}/status").read_text()
    return max((int(line.split()[1]) / 1024 for line in status.splitlines() if line.startswith("VmHWM")), default=0.0)


def _opened(process: Path, path: Path) -> str | None:
    """The number under which a process has a file open."""
    for link in (process / "fd").iterdir():
        if os.readlink(link) == str(path):
            return link.name
    return None
