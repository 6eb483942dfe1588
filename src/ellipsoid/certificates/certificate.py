"""What a certificate says."""

from typing import NamedTuple


class Certificate(NamedTuple):
    """A quantity observed on the stream so far, a bound that it cannot exceed, and what the bound rests on.

    The bound is infinite where its conditions fail.

    >>> Certificate("updates", 3, 7.5, "always").bound
    7.5
    """

    name: str
    observed: float
    bound: float
    holds_if: str
