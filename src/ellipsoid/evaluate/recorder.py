"""Feeding a stream to a model and counting: every row is predicted first, then learned."""

from collections.abc import Callable
from contextlib import suppress
from math import isfinite, nan
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from ellipsoid.certificates.dual import FLOOR

from .checkpoints import Checkpoints, running_sum
from .confusion import Confusion
from .delayed_labels import AnswerRecorder, DelayedLabels, drop_zero_weight_rows, numbered_in_stream, predict_then_learn
from .run import Prequential

# What a log is given of a run, beside the error over the window.
LOGGED = ("rows", "error", "mistakes", "updates", "kappa_temporal", "kappa_majority", "balanced_error", "f1")


class Recorder:
    """Feeds chunks to a model and counts at checkpoints, from the start of this run, also when the model has learned
    before. With ``stops`` False chunks are handed on whole: predictions are counted all the same, but what the learner
    itself counts is known at the end only.
    """

    stops = True
    bounds = False
    classes: Any = None
    # Rows of the stream so far, those of weight 0 among them.
    seen = 0
    delayed: DelayedLabels | None = None
    metric: Any = None
    log: Callable[..., Any] | None = None
    rows = logged = 0
    seconds = 0.0
    has_weights = False

    def __init__(self, model: Any, n_rows: int | None, window: int) -> None:
        self.model, self.window = model, window
        self.checkpoints = Checkpoints(n_rows)
        self.marks: list[Any] = []
        self.updates_before = getattr(model, "updates_", 0)

    def warm_up(self, X: Any, y: Any) -> None:
        """Compile what these rows need, so that it is not counted as learning."""

    def predictions(self, X: Any, y: Any, weight: Any) -> Any:
        """Predict and learn rows."""
        return self.predict_then_learn(self.model, X, y, weight)

    def add(self, predicted: Any, y: Any, seconds: float, weight: Any = None) -> None:
        """Count rows that were predicted and learned."""
        raise NotImplementedError

    def numbers_to_log(self) -> dict[str, float]:
        """The numbers of this moment."""
        raise NotImplementedError

    def feed(self, X: Any, y: Any, weight: Any = None) -> None:
        """Predict, then learn, the rows of a chunk; those of weight 0 are passed over."""
        self.has_weights |= weight is not None
        first, self.seen = self.seen, self.seen + len(y)
        numbers, X, y, weight = drop_zero_weight_rows(first, X, y, weight)
        if len(y) == 0:
            return
        self.warm_up(X, y)
        start = 0
        while start < len(y):
            stop = min(len(y), start + self.checkpoints.stop_after(self.rows) - self.rows) if self.stops else len(y)
            part = slice(start, stop)
            own = None if weight is None else weight[part]
            began = perf_counter()
            with numbered_in_stream(self.delayed, numbers[part]):
                predicted = self.predictions(X if stop - start == len(y) else X[part], y[part], own)
            self.add(predicted, y[part], perf_counter() - began, own)
            self.classes, start = None, stop

    def predict_then_learn(self, model: Any, X: Any, y: Any, weight: Any) -> Any:
        """The predictions of rows, each made before its row is learned, at once or with delay."""
        if self.delayed is None:
            return predict_then_learn(model, X, X, y, self.classes, weight)
        self.delayed.model = model
        return self.delayed.learn_predict(X, y, self.classes, weight)

    def update_metric(self, predicted: Any, y: Any) -> None:
        """Hand predictions to the metric; rows before anything was learned have none."""
        if self.metric is not None:
            for label, prediction in zip(y.tolist(), predicted.tolist(), strict=True):
                if prediction is not None:
                    self.metric.update(label, prediction)

    def write_log(self) -> None:
        """Hand the numbers of this moment to the log."""
        if self.log is not None and self.rows > self.logged:
            self.logged = self.rows
            self.log(self.numbers_to_log(), step=self.rows)

    def updates(self) -> int:
        """The updates of this run; 0 before anything is learned."""
        return int(getattr(self.model, "updates_", 0) - self.updates_before)


class _Mark(NamedTuple):
    row: int
    error: float
    windowed: float
    updates: float = nan
    seconds: float = nan
    mistakes: float = nan
    bound: float = nan
    hindsight: float = nan
    dual: float = nan


class ErrorRecorder(Recorder):
    """Feeds chunks to a classifier and counts its errors."""

    def __init__(self, model: Any, n_rows: int | None, window: int, classes: Any = None, bounds: bool = False) -> None:
        super().__init__(model, n_rows, window)
        self.bounds = bounds
        self.classes = classes
        self.compile_seconds: float | None = None
        self.recent = np.zeros(0, dtype=bool)
        self.errors = 0
        self.confusion = Confusion()
        self.total_weight = self.weighted_errors = 0.0
        self.sets: list[int] | None = [0, 0, 0] if hasattr(model, "learn_predict_set") else None
        self.mistakes_before = getattr(model, "mistakes_", 0)

    def warm_up(self, X: Any, y: Any) -> None:
        # A clone learns a few rows with up to three labels, because two labels and more run different loops.
        if self.compile_seconds is not None:
            return
        from sklearn.base import clone

        began = perf_counter()
        _, first = np.unique(y, axis=0 if y.ndim == 2 else None, return_index=True)
        rows = sorted({*range(min(5, len(y))), *np.sort(first)[:3].tolist()})
        few = [X[i] for i in rows] if isinstance(X, list) else X[rows]
        # The run itself reports a bad row, with its number in the stream.
        with suppress(ValueError):
            predict_then_learn(clone(self.model), few, few, y[rows], self._labels_for_clone(y[rows]))
        self.compile_seconds = perf_counter() - began

    def _labels_for_clone(self, y: Any) -> Any:
        """The announced labels; failing those, the labels that the model has learned, where these rows bring no other.
        A clone that met them one by one would compile the loop for two labels, which the model does not run again.
        """
        known = getattr(self.model, "classes_", None)
        if self.classes is not None or known is None or len(known) < 2 or y.ndim == 2:
            return self.classes
        return known if set(y.tolist()) <= set(known.tolist()) else None

    def predictions(self, X: Any, y: Any, weight: Any) -> Any:
        if self.sets is None:
            return super().predictions(X, y, weight)
        if self.delayed is None and not isinstance(X, list):
            predicted, sizes, held = self.model.learn_predict_set(X, y, classes=self.classes, sample_weight=weight)
        else:
            model = AnswerRecorder(self.model)
            predicted = self.predict_then_learn(model, X, y, weight)
            answers = iter(model.answers)
            sets = [set() if label is None else next(answers) for label in predicted]
            sizes = np.array([len(each) for each in sets])
            held = np.array([label in each for each, label in zip(sets, y.tolist(), strict=True)])
        single = sizes == 1
        found = held.sum(), single.sum(), (single & wrong_rows(predicted, y)).sum()
        self.sets = [old + int(new) for old, new in zip(self.sets, found, strict=True)]
        return predicted

    def add(self, predicted: Any, y: Any, seconds: float, weight: Any = None) -> None:
        wrong = wrong_rows(predicted, y)
        own = np.ones(len(wrong)) if weight is None else weight
        self.total_weight = float(running_sum(self.total_weight, own)[-1])
        self.weighted_errors = float(running_sum(self.weighted_errors, own[wrong])[-1])
        if y.ndim == 1:
            self.confusion.add(np.asarray(predicted), y)
        self.update_metric(np.asarray(predicted), y)
        start, end = self.rows, self.rows + len(wrong)
        stopped = end == self.checkpoints.stop_after(start)
        if self.checkpoints.reach(end):
            self.marks = [mark for mark in self.marks if self.checkpoints.keeps(mark.row)]
        self.seconds += seconds
        flags = np.concatenate([self.recent, wrong])
        total = np.concatenate([[0], np.cumsum(flags)])
        for row in self.checkpoints.between(start, end):
            i = len(flags) - (end - row)
            errors = self.errors + int(total[i] - total[len(self.recent)])
            windowed = int(total[i] - total[max(0, i - self.window)]) / min(row, self.window)
            mark = _Mark(row, errors / row, windowed)
            self.marks.append(self.measured(mark) if stopped and row == end else mark)
        self.errors += int(wrong.sum())
        self.recent = flags[-self.window :]
        self.rows = end
        if stopped:
            self.write_log()

    def numbers_to_log(self) -> dict[str, float]:
        run = self.result()
        numbers = {name: float(getattr(run, name)) for name in LOGGED}
        numbers["window_error"] = float(run.windowed_error[-1])
        return {name: value for name, value in numbers.items() if isfinite(value)}

    def measured(self, mark: _Mark) -> _Mark:
        """The mark with what is known only where the learner is stopped."""
        bound, hindsight, dual = bounds_so_far(self.model) if self.bounds else (nan, nan, nan)
        known = mark._replace(updates=self.updates(), seconds=self.seconds, mistakes=self.mistakes())
        return known._replace(bound=bound, hindsight=hindsight, dual=dual)

    def mistakes(self) -> int:
        """The learner's own count in this run."""
        return int(getattr(self.model, "mistakes_", 0) - self.mistakes_before)

    def result(self) -> Prequential:
        """What was counted."""
        last = self.measured(_Mark(self.rows, self.errors / self.rows, float(self.recent.mean())))
        marks = [*(mark for mark in self.marks if mark.row < self.rows), last]
        row, error, windowed, *looked = zip(*marks, strict=True)
        updates, seconds, mistakes, bound, hindsight, dual = (np.array(curve, dtype=np.float64) for curve in looked)
        return Prequential(
            rows=self.rows,
            errors=self.errors,
            mistakes=self.mistakes(),
            updates=self.updates(),
            seconds=self.seconds,
            compile_seconds=self.compile_seconds or 0.0,
            window=self.window,
            checkpoints=np.array(row),
            cumulative_error=np.array(error),
            windowed_error=np.array(windowed),
            cumulative_updates=updates,
            cumulative_seconds=seconds,
            cumulative_mistakes=mistakes,
            mistake_bound=bound,
            hindsight=hindsight,
            dual_objective=dual,
            labels=tuple(x if isinstance(x, bool | int | float | str) else str(x) for x in self.confusion.labels),
            confusion=self.confusion.matrix,
            label_counts=self.confusion.counts,
            repeat_errors=self.confusion.repeat_errors,
            majority_errors=self.confusion.majority_errors,
            total_weight=self.total_weight if self.has_weights else None,
            weighted_errors=self.weighted_errors if self.has_weights else None,
            **dict(zip(("covered_rows", "answered_rows", "answered_errors"), self.sets or (), strict=False)),
        )


def bounds_so_far(model: Any) -> tuple[float, float, float]:
    """The learner's bound on its mistakes so far, the least loss of weights as long, in units of the margin, and
    the value of the dual that it climbs.

    NaN where it has none, and for kernel models, whose certificates take a pass over all support patterns.
    """
    learner = getattr(model, "learner_", model)
    if getattr(learner, "kernel", "linear") != "linear" or getattr(learner, "t_", 0) == 0:
        return nan, nan, nan
    found = {certificate.name: certificate for certificate in learner.certificates()}
    bound = found["mistakes"].bound if "mistakes" in found else nan
    floor = found[FLOOR].observed / learner.margin if FLOOR in found else nan
    dual = found["dual objective"].observed if "dual objective" in found else nan
    return bound if isfinite(bound) else nan, floor, dual


def wrong_rows(predicted: Any, y: Any) -> Any:
    """Whether each row's label (or, of many labels, any of them) differs from the one predicted.

    >>> wrong_rows(np.array([1, 2]), np.array(["1", "2"]))
    Traceback (most recent call last):
    ValueError: the label '1' is of another kind than the labels of the model, such as 2
    """
    if (
        np.ndim(y) == 1
        and len(y)
        and (last := predicted[-1]) is not None
        and isinstance(y[0], str) != isinstance(last, str)
    ):
        label, last = (each.item() if isinstance(each, np.generic) else each for each in (y[0], last))
        raise ValueError(f"the label {label!r} is of another kind than the labels of the model, such as {last!r}")
    wrong = np.asarray(predicted != y).astype(bool)
    return wrong.any(axis=1) if wrong.ndim == 2 else wrong
