"""Run an entry: every cell through `compare`, each kept, so that an interrupted run goes on where it was."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ellipsoid.evaluate.compare import compare, versions
from ellipsoid.evaluate.prequential import Progress
from ellipsoid.streams.sets.datasets import Dataset

from .entry import Entry, Experiment, Quick
from .machines import machine
from .records import experiment_record, times_record
from .results import Results

STORE = "cells"


class _Ready(NamedTuple):
    experiment: Experiment
    data: Dataset
    rows: int


def reproduce(
    entry: Entry,
    folder: Path,
    *,
    store: Path | None = None,
    quick: bool = False,
    n_jobs: int = 1,
    progress: Progress | None = None,
) -> Results:
    """Run the cells of ``entry`` that ``store`` (by default a folder in ``folder``) does not have yet, and write
    results.json and times.json in ``folder``. Entries that share cells may share a store.

    Of a quick run each set is cut to a few rows. A set that cannot be found is named in the results. ``progress`` is
    called with rows done and rows in all.
    """
    folder.mkdir(parents=True, exist_ok=True)
    records: list[dict[str, Any]] = []
    times: list[dict[str, Any]] = []
    ready: list[_Ready] = []
    missing: list[tuple[str, str]] = []
    if entry.measure is None:
        ready, missing = _ready(entry, quick)
    else:
        records, times = entry.measure(quick, progress)
    total = sum(part.rows for part in ready)
    done = 0
    for part in ready:
        experiment = part.experiment
        found = compare(
            {label: machine(spec) for label, spec in experiment.learners.items()},
            part.data,
            experiment.protocol,
            n_jobs=n_jobs,
            store=store or folder / STORE,
            progress=_moved(progress, done, total),
        )
        done += part.rows
        records.append(experiment_record(experiment, found))
        times += times_record(experiment.label, found)
    record = {
        "entry": entry.name,
        "quick": quick,
        "versions": versions(),
        "not_run": [{"data": data, "reason": reason} for data, reason in missing],
        "experiments": records,
    }
    results = Results(record, times)
    results.write(folder)
    return results


def _moved(progress: Progress | None, before: int, total: int) -> Callable[[int, int | None], None] | None:
    return None if progress is None else lambda done, _: progress(before + done, total)


def _ready(entry: Entry, quick: bool) -> tuple[list[_Ready], list[tuple[str, str]]]:
    """The experiments whose data is at hand, and a reason for each of the others."""
    ready: list[_Ready] = []
    missing: list[tuple[str, str]] = [(found.data, found.reason) for found in entry.missing]
    for experiment in entry.experiments():
        if quick and experiment.label.startswith(entry.quick.without):
            missing.append((experiment.label, "left to the full run, so that a quick one has less to compile"))
            continue
        try:
            data = experiment.data()
        except (ValueError, OSError) as error:
            missing.append((experiment.label, str(error)))
            continue
        if quick:
            seeds = experiment.protocol.seeds[: entry.quick.seeds]
            experiment = experiment._replace(protocol=replace(experiment.protocol, seeds=seeds))
            data, experiment = _few(data, entry.quick), _smaller(experiment, entry.quick)
        protocol = experiment.protocol
        rows = len(data.train[1]) * protocol.passes * len(protocol.seeds) * len(experiment.learners)
        ready.append(_Ready(experiment, data, rows))
    if not ready:
        reasons = "; ".join(f"{data}: {reason}" for data, reason in missing)
        raise ValueError(f"none of the data sets of {entry.name} is at hand: {reasons}")
    return ready, missing


def _smaller(experiment: Experiment, quick: Quick) -> Experiment:
    """Models that are fitted at once take a half of the few rows, and leave the other for the test."""
    protocol = experiment.protocol
    if protocol.at_once is None:
        return experiment
    return experiment._replace(protocol=replace(protocol, at_once=min(protocol.at_once, quick.rows // 2)))


def _few(data: Dataset, quick: Quick) -> Dataset:
    X, y = _some(*data.train, quick.rows)
    if data.test is None:
        return Dataset(data.name, X=X, y=y)
    X_test, y_test = _some(*data.test, quick.test_rows)
    return Dataset(data.name, X_train=X, y_train=y, X_test=X_test, y_test=y_test)


def _some(X: Any, y: Any, most: int) -> tuple[Any, Any]:
    """At most so many rows, drawn from everywhere because files may be sorted by class, in their old order."""
    kept = np.sort(np.random.default_rng(0).permutation(len(y))[:most])
    return X[kept], y[kept]
