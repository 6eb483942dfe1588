"""A run of ``ellipsoid learn``: a model learns its inputs and is saved on the way, so that the run can be resumed."""

from collections.abc import Iterator
from time import monotonic
from typing import Any

from .inputs import Inputs, named_data_set
from .reading import stream_options_of_model
from .summary import parameter_of, support_patterns, typical_entry
from .terminal import stream_progress


class LearningRun:
    """One run: a model, its inputs, and the position reached in them."""

    def __init__(
        self, model: Any, options: dict[str, Any], position: Any, every: tuple[int | None, float | None]
    ) -> None:
        from sklearn.base import is_regressor

        from ellipsoid.streams.labels import word_labels

        self.model, self.options, self.position, self.every = model, options, position, every
        self.rows_before = position.rows
        self.results: list[Any] = []
        self.entry: float | None = None
        self.dataset = named_data_set(options["data"])
        growing = not hasattr(model, "n_features_in_") or parameter_of(model, "grow_features")
        width = {} if growing else {"n_features": model.n_features_in_}
        how = {**stream_options_of_model(options, model, position), "word_labels": word_labels(model)}
        of_classes = not is_regressor(model)
        self.inputs = Inputs(options["data"], position.columns, of_classes=of_classes, **how, **width)

    def learn(self) -> None:
        """Learn what is left of all passes."""
        from ellipsoid.evaluate.position import in_steps, without_first
        from ellipsoid.evaluate.prequential import recorder_for

        position, classes = self.position, self._classes()
        with stream_progress(type(self.model).__name__, lines=self.options["progress"]) as tick:
            for rows in self._passes():
                recorder = recorder_for(self.model, None, 1000, classes, bounds=bool(self.options["plot"]))
                recorder.stops, recorder.seen = recorder.bounds, position.row
                errors_before, saved_at = position.errors, monotonic()
                counted_before = position.rows - position.weightless
                left = in_steps(without_first(rows, position.row), position.row, self.every[0])
                for X, y, weight in self._cut_at_wider_rows(left):
                    self._allow_growth(X)
                    recorder.feed(X, y, weight)
                    position.advance(len(y))
                    position.errors = errors_before + recorder.errors
                    position.weightless = position.rows - counted_before - recorder.rows
                    if tick is not None:
                        tick(
                            position.rows, position.error, self.inputs.done(position.row), support_patterns(self.model)
                        )
                    if self._save_is_due(saved_at):
                        self.save()
                        saved_at = monotonic()
                classes = None
                if recorder.rows:
                    self.results.append(recorder.result())
                position.next_epoch()

    def _passes(self) -> Iterator[Any]:
        """For each pass its rows, labels and weights in their order."""
        position = self.position
        if position.order is None:
            while position.epoch < position.epochs:
                yield self.inputs.weighted()
            return
        import numpy as np

        from ellipsoid.streams.opening import open_stream

        weights: list[Any] = []

        def chunks() -> Iterator[Any]:
            for X, y, weight in self.inputs.weighted():
                weights.append(np.ones(len(y)) if weight is None else weight)
                yield X, y

        X, y = open_stream(chunks()).arrays()
        weight = np.concatenate(weights)
        rng = np.random.default_rng(position.order)
        for epoch in range(position.epochs):
            order = rng.permutation(len(y))
            if epoch == position.epoch:
                yield [(X[order], y[order], None if (weight == 1.0).all() else weight[order])]

    def _classes(self) -> Any:
        from ellipsoid.streams.sets.datasets import plain_labels

        if self.options["classes"]:
            return plain_labels(self.options["classes"])
        from sklearn.base import is_regressor

        known = hasattr(self.model, "n_features_in_") or is_regressor(self.model)
        return None if known or self.dataset is None else self.dataset.classes

    def _allow_growth(self, X: Any) -> None:
        """Let a learner of sparse text grow, because later rows may have more features."""
        if self.entry is None:
            self.entry = typical_entry(X, self.options["scale"])
        if (
            hasattr(self.model, "n_features_in_")
            or not hasattr(X, "tocsr")
            or self.inputs.reader.n_features is not None
        ):
            return
        if parameter_of(self.model, "kernel") not in (None, "linear") and isinstance(
            parameter_of(self.model, "gamma"), str
        ):
            raise ValueError(
                "gamma depends on the number of features, which is unknown until sparse text ends; set it, for "
                "example with --param gamma=0.1"
            )
        getattr(self.model, "learner", self.model).set_params(grow_features=True)

    def _cut_at_wider_rows(self, chunks: Iterator[Any]) -> Iterator[Any]:
        """Cut chunks where a row is wider than all before it, for a learner whose steps depend on the width."""
        import numpy as np

        from ellipsoid.streams.widening import split_where_wider

        counts = getattr(getattr(self.model, "learner", self.model), "_counts_features", False)
        mark = None if counts is True else counts
        for X, y, weight in chunks:
            if counts and hasattr(X, "tocsr") and self.inputs.reader.n_features is None:
                rows = np.arange(len(y))
                for part, own in split_where_wider(X, rows, getattr(self.model, "n_features_in_", 0), mark):
                    yield part, y[own], None if weight is None else weight[own]
            else:
                yield X, y, weight

    def _save_is_due(self, saved_at: float) -> bool:
        rows, seconds = self.every
        if rows is not None:
            return bool(self.position.row % rows == 0)
        return seconds is not None and monotonic() - saved_at >= seconds

    def save(self, final: bool = False) -> None:
        """Write the model, and the position that a resumed run begins at."""
        from ellipsoid.estimators.files.saving import save
        from ellipsoid.evaluate.position import KEPT

        if self.options["target"]:
            self.position.complete, self.position.columns = final, self.inputs.learned
            for option in KEPT:
                setattr(self.position, option, self.inputs.options[option])
            self.position.missing = "zero" if self.inputs.options.get("missing") == "zero" else None
            save(self.model, self.options["target"], stream=self.position.record())
