"""Shards on workers of this machine: two workers beside one, their processor time and memory beside plain learning.

All cores must be idle: two processes on busy cores get twice the share of one, which looks like a gain.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from .harness import Effort, Target, figure
from .processes import ROOT

SHARDS, WIDTH, FILLED, CLASSES = 4, 54, 12, 7
KNOWN = {"n_features": WIDTH, "zero_based": False}

PLAIN = """
import sys, time
from ellipsoid.cli import startup
startup.import_libraries()
from ellipsoid import MIRA
from ellipsoid.streams.opening import open_stream
from benchmarks.distributed import peak_megabytes
model = MIRA(average=True)
for part in ("try", "count"):
    begun, wall = time.process_time(), time.perf_counter()
    for X, y, _ in open_stream(sys.argv[1], n_features={width}, zero_based=False, threads=0):
        model.partial_fit(X, y, classes=range({classes}))
        if part == "try":
            break
print(time.process_time() - begun, time.perf_counter() - wall)
"""


def write_rows(path: Path, rows: int) -> None:
    """Svmlight text of about 110 bytes a row; the same 20,000 rows again and again, as reading does not care."""
    rng = np.random.default_rng(0)
    lines = []
    for _ in range(20_000):
        places = np.sort(rng.choice(WIDTH, FILLED, replace=False)) + 1
        values = rng.normal(size=FILLED).round(4)
        features = " ".join(f"{place}:{value}" for place, value in zip(places, values, strict=True))
        lines.append(f"{int(values.sum() // 2) % CLASSES} {features}\n")
    text = "".join(lines)
    with open(path, "w") as file:
        for start in range(0, rows, len(lines)):
            file.write(text if rows - start >= len(lines) else "".join(lines[: rows - start]))


@contextmanager
def cluster(workers: int) -> Iterator[Any]:
    """A client of processes of this machine, one thread each."""
    from distributed import Client, LocalCluster

    kind = {"threads_per_worker": 1, "processes": True, "dashboard_address": ":0", "memory_limit": 0,
            "preload": ["ellipsoid.cli.worker"]}  # fmt: skip
    with (
        LocalCluster(n_workers=workers, silence_logs=50, **kind) as local,
        Client(local, set_as_default=False) as client,
    ):
        yield client


def peak_megabytes() -> float:
    """The most memory that this process has held, as the system counts it."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024


def processor_seconds() -> float:
    """What this process has used of processors."""
    return sum(os.times()[:2])


def learn(client: Any, path: str, block_bytes: int) -> dict[str, float]:
    """A round over all shards: seconds by the clock, of the workers' processors, and of this process, the scheduler."""
    from ellipsoid import MIRA, distributed

    before, own, begun = client.run(processor_seconds), time.process_time(), time.perf_counter()
    options = {**KNOWN, "classes": list(range(CLASSES)), "block_bytes": block_bytes}
    distributed.fit(MIRA(average=True), path, client=client, shards=SHARDS, rounds=1, **options)
    wall, scheduling = time.perf_counter() - begun, time.process_time() - own
    after = client.run(processor_seconds)
    return {"wall": wall, "workers": sum(after[name] - before[name] for name in before), "driver": scheduling}


def plain(*paths: Path) -> list[tuple[float, float]]:
    """Processor seconds and seconds of processes that learn a file each, all at once."""
    code = PLAIN.format(width=WIDTH, classes=CLASSES)
    begun = [
        subprocess.Popen([sys.executable, "-c", code, str(path)], cwd=ROOT, stdout=subprocess.PIPE) for path in paths
    ]
    said = [process.communicate()[0].split() for process in begun]
    return [(float(used), float(wall)) for used, wall in said]


def plain_memory(path: str) -> float:
    """The most memory that ``ellipsoid learn`` holds over the same rows."""
    words = ["learn", path, "--model", "MIRA", "--param", "average=true", "--first-feature", "1"]
    code = (
        "import sys; from ellipsoid.cli import main; from benchmarks.distributed import peak_megabytes\n"
        f"try: main({words!r})\nexcept SystemExit: print(peak_megabytes(), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT, capture_output=True, text=True)
    return float(done.stderr.split()[-1])


def run(quick: bool, effort: Effort) -> Iterator[dict[str, Any]]:
    """Two workers and one, in turn; then one process."""
    from importlib.util import find_spec

    name = "two workers over one"
    if find_spec("distributed") is None or not Path("/proc/self/status").is_file():
        yield {"figure": name, "skipped": "Dask is not installed, or /proc is not there"}
        return
    rows = SHARDS * (25_000 if quick else 1_500_000)
    repeats = 1 if quick else max(3, min(5, effort.repeats))
    with tempfile.TemporaryDirectory() as folder, ExitStack() as open_ones:
        path = Path(folder) / "rows.svm"
        write_rows(path, rows)
        megabytes = path.stat().st_size / 2**20
        block = 1 + path.stat().st_size // (4 * SHARDS)
        one, two = (open_ones.enter_context(cluster(workers)) for workers in (1, 2))
        found: dict[str, list[dict[str, float]]] = {"one": [], "two": []}
        for number in range(repeats + 1):
            for key, client in (("one", one), ("two", two)):
                measured = learn(client, str(path), block)
                if number:  # the first run compiles
                    found[key].append(measured)
        half = Path(folder) / "half.svm"
        write_rows(half, rows // 2)
        loops, pairs = [], []
        for _ in range(repeats):
            loops.extend(plain(path))
            pairs.append(max(wall for _, wall in plain(half, half)))
        memory = max(two.run(peak_megabytes).values())
        alone = plain_memory(str(path))
    middle = {key: {what: median(each[what] for each in runs) for what in runs[0]} for key, runs in found.items()}
    shard = middle["one"]["wall"] / SHARDS
    setting = f"{rows:,} rows of svmlight text ({megabytes:.0f} MB), {SHARDS} shards, {shard:.2f} s a shard"
    both = {"one": middle["one"]["wall"], "two": middle["two"]["wall"]}
    ratio = middle["two"]["wall"] / middle["one"]["wall"]
    yield figure(f"wall time, {name}", setting, ratio, "", Target(0.6, False), **both)
    # What the machine itself allows: two processes without any engine, half of the rows each, over one with all.
    used, alone_wall = (median(each[i] for each in loops) for i in (0, 1))
    limit = median(pairs) / alone_wall
    yield figure("wall time, two plain processes over one", setting, limit, "", one=alone_wall, two=median(pairs))
    cpu = middle["two"]["workers"] / used
    yield figure("processor time, two workers over one process", setting, cpu, "", Target(1.2, False), loop=used)
    driver = middle["two"]["driver"] / middle["two"]["workers"]
    yield figure("processor time, driver and scheduler over workers", setting, driver, "", Target(0.1, False))
    share = memory / alone
    yield figure(
        "memory, a worker over ellipsoid learn", setting, share, "", Target(1.5, False), worker=memory, alone=alone
    )
