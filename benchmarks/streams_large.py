"""Files of two gigabytes, made for the purpose: peak memory of a pass, and whether its speed lasts.

Each file is read by a new process that learns it, and looks at the clock at every tenth of it.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from .harness import Effort, Target, figure
from .processes import ROOT

GIGABYTE = 10**9
COLUMNS, CLASSES = 40, 5
MOST_MEMORY = 300
# Of the fastest tenth of a file to the slowest; a neighbour on the machine may take a third of the speed.
FLAT = 1.5

PROGRAM = """
import json, sys, time
from pathlib import Path
# Where pandas is installed scikit-learn imports it, and with it pyarrow: over 100 MB that no reader of text needs.
sys.modules["pandas"] = None
from ellipsoid import PassiveAggressive
from ellipsoid.streams.opening import open_stream

reader = open_stream({path!r})
model = PassiveAggressive(grow_features=True)
# Compiling is not reading: a first chunk is learned by a model that is thrown away.
for X, y, _ in reader:
    PassiveAggressive(grow_features=True).partial_fit(X, y)
    break
step = reader.bytes_total / 10
marks = [(0, time.perf_counter(), time.process_time())]
rows = 0
for X, y, _ in reader:
    model.partial_fit(X, y)
    rows += len(y)
    if reader.bytes_read >= len(marks) * step:
        marks.append((reader.bytes_read, time.perf_counter(), time.process_time()))
peak = [line.split()[1] for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM")]
print(json.dumps(dict(marks=marks, rows=rows, mistakes=model.mistakes_, peak=int(peak[0]) / 1024)))
"""


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
    command = [sys.executable, "-c", PROGRAM.format(path=str(path))]
    done = subprocess.run(command, cwd=ROOT, env=dict(os.environ), capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr)
    found = json.loads(done.stdout)
    (_, began, cpu_began), (read, ended, cpu_ended) = found["marks"][0], found["marks"][-1]
    setting = (
        f"{path.name}, {path.stat().st_size / GIGABYTE:.1f} GB, {found['rows']} rows, one pass of PassiveAggressive"
    )
    yield figure(
        "peak memory of the process",
        f"{setting}, libraries included, without pandas",
        found["peak"],
        "MB",
        Target(most, False) if most else None,
        mistakes=found["mistakes"] / found["rows"],
    )
    speeds, cpu_speeds = [], []
    for (a, t, c), (b, u, d) in zip(found["marks"], found["marks"][1:], strict=False):
        speeds.append((b - a) / (u - t) / 1e6)
        cpu_speeds.append((b - a) / (d - c) / 1e6)
    yield figure(
        "speed",
        setting,
        read / (ended - began) / 1e6,
        "MB/s",
        of_the_processor=read / (cpu_ended - cpu_began) / 1e6,
        each_tenth=[round(speed) for speed in speeds],
    )
    # The first interval holds the start of the thread that reads ahead.
    yield figure(
        "fastest tenth beside the slowest",
        setting,
        max(cpu_speeds) / min(cpu_speeds),
        "times, processor",
        Target(FLAT, False) if most else None,
        on_the_wall=max(speeds) / min(speeds),
        first_half_beside_second=float(np.mean(cpu_speeds[:5]) / np.mean(cpu_speeds[5:])),
    )
