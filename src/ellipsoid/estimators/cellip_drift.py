"""The learner behind ``CELLIP(drift=)``: a version space of classifiers that may move from row to row."""

from typing import Any

from .ellipsoidal import EllipsoidLearner
from .slabs import CutBySlabs


class DriftingLearner(CutBySlabs, EllipsoidLearner):
    """Two labels, one function, an ellipsoid that grows a little before every row."""

    start: Any

    def add_label(self, label: Any) -> None:
        """Add one of two labels."""
        if len(self.labels) == 2:
            raise ValueError(f"the label {label!r} is the third: a version space that drifts is one of two labels")
        super().add_label(label)

    def learn_new_label(self, rows: Any, ledger: Any, mode: int, row: int) -> None:
        """Learn the row that brought a new label."""
        self.run(rows, ledger, mode, row, row + 1)
