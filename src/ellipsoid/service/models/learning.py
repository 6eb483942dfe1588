"""A learner with its position in the stream of a journal, and the model file that it is written to.

Because a model does not depend on how its stream was cut into batches, it does not matter how examples were grouped
when they came, when a service was killed, and which snapshot it went on from: the file after ``t`` examples is that of
``ellipsoid learn`` over the same examples as JSON lines.
"""

from __future__ import annotations

from copy import copy, deepcopy
from math import inf
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from ellipsoid.estimators import loading
from ellipsoid.estimators.files import container, saving
from ellipsoid.estimators.wrappers.committee import Committee
from ellipsoid.estimators.wrappers.pipeline import scaled_as
from ellipsoid.evaluate.delayed_labels import predict_then_learn
from ellipsoid.evaluate.lineup import learner as learner_of
from ellipsoid.evaluate.position import Position

from ..journal.rows import Rows, as_learned
from ..messages import NewLearner
from .record import RunRecord

# The errors with which a learner may refuse an example.
REFUSALS = (ValueError, ArithmeticError, MemoryError)
# So many rows, some of which are refused, are learned one by one.
ONE_BY_ONE = 128


def new_model(body: NewLearner) -> Any:
    """The learner that a request asks for, or ``ValueError``."""
    params = {name: inf if value == "inf" else value for name, value in body.params.items()}
    made = learner_of(body.learner, params)
    # This refuses bad parameters now, not with the first example.
    made._fresh() if isinstance(made, Committee) else made._new_learner()
    return scaled_as(made, body.scale)


def labels_model(body: NewLearner) -> Any:
    """The same, with a ``ValueError`` for a regressor; a store that holds one already can still be opened."""
    made = new_model(body)
    if not is_classifier(made):
        raise ValueError(
            f"a service learns labels, but {body.learner} learns numbers; choose a classifier, such as AROW"
        )
    if body.learner == "IELLIP" and body.params.get("selective") and body.params.get("random_state") is None:
        raise ValueError(
            "IELLIP draws at random which labels it learns, and could not be made again from the journal; give "
            "random_state, for example 0"
        )
    return made


def model_file(model: Any, rows: int, errors: int, bits: int | None) -> bytes:
    """The model file, with the position that ``ellipsoid learn -`` writes after as many rows and errors."""
    header, arrays = saving.describe_for_file(model)
    position = Position(["-"], [None], epoch=1, rows=rows, errors=errors, complete=True)
    position.bits = bits
    return container.encode({**header, "stream": position.record()}, arrays)


def without_scaler(model: Any, X: Any) -> tuple[Any, Any]:
    """The learner itself, and the rows as it sees them."""
    return (model.learner_, model._scaled(X)) if hasattr(model, "scaler_") else (model, X)


def copied(model: Any, holder: Any = None) -> Any:
    """An independent copy of a model, or of the object that holds it."""
    core = getattr(getattr(model, "learner_", model), "_core", None)
    # What learning started with is large and never changes: copies share it.
    shared = {} if core is None else {id(core.started): core.started}
    return deepcopy(model if holder is None else holder, shared)


class StreamLearner:
    """``t`` is the number of the next example of the stream; ``refused`` are the examples that it could not learn."""

    def __init__(self, body: NewLearner, first: int, *, classes: list[Any] | None, bits: int | None) -> None:
        self.body, self.first, self.classes, self.bits = body, first, classes, bits
        self.model = new_model(body)
        self.t = first
        self.record = RunRecord()
        self.refused: dict[int, str] = {}

    @property
    def has_learned(self) -> bool:
        """Has anything been learned?"""
        return hasattr(self.model, "n_features_in_")

    def learn(self, rows: Rows) -> None:
        """Predict and learn examples; after an error for one of several it is not known how many were learned."""
        X, y = as_learned(rows, self.bits)
        predicted = predict_then_learn(self.model, X, X, y, None if self.has_learned else self.classes)
        self.record.add(predicted, y)
        self.t += len(y)

    def learn_carefully(self, rows: Rows) -> None:
        """The same one by one; what is refused is passed over.

        A call that refuses its only row leaves a model as it was: a copy for each row would be dear.
        """
        for i in range(len(rows.y)):
            try:
                self.learn(rows.part(i, i + 1))
            except REFUSALS as error:
                self.refused[self.t] = str(error) or type(error).__name__
                self.t += 1

    def learn_or_pass(self, rows: Rows) -> None:
        """Learn examples; what is refused is passed over. What is bad is looked for in halves."""
        before, half = self.copy(), len(rows.y) // 2
        try:
            self.learn(rows)
        except REFUSALS:
            self.__dict__ = before.__dict__
            if half < ONE_BY_ONE:
                self.learn_carefully(rows)
            else:
                self.learn_or_pass(rows.part(0, half))
                self.learn_or_pass(rows.part(half, len(rows.y)))

    def copy(self) -> StreamLearner:
        """An independent copy."""
        other = copy(self)
        other.model, other.record, other.refused = copied(self.model), copy(self.record), dict(self.refused)
        return other

    def file(self) -> bytes:
        """The model file."""
        return model_file(self.model, self.record.rows, self.record.errors, self.bits)

    def load(self, path: Any, t: int, record: RunRecord | None) -> None:
        """Go on from a model file that holds the first ``t`` examples of the stream, or raise ``ValueError``."""
        model, content = loading.open_model(path)
        position = Position.read(content.header["stream"])
        if record is None or (record.rows, record.errors) != (position.rows, position.errors):
            record = RunRecord()
            record.rows, record.errors = position.rows, position.errors
        self.model, self.t, self.record = model, t, record

    def classes_known(self) -> list[Any]:
        """The labels seen so far, or announced."""
        return list(np.asarray(self.model.classes_).tolist()) if self.has_learned else list(self.classes or [])
