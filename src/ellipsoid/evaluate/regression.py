"""Test-then-train with numbers: how far predictions were off, each made before its row was learned."""

from dataclasses import asdict, dataclass, field
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ellipsoid.estimators.inputs.row_numbers import original_row_numbers
from ellipsoid.estimators.shell.regression import numbers_of

from .checkpoints import running_sum
from .delayed_labels import AnswerRecorder
from .recorder import Recorder


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
    def speed(self) -> float:
        """Rows predicted and learned in a second."""
        return self.rows / self.seconds if self.seconds else float("inf")

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and lists, ready for JSON."""
        plain = {name: v.tolist() if isinstance(v, np.ndarray) else v for name, v in asdict(self).items()}
        return {name: None if value != value else value for name, value in plain.items()}


class RegressionRecorder(Recorder):
    """Feeds chunks to a regressor and adds up by how much it was off."""

    stops = False
    # Of a regressor nothing is right or wrong.
    errors = 0

    def __init__(self, model: Any, n_rows: int | None, window: int) -> None:
        super().__init__(model, n_rows, window)
        self.last = self.absolute = self.squared = self.repeated = self.weight = 0.0
        self.judged = self.inside = self.finite = 0
        self.widths = 0.0
        self.recent = np.zeros(0)

    def feed(self, X: Any, y: Any, weight: Any = None) -> None:
        with original_row_numbers(lambda: range(self.seen, self.seen + len(y))):
            y = numbers_of(y, len(y))
        super().feed(X, y, weight)

    def predictions(self, X: Any, y: Any, weight: Any) -> Any:
        if not hasattr(self.model, "learn_predict_interval"):
            return super().predictions(X, y, weight)
        if self.delayed is None and not isinstance(X, list):
            predicted, low, high = self.model.learn_predict_interval(X, y, sample_weight=weight)
            self._judge(low, high, y)
            return predicted
        model = AnswerRecorder(self.model)
        predicted = self.predict_then_learn(model, X, y, weight)
        if model.answers:
            ends = np.array(model.answers)
            self._judge(ends[:, 0], ends[:, 1], y[[value is not None for value in predicted]])
        return predicted

    def _judge(self, low: Any, high: Any, y: Any) -> None:
        self.judged += len(y)
        self.inside += int(((low <= y) & (y <= high)).sum())
        finite = np.isfinite(high - low)
        self.finite += int(finite.sum())
        self.widths = float(running_sum(self.widths, (high - low)[finite] / 2.0)[-1])

    def add(self, predicted: Any, y: Any, seconds: float, weight: Any = None) -> None:
        self.seconds += seconds
        # Before anything is learned nothing is predicted.
        predicted = np.array([0.0 if value is None else value for value in predicted], dtype=np.float64)
        off, own = np.abs(predicted - y), np.ones(len(y)) if weight is None else weight
        self.squared = float(running_sum(self.squared, own * off * off)[-1])
        repeated = own * np.abs(np.concatenate([[self.last], y[:-1]]) - y)
        self.repeated = float(running_sum(self.repeated, repeated)[-1])
        self.last = float(y[-1])
        self.update_metric(predicted, y)
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
        self.write_log()

    def numbers_to_log(self) -> dict[str, float]:
        run = self.result()
        return {"mae": run.mae, "rmse": run.rmse, "window_mae": float(self.recent.mean())}

    def result(self) -> RegressionRun:
        mae = self.absolute / self.weight
        marks = [*(mark for mark in self.marks if mark[0] < self.rows), (self.rows, mae, float(self.recent.mean()))]
        row, cumulative, windowed = zip(*marks, strict=True)
        return RegressionRun(
            rows=self.rows, mae=mae, rmse=sqrt(self.squared / self.weight), repeat_mae=self.repeated / self.weight,
            coverage=self.inside / self.judged if self.judged else float("nan"),
            half_width=self.widths / self.finite if self.finite else float("nan"),
            updates=self.updates(), seconds=self.seconds,
            window=self.window, checkpoints=np.array(row), cumulative_mae=np.array(cumulative),
            windowed_mae=np.array(windowed),
        )  # fmt: skip
