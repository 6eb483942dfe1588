"""What a comparison has measured, as the records that `results` reads."""

from __future__ import annotations

from itertools import accumulate
from typing import Any

from ellipsoid.evaluate.cell import Cell
from ellipsoid.evaluate.compare import Comparison

from .entry import Experiment

CURVES = ("checkpoints", "cumulative_mistakes", "mistake_bound", "dual_objective")


def experiment_record(experiment: Experiment, comparison: Comparison) -> dict[str, Any]:
    """A comparison without times and dates, which differ from run to run."""
    whole = comparison.to_dict()
    setting = {k: v for k, v in whole["setting"].items() if k not in ("date", "versions")}
    cells = [cell_record(cell) | (_curves(cell) if experiment.curves else {}) for cell in comparison.cells]
    return {"label": experiment.label, "setting": setting, "learners": whole["learners"], "cells": cells}


def _curves(cell: Cell) -> dict[str, Any]:
    """Of the first pass, where the learner was stopped."""
    run = cell.passes[0].to_dict()
    known = [i for i, mistakes in enumerate(run["cumulative_mistakes"]) if mistakes is not None]
    return {"curves": {name: [run[name][i] for i in known] for name in CURVES}}


def times_record(label: str, comparison: Comparison) -> list[dict[str, Any]]:
    """What each cell took: in all, and for learning alone."""
    return [
        {
            "experiment": label,
            "learner": cell.learner,
            "seed": cell.seed,
            "seconds": cell.elapsed,
            "learning": cell.seconds if cell.passes else cell.elapsed,
        }
        for cell in comparison.cells
    ]


def cell_record(cell: Cell) -> dict[str, Any]:
    """The counts of a cell after each of its passes."""
    return {
        "learner": cell.learner,
        "seed": cell.seed,
        "test_errors": list(cell.test_errors),
        "online_errors": [run.error for run in cell.passes],
        "updates": list(accumulate(run.updates for run in cell.passes)),
        "mistakes": list(accumulate(run.mistakes for run in cell.passes)),
        "support": list(cell.support),
        **({"weights": list(cell.weights)} if cell.weights else {}),
    }
