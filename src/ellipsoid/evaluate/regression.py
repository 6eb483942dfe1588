"""Test-then-train with numbers: how far predictions were off, each made before its row was learned."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from math import sqrt
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ellipsoid.estimators.inputs.weights import original_row_numbers
from ellipsoid.estimators.shell.regression import numbers_of

from .checkpoints import Checkpoints, running_sum
from .delayed_labels import DelayedLabels, NotedAnswers, foretold, numbered_in_stream, those_that_count


@dataclass(frozen=True)
class RegressionRun:
    """What a regressor did on a stream.

    ``mae`` is the mean absolute error, ``rmse`` the root of the mean squared one, ``repeat_mae`` what repeating the
    last number would have had. Of a learner of intervals, ``coverage`` is the share of the rows whose interval held
    their number and ``half_width`` the mean of half its width, over those that were finite; NaN for others. Rows
    that came before anything was learned, because labels come late, have no interval and are not counted.
    """

    rows: int
    mae: float
    rmse: float
    repeat_mae: float
    coverage: float
    half_width: float
    updates: int
    seconds: float
    window: int
    checkpoints: NDArray[np.int64] = field(repr=False)
    cumulative_mae: NDArray[np.float64] = field(repr=False)
    windowed_mae: NDArray[np.float64] = field(repr=False)

    @property
    def rows_per_second(self) -> float:
        """Rows predicted and learned in a second."""
        return self.rows / self.seconds if self.seconds else float("inf")

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and lists, ready for JSON."""
        plain = {name: v.tolist() if isinstance(v, np.ndarray) else v for name, v in asdict(self).items()}
        return {name: None if value != value else value for name, value in plain.items()}


class NumberRecorder:
    """Feeds chunks to a regressor and adds up by how much it was off."""

    stops = bounds = False
    late: DelayedLabels | None = None
    metric: Any = None
    log: Any = None
    # Of a regressor nothing is right or wrong.
    errors = met = 0

    def __init__(self, model: Any, n_rows: int | None, window: int) -> None:
        self.model, self.window = model, window
        self.checkpoints = Checkpoints(n_rows)
        self.marks: list[tuple[int, float, float]] = []
        self.rows, self.last, self.seconds, self.logged = 0, 0.0, 0.0, 0
        self.absolute = self.squared = self.repeated = self.weight = 0.0
        self.judged = self.inside = self.finite = 0
        self.widths = 0.0
        self.recent = np.zeros(0)
        self.updates_before = getattr(model, "updates_", 0)

    def feed(self, X: Any, y: Any, weight: Any = None) -> None:
        """Predict, then learn, the rows of a chunk; those of weight 0 are passed over."""
        first, self.met = self.met, self.met + len(y)
        with original_row_numbers(lambda: range(first, self.met)):
            y = numbers_of(y, len(y))
        numbers, X, y, weight = those_that_count(first, X, y, weight)
        if len(y) == 0:
            return
        began = perf_counter()
        with numbered_in_stream(self.late, numbers):
            predicted = self._foretold(X, y, weight)
        self.seconds += perf_counter() - began
        self._add(np.array([0.0 if value is None else value for value in predicted], dtype=np.float64), y, weight)

    def _foretold(self, X: Any, y: Any, weight: Any) -> Any:
        """What is predicted of rows before they are learned; intervals are judged."""
        if hasattr(self.model, "learn_predict_interval") and not isinstance(X, list) and self.late is None:
            predicted, low, high = self.model.learn_predict_interval(X, y, sample_weight=weight)
            self._judge(low, high, y)
        else:
            told = hasattr(self.model, "learn_predict_interval")
            model = NotedAnswers(self.model) if told else self.model
            predicted = foretold(self.late, model, X, y, None, weight)
            if told and model.noted:
                some = np.array([value is not None for value in predicted])
                ends = np.array(model.noted)
                self._judge(ends[:, 0], ends[:, 1], y[some])
        return predicted

    def _judge(self, low: Any, high: Any, y: Any) -> None:
        self.judged += len(y)
        self.inside += int(((low <= y) & (y <= high)).sum())
        finite = np.isfinite(high - low)
        self.finite += int(finite.sum())
        self.widths = float(running_sum(self.widths, (high - low)[finite] / 2.0)[-1])

    def _add(self, predicted: Any, y: Any, weight: Any) -> None:
        off, own = np.abs(predicted - y), np.ones(len(y)) if weight is None else weight
        self.squared = float(running_sum(self.squared, own * off * off)[-1])
        repeated = own * np.abs(np.concatenate([[self.last], y[:-1]]) - y)
        self.repeated = float(running_sum(self.repeated, repeated)[-1])
        self.last = float(y[-1])
        if self.metric is not None:
            for value, told in zip(y.tolist(), predicted.tolist(), strict=True):
                self.metric.update(value, told)
        start, end = self.rows, self.rows + len(y)
        if self.checkpoints.reach(end):
            self.marks = [mark for mark in self.marks if self.checkpoints.keeps(mark[0])]
        errors, weighed = running_sum(self.absolute, own * off), running_sum(self.weight, own)
        known = np.concatenate([self.recent, off])
        for row in self.checkpoints.between(start, end):
            i = len(known) - (end - row)
            windowed = float(known[max(0, i - self.window) : i].mean())
            self.marks.append((row, float(errors[row - start] / weighed[row - start]), windowed))
        self.absolute, self.weight = float(errors[-1]), float(weighed[-1])
        self.recent, self.rows = known[-self.window :], end
        if self.log is not None:
            self.tell()

    def tell(self) -> None:
        """Hand the numbers of this moment to the log."""
        if self.log is not None and self.rows > self.logged:
            self.logged = self.rows
            run = self.result()
            self.log({"mae": run.mae, "rmse": run.rmse, "window_mae": float(self.recent.mean())}, step=self.rows)

    def result(self) -> RegressionRun:
        """What was counted."""
        mae = self.absolute / self.weight
        marks = [*(mark for mark in self.marks if mark[0] < self.rows), (self.rows, mae, float(self.recent.mean()))]
        row, cumulative, windowed = zip(*marks, strict=True)
        return RegressionRun(
            rows=self.rows, mae=mae, rmse=sqrt(self.squared / self.weight), repeat_mae=self.repeated / self.weight,
            coverage=self.inside / self.judged if self.judged else float("nan"),
            half_width=self.widths / self.finite if self.finite else float("nan"),
            updates=int(getattr(self.model, "updates_", 0) - self.updates_before), seconds=self.seconds,
            window=self.window, checkpoints=np.array(row), cumulative_mae=np.array(cumulative),
            windowed_mae=np.array(windowed),
        )  # fmt: skip
