"""One ellipsoid, cut by half-spaces: the smallest ellipsoid that covers what is left.

For E = { c + s J u : |u| <= 1 }, so P = s^2 J J', and the half-space <a, x> <= <a, c> - alpha sqrt(a'Pa):

    h = J'a / |J'a|,   c <- c - (1 + n alpha)/(n + 1) s J h,   s <- mu s,   J <- J - tau (J h) h'
    mu^2 = (1 - alpha^2) n^2/(n^2 - 1),   (1 - tau)^2 = (1 - alpha)/(1 + alpha) (n - 1)/(n + 1)

alpha = 0 is the central cut, alpha > 0 a deep one, -1/n < alpha < 0 a shallow one that still shrinks E,
and alpha > 1 leaves nothing.  The product J J' cannot become indefinite.  Shor (Cybernetics 13, 1977);
Bland, Goldfarb, Todd (Operations Research 29, 1981), sections 2 and 4; Groetschel, Lovasz, Schrijver
(Combinatorica 1, 1981).

Results hold in spite of rounding.  A depth is reduced by a bound on the error of sqrt(a'Pa) (``noise``), and
after each step the ellipsoid is inflated until it covers the one that exact arithmetic would have made: with
|dc| and |dJ| the bounds on the rounding of c and J, by | |J^{-1}| (|dc|/s + |dJ| 1) |, a number that does
not change when coordinates are rescaled.  When inflation cancels the gain of a cut, the ellipsoid is
exhausted.  Overflow and underflow prove nothing: lengths are computed without squares that overflow, a width
below ``LEAST_WIDTH`` counts as that, and an ellipsoid that rounding could make infinite has infinite width.
"""

from math import ceil, exp, inf, log, log1p, sqrt
from typing import NamedTuple

import numpy as np

from ellipsoid.ellipsoids import Ellipsoid
from ellipsoid.ellipsoids.shapes.shape import EPSILON
from ellipsoid.representation.table_protocol import Floats

DEEPEST = 1.0 - 1e-9  # a deeper cut is made at this depth: the ellipsoid is larger, never wrong
LOG_RANGE = 600.0  # products with a scale beyond exp of this, or with its inverse, may overflow
LEAST_WIDTH = 1e-290  # smaller widths count as this; underflow adds far less to any number
THINNEST = 1e-200  # relative to the longest row of the factor; the inverse of a thinner one may overflow


def log_volume_ratio(dim: int, depth: float = 0.0) -> float:
    """log(volume after / volume before) of a cut of the given depth, -1/dim < depth < 1.

    >>> round(float(np.exp(log_volume_ratio(2))), 4)  # the central cut in the plane
    0.7698
    """
    length = log(dim / (dim + 1.0)) + log1p(-depth)
    if dim == 1:
        return length
    return length + (dim - 1) * (0.5 * (log1p(-depth) + log1p(depth)) - 0.5 * log1p(-1.0 / dim**2))


def iteration_bound(dim: int, ratio: float) -> int:
    """Central cuts after which volume^(1/dim) has shrunk by ``ratio``: about 2 dim (dim + 1) log(ratio).

    >>> iteration_bound(1, 1024.0), iteration_bound(10, 1e6)
    (10, 2759)
    """
    if not ratio < inf:
        raise ValueError(f"ratio must be a finite number, got {ratio}")
    return cuts_for(dim, log(max(ratio, 1.0)))


def cuts_for(dim: int, log_ratio: float) -> int:
    """`iteration_bound` for the logarithm of a ratio, which may be too large for a float."""
    return max(0, ceil(-dim * max(log_ratio, 0.0) / log_volume_ratio(dim) - 1e-9))


def lengths(rows: Floats) -> Floats:
    """The lengths of a vector or of several, also where their squares overflow or underflow.

    >>> lengths(np.array([[3e-200, 4e-200], [3e200, 4e200]]))
    array([5.e-200, 5.e+200])
    """
    exponents = np.frexp(np.abs(rows).max(axis=-1))[1]
    scaled = np.ldexp(rows, -exponents[..., np.newaxis])
    with np.errstate(over="ignore"):
        return np.ldexp(np.sqrt(np.einsum("...i,...i->...", scaled, scaled)), exponents)


class Direction(NamedTuple):
    """The extent of the ellipsoid along a normal a."""

    unit: Floats  # h = J'a / |J'a|
    width: float  # sqrt(a'Pa), at least LEAST_WIDTH
    noise: float  # at least LEAST_WIDTH: a bound on the rounding error of the width, and of <a, c>


def sure_depth(excess: float, allowance: float, width: float) -> float:
    """The depth at which <a, x> <= <a, c> - excess surely cuts, with rounding errors up to ``allowance``."""
    return (excess - allowance) / width if width < inf else -inf


class CuttingEllipsoid:
    """The state of the method: centre, factor and its inverse, log det P."""

    def __init__(self, centre: Floats, radius: float) -> None:
        self.dim = centre.size
        self.centre = centre.copy()
        self.exhausted = abs(log(radius)) > LOG_RANGE
        self.lost = self.exhausted  # is its size unknown?
        self._factor: Floats = np.eye(self.dim)
        self._inverse: Floats = np.eye(self.dim)
        self._reach: Floats = np.ones(self.dim)  # the lengths of the rows of the factor
        # Logarithms are rounded, except that of 1; the ball must not become smaller.
        self._log_scale = log(radius) + (4.0 * EPSILON * (1.0 + abs(log(radius))) if radius != 1.0 else 0.0)
        self.log_det = 2.0 * self.dim * self._log_scale
        self._steps = 0

    def along(self, normal: Floats) -> Direction:
        """The width of the ellipsoid along ``normal`` (not zero) and the rounding to allow for."""
        # A normal of extreme length must not overflow when squared.
        size = float(np.abs(normal).max())
        scaled = normal / size
        image = scaled @ self._factor
        length = float(lengths(image))
        unit = image / length if length > 0.0 else image
        if self.lost:
            return Direction(unit, inf, inf)
        scale = exp(self._log_scale)
        off = (self.dim + 4) * EPSILON * scale * float(np.abs(scaled) @ self._reach) + LEAST_WIDTH
        noise = size * (off + 4.0 * EPSILON * float(np.abs(scaled) @ np.abs(self.centre))) + LEAST_WIDTH
        return Direction(unit, max(size * max(length * scale, LEAST_WIDTH), LEAST_WIDTH), noise)

    def cut(self, unit: Floats, depth: float) -> float:
        """Cover what the half-space of the given depth leaves; returns the depth that was used."""
        depth = min(depth, DEEPEST)
        dim = self.dim
        axis = self._factor @ unit
        self.centre = self.centre - ((1.0 + dim * depth) / (dim + 1.0)) * exp(self._log_scale) * axis
        gain = -log_volume_ratio(dim, depth)
        self.log_det -= 2.0 * gain
        if dim == 1:
            self._log_scale -= gain
        else:
            kept = sqrt((1.0 - depth) / (1.0 + depth) * (dim - 1.0) / (dim + 1.0))
            self._factor -= np.outer((1.0 - kept) * axis, unit)
            self._inverse += np.outer((1.0 / kept - 1.0) * unit, unit @ self._inverse)
            self._log_scale += 0.5 * (log1p(-depth) + log1p(depth) - log1p(-1.0 / dim**2))
        self._steps += 1
        self._refresh()
        self._inflate(gain)
        return depth

    def snapshot(self) -> Ellipsoid:
        return Ellipsoid.from_factor(self.centre, self._factor, 2.0 * self._log_scale)

    def _refresh(self) -> None:
        self._reach = lengths(self._factor)
        self.lost |= float(self._reach.min()) < THINNEST
        largest = float(self._reach.max())
        if largest < 1e-8:
            # The factor shrinks while the scale grows: move a factor over before either overflows or underflows.
            self._factor /= largest
            self._reach /= largest
            self._inverse *= largest
            self._log_scale += log(largest)
        if self._steps % (10 * self.dim) == 0:
            # Updates of the inverse accumulate rounding errors; computing it anew costs dim^2 / 10 per step.
            try:
                self._inverse = np.asarray(np.linalg.inv(self._factor), dtype=np.float64)
            except np.linalg.LinAlgError:
                self.exhausted = True

    def _inflate(self, gain: float) -> None:
        if self.lost or abs(self._log_scale) > LOG_RANGE:
            self.exhausted = self.lost = True
            return
        moved = EPSILON * (np.abs(self.centre) * exp(-self._log_scale) + (2 * self.dim + 8) * self._reach)
        # The last term is for the logarithms, whose sums are rounded too.
        logarithms = abs(self._log_scale) + abs(self.log_det) / self.dim
        with np.errstate(over="ignore", invalid="ignore"):
            uncovered = float(np.linalg.norm(np.abs(self._inverse) @ moved))
        growth = log1p(uncovered + (100.0 + 2.0 * logarithms) * EPSILON)
        self.lost = not growth < inf
        if not self.lost:
            self._log_scale += growth
            self.log_det += 2.0 * self.dim * growth
        # Where half of the gain is lost, more cuts are useless. A NaN ends the run, too.
        self.exhausted |= not self.dim * growth < 0.5 * gain
