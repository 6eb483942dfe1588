"""The schema of a stream: what its next example must look like, given those before it.

The schema belongs to the end of the journal, where examples get their numbers, so that it checks them in the order in
which they will be learned. What it admits, learners can learn.
"""

from __future__ import annotations

from typing import Any

from ..problem import CallProblem
from .rows import DENSE, NAMED, Rows

LABEL_LIMIT = 4096


class Schema:
    """``rows`` is the number of the next example; ``form``, ``width`` and ``words`` are None before the first."""

    def __init__(self, classes: list[Any] | None) -> None:
        self.rows = 0
        self.form: str | None = None
        self.width: int | None = None
        self.labels: set[Any] = set(classes or ())
        self.fixed_labels = classes is not None
        self._undo: list[tuple[Any, ...]] = []

    def trial(self, labels: set[Any]) -> Schema:
        """A copy to try examples on; it shares the set ``labels`` of those known."""
        other = Schema(None)
        other.form, other.width, other.fixed_labels, other.labels = self.form, self.width, self.fixed_labels, labels
        return other

    @property
    def words(self) -> bool | None:
        """Are labels text? None before the first."""
        return isinstance(next(iter(self.labels)), str) if self.labels else None

    def _form_misfit(self, form: str, width: int | None) -> str | None:
        if self.form in (None, form) and (width is None or self.width in (None, width)):
            return None
        if self.form == NAMED:
            return "x must be an object of named features, as in the first example"
        if form == DENSE:
            return f"x must hold {self.width} numbers, as in the first example, got {width}"
        return f"x must be a list of {self.width} numbers, as in the first example"

    def misfit(self, rows: Rows) -> tuple[int, str] | None:
        """The first row that does not fit, and why."""
        wrong = self._form_misfit(rows.form, rows.width)
        if wrong is not None:
            return 0, wrong
        if self.fixed_labels or set(rows.y) - self.labels:
            words = self.words if self.labels else isinstance(rows.y[0], str)
            known = len(self.labels)
            fresh: set[Any] = set()
            for i, label in enumerate(rows.y):
                if label in self.labels or label in fresh:
                    continue
                if isinstance(label, str) != words:
                    return i, f"the label {label!r} must be {'text' if words else 'a number'}, as the first one is"
                if self.fixed_labels:
                    return i, f"the label {label!r} is not among the classes that the model was made with"
                fresh.add(label)
                if known + len(fresh) > LABEL_LIMIT:
                    return (
                        i,
                        f"the label {label!r} is one too many: a model of the service has at most {LABEL_LIMIT} labels",
                    )
        return None

    def check_form(self, rows: Rows) -> None:
        """Refuse rows to predict that could not be rows of the stream."""
        wrong = self._form_misfit(rows.form, rows.width)
        if wrong is not None:
            raise CallProblem(422, wrong)

    def begin(self) -> None:
        """Begin a transaction, which `roll_back` undoes."""
        self._undo = [(self.rows, self.form, self.width)]

    def admit(self, rows: Rows) -> int:
        """Count rows without a misfit as part of the stream; returns the number of the first."""
        first = self.rows
        fresh = set(rows.y) - self.labels
        if fresh:
            self._undo.append((fresh,))
            self.labels |= fresh
        self.form, self.width, self.rows = rows.form, rows.width, first + len(rows.y)
        return first

    def roll_back(self) -> None:
        """Undo what was admitted since `begin`: it has not reached the disk."""
        for (fresh,) in self._undo[1:]:
            self.labels -= fresh
        self.rows, self.form, self.width = self._undo[0]
        self._undo = self._undo[:1]
