"""``ellipsoid warm``: compile ahead of time what the first run of a learner would otherwise compile."""

import os
from collections.abc import Iterator
from typing import Any

import click

from .terminal import progress_bar

# The learners that people begin with.
COMMON = ("Perceptron", "PassiveAggressive", "MIRA", "AROW", "EllipsoidClassifier")

TEXT_READERS = "readers of text"


@click.command(name="warm", short_help="Compile learners before they are used.")
@click.argument("learners", nargs=-1, metavar="[LEARNER]...")
@click.option("--all", "every", is_flag=True, help="Compile every learner.")
@click.option(
    "--jobs", type=click.IntRange(min=1), default=min(4, os.cpu_count() or 1),
    help="Number of processes to use.",
)  # fmt: skip
def command(learners: tuple[str, ...], every: bool, jobs: int) -> None:
    """Compile the loops of LEARNERs ahead, for dense and sparse rows, two classes and more, and the readers of text.

    The compiled code is kept on disk, and later runs load it. Without LEARNERs the common ones are compiled.
    """
    from concurrent.futures import ProcessPoolExecutor, as_completed
    from multiprocessing import get_context
    from time import perf_counter

    from ellipsoid.estimators import LEARNERS, learner_named

    if learners and every:
        raise click.UsageError("--all and names of LEARNERs contradict each other: give one of them.")
    for name in learners:
        learner_named(name)
    tasks = [TEXT_READERS, *(learners or (LEARNERS if every else COMMON))]
    begun = perf_counter()
    with (
        progress_bar("Compiling") as moved,
        ProcessPoolExecutor(min(jobs, len(tasks)), mp_context=get_context("spawn")) as pool,
    ):
        running = {pool.submit(warm, task): task for task in tasks}
        for done, future in enumerate(as_completed(running), 1):
            click.echo(f"{running[future]}: {future.result():.1f} s")
            if moved is not None:
                moved(done, len(tasks))
    click.echo(f"Ready after {perf_counter() - begun:.1f} s.")


def warm(task: str) -> float:
    """Compile for a learner, or the readers of text, in this process; the seconds it took."""
    from time import perf_counter

    begun = perf_counter()
    _read_samples() if task == TEXT_READERS else _learn_samples(task)
    return perf_counter() - begun


def _samples() -> Iterator[tuple[Any, Any]]:
    """Streams of a few rows: dense and narrow, sparse and narrow, sparse and wide; each with two classes and three."""
    import numpy as np
    import scipy.sparse as sp

    rng = np.random.default_rng(0)
    dense, wide = rng.normal(size=(24, 4)), sp.random(24, 3000, 0.01, format="csr", rng=rng)
    for classes in (2, 3):
        for rows in (dense, sp.csr_matrix(dense), wide):
            yield rows, np.arange(24) % classes


def _learn_samples(name: str) -> None:
    """Make the usual calls of a learner on every kind of stream."""
    from sklearn.base import is_regressor

    from ellipsoid.estimators import learner_named
    from ellipsoid.evaluate.prequential import recorder_for

    for X, y in _samples():
        model = learner_named(name)(grow_features=True)
        recorder_for(model, None, 1000, None if is_regressor(model) else range(max(y) + 1)).feed(X, y)
        model.partial_fit(X, y)
        model.predict(X)
        if not is_regressor(model):
            model.decision_function(X)
        row = X[:1] if hasattr(X, "tocsr") else X[0]
        model.learn_one(row, y[0])
        model.predict_one(row)


def _read_samples() -> None:
    """Read text of every format that has a compiled reader."""
    from pathlib import Path
    from tempfile import TemporaryDirectory

    from ellipsoid.streams.opening import open_stream

    texts = {
        "a.csv": "x,z,label\n" + "0.5,-1,a\n2.5e-1,3,b\n" * 6,
        "a.svm": "1 1:0.5 7:2\n-1 2:1e-3\n" * 6,
        "a.vw": "1 |words a b:0.5\n-1 |words c\n" * 6,
    }
    with TemporaryDirectory() as folder:
        for name, text in texts.items():
            path = Path(folder, name)
            path.write_text(text, encoding="utf-8")
            for _ in open_stream(path):
                pass
