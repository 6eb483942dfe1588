"""The learner behind ``CELLIP(drift=)``: a version space of classifiers that may move from row to row."""

from typing import Any

from ellipsoid.rules.slab import learn_slabs

from .ellipsoidal import EllipsoidLearner
from .inputs.rows import RowSource
from .slabs import slab_table


class DriftingLearner(EllipsoidLearner):
    """Two labels, one function, an ellipsoid that grows a little before every row."""

    loop = staticmethod(learn_slabs)
    start: Any

    def by_class(self, source: RowSource, classes: int = 0) -> bool:
        """The weights lie together."""
        return True

    def new_table(self, by_class: bool) -> Any:
        """Weights with an ellipsoid around them."""
        return slab_table(self.rule, self.constant != 0.0)

    def add_label(self, label: Any) -> None:
        """Add one of two labels."""
        if len(self.labels) == 2:
            raise ValueError(f"the label {label!r} is the third: a version space that drifts is one of two labels")
        super().add_label(label)

    def learn_new_label(self, rows: Any, ledger: Any, mode: int, row: int) -> None:
        """Learn the row that brought a new label."""
        self.run(rows, ledger, mode, row, row + 1)
