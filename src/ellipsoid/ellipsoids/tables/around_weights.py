"""What tables share that keep an ellipsoid, or a variance each, around weights in a table of their own."""

from typing import Any

from ellipsoid.representation.table_protocol import Floats, Table
from ellipsoid.representation.tables import LinearTable


class AroundWeights(Table):
    """``linear`` has the weights; ``constant``: does the constant feature count?"""

    linear: LinearTable
    numbers: Floats
    constant: bool

    def mutable_parts(self) -> list[Any]:
        """The weights too."""
        return [self, self.linear]

    def step_arrays(self) -> list[Floats]:
        """The numbers."""
        return [self.numbers]

    @property
    def by_class(self) -> bool:  # type: ignore[override]
        """Are a function's weights together?"""
        return self.linear.by_class

    @property
    def width(self) -> int:  # type: ignore[override]
        """Number of features."""
        return self.linear.width

    @property
    def average(self) -> bool:
        """Are averages kept?"""
        return self.linear.average

    @property
    def dim(self) -> int:
        """Dimension of the space of hypotheses."""
        return self.scores * (self.width + int(self.constant))
