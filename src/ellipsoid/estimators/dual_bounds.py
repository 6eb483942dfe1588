"""Dual objective and duality gap of learners that climb the dual, and bounds on rounding for their certificates."""

from math import inf, log
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ellipsoid.certificates import dual, run_rounding
from ellipsoid.certificates.rounding import ZERO, Span, length, product, relative_error, total
from ellipsoid.engine import tally as tallies
from ellipsoid.links.functions import BALANCED, NEARLY, SIMPLEX, Link

from .parameters.validation import positive
from .shell.base import OnlineClassifier
from .state.learner import Learner


class DualClassifier(OnlineClassifier):
    """The attributes of a learner that climbs the dual; its rule has a ``cap`` on the multipliers."""

    @property
    def dual_objective_(self) -> float:
        """D, a lower bound for any weights on their complexity plus C times their loss on all examples so far. The
        complexity is that of the link, and ``|w|^2 / 2`` without a link.
        """
        return float(self._fitted("dual_objective_").solution().objective)

    @property
    def duality_gap_(self) -> float:
        """At most by how much the objective of the weights exceeds the least one; for ``merge="dual"`` only."""
        core = self._fitted("duality_gap_")
        return dual.gap_of(core.solution(), core.mixed, core.rounds)

    def least_loss(self, norm: float = 1.0) -> float:
        """A lower bound on the loss so far of any weights of at most this norm, which is dual to the link's."""
        return dual.least_loss(self._learned().solution(), positive("norm", norm, zero=True))

    def _weighs(self, learner: Learner) -> bool:
        return bool(learner.rule.cap < inf)


def rounding_behind_link(tally: NDArray[np.float64], link: Link, terms: float, goal: float) -> run_rounding.RunErrors:
    """A bound on the effect of rounding on a run with an exponential link."""
    if not run_rounding.path_known(tally, tallies.HELD):
        return run_rounding.UNKNOWN_ERRORS
    path, steps = 2.0 * float(tally[tallies.HELD]), float(tally[tallies.STEPS])
    way = run_rounding.RunPath(path=path, sway=float(tally[tallies.WEIGHT]), steps=steps, terms=terms, goal=goal)
    return run_rounding.entropic(way, float(tally[tallies.FARTHEST]), 1.0 if link.kind == SIMPLEX else 0.0)


def conjugate_error(link: Link, theta: NDArray[np.float64]) -> float:
    """A bound on the rounding error in the value of an exponential link's G."""
    groups = link.groups(theta)
    if link.kind == BALANCED and float(np.abs(theta).max(initial=0.0)) < 1.0:
        return link.conjugate(theta) * relative_error(theta.size + 16.0)
    return sum(relative_error(group.size + 16.0) * (1.0 + float(np.abs(group).max(initial=0.0))) for group in groups)


def dual_norm_error(link: Link, theta: NDArray[np.float64]) -> float:
    """A bound on the rounding error of the dual norm: the largest entry is exact, a power sum is not."""
    if link.quadratic:
        return link.dual_norm(theta) * relative_error(theta.size + 8.0 + 4.0 * link.p)
    return (
        0.0
        if link.joint
        else sum(float(np.abs(g).max(initial=0.0)) for g in link.groups(theta)) * relative_error(len(theta))
    )


def may_widen(learner: Any) -> bool:
    """Can features appear that were unknown to the first updates?"""
    return learner.features is not None or bool(learner.started.get("grow_features"))


def comparator_of(link: Link, theta: NDArray[np.float64], w: NDArray[np.float64]) -> dual.Comparator:
    """The numbers of a comparator (one row per function) that the bounds need, for a dual vector theta."""
    # A comparator may have any size: it is scaled by its largest entry.
    scale = float(np.abs(w).max(initial=0.0))
    if scale == 0.0:
        return dual.Comparator(ZERO, ZERO, complexity_of(link, w))
    shape = w / scale
    own = link.size(shape)
    if not own < inf:
        return dual.Comparator(Span.exactly(inf), ZERO, complexity_of(link, w))
    size = length(shape) if link.quadratic and link.p == 2.0 else Span.about(own, w.size + 8.0 + 4.0 * link.p)
    along = product(shape, theta, roundings=1) / size
    if not link.quadratic:
        along = along.widened(missing_mass(link, w) * sum(float(np.abs(g).max()) for g in link.groups(theta)))
    return dual.Comparator(size * scale, along, complexity_of(link, w))


def missing_mass(link: Link, w: NDArray[np.float64]) -> float:
    """By how much the weights of a distribution differ from a sum of one, rounded up."""
    sums = [total(np.abs(group)) for group in link.groups(w)]
    if link.kind == SIMPLEX:
        found = max(max(abs(s.low - 1.0), abs(s.high - 1.0)) for s in sums)
    else:
        found = max(0.0, *(s.high - 1.0 for s in sums))
    # Weights that differ by more are no distribution, and have no complexity.
    return 2.0 * found if found < 2.0 * NEARLY else 0.0


def complexity_of(link: Link, w: NDArray[np.float64]) -> Span:
    """F(w), up to rounding."""
    if link.quadratic:
        scale = float(np.abs(w).max(initial=0.0))
        size = Span.about(link.size(w / scale), w.size + 8.0 + 4.0 * link.p) * scale if scale else ZERO
        return 0.5 * size.square()
    found = link.complexity(w)
    if not found < inf:
        return Span.exactly(inf)
    off = missing_mass(link, w)
    error = sum((2.0 + log(2.0 * group.size)) * (relative_error(group.size + 16.0) + off) for group in link.groups(w))
    return Span.within(found, error).at_least(0.0)


def best_multiple(comparator: dual.Comparator) -> dual.Comparator:
    """The multiple of a comparator that gives the best bound on mistakes, if F is half a squared norm."""
    size = Span.exactly(max(0.0, comparator.along.low) if comparator.along.low > -inf else 0.0)
    return comparator._replace(size=size, complexity=0.5 * size.square())
