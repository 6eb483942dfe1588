"""What a reproduction measured: every seed of every learner, without times, so that equal runs are equal files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ellipsoid.evaluate.compare import Spread
from ellipsoid.streams.atomic import atomic_write

FILE = "results.json"
TIMES = "times.json"


class Results:
    """Raw numbers by experiment, learner and seed; counts are cumulative over the passes, errors are shares.

    ``times``, a list of a record for each cell, is kept in a file of its own.
    """

    def __init__(self, record: dict[str, Any], times: list[dict[str, Any]]) -> None:
        self.record = record
        self.times = times
        self._cells: dict[str, dict[str, list[dict[str, Any]]]] = {}
        for experiment in record["experiments"]:
            found = self._cells.setdefault(experiment["label"], {})
            for cell in experiment["cells"]:
                found.setdefault(cell["learner"], []).append(cell)

    @property
    def quick(self) -> bool:
        return bool(self.record["quick"])

    @property
    def experiments(self) -> tuple[str, ...]:
        """Labels of the experiments that were run."""
        return tuple(self._cells)

    def setting(self, experiment: str) -> dict[str, Any]:
        """Rows, features and the protocol of an experiment."""
        found: dict[str, Any] = next(e["setting"] for e in self.record["experiments"] if e["label"] == experiment)
        return found

    def learners(self, experiment: str) -> tuple[str, ...]:
        return tuple(self._cells[experiment])

    def values(self, experiment: str, learner: str, what: str, after: int = -1) -> list[float]:
        """``what`` (a key of a cell) after pass number ``after`` (from 1; -1: the last), one value for each seed."""
        index = after - 1 if after > 0 else after
        return [cell[what][index] for cell in self._cells[experiment][learner]]

    def spread(self, experiment: str, learner: str, what: str, after: int = -1) -> Spread:
        """Mean and standard deviation of `values`; errors in percent."""
        factor = 100.0 if what.endswith("errors") else 1.0
        return Spread.of([factor * value for value in self.values(experiment, learner, what, after)])

    def curves(self, experiment: str, learner: str) -> dict[str, list[float | None]]:
        """What was counted on the way, in the first order; None where it is not known."""
        found: dict[str, list[float | None]] = self._cells[experiment][learner][0]["curves"]
        return found

    def weights(self, experiment: str, learner: str) -> list[list[float]]:
        """Of a linear machine that saw all rows at once, one vector for each seed."""
        return [cell["weights"] for cell in self._cells[experiment][learner]]

    def seconds(self, experiment: str, learner: str) -> Spread:
        """Seconds of learning, all passes together, without tests and compilation."""
        where = (experiment, learner)
        return Spread.of([t["learning"] for t in self.times if (t["experiment"], t["learner"]) == where])

    def write(self, folder: Path) -> None:
        """As files that `read` reads back."""
        with atomic_write(folder / FILE) as file:
            json.dump(self.record, file, indent=1, allow_nan=False)
        with atomic_write(folder / TIMES) as file:
            json.dump({"seconds": sum(t["seconds"] for t in self.times), "cells": self.times}, file, indent=1)

    @classmethod
    def read(cls, folder: Path) -> Results:
        for path in (folder / FILE, folder / TIMES):
            if not path.is_file():
                raise FileNotFoundError(f"{path} does not exist; run the reproduction first")
        record, times = (json.loads((folder / name).read_text(encoding="utf-8")) for name in (FILE, TIMES))
        return cls(record, times["cells"])
