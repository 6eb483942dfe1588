"""What the next example of a stream must look like: decided by those before it, also by those still on their way.

It is held at the end of the journal, where examples get their numbers, and so judges them in the order in which they
will be learned. What it lets through, learners can learn.
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
        self.closed = classes is not None
        self._undo: list[tuple[Any, ...]] = []

    def trial(self, labels: set[Any]) -> Schema:
        """A schema to try examples on, of which nothing is kept; ``labels`` are those known."""
        other = Schema(None)
        other.form, other.width, other.closed, other.labels = self.form, self.width, self.closed, labels
        return other

    @property
    def words(self) -> bool | None:
        """Are labels text? None before the first."""
        return isinstance(next(iter(self.labels)), str) if self.labels else None

    def flaw(self, rows: Rows) -> tuple[int, str] | None:
        """The first row that does not fit, and why."""
        form, width = rows.form, rows.width
        if self.form not in (None, form) or (width is not None and self.width not in (None, width)):
            return 0, self._other(form, width)
        if self.closed or set(rows.y) - self.labels:
            words = self.words if self.labels else isinstance(rows.y[0], str)
            known = len(self.labels)
            fresh: set[Any] = set()
            for i, label in enumerate(rows.y):
                if label in self.labels or label in fresh:
                    continue
                if isinstance(label, str) != words:
                    return i, f"the label {label!r} must be {'text' if words else 'a number'}, as the first one is"
                if self.closed:
                    return i, f"the label {label!r} is none of the classes that the model was made with"
                fresh.add(label)
                if known + len(fresh) > LABEL_LIMIT:
                    return i, f"the label {label!r} is one too many: a model of the service has at most {LABEL_LIMIT}"
        return None

    def _other(self, form: str, width: int | None) -> str:
        if self.form == NAMED:
            return "x must be an object of named features, as the first example was"
        if form == DENSE:
            return f"x must hold {self.width} numbers, as the first example did, got {width}"
        return f"x must be a list of {self.width} numbers, as the first example was"

    def check_form(self, form: str, width: int | None) -> None:
        """Refuse an example to predict that could not be one of the stream."""
        if self.form not in (None, form) or (width is not None and self.width not in (None, width)):
            raise CallProblem(422, self._other(form, width))

    def begin(self) -> None:
        """From here on everything may be taken back."""
        self._undo = [(self.rows, self.form, self.width)]

    def admit(self, rows: Rows) -> int:
        """Take rows without a flaw; returns the number of the first."""
        first = self.rows
        fresh = set(rows.y) - self.labels
        if fresh:
            self._undo.append((fresh,))
            self.labels |= fresh
        self.form, self.width, self.rows = rows.form, rows.width, first + len(rows.y)
        return first

    def take_back(self) -> None:
        """Be as at `begin`: what was admitted since has not reached the disk."""
        for (fresh,) in self._undo[1:]:
            self.labels -= fresh
        self.rows, self.form, self.width = self._undo[0]
        self._undo = self._undo[:1]
