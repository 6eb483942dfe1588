"""A learner on its way along a journal: what it has learned, and the model file that it is written to.

Because no cutting of a stream changes a model, it does not matter how examples were grouped when they came, when a
service was killed, and which snapshot it went on from: the file after ``t`` examples is that of ``ellipsoid learn``
over the same examples as JSON lines.
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

# What a learner may say to an example that it cannot take.
REFUSALS = (ValueError, ArithmeticError, MemoryError)


def new_model(body: NewLearner) -> Any:
    """The learner that a request asks for, or ``ValueError``."""
    params = {name: inf if value == "inf" else value for name, value in body.params.items()}
    made = learner_of(body.learner, params)
    # Bad parameters are refused now, not with the first example.
    made._fresh() if isinstance(made, Committee) else made._new_learner()
    return scaled_as(made, body.scale)


def labels_model(body: NewLearner) -> Any:
    """The same, and a ``ValueError`` for one that learns numbers; stores that hold such a model still open."""
    made = new_model(body)
    if not is_classifier(made):
        raise ValueError(f"a service learns labels, and {body.learner} numbers; choose a classifier, such as AROW")
    return made


class StreamLearner:
    """``t`` is the number of the next example of the stream; those that it could not take are in ``refused``."""

    def __init__(self, body: NewLearner, first: int, *, classes: list[Any] | None, bits: int | None) -> None:
        self.body, self.first, self.classes, self.bits = body, first, classes, bits
        self.begin()

    def begin(self) -> None:
        """Know nothing."""
        self.model = new_model(self.body)
        self.t = self.first
        self.record = RunRecord()
        self.refused: dict[int, str] = {}

    @property
    def known(self) -> bool:
        """Has anything been learned?"""
        return hasattr(self.model, "n_features_in_")

    def learn(self, rows: Rows) -> None:
        """Predict and learn examples; where one is refused, an error, and what is known is undefined."""
        X, y = as_learned(rows, self.bits)
        predicted = predict_then_learn(self.model, X, X, y, None if self.known else self.classes)
        self.record.add(predicted, y)
        self.t += len(y)

    def learn_carefully(self, rows: Rows) -> None:
        """The same one by one; what is refused is passed over."""
        for i in range(len(rows.y)):
            before = self.twin()
            try:
                self.learn(rows.part(i, i + 1))
            except REFUSALS as error:
                self.__dict__ = before.__dict__
                self.refused[self.t] = str(error) or type(error).__name__
                self.t += 1

    def learn_or_pass(self, rows: Rows) -> None:
        """Learn examples; what is refused is passed over."""
        before = self.twin()
        try:
            self.learn(rows)
        except REFUSALS:
            self.__dict__ = before.__dict__
            self.learn_carefully(rows)

    def twin(self) -> StreamLearner:
        """A copy that learns nothing of what this one learns next."""
        other = copy(self)
        core = getattr(getattr(self.model, "learner_", self.model), "_core", None)
        # What learning started with is never changed, and has many parts.
        shared = {} if core is None else {id(core.started): core.started}
        other.model, other.record, other.refused = deepcopy(self.model, shared), copy(self.record), dict(self.refused)
        return other

    def position(self) -> dict[str, Any]:
        """Where the stream stands, as ``ellipsoid learn -`` writes it down."""
        stands = Position(["-"], [None], epoch=1, rows=self.record.rows, errors=self.record.errors, complete=True)
        stands.bits = self.bits
        return stands.record()

    def file(self) -> bytes:
        """The model file."""
        header, arrays = saving.describe(self.model)
        return container.encode({**header, "stream": self.position()}, arrays)

    def take(self, path: Any, t: int, record: RunRecord | None) -> None:
        """Go on from a model file that holds the first ``t`` examples of the stream, or raise ``ValueError``."""
        model, content = loading.open_model(path)
        stands = Position.read(content.header["stream"])
        if record is None or (record.rows, record.errors) != (stands.rows, stands.errors):
            record = RunRecord()
            record.rows, record.errors = stands.rows, stands.errors
        self.model, self.t, self.record = model, t, record

    def classes_known(self) -> list[Any]:
        """The labels met so far, or announced."""
        return list(np.asarray(self.model.classes_).tolist()) if self.known else list(self.classes or [])
