"""`compare`: several learners on the same rows in the same orders.

Every learner learns the training part, in file order or in orders drawn from seeds
(``numpy.random.default_rng(seed).permutation(n)``, the same in every pass). It is measured test-then-train, and on the
test part after each pass; the test part is the data set's own, or its last rows held out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from importlib.metadata import PackageNotFoundError, version
from math import nan
from pathlib import Path
from platform import python_version
from statistics import fmean, stdev
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import is_regressor

from ellipsoid.certificates import Certificate
from ellipsoid.streams.label_kinds import label_array
from ellipsoid.streams.opening import open_stream
from ellipsoid.streams.scale import scale
from ellipsoid.streams.sets.datasets import Pair
from ellipsoid.streams.stream import Stream

from .cell import Cell, CellTask, Protocol, fingerprint, fit_and_test, run_cell, stored
from .prequential import Progress, shifted


class Spread(NamedTuple):
    """Mean and standard deviation over the orders (0 for a single one)."""

    mean: float
    sd: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        if any(value != value for value in values):
            return cls(nan, nan)
        return cls(fmean(values), stdev(values) if len(values) > 1 else 0.0)


class Row(NamedTuple):
    """A learner's line in the table. ``error`` is test-then-train in the first pass, ``test_error`` after the last; the
    counts and seconds are of all passes. ``certificate`` is the tightest one of the first order, which saw ``rows``
    rows. The other measures, and the errors of the two baselines, are of the first pass; NaN for label sets.
    """

    learner: str
    error: Spread
    test_error: Spread | None
    mistakes: Spread
    updates: Spread
    speed: float
    seconds: Spread
    certificate: Certificate | None
    rows: int
    kappa_temporal: Spread
    kappa_majority: Spread
    balanced_error: Spread
    f1: Spread
    repeat_error: Spread
    majority_error: Spread


@dataclass(frozen=True, eq=False)
class Comparison:
    """Every cell, with the setting, and each learner's class (``kinds``) and parameters."""

    setting: dict[str, Any]
    kinds: dict[str, str]
    parameters: dict[str, dict[str, Any]]
    cells: tuple[Cell, ...]

    @property
    def learners(self) -> tuple[str, ...]:
        return tuple(self.parameters)

    def of(self, learner: str) -> list[Cell]:
        """The cells of one learner, one for each order."""
        return [cell for cell in self.cells if cell.learner == learner]

    def table(self) -> list[Row]:
        """A row for each learner, in the order given; of streams only."""
        if self.setting["at_once"] is not None:
            raise ValueError("models that were fitted at once have no errors before learning: use their test_errors")
        return [_row(learner, self.of(learner)) for learner in self.learners]

    def to_frame(self) -> Any:
        """The table as a pandas DataFrame of means."""
        try:
            import pandas as pd
        except ImportError as error:
            raise ImportError("to_frame needs pandas; install pandas, or use table() or to_dict()") from error
        return pd.DataFrame(
            {k: v.mean if isinstance(v, Spread) else v for k, v in row._asdict().items()} for row in self.table()
        ).set_index("learner")

    def to_dict(self) -> dict[str, Any]:
        """The raw results of every cell with the setting, ready for JSON."""
        parameters = {name: {k: _plain(v) for k, v in found.items()} for name, found in self.parameters.items()}
        learners = {name: {"class": self.kinds[name], "parameters": parameters[name]} for name in self.learners}
        return {"setting": self.setting, "learners": learners, "cells": [cell.to_dict() for cell in self.cells]}


def compare(
    models: Mapping[str, Any],
    data: Any,
    protocol: Protocol | None = None,
    *,
    n_jobs: int = 1,
    store: str | Path | None = None,
    progress: Progress | None = None,
) -> Comparison:
    """Run every learner of ``models`` (label to model; the models are cloned) on ``data`` under ``protocol``.

    ``data`` is anything `open_stream` takes; it is read to its end, and dicts are hashed. ``n_jobs`` processes share
    the cells. ``store`` is a folder with a JSON file for each cell, which is read when the same cell is needed
    again. ``progress`` is called with the rows done and the rows in all.

    >>> from ellipsoid.estimators import MIRA, Perceptron
    >>> result = compare({"Perceptron": Perceptron(), "MIRA": MIRA()}, "digits", Protocol(hold_out=0.2))
    >>> [(row.learner, row.error.mean < 0.5) for row in result.table()]
    [('Perceptron', True), ('MIRA', True)]
    """
    if not models:
        raise ValueError("models must hold at least one learner")
    if not isinstance(models, Mapping):
        raise TypeError(f'models must map names to learners, as in {{"MIRA": MIRA()}}, got {type(models).__name__}')
    for label, model in models.items():
        if is_regressor(model):
            raise ValueError(
                f"{label} is a regressor, but only classifiers can be compared; measure it with prequential"
            )
    protocol = protocol or Protocol()
    source = open_stream(data)
    train, test = _prepare(source, protocol)
    y = train[1]
    classes = np.unique(y) if y.ndim == 1 else None
    tasks = [
        CellTask(label, model, train, test, seed, classes if protocol.announce else None, protocol)
        for label, model in models.items()
        for seed in protocol.seeds
    ]
    cells = _cells(tasks, n_jobs, store, progress)
    setting = {
        # The name of a file may be no text, and then could not be written into a report.
        "data": Path(source.name).name.encode("utf-8", "backslashreplace").decode(),
        "rows": len(y),
        "features": int(train[0].shape[1]),
        "classes": y.shape[1] if classes is None else len(classes),
        "test_rows": 0 if test is None else len(test[1]),
        "held_out": test is not None and source.test is None,
        **{key: value for key, value in asdict(protocol).items() if key != "window"},
        "window": cells[0].passes[0].window if cells[0].passes else None,
        "versions": versions(),
        "date": f"{datetime.now().astimezone():%Y-%m-%d %H:%M %Z}",
    }
    kinds = {label: type(model).__name__ for label, model in models.items()}
    return Comparison(setting, kinds, {label: model.get_params() for label, model in models.items()}, tuple(cells))


def _prepare(source: Stream, protocol: Protocol) -> tuple[Pair, Pair | None]:
    X, y = source.arrays()
    if y is None:
        raise ValueError(f"{source.name} has no labels to learn from")
    y, test = label_array(y), source.test
    if protocol.at_once is not None:  # each seed draws a part of its own, and scales by it
        return (X, y), None
    kept = round(len(y) * (1 - protocol.hold_out))
    if test is None and kept < len(y):
        if kept == 0:
            raise ValueError(
                f"hold_out={protocol.hold_out} leaves none of the {len(y)} rows to learn from; give a smaller share"
            )
        X, y, test = X[:kept], y[:kept], (X[kept:], y[kept:])
    X, X_test = scale(protocol.scale, X, None if test is None else test[0])
    return (X, y), None if test is None else (X_test, test[1])


def _cells(tasks: Sequence[CellTask], n_jobs: int, store: str | Path | None, progress: Progress | None) -> list[Cell]:
    if n_jobs == 0:
        raise ValueError("n_jobs must be the number of processes, or -1 for one on each core; got 0")
    total = sum(task.rows for task in tasks)
    data = ""
    if store is not None:
        store = Path(store)
        store.mkdir(parents=True, exist_ok=True)
        data = fingerprint(tasks[0].train, tasks[0].test)
    done = 0
    cells: list[Cell] = []
    if n_jobs == 1:
        for task in tasks:
            cells.append(_cell(task, store, data, shifted(progress, done, total)))
            done += task.rows
        return cells
    from joblib import Parallel, delayed

    found = Parallel(n_jobs=n_jobs, return_as="generator")(delayed(_cell)(task, store, data) for task in tasks)
    for task, cell in zip(tasks, found, strict=True):
        cells.append(cell)
        done += task.rows
        if progress is not None:
            progress(done, total)
    return cells


def _cell(task: CellTask, store: Path | None, data: str, progress: Progress | None = None) -> Cell:
    compute = run_cell if task.protocol.at_once is None else fit_and_test
    if store is None:
        return compute(task, progress)
    return stored(store, task, data, lambda task: compute(task, progress))


def _row(learner: str, cells: list[Cell]) -> Row:
    first = [cell.passes[0] for cell in cells]

    def measure(name: str) -> Spread:
        return Spread.of([float(getattr(run, name)) for run in first])

    bounds = {c.name: c for c in reversed(cells[0].certificates)}
    return Row(
        learner=learner,
        error=measure("error"),
        test_error=Spread.of([cell.test_errors[-1] for cell in cells]) if cells[0].test_errors else None,
        mistakes=Spread.of([cell.mistakes for cell in cells]),
        updates=Spread.of([cell.updates for cell in cells]),
        speed=sum(cell.rows for cell in cells) / max(sum(cell.seconds for cell in cells), 1e-9),
        seconds=Spread.of([cell.seconds for cell in cells]),
        certificate=bounds.get("mistakes"),
        rows=cells[0].rows,
        kappa_temporal=measure("kappa_temporal"),
        kappa_majority=measure("kappa_majority"),
        balanced_error=measure("balanced_error"),
        f1=measure("f1"),
        repeat_error=Spread.of([run.repeat_errors / run.rows if run.labels else nan for run in first]),
        majority_error=Spread.of([run.majority_errors / run.rows if run.labels else nan for run in first]),
    )


def _plain(value: Any) -> Any:
    return value if isinstance(value, bool | int | str | None) else repr(value)


def versions() -> dict[str, str]:
    """What the numbers were computed with."""
    found = {"python": python_version()}
    for package in ("ellipsoid", "numpy", "scipy", "numba", "scikit-learn"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed"
    return found
