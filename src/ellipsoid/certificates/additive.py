"""Bounds for learners that start at zero and add tau_r x to row r: the Perceptron family, PA and MIRA.

W is the hypothesis, U any comparator of the same shape (a row a score). Everything follows from sums kept while
learning and from the one product <U, W>, which is the sum over all updates of tau_y times U's margin on them (for a
shared blame: the mean margin over the blamed labels, which is no smaller than the margin). So ``<U, W> / sum tau_y`` is
U's average margin on the updates, and it may take the place of the least margin in every bound of

    Crammer & Singer (JMLR 2003), theorems 3 and 10; Crammer et al. (JMLR 2006), theorems 2, 4 and 5.

The proofs are the papers' own with "sum of margins" for "number x least margin"; docs/certificates.md writes them out.

A run that met its third class half-way was, until then, the run of two rows, -w/2 and w/2 (PA) or -w and w, with other
constants: twice the margin of the Perceptron, half the cap of PA-I, twice the ridge of PA-II.
"""

from math import inf, isfinite, sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ellipsoid.engine import tally as tallies

from .certificate import Certificate

# Certificates are computed from float64 sums; a bound that is met with equality must not fail by rounding.
SLACK = 1.0 + 1e-9


class Run(NamedTuple):
    """What the bounds need of a run: its sums, its weights, a comparator.

    ``blocks`` is 2 where an example moves two rows (K > 2), else 1; ``split`` says that it was a binary run at first.
    """

    tally: NDArray[np.float64]
    weights: NDArray[np.float64]
    comparator: NDArray[np.float64]
    blocks: int
    split: bool

    @property
    def updates(self) -> int:
        """Rounds that changed the hypothesis."""
        return int(self.tally[tallies.UPDATES])

    @property
    def mistakes(self) -> int:
        """Rounds with margin <= 0."""
        return int(self.tally[tallies.MISTAKES])

    @property
    def radius2(self) -> float:
        """Largest squared norm of an update's row."""
        return float(self.tally[tallies.RADIUS2])

    @property
    def push(self) -> float:
        """Sum of tau_y over updates."""
        return float(self.tally[tallies.PUSH])

    @property
    def size(self) -> float:
        """|U|, infinite where it overflows."""
        scale, shape = self._scaled()
        return scale * float(np.linalg.norm(shape))

    @property
    def along(self) -> float:
        """<U, W> / |U|: how far W has come in the direction of U."""
        _, shape = self._scaled()
        length = float(np.linalg.norm(shape))
        return float(np.vdot(shape, self.weights)) / length if length else 0.0

    def _scaled(self) -> tuple[float, NDArray[np.float64]]:
        """A comparator may have any size: its largest entry, and the rest of it."""
        scale = float(np.abs(self.comparator).max(initial=0.0))
        return scale, self.comparator / scale if scale else self.comparator

    def ground(self, margin: float, factor: float) -> float:
        """|U|^2 + 2 (margin sum tau - <U, W>), for a matrix that is ``factor`` times as long as what is kept."""
        size, along = factor * self.size, factor * self.along
        ground = size * (size - 2.0 * along) + 2.0 * margin * self.push
        # Infinities that cancel leave no number, and no bound.
        return max(0.0, ground) if isfinite(ground) else inf

    def on_mistakes(self, bound: float) -> float:
        """A bound on mistakes that update; a zero row is a mistake that nothing can learn from."""
        return bound if self.tally[tallies.ZEROS] == 0.0 and self.mistakes <= self.updates else inf


CONDITION = "U has a positive average margin on the updates; R is the largest norm of an update's row"


def _product(*factors: float) -> float:
    """A bound that is a product; nothing times infinity is no bound."""
    total = SLACK
    for factor in factors:
        total *= factor
    return inf if inf in factors else total


def perceptron(run: Run, margin: float, pushes: int) -> list[Certificate]:
    """Updates <= |U|^2 (c R^2 + 2 margin) / g^2, g the average margin of U on the updates; c = 1 binary, 2 multiclass.

    ``pushes`` is the number of unit steps: updates, or single learners' updates for one-vs-rest.
    """
    # One-vs-rest was one-vs-rest before, too: the same margin, a part for each of the two rows.
    growth = run.blocks * run.radius2 + 2.0 * margin * (2.0 if run.split and run.blocks == 2 else 1.0)
    average = run.along / pushes if pushes else 0.0
    bound = _product(sqrt(growth) / average, sqrt(growth) / average) if average > 0.0 else inf
    spotless = 0.0 if run.mistakes == 0 else inf
    size = float(np.linalg.norm(run.weights))
    return [
        Certificate("updates", pushes, bound if pushes else 0.0, CONDITION),
        Certificate("mistakes", run.mistakes, run.on_mistakes(bound) if pushes else spotless,
                    CONDITION + "; no zero row"),
        Certificate("squared norm", size * size, _product(pushes, growth), "always"),
        Certificate("average margin of the unit comparator on the updates", average,
                    _product(size, 1.0 / pushes) if pushes else inf, "always"),
    ]  # fmt: skip


def passive_aggressive(run: Run, margin: float, cap: float, ridge: float) -> list[Certificate]:
    """Sum of squared losses and mistakes, from sum tau (2 l - c tau |x|^2) = 2 margin T - |W|^2 <= G.

    G = |U|^2 + 2 (margin T - <U, W>), T = sum tau; the last term is the sum of tau-weighted losses of U, negative
    where U has margin to spare. Each update gives tau (2 l - c tau |x|^2) >= tau l.
    """
    ground, softer = run.ground(margin, 1.0), 2.0 if run.split else 1.0
    energy = run.blocks * run.radius2 + softer * ridge
    squares = _product(energy, ground) if cap == inf else inf
    mistakes = _product(max(energy / margin, softer / cap) / margin, ground)
    condition = f"U any; smallest where its margins are >= {margin:g}; R is the largest norm of an update's row"
    return [
        Certificate("sum of squared losses", float(run.tally[tallies.LOSS2]), squares,
                    condition + ("; no cap on the step" if cap < inf else "")),
        Certificate("mistakes", run.mistakes, run.on_mistakes(mistakes), condition + "; no zero row"),
    ]  # fmt: skip


def mira(run: Run, margin: float) -> list[Certificate]:
    """Mistakes and sum tau_y, in the matrix form: a binary w stands for the rows (-w, w).

    Each update lowers |W - U|^2 by -2 min Q - 2 margin tau_y + 2 <U, tau x'>, and a mistake has
    -2 min Q >= margin^2 / (2 R^2), or 2 (margin - R^2) where margin > 2 R^2.
    """
    factor, radius2 = sqrt(2.0) if run.blocks == 1 else 1.0, run.radius2
    # One over the fall of |W - U|^2 on a mistake.
    price = 2.0 * radius2 / margin / margin if margin <= 2.0 * radius2 else 0.5 / (margin - radius2)
    average = factor * run.along / run.push if run.push > 0.0 else 0.0
    pushes = _product(2.0 * margin / average, 1.0 / average) if average > 0.0 else (0.0 if run.push == 0.0 else inf)
    mistakes = _product(price, run.ground(margin, factor))
    condition = "U any; R is the largest norm of an update's row; no zero row"
    return [
        Certificate("mistakes", run.mistakes, run.on_mistakes(mistakes), condition),
        Certificate("sum of tau", run.push, pushes, CONDITION),
    ]
