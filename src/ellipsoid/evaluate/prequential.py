"""Test-then-train: every row is first predicted, then learned, so that each is test data once.

The cumulative error after t rows is the share of them whose label differed from the one predicted before
learning it (Dawid, "Present position and potential developments: the prequential approach", JRSS A 1984;
Gama, Sebastião, Rodrigues, "On evaluating stream learning algorithms", Machine Learning 2013,
for the sliding window).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from math import isfinite, nan
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import is_regressor

from ellipsoid.certificates.dual import FLOOR
from ellipsoid.estimators.inputs.frames import refuse_other_columns
from ellipsoid.estimators.inputs.weights import weights_of
from ellipsoid.streams.label_kinds import label_array
from ellipsoid.streams.opening import open_stream
from ellipsoid.streams.stream import Stream

from .checkpoints import Checkpoints, running_sum
from .confusion import Confusion
from .delayed_labels import DelayedLabels, NotedAnswers, foretold, numbered_in_stream, those_that_count
from .run import Prequential

Progress = Callable[[int, int | None], None]
# What a log is told of a run, beside the error over the window.
LOGGED = ("rows", "error", "mistakes", "updates", "kappa_temporal", "kappa_majority", "balanced_error", "f1")


def shifted(progress: Progress | None, before: int, total: int | None) -> Progress | None:
    """Progress of one run as progress of a longer work, of which ``before`` rows are done."""
    return None if progress is None else lambda done, _: progress(before + done, total)


def prequential(  # noqa: PLR0913 - every option is named where it is given
    model: Any,
    stream: Any,
    *,
    classes: Any = None,
    sample_weight: Any = None,
    window: int | None = None,
    delay: int = 0,
    metric: Any = None,
    chunk_size: int = 1024,
    bounds: bool = False,
    log: Callable[..., Any] | None = None,
    progress: Progress | None = None,
) -> Any:
    """Predict, then learn, every row of ``stream``; ``model`` is left as trained.

    Parameters
    ----------
    model : an online learner (it goes on from what it knows already)
        or a regressor, whose `RegressionRun` has the mean absolute error, the root of the mean squared one, and of
        intervals their coverage and width
    stream : anything `open_stream` takes. Examples given as dicts are handed to the model as they are, for its own
        vocabulary of features; open the stream yourself to have their names hashed
    classes : labels announced beforehand, as for ``partial_fit``
    sample_weight : what each row counts, when it is learned and in ``weighted_error``; by default what the stream
        itself says (the importances of Vowpal Wabbit's text, a column of weights), else 1. A row of weight 0 is passed
        over
    window : rows of the sliding window; by default a twentieth of the rows, but from 100 to 10,000, and 1000
        where the number of rows is unknown
    delay : a row is learned only after so many later ones were predicted, as where labels come late
    metric : something with ``update(y_true, y_pred)``, such as a metric of river; it is told every prediction
    chunk_size : most rows handed to the model at once; no result but the time depends on it
    bounds : ask a linear learner for its certificates where it is stopped, at the price of a pass over its
        weights each time
    log : called with a dict of numbers and ``step=rows`` where the model is stopped: ``log=mlflow.log_metrics``
    progress : called with the rows done and the rows in all (None if unknown) after each chunk

    The time counts predicting and learning only. Compiling is kept out of it by a few rows learned by a
    clone first.

    >>> from ellipsoid.estimators import Perceptron
    >>> run = prequential(Perceptron(), "digits")
    >>> run.rows, 0 < run.error < 0.5, run.updates <= run.rows
    (1797, True, True)
    """
    if not hasattr(model, "learn_predict"):
        raise TypeError(f"model must be an online learner with learn_predict, got {type(model).__name__}")
    for name, rows, least in (("chunk_size", chunk_size, 1), ("delay", delay, 0), ("window", window, 1)):
        if rows is None:
            continue
        if not isinstance(rows, int | np.integer):
            raise ValueError(f"{name} must be a whole number of rows, got {rows!r}")
        if rows < least:
            raise ValueError(f"{name} must be {'positive' if least else 'a number of rows'}, got {rows}")
    if metric is not None and not hasattr(metric, "update"):
        raise TypeError(f"metric must have update(y_true, y_pred), got {type(metric).__name__}")
    if isinstance(stream, tuple) and len(stream) == 2 and hasattr(stream[0], "columns"):
        refuse_other_columns(model, stream[0])
    if not isinstance(stream, Stream):
        stream = open_stream(stream, dicts="keep", chunk_rows=chunk_size)
    n_rows = stream.n_rows
    numbers = is_regressor(model)
    if stream.lies_in_memory and not numbers:  # what is no label is refused before anything is learned
        label_array(stream.arrays()[1])
    if window is None:
        window = 1000 if n_rows is None else min(max(100, n_rows // 20), 10_000)
    given = (
        None if sample_weight is None else weights_of(sample_weight, len(sample_weight) if n_rows is None else n_rows)
    )
    recorder: Any = recorder_for(model, n_rows, window, classes, bounds)
    row = 0
    recorder.late, recorder.metric, recorder.log = DelayedLabels(model, delay) if delay else None, metric, log
    for chunk in stream.chunks(chunk_size):
        X, y, weight = chunk.X, chunk.y, chunk.weights
        if y is None:
            raise ValueError(f"{stream.name} has no labels to learn from")
        if given is not None:
            weight = given[row : row + len(y)]
            if len(weight) < len(y):
                raise ValueError(f"sample_weight has {len(given)} weights, and {stream.name} has more rows")
        recorder.feed(X, y if numbers else label_array(y), weight)
        row += len(y)
        if progress is not None:
            progress(recorder.rows, n_rows)
    if recorder.rows == 0:
        raise ValueError(f"{stream.name} has no rows")
    if recorder.late is not None:
        recorder.late.finish()
    recorder.tell()
    return recorder.result()


def recorder_for(model: Any, n_rows: int | None, window: int, classes: Any = None, bounds: bool = False) -> Any:
    """What counts for a model: errors of a classifier, distances of a regressor."""
    if is_regressor(model):
        from .regression import NumberRecorder

        if classes is not None:
            raise ValueError(f"a regressor has no classes, got {classes!r}")
        return NumberRecorder(model, n_rows, window)
    return Recorder(model, n_rows, window, classes, bounds)


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


class Recorder:
    """Feeds chunks to a model and counts at checkpoints, from the start of this run, also when the model goes on from
    an earlier one. With ``stops`` False chunks are handed on whole: the errors of all rows are known all the same,
    what the learner counts at the end only.
    """

    stops = True
    # Rows of the stream so far, those of weight 0 among them.
    met = 0
    late: DelayedLabels | None = None
    metric: Any = None
    log: Callable[..., Any] | None = None

    def __init__(self, model: Any, n_rows: int | None, window: int, classes: Any = None, bounds: bool = False) -> None:
        self.model = model
        self.bounds = bounds
        self.classes = classes
        self.compile_seconds: float | None = None
        self.checkpoints = Checkpoints(n_rows)
        self.window = window
        self.recent = np.zeros(0, dtype=bool)
        self.rows = 0
        self.errors = 0
        self.logged = 0
        self.confusion = Confusion()
        self.seconds = 0.0
        self.total_weight = self.weighted_errors = 0.0
        self.weighed = False
        self.sets: list[int] | None = [0, 0, 0] if hasattr(model, "learn_predict_set") else None
        self.mistakes_before = getattr(model, "mistakes_", 0)
        self.updates_before = getattr(model, "updates_", 0)
        self.marks: list[_Mark] = []

    def feed(self, X: Any, y: Any, weight: Any = None) -> None:
        """Predict, then learn, the rows of a chunk; those of weight 0 are passed over."""
        self.weighed |= weight is not None
        self.met, (numbers, X, y, weight) = self.met + len(y), those_that_count(self.met, X, y, weight)
        if len(y) == 0:
            return
        if self.compile_seconds is None:
            self.compile_seconds = _warm_up(self.model, X, y, self.classes)
        start = 0
        while start < len(y):
            stop = min(len(y), start + self.rows_to_stop()) if self.stops else len(y)
            own = None if weight is None else weight[start:stop]
            _step(self.model, self, (numbers[start:stop], X[start:stop], y[start:stop], own), self.classes)
            self.classes, start = None, stop

    def with_sets(self, X: Any, y: Any, classes: Any, weight: Any) -> Any:
        """Predict and learn rows, and count what became of their label sets."""
        if self.late is None and not isinstance(X, list):
            predicted, sizes, held = self.model.learn_predict_set(X, y, classes=classes, sample_weight=weight)
        else:
            model = NotedAnswers(self.model)
            predicted = foretold(self.late, model, X, y, classes, weight)
            noted = iter(model.noted)
            sets = [set() if told is None else next(noted) for told in predicted]
            sizes = np.array([len(each) for each in sets])
            held = np.array([label in each for each, label in zip(sets, y.tolist(), strict=True)])
        single = sizes == 1
        found = held.sum(), single.sum(), (single & wrong_rows(predicted, y)).sum()
        self.sets = [old + int(new) for old, new in zip(self.sets or (0, 0, 0), found, strict=True)]
        return predicted

    def rows_to_stop(self) -> int:
        return self.checkpoints.stop_after(self.rows) - self.rows

    def add(self, predicted: Any, y: Any, seconds: float, weight: Any = None) -> None:
        """Count rows that were predicted and learned."""
        wrong = wrong_rows(predicted, y)
        own = np.ones(len(wrong)) if weight is None else weight
        self.total_weight = float(running_sum(self.total_weight, own)[-1])
        self.weighted_errors = float(running_sum(self.weighted_errors, own[wrong])[-1])
        if y.ndim == 1:
            self.confusion.add(np.asarray(predicted), y)
        if self.metric is not None:
            for label, told in zip(y.tolist(), np.asarray(predicted).tolist(), strict=True):
                if told is not None:
                    self.metric.update(label, told)
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
            self.marks.append(self.look(mark) if stopped and row == end else mark)
        self.errors += int(wrong.sum())
        self.recent = flags[-self.window :]
        self.rows = end
        if stopped:
            self.tell()

    def tell(self) -> None:
        """Hand the numbers of this moment to the log."""
        if self.log is not None and self.rows > self.logged:
            run = self.result()
            numbers = {name: float(getattr(run, name)) for name in LOGGED}
            numbers["window_error"] = float(run.windowed_error[-1])
            self.logged = self.rows
            self.log({name: value for name, value in numbers.items() if isfinite(value)}, step=self.rows)

    def look(self, mark: _Mark) -> _Mark:
        """What only a learner that stands still can tell."""
        bound, hindsight, dual = bounds_so_far(self.model) if self.bounds else (nan, nan, nan)
        known = mark._replace(updates=self.updates(), seconds=self.seconds, mistakes=self.mistakes())
        return known._replace(bound=bound, hindsight=hindsight, dual=dual)

    # Where all labels are still to come, nothing was learned and nothing is counted.

    def mistakes(self) -> int:
        return int(getattr(self.model, "mistakes_", 0) - self.mistakes_before)

    def updates(self) -> int:
        return int(getattr(self.model, "updates_", 0) - self.updates_before)

    def result(self) -> Prequential:
        """What was counted."""
        last = self.look(_Mark(self.rows, self.errors / self.rows, float(self.recent.mean())))
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
            labels=tuple(map(_plain_label, self.confusion.labels)),
            confusion=self.confusion.matrix,
            label_counts=self.confusion.counts,
            repeat_errors=self.confusion.repeat_errors,
            majority_errors=self.confusion.majority_errors,
            total_weight=self.total_weight if self.weighed else None,
            weighted_errors=self.weighted_errors if self.weighed else None,
            **dict(zip(("covered_rows", "answered_rows", "answered_errors"), self.sets or (), strict=False)),
        )


def bounds_so_far(model: Any) -> tuple[float, float, float]:
    """The learner's bound on its mistakes so far, the loss, in units of the margin, that nothing as long avoids, and
    the value of the dual that it climbs.

    NaN where it does not say; a kernel model is not asked, because its certificates look at all its support patterns.
    """
    learner = getattr(model, "learner_", model)
    if getattr(learner, "kernel", "linear") != "linear" or getattr(learner, "t_", 0) == 0:
        return nan, nan, nan
    found = {certificate.name: certificate for certificate in learner.certificates()}
    bound = found["mistakes"].bound if "mistakes" in found else nan
    floor = found[FLOOR].observed / learner.margin if FLOOR in found else nan
    dual = found["dual objective"].observed if "dual objective" in found else nan
    return bound if isfinite(bound) else nan, floor, dual


def _step(model: Any, recorder: Recorder, rows: tuple[Any, Any, Any, Any], classes: Any) -> None:
    numbers, X, y, weight = rows
    began = perf_counter()
    learn_predict = partial(foretold, recorder.late, model) if recorder.sets is None else recorder.with_sets
    with numbered_in_stream(recorder.late, numbers):
        predicted = learn_predict(X, y, classes, weight)
    seconds = perf_counter() - began
    recorder.add(predicted, y, seconds, weight)


def wrong_rows(predicted: Any, y: Any) -> Any:
    """Whether each row's label (or, of many labels, any of them) differs from the one predicted.

    >>> wrong_rows(np.array([1, 2]), np.array(["1", "2"]))
    Traceback (most recent call last):
    ValueError: the label '1' is of another kind than those of the model, such as 2
    """
    if (
        np.ndim(y) == 1
        and len(y)
        and (told := predicted[-1]) is not None
        and isinstance(y[0], str) != isinstance(told, str)
    ):
        label, told = (each.item() if isinstance(each, np.generic) else each for each in (y[0], told))
        raise ValueError(f"the label {label!r} is of another kind than those of the model, such as {told!r}")
    wrong = np.asarray(predicted != y).astype(bool)
    return wrong.any(axis=1) if wrong.ndim == 2 else wrong


def _plain_label(label: Any) -> Any:
    return label if isinstance(label, bool | int | float | str) else str(label)


def _warm_up(model: Any, X: Any, y: Any, classes: Any) -> float:
    """Seconds until compiled code is ready: a clone learns a few rows with up to three labels, because two
    labels and more run different loops.
    """
    from sklearn.base import clone

    began = perf_counter()
    rows = _first_of_each_label(y, most=3)
    few = [X[i] for i in rows] if isinstance(X, list) else X[rows]
    # A bad row is left to the run itself, which meets it next and gives its number in the stream.
    with suppress(ValueError):
        foretold(None, clone(model), few, y[rows], classes, None)
    return perf_counter() - began


def _first_of_each_label(y: Any, most: int) -> Sequence[int]:
    _, first = np.unique(y, axis=0 if y.ndim == 2 else None, return_index=True)
    return sorted({*range(min(5, len(y))), *np.sort(first)[:most].tolist()})
