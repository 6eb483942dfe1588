"""Bounds for learners that start at zero and add tau_r x to row r: the Perceptron family, PA and MIRA.

W is the hypothesis, U any comparator of the same shape (a row a score). Everything follows from sums kept while
learning and from the one product <U, W>, which is the sum over all updates of tau_y times U's margin on them (for a
shared blame: the mean margin over the blamed labels, which is no smaller than the margin). So ``<U, W> / sum tau_y`` is
U's average margin on the updates, and it may take the place of the least margin in every bound of

    Crammer & Singer (JMLR 2003), theorems 3 and 10; Crammer et al. (JMLR 2006), theorems 2, 4 and 5.

The proofs are the papers' own with "sum of margins" for "number x least margin"; docs/certificates.md writes them out.
"""

from math import inf
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ellipsoid.engine import tally as tallies

from .certificate import Certificate

# Certificates are computed from float64 sums; a bound that is met with equality must not fail by rounding.
SLACK = 1.0 + 1e-9


class Run(NamedTuple):
    """What the bounds need of a run: its sums, its weights, a comparator, and whether rows have two blocks (K > 2)."""

    tally: NDArray[np.float64]
    weights: NDArray[np.float64]
    comparator: NDArray[np.float64]
    blocks: int
    unbroken: bool

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
    def inner(self) -> float:
        """<U, W>."""
        return float(np.vdot(self.comparator, self.weights))

    @property
    def size2(self) -> float:
        """|U|^2."""
        return float(np.vdot(self.comparator, self.comparator))

    def cautious(self, bound: float) -> float:
        """The bound, or infinity where a third class turned a binary run into a multiclass one half-way."""
        return bound * SLACK if self.unbroken else inf


CONDITION = "U has a positive average margin on the updates; R is the largest norm of an update's row"
BROKEN = "; infinite after a third class turned a binary run into a multiclass one"


def _on_mistakes(run: Run, bound: float) -> float:
    """A bound on mistakes that update; a zero row is a mistake that nothing can learn from."""
    return run.cautious(bound) if run.mistakes <= run.updates else inf


def perceptron(run: Run, margin: float, pushes: int) -> list[Certificate]:
    """Updates <= |U|^2 (c R^2 + 2 margin) / g^2, g the average margin of U on the updates; c = 1 binary, 2 multiclass.

    ``pushes`` is the number of unit steps: updates, or single learners' updates for one-vs-rest.
    """
    growth = run.blocks * run.radius2 + 2.0 * margin
    average = run.inner / pushes if pushes else 0.0
    bound = run.size2 * growth / average**2 if average > 0.0 else inf
    spotless = 0.0 if run.mistakes == 0 else inf
    size = float(np.vdot(run.weights, run.weights))
    unit = np.sqrt(run.size2)
    return [
        Certificate("updates", pushes, run.cautious(bound) if pushes else 0.0, CONDITION + BROKEN),
        Certificate("mistakes", run.mistakes, _on_mistakes(run, bound) if pushes else spotless,
                    CONDITION + "; no zero row; margin >= 0" + BROKEN),
        Certificate("squared norm", size, run.cautious(pushes * growth), "always" + BROKEN),
        Certificate("average margin of the unit comparator on the updates", average / unit if unit else 0.0,
                    run.cautious(np.sqrt(size) / pushes) if pushes and unit else inf, "always" + BROKEN),
    ]  # fmt: skip


def passive_aggressive(run: Run, margin: float, cap: float, ridge: float) -> list[Certificate]:
    """Sum of squared losses and mistakes, from sum tau (2 l - c tau |x|^2) = 2 margin T - |W|^2 <= G.

    G = |U|^2 + 2 (margin T - <U, W>), T = sum tau; the last term is the sum of tau-weighted losses of U, negative
    where U has margin to spare. Each update gives tau (2 l - c tau |x|^2) >= tau l.
    """
    ground = max(0.0, run.size2 + 2.0 * (margin * run.push - run.inner))
    energy = run.blocks * run.radius2 + ridge
    squares = energy * ground if cap == inf else inf
    mistakes = max(energy / margin**2, 1.0 / (cap * margin)) * ground
    condition = "U any; smallest where U has margin >= {m:g} on the updates; R is the largest norm of an update's row"
    condition = condition.format(m=margin) + BROKEN
    return [
        Certificate("sum of squared losses", float(run.tally[tallies.LOSS2]), run.cautious(squares),
                    condition + ("; no cap on the step" if cap < inf else "")),
        Certificate("mistakes", run.mistakes, _on_mistakes(run, mistakes), condition + "; no zero row"),
    ]  # fmt: skip


def mira(run: Run, margin: float) -> list[Certificate]:
    """Mistakes and sum tau_y, in the matrix form: a binary w stands for the rows (-w, w).

    Each update lowers |W - U|^2 by -2 min Q - 2 margin tau_y + 2 <U, tau x'>, and a mistake has
    -2 min Q >= margin^2 / (2 R^2), or 2 (margin - R^2) where margin > 2 R^2.
    """
    double = 2.0 if run.blocks == 1 else 1.0
    inner, size2 = double * run.inner, double * run.size2
    ground = max(0.0, size2 + 2.0 * (margin * run.push - inner))
    radius2 = run.radius2
    fall = margin**2 / (2.0 * radius2) if 0.0 < margin <= 2.0 * radius2 else 2.0 * (margin - radius2)
    average = inner / run.push if run.push > 0.0 else 0.0
    pushes = 2.0 * margin * size2 / average**2 if average > 0.0 else (0.0 if run.push == 0.0 else inf)
    condition = "U any; R is the largest norm of an update's row; no zero row" + BROKEN
    return [
        Certificate("mistakes", run.mistakes, _on_mistakes(run, ground / fall), condition),
        Certificate("sum of tau", run.push, run.cautious(pushes), CONDITION + BROKEN),
    ]
