"""Tables 2 to 5 of Crammer and Singer, "Ultraconservative online algorithms for multiclass problems", JMLR 3 (2003).

The paper gives beta = 0.01 and neither kernels nor scalings nor the order of the rows. The settings here were found by
search: they give 124 printed numbers to the last digit, one run each in file order. Tables 3 to 5 count updates, table
2 distinct support patterns. Chess-Board is drawn at random, so that only statistics can agree.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ellipsoid.evaluate.cell import Protocol
from ellipsoid.streams.sets.datasets import Dataset, load

from . import crammer2003_printed as printed
from .crammer2003_report import FILE_ORDER, RANDOM_ORDERS, Printed, ratios_report, table_report
from .cuts import first_rows
from .entry import Entry, Experiment, Quick, Spec

PAPER = "Crammer and Singer, Ultraconservative online algorithms for multiclass problems, JMLR 3 (2003)"

POLYNOMIAL = {"kernel": "poly", "degree": 9, "gamma": 1.0, "coef0": 0.0}


class Setting(NamedTuple):
    """A table's set, kernel and orders; the order drawn by a seed is the same in every epoch."""

    table: Printed
    data: Callable[..., Dataset]
    kernel: Mapping[str, Any]
    seeds: tuple[int, ...]


def _unit_rows(X: Any) -> Any:
    """Row by row, because a norm over an axis of a matrix rounds differently, and counts hang on the last digit."""
    X = np.array(X, dtype=np.float64)
    for row in X:
        row /= np.linalg.norm(row)
    return X


def _mnist() -> Dataset:
    (X, y), (X_test, y_test) = _parts(load("mnist"))
    return Dataset("mnist", X_train=_unit_rows(X), y_train=y, X_test=_unit_rows(X_test), y_test=y_test)


def _usps() -> Dataset:
    """Grey values as bytes again: v in [-1, 1] with three digits is floor((v + 1) 127.5)."""
    (X, y), (X_test, y_test) = _parts(load("usps"))
    X, X_test = (_unit_rows(np.floor((np.rint(1000.0 * V) + 1000.0) * 51.0 / 400.0)) for V in (X, X_test))
    return Dataset("usps", X_train=X, y_train=y, X_test=X_test, y_test=y_test)


def _parts(data: Dataset) -> tuple[Any, Any]:
    if data.test is None:
        raise ValueError(f"the copy of {data.name} that was found has no test part")
    return data.train, data.test


SETTINGS: Mapping[str, Setting] = {
    "Chess-Board": Setting(
        Printed("Chess-Board", printed.CHESS, "support", "distinct support patterns", "exp(-10,000 |x - z|²)"),
        partial(load, "chess-board"),
        {"kernel": "rbf", "gamma": 1e4},
        tuple(range(10)),
    ),
    "MNIST": Setting(
        Printed("MNIST", printed.MNIST, "updates", "updates", "(x·z)⁹ on rows divided by their 2-norm"),
        _mnist,
        POLYNOMIAL,
        (0, 1, 2),
    ),
    "USPS": Setting(
        Printed("USPS", printed.USPS, "updates", "updates", "(x·z)⁹ on bytes 0 to 255, rows divided by their 2-norm"),
        _usps,
        POLYNOMIAL,
        tuple(range(10)),
    ),
    "Letter": Setting(
        Printed("Letter", printed.LETTER, "updates", "updates", "exp(-|x - z|² / (2 · 3.06²)) on raw integers", 2),
        partial(first_rows, "letter", 16_000),
        {"kernel": "rbf", "gamma": 1.0 / (2.0 * 3.06**2)},
        tuple(range(5)),
    ),
}


def _learners(kernel: Mapping[str, Any], further: bool = True) -> dict[str, Spec]:
    common = {**kernel, "fit_intercept": False}
    found = {
        label: Spec("Perceptron", {"multiclass": multiclass, "margin": 0.01, **common})
        for label, multiclass in (
            ("Perceptron", "ovr"),
            ("Uniform", "uniform"),
            ("Max", "max"),
            ("Prop", "proportional"),
        )
    }
    found["MIRA"] = Spec("MIRA", {"margin": 0.01, **common})
    if further:
        found["ROMMA"] = Spec("ROMMA", dict(common))
        found["ROMMA, aggressive"] = Spec("ROMMA", {"aggressive": True, **common})
        found["ALMA"] = Spec("ALMA", {"alpha": 0.9, **common})
    return found


def _experiments(name: str, further: bool = True) -> list[Experiment]:
    table, data, kernel, seeds = SETTINGS[name]
    epochs, learners = len(table.rows["MIRA"].errors), _learners(kernel, further)
    in_file_order = Protocol(passes=epochs)
    if name == "Chess-Board":
        return [Experiment(f"{name}, draw {s}", partial(data, seed=s), learners, in_file_order) for s in seeds]
    found = [Experiment(f"{name}, {FILE_ORDER}", data, learners, in_file_order)]
    if further:
        found.append(Experiment(f"{name}, {RANDOM_ORDERS}", data, learners, Protocol(passes=epochs, seeds=seeds)))
    return found


def _all_sets() -> list[Experiment]:
    return [experiment for name in SETTINGS for experiment in _experiments(name, further=False)]


def _table(number: int, name: str) -> Entry:
    title = f"{name} with a kernel, five algorithms, ROMMA and ALMA: table {number}"
    experiments, report = partial(_experiments, name), partial(table_report, SETTINGS[name].table)
    return Entry(f"crammer2003-table{number}", title, PAPER, experiments, report, QUICK)


QUICK = Quick(rows=300, test_rows=150, seeds=1)
ENTRIES = (
    *(_table(number, name) for number, name in enumerate(SETTINGS, start=2)),
    Entry(
        "crammer2003-figures",
        "Errors and counts divided by the Perceptron's: figures 7 and 8",
        PAPER,
        _all_sets,
        partial(ratios_report, [setting.table for setting in SETTINGS.values()]),
        QUICK,
    ),
)
