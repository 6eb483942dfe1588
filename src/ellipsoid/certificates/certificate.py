"""A certificate: a quantity observed on a run, a bound that a theorem puts on it, and the condition of that theorem."""

from math import inf
from typing import NamedTuple


class Certificate(NamedTuple):
    """A quantity observed on the stream so far, a bound that it cannot exceed, and the condition for the bound.

    The bound is infinite where its conditions fail.

    >>> Certificate("updates", 3, 7.5, "always").bound
    7.5
    """

    name: str
    observed: float
    bound: float
    holds_if: str


def unproved(certificates: list[Certificate], why: str = "no bound is proved with weights") -> list[Certificate]:
    """The same quantities without bounds, where nothing is proved, as for weights that the proof does not cover."""
    return [each._replace(bound=inf, holds_if=why) for each in certificates]
