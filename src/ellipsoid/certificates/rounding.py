"""Interval arithmetic with outward rounding, for bounds that must hold in spite of rounding errors.

A bound computed in floating point may come out a little too low, and the quantity that it is compared with a little too
high. So both are computed as spans, intervals that contain the exact number: every operation rounds the lower end down
and the upper end up. Of a bound the upper end is reported, of an observed quantity the lower.

The inputs are spans too. An exact float64 has no width; a sum of n terms of one sign is off by at most
``relative_error(n)`` of itself, whatever the order of its terms, and a product of vectors as much of the sum of the
absolute products. A span that has become meaningless (infinities that cancel, zero times infinity) is the whole line,
so that a bound made of it is infinite and never NaN.

Higham, "Accuracy and stability of numerical algorithms" (2002), sections 2.2 and 3.1.
"""

from dataclasses import dataclass
from math import inf, isnan, nextafter, sqrt

import numpy as np
from numpy.typing import NDArray

# Half the distance from 1 to the next number: the largest relative error of one operation.
UNIT = 2.0**-53
# The error of a product that underflows.
LEAST = 5e-324
# More than a sum can lose by terms that underflow.
VANISHED = 1e-300


def relative_error(operations: float) -> float:
    """The largest relative error of so many roundings one after another.

    >>> 1e-12 < relative_error(10_000) < 1.2e-12, relative_error(2.0**53)
    (True, inf)
    """
    share = (operations + 1.0) * UNIT
    return share / (1.0 - share) if share < 0.5 else inf


@dataclass(frozen=True, slots=True)
class Span:
    """An interval that contains a number: between ``low`` and ``high``.

    >>> third = Span.exactly(1.0) / 3.0
    >>> third.low < 1 / 3 < third.high, third.high - third.low < 2e-16
    (True, True)
    >>> Span(1.0, 2.0) - Span(1.0, 2.0)
    Span(low=-1.0000000000000002, high=1.0000000000000002)
    """

    low: float
    high: float

    @classmethod
    def exactly(cls, value: float) -> "Span":
        """A number without error."""
        return cls(float(value), float(value)) if not isnan(value) else LINE

    @classmethod
    def about(cls, value: float, operations: float) -> "Span":
        """A number computed with so many roundings, each relative to it."""
        return cls.within(value, abs(float(value)) * relative_error(operations))

    @classmethod
    def within(cls, value: float, error: float) -> "Span":
        """A number with an absolute error."""
        return cls.exactly(value) if error == 0.0 else _outward(float(value) - error, float(value) + error)

    def widened(self, error: float) -> "Span":
        """The same with a further absolute error."""
        return self if error == 0.0 else _outward(self.low - error, self.high + error)

    def __add__(self, other: "Number") -> "Span":
        other = as_span(other)
        if other == ZERO or self == ZERO:
            return self if other == ZERO else other
        return _outward(self.low + other.low, self.high + other.high)

    def __sub__(self, other: "Number") -> "Span":
        return self + -as_span(other)

    def __neg__(self) -> "Span":
        return Span(-self.high, -self.low)

    def __mul__(self, other: "Number") -> "Span":
        other = as_span(other)
        ends = [a * b for a in (self.low, self.high) for b in (other.low, other.high)]
        if any(map(isnan, ends)):
            return LINE
        return ZERO if ZERO in (self, other) else _outward(min(ends), max(ends))

    def __truediv__(self, other: "Number") -> "Span":
        other = as_span(other)
        if other.low <= 0.0 <= other.high:
            return LINE
        ends = [a / b for a in (self.low, self.high) for b in (other.low, other.high)]
        if any(map(isnan, ends)):
            return LINE
        return ZERO if self == ZERO else _outward(min(ends), max(ends))

    __radd__ = __add__
    __rmul__ = __mul__

    def __rsub__(self, other: "Number") -> "Span":
        return as_span(other) - self

    def __rtruediv__(self, other: "Number") -> "Span":
        return as_span(other) / self

    def root(self) -> "Span":
        """The square root; negative numbers count as zero."""
        return _outward(sqrt(max(0.0, self.low)), sqrt(max(0.0, self.high))).at_least(0.0)

    def square(self) -> "Span":
        """Its square, which is never negative."""
        return (self * self).at_least(0.0)

    def at_least(self, floor: float) -> "Span":
        """The maximum of this and a number."""
        return Span(max(self.low, floor), max(self.high, floor))


Number = Span | float

ZERO = Span(0.0, 0.0)
LINE = Span(-inf, inf)


def as_span(value: Number) -> Span:
    """The span of a number without error; a span itself."""
    return value if isinstance(value, Span) else Span.exactly(value)


def _outward(low: float, high: float) -> Span:
    if isnan(low) or isnan(high):
        return LINE
    # A result that overflowed may be finite in exact arithmetic, so the largest finite number is its lower end.
    return Span(nextafter(low, -inf), nextafter(high, inf))


def total(values: NDArray[np.float64]) -> Span:
    """The sum of an array."""
    with np.errstate(over="ignore", invalid="ignore"):
        return Span.within(float(values.sum()), float(np.abs(values).sum()) * relative_error(values.size))


def product(u: NDArray[np.float64], v: NDArray[np.float64], roundings: int = 0) -> Span:
    """The inner product of two arrays whose entries already have so many ``roundings``."""
    with np.errstate(over="ignore", invalid="ignore"):
        terms = u * v
        size = float(np.abs(terms).sum())
        error = size * relative_error(terms.size + roundings + 2) + LEAST * terms.size
        return Span.within(float(terms.sum()), error if size > 0.0 else LEAST * np.count_nonzero((u != 0) & (v != 0)))


def length(v: NDArray[np.float64]) -> Span:
    """The Euclidean norm of an array of entries of any size."""
    largest = float(np.abs(v).max(initial=0.0))
    if largest == 0.0 or not largest < inf:
        return ZERO if largest == 0.0 else LINE
    return Span.about(largest, 0) * Span.about(float(np.linalg.norm(v / largest)), v.size + 6)
