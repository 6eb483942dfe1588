"""Test-then-train: every row is first predicted, then learned, so that each is test data once.

The cumulative error after t rows is the share of them whose label differed from the one predicted before
learning it (Dawid, "Present position and potential developments: the prequential approach", JRSS A 1984;
Gama, Sebastião, Rodrigues, "On evaluating stream learning algorithms", Machine Learning 2013,
for the sliding window).
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import is_regressor

from ellipsoid.estimators.inputs.frames import refuse_other_columns
from ellipsoid.estimators.inputs.weights import weights_of
from ellipsoid.streams.label_kinds import label_array
from ellipsoid.streams.labels import refuse_fractions
from ellipsoid.streams.opening import open_stream
from ellipsoid.streams.stream import Stream

from .delayed_labels import DelayedLabels
from .recorder import ErrorRecorder

Progress = Callable[[int, int | None], None]


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
    model : an online learner, new or trained
        or a regressor, whose `RegressionRun` has the mean absolute error, the root mean squared error, and the
        coverage and width of its intervals
    stream : anything `open_stream` takes. Examples given as dicts are handed to the model as they are, for its own
        vocabulary of features; open the stream yourself to have their names hashed
    classes : labels announced beforehand, as for ``partial_fit``
    sample_weight : how much each row counts, in learning and in ``weighted_error``; by default the weights of the
        stream itself (the importances of Vowpal Wabbit's text, a column of weights), else 1. A row of weight 0 is
        skipped
    window : rows of the sliding window; by default a twentieth of the rows, but from 100 to 10,000, and 1000
        where the number of rows is unknown
    delay : a row is learned only after this many later rows were predicted, as if labels came late
    metric : something with ``update(y_true, y_pred)``, such as a metric of river; it gets every prediction
    chunk_size : the most rows handed to the model at once; only the time depends on it
    bounds : compute the certificates of a linear learner at each checkpoint, at the price of a pass over its
        weights each time
    log : called with a dict of numbers and ``step=rows`` at each checkpoint: ``log=mlflow.log_metrics``
    progress : called with the rows done and the rows in all (None if unknown) after each chunk

    The time counts only predicting and learning. A clone learns a few rows first, so that compiling is not timed.

    >>> from ellipsoid.estimators import Perceptron
    >>> run = prequential(Perceptron(), "digits")
    >>> run.rows, 0 < run.error < 0.5, run.updates <= run.rows
    (1797, True, True)
    """
    if not hasattr(model, "learn_predict"):
        hint = "; a learner with a scaler is Scaled(learner)" if hasattr(model, "steps") else ""
        raise TypeError(f"model must be an online learner with learn_predict, got {type(model).__name__}{hint}")
    for name, rows, least in (("chunk_size", chunk_size, 1), ("delay", delay, 0), ("window", window, 1)):
        if rows is None:
            continue
        if not isinstance(rows, int | np.integer):
            raise ValueError(f"{name} must be a whole number of rows, got {rows!r}")
        if rows < least:
            raise ValueError(f"{name} must be {'positive' if least else 'at least 0'}, got {rows}")
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
    recorder.delayed, recorder.metric, recorder.log = DelayedLabels(model, delay) if delay else None, metric, log
    for chunk in stream.chunks(chunk_size):
        X, y, weight = chunk.X, chunk.y, chunk.weights
        if y is None:
            raise ValueError(f"{stream.name} has no labels to learn from")
        if given is not None:
            weight = given[row : row + len(y)]
            if len(weight) < len(y):
                raise ValueError(
                    f"sample_weight has {len(given)} weights, but {stream.name} has more rows; give one weight per row"
                )
        if not numbers and stream.label_column is not None:
            refuse_fractions(y, stream.name, stream.label_column, chunk.offset)
        recorder.feed(X, y if numbers else label_array(y), weight)
        row += len(y)
        if progress is not None:
            progress(recorder.rows, n_rows)
    if recorder.rows == 0:
        raise ValueError(f"{stream.name} has no rows")
    if recorder.delayed is not None:
        recorder.delayed.finish()
    recorder.write_log()
    return recorder.result()


def recorder_for(model: Any, n_rows: int | None, window: int, classes: Any = None, bounds: bool = False) -> Any:
    """What counts for a model: errors of a classifier, distances of a regressor."""
    if is_regressor(model):
        from .regression import RegressionRecorder

        if classes is not None:
            raise ValueError(f"a regressor has no classes, got {classes!r}")
        return RegressionRecorder(model, n_rows, window)
    return ErrorRecorder(model, n_rows, window, classes, bounds)
