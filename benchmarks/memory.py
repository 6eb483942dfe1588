"""Peak memory of a pass: the weights and a constant, whatever the number of rows.

The rows lie in a file that is mapped, or in CSR arrays that are there already; only memory that the pass adds counts.
"""

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ellipsoid.estimators import LEARNERS

from .harness import Effort, Target, figure
from .processes import memory_counted, memory_of

# Beside the weights: labels as codes, blocks of 65536 rows, machine code loaded by the first call.
CONSTANT = 100.0

PROGRAM = """
import time
import numpy as np
from benchmarks.data import load
from benchmarks.memory import mapped
from benchmarks.peers import sklearn_pa
from ellipsoid.estimators import LEARNERS
X, y = {data}
model = {model}
# The first calls load or compile machine code, which no longer pass needs a second time.
{model}.partial_fit(X[:20], y[:20], classes=np.unique(y))
print("ready", flush=True)
input()
began = time.perf_counter()
model.partial_fit(X, y, classes=np.unique(y))
print(time.perf_counter() - began, flush=True)
"""


MODELS = (
    ("PassiveAggressive", "LEARNERS['PassiveAggressive']()"),
    ("scikit-learn SGD pa1", "sklearn_pa()"),
    ("IELLIP", "LEARNERS['IELLIP'](c=0.1, b=0.3, fit_intercept=False)"),
)


def mapped(folder: str) -> tuple[Any, Any]:
    """The dense rows on disk and their labels."""
    return np.load(Path(folder) / "X.npy", mmap_mode="r"), np.load(Path(folder) / "y.npy")


def run(quick: bool, effort: Effort) -> Iterator[dict[str, Any]]:
    """A mapped dense array, then 20 Newsgroups."""
    if not memory_counted():
        yield {
            "figure": "peak memory of a pass",
            "skipped": "only Linux tells a process's own memory from mapped files",
        }
        return
    n, d, classes = (40_000 if quick else 400_000), 128, 10
    megabytes = n * d * 8 / 2**20
    with tempfile.TemporaryDirectory() as folder:
        _write(Path(folder), n, d, classes)
        data = f"mapped({folder!r})"
        for name, model in MODELS[:2]:
            found = memory_of(PROGRAM.format(data=data, model=model))
            target = Target(CONSTANT, False) if name == "PassiveAggressive" else None
            yield figure(
                f"memory a pass adds, {name}",
                f"{n} x {d} mapped from disk ({megabytes:.0f} MB), {classes} classes",
                found["added"],
                "MB",
                target,
                weights=classes * (d + 1) * 8 / 2**20,
                seconds=found["seconds"],
            )
    yield from sparse(quick)


def _write(folder: Path, n: int, d: int, classes: int) -> None:
    rng = np.random.default_rng(0)
    X = np.lib.format.open_memmap(folder / "X.npy", mode="w+", dtype=np.float64, shape=(n, d))
    for start in range(0, n, 10_000):
        X[start : start + 10_000] = rng.standard_normal((min(10_000, n - start), d))
    X.flush()
    np.save(folder / "y.npy", rng.integers(classes, size=n))


def sparse(quick: bool) -> Iterator[dict[str, Any]]:
    """20 Newsgroups in CSR: PA, and IELLIP beside it."""
    from .data import load

    try:
        known = load("news20")
    except (ValueError, OSError) as error:
        yield {"figure": "memory a pass adds, CSR", "skipped": " ".join(str(error).split())}
        return
    rows = 1000 if quick else known.X.shape[0]
    weights = len(known.classes) * (known.X.shape[1] + 1) * 8 / 2**20
    setting = f"{rows} x {known.X.shape[1]} CSR, {len(known.classes)} classes; weights {weights:.1f} MB"
    data = f"(lambda data: (data.X, data.y))(load('news20', {rows}))"
    added = {}
    for name, model in MODELS:
        if name == "IELLIP" and name not in LEARNERS:
            continue
        found = memory_of(PROGRAM.format(data=data, model=model))
        added[name] = found["added"]
        target = Target(weights + CONSTANT, False) if name == "PassiveAggressive" else None
        yield figure(
            f"memory a pass adds, {name}",
            setting,
            found["added"],
            "MB",
            target,
            weights=weights,
            seconds=found["seconds"],
        )
    if "IELLIP" in added:
        more = added["IELLIP"] - added["PassiveAggressive"]
        yield figure("memory IELLIP adds beyond PassiveAggressive", setting, more, "MB", Target(100, False))
