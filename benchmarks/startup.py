"""What it costs to begin: help, imports, and compilation when no machine code has been kept yet."""

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ellipsoid.estimators import LEARNERS

from .harness import Effort, Target, figure
from .processes import Seconds, answer, seconds

BASE = "import numba, sklearn"
# `import ellipsoid` alone loads next to nothing; a learner in hand is what a user waits for.
LEARNER = BASE + "\nfrom ellipsoid import PassiveAggressive"
PEER = BASE + "\nfrom sklearn.linear_model import SGDClassifier"

# Parameters without a good default, and those whose first command should be quickest.
NEEDED = {"CELLIP": ("--param", "margin=0.1")}
QUICK_TO_COMPILE = ("Perceptron", "PassiveAggressive", "MIRA")

FIRST_CALL = """
import time, numpy as np, scipy.sparse as sp
from ellipsoid import {learner}
X, y = np.eye(4), np.array({labels})
X = sp.csr_array(X) if {sparse} else X
model = {learner}()
began = time.perf_counter()
model.partial_fit(X, y)
if not {sparse}:
    model.learn_one(np.ones(4), y[0]); model.predict_one(np.ones(4))
print(time.perf_counter() - began)
"""


def run(quick: bool, effort: Effort) -> Iterator[dict[str, Any]]:
    """Help, imports, compilation."""
    times = 3 if quick else effort.repeats
    kept: dict[str, list[Seconds]] = {code: [] for code in ("", command(["--help"]), BASE, LEARNER, PEER)}
    for _ in range(times + 1):
        for code, runs in kept.items():
            runs.append(seconds(code))
    # A process can only be slowed by its neighbours, and a difference of medians would hold the noise of both.
    bare, helped, base, ours, peer = (Seconds(*map(min, zip(*runs, strict=True))) for runs in kept.values())
    yield figure(
        "ellipsoid --help",
        "a new process, all of it, fastest run",
        helped.wall,
        "s",
        Target(0.2, False),
        bare_python=bare.wall,
        processor_time=helped.cpu,
    )
    yield figure(
        "from ellipsoid import PassiveAggressive",
        "beyond `import numba, sklearn`, fastest runs",
        ours.wall - base.wall,
        "s",
        Target(0.3, False),
        numba_and_sklearn=base.wall,
        processor_time=ours.cpu - base.cpu,
        sklearn_SGDClassifier_beyond_the_same=peer.wall - base.wall,
    )
    for learner in ("PassiveAggressive", "IELLIP"):
        if learner in LEARNERS:
            yield from compilation(learner)
    for learner in ("MIRA",) if quick else LEARNERS:
        yield from first_commands(learner)
    if not quick:
        yield first_comparison()


def first_comparison() -> dict[str, Any]:
    """Seconds of the first `ellipsoid compare digits`, with the picture and the page it writes."""
    with tempfile.TemporaryDirectory() as folder:
        arguments = ["compare", "digits", "--output", str(Path(folder) / "report")]
        cold, warm = (seconds(command(arguments), NUMBA_CACHE_DIR=folder) for _ in range(2))
    return figure(
        "first `ellipsoid compare digits`",
        "the default learners, nothing kept",
        cold.wall,
        "s",
        processor_time=cold.cpu,
        next_command=warm.wall,
    )


def command(arguments: list[str]) -> str:
    """A program that runs the command line silently."""
    silent = f"import sys; sys.argv = {['ellipsoid', *arguments]}; sys.stdout = open('/dev/null', 'w')"
    return f"{silent}\nfrom ellipsoid.cli import main\nmain()"


def compilation(learner: str) -> Iterator[dict[str, Any]]:
    """Seconds of the first calls: compiled from nothing, then from the machine code kept on disk."""
    for labels, sparse in (([0, 1, 0, 1], False), ([0, 1, 2, 3], False), ([0, 1, 2, 3], True)):
        code = FIRST_CALL.format(learner=learner, labels=labels, sparse=sparse)
        with tempfile.TemporaryDirectory() as folder:
            cold = answer(code, NUMBA_CACHE_DIR=folder)
            warm = answer(code, NUMBA_CACHE_DIR=folder)
        kind = f"{'two' if len(set(labels)) == 2 else 'many'} classes, {'CSR' if sparse else 'dense and one row'}"
        yield figure(f"first calls of {learner}, nothing kept", kind, cold, "s", next_process=warm)


def first_commands(learner: str) -> Iterator[dict[str, Any]]:
    """Seconds of the first `ellipsoid learn` of a learner: all of a new process, and compiled code kept by none."""
    rows = [(j % 3, [0.5 + (i * 7 + j) % 11 for i in range(6)]) for j in range(60)]
    lines = {
        "CSV": ["a,b,c,d,e,f,label", *(f"{','.join(map(str, row))},{label}" for label, row in rows)],
        "svmlight": [f"{label} {' '.join(f'{i + 1}:{x}' for i, x in enumerate(row))}" for label, row in rows],
    }
    for kind, ending in (("CSV", "csv"), ("svmlight", "svm")):
        with tempfile.TemporaryDirectory() as folder:
            data = Path(folder) / f"rows.{ending}"
            data.write_text("\n".join(lines[kind]) + "\n", encoding="utf-8")
            arguments = ["learn", str(data), "--model", learner, "--classes", "0,1,2", *NEEDED.get(learner, ())]
            cold, warm = (seconds(command(arguments), NUMBA_CACHE_DIR=folder) for _ in range(2))
        yield figure(
            f"first `ellipsoid learn --model {learner}`",
            f"{kind}, three classes, nothing kept",
            cold.wall,
            "s",
            Target(8.0 if learner in QUICK_TO_COMPILE else 15.0, False),
            processor_time=cold.cpu,
            next_command=warm.wall,
        )
