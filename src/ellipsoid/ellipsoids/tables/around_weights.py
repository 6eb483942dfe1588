"""The base class of tables that add an ellipsoid, or a variance for each weight, to a table of linear weights."""

from typing import Any

from ellipsoid.representation.table_protocol import Floats, Table
from ellipsoid.representation.tables import LinearTable


class AroundWeights(Table):
    """``linear`` has the weights; ``constant`` says whether the constant feature counts."""

    linear: LinearTable
    numbers: Floats
    constant: bool

    def mutable_parts(self) -> list[Any]:
        return [self, self.linear]

    def step_arrays(self) -> list[Floats]:
        return [self.numbers]

    @property
    def by_class(self) -> bool:  # type: ignore[override]
        return self.linear.by_class

    @property
    def width(self) -> int:  # type: ignore[override]
        return self.linear.width

    @property
    def average(self) -> bool:
        """Are averages kept?"""
        return self.linear.average

    @property
    def dim(self) -> int:
        """Dimension of the space of hypotheses."""
        return self.scores * (self.width + int(self.constant))

    @property
    def first(self) -> int:
        """The first column that counts: that of the constant feature, or the one behind it."""
        return 0 if self.constant else 1

    def centre(self) -> Floats:
        """The weights as the centre of an ellipsoid: a vector, or a row for each of several functions."""
        centre = self.weights(self.scores, 0)[:, self.first :]
        return centre if self.scores > 1 else centre[0]
