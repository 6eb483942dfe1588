"""The base class of tables that add an ellipsoid, or a variance for each weight, to a table of linear weights."""

from contextlib import suppress

from ellipsoid.representation.table_protocol import Floats
from ellipsoid.representation.tables import AroundLinear


class EmptyVersionSpace(ValueError):
    """A proof that no classifier has the required margin on the examples seen."""


class AroundWeights(AroundLinear):
    """``linear`` has the weights; ``constant`` says whether the constant feature counts."""

    numbers: Floats
    constant: bool
    scores: int

    def finish(self) -> None:
        with suppress(EmptyVersionSpace):
            self.settle()

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
