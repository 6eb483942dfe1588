"""Learners that climb the dual: QuasiAdditive, one template with a link and a size of step."""

from dataclasses import field
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ellipsoid.certificates import Certificate, dual, run_rounding
from ellipsoid.certificates.certificate import unproved
from ellipsoid.certificates.mixed import DUAL, counted, roundings, sums_of_all
from ellipsoid.certificates.rounding import Span, relative_error
from ellipsoid.engine import tally as tallies
from ellipsoid.links.functions import BALANCED, NORM, SIMPLEX, Link
from ellipsoid.links.table import LinkTable
from ellipsoid.representation.tables import LinearTable
from ellipsoid.rules import dual_ascent

from .dual_bounds import (
    DualClassifier,
    best_multiple,
    comparator_of,
    conjugate_error,
    dual_norm_error,
    may_widen,
    rounding_behind_link,
)
from .parameters.declaration import declared
from .parameters.shared import InterceptParameters, WeightParameters
from .parameters.validation import one_of, positive
from .state.learner import Learner

LINKS = {"euclidean": NORM, "entropy": SIMPLEX, "balanced": BALANCED, "p-norm": NORM}
# The curvature of a longer row's p-norm, p - 1 times its square, would be no number.
LARGEST_POWER = 1e9
STEP_KINDS = {
    "fixed": dual_ascent.FIXED_STEP, "adaptive": dual_ascent.ADAPTIVE_STEP, "curvature": dual_ascent.CURVATURE_STEP,
    "exact": dual_ascent.EXACT_STEP,
}  # fmt: skip


class DualLearner(Learner):
    """A learner whose table holds theta, the sum of alpha z, and what the link makes of it."""

    table: LinearTable | LinkTable

    def __init__(self, rule: Any, link: Link, *, intercept: float, average: bool, one_vs_rest: bool) -> None:
        # One vector becomes two opposite rows: for `fixed` by the same steps, otherwise by steps that keep the margins.
        half = 1.0 if one_vs_rest or rule.step_kind == dual_ascent.FIXED_STEP else 1.0 / link.pair
        super().__init__(rule, intercept=intercept, average=average, one_vs_rest=one_vs_rest, half=half)
        self.link = link

    def new_table(self, by_class: bool) -> LinearTable | LinkTable:
        """Where G is half a squared Euclidean norm, theta is the hypothesis."""
        if self.link.quadratic and self.link.p == 2.0:
            return LinearTable(by_class=by_class, average=self.average)
        return LinkTable(self.link, average=self.average, constant=self.constant != 0.0)

    def add_label(self, label: Any) -> None:
        """Add a class; the dual of the binary run becomes that of the run with two rows from the start."""
        before = self.split
        super().add_label(label)
        if self.split and not before:
            # One-vs-rest had two binary learners all the time, of which the second is the first with its sign turned.
            many = 2.0 if self.one_vs_rest else self.half
            self.tally[tallies.WEIGHT] *= many
            self.tally[tallies.GAIN] *= many
            self.tally[tallies.LARGEST] *= self.half

    def theta(self) -> NDArray[np.float64]:
        """The dual vector, one row per function; without an intercept the constant feature has no column."""
        if isinstance(self.table, LinkTable):
            theta = self.table.theta(self.scores)
        else:
            theta = self.table.weights(self.scores, 0)
        return theta if self.constant else theta[:, 1:]

    def solution(self) -> dual.Dual:
        """The dual solution so far."""
        theta, rule, tally, link = self.theta(), self.rule, self.tally, self.link
        conjugate, off = link.conjugate(theta), self.rounding_loss()
        groups = len(link.groups(theta))
        if link.quadratic:
            blurred = conjugate * relative_error(theta.size + 8.0 + 4.0 * link.p)
            blurred += off.drift * (link.dual_norm(theta) + off.drift)
        else:
            blurred = conjugate_error(link, theta) + groups * off.drift
        return dual.Dual(
            margin=rule.goal, C=rule.cap, weight=float(tally[tallies.WEIGHT]), largest=float(tally[tallies.LARGEST]),
            conjugate=conjugate, norm=link.dual_norm(theta), terms=self.steps, blurred=blurred, lost=off.lost,
            drift=dual_norm_error(link, theta) + off.drift * (1 if link.quadratic else groups),
            weighed=bool(tally[tallies.WEIGHED]),
        )  # fmt: skip

    @property
    def steps(self) -> int:
        """How many alphas there may have been; one-vs-rest does not count those of zero rows."""
        if self.one_vs_rest:
            return 2 + self.rounds * max(1, len(self.labels)) + int(roundings(self))
        return 2 + int(self.tally[tallies.UPDATES] + self.tally[tallies.ZEROS] + roundings(self))

    @property
    def curvature(self) -> Span:
        """The largest curvature along a z of an update."""
        rival = self.scores > 1 and not self.one_vs_rest
        found = Span.about(float(self.tally[tallies.RADIUS2]), self.width + 8.0 + 4.0 * self.link.p)
        return found * (Span.about(self.link.pair, 2) if rival else 1.0)

    def rounding_loss(self) -> run_rounding.RunErrors:
        """What rounding can have done to the run."""
        rule, tally, link = self.rule, sums_of_all(self), self.link
        weight, terms = float(tally[tallies.WEIGHT]), 2.0 + self.width
        if not link.quadratic:
            return rounding_behind_link(tally, link, terms, rule.goal)
        if self.mixed is not None and self.mixed.kind == DUAL:
            # Every multiplier has moved again and again.
            path, sway, held = (float(tally[slot]) for slot in (tallies.PATH, tallies.SWAY, tallies.HELD))
            again = run_rounding.RunPath(2.0 * path, sway + weight, float(tally[tallies.STEPS]), terms, rule.goal, held)
            return run_rounding.quadratic(again, 4.0 * path * path)
        # The p-norm of a row is at most the root of its curvature.
        curvature = self.curvature.high
        path = weight * float(np.sqrt(curvature))
        if run_rounding.path_known(tally) and (link.p == 2.0 or rule.step_kind != dual_ascent.EXACT_STEP):
            # Rows of the largest curvature may be few. (Exact steps behind a link are longer than those asked for.)
            path = min(path, 2.0 * float(tally[tallies.PATH]) * (1.0 + relative_error(self.steps + self.width)))
        way = run_rounding.RunPath(path=path, sway=weight, steps=self.steps, terms=terms, goal=rule.goal)
        if rule.step_kind != dual_ascent.EXACT_STEP and self.mixed is not None:
            most = path * path
        elif rule.step_kind == dual_ascent.FIXED_STEP:
            most = weight * max(rule.cap, float(tally[tallies.LARGEST])) * curvature
        else:
            most = (
                2.0 * rule.goal * weight
                if rule.step_kind != dual_ascent.ADAPTIVE_STEP or curvature <= 2.0
                else path * path
            )
        return run_rounding.quadratic(way, most, link.p)


@declared
class QuasiAdditive(WeightParameters, InterceptParameters, DualClassifier):
    """Dual ascent with a link: one template for the Perceptron, Winnow, p-norm and passive-aggressive algorithms.

    Every example gets a multiplier alpha in [0, C] when it is seen; theta is the sum of alpha y x, the weights are the
    link's image of theta, and ``dual_objective_`` is, at any time, a lower bound on what any weights could have
    reached on the examples so far: complexity plus C times the sum of their losses max(0, margin - y <w, x>).

    Parameters
    ----------
    link : {"euclidean", "entropy", "balanced", "p-norm"}
        Complexity of weights: half their squared norm, relative entropy to uniform weights (a distribution, so never
        negative), the same over features and their negatives (signed weights with absolute sum at most 1), half the
        squared q-norm with 1/p + 1/q = 1.
    p : float
        Of the p-norm, at least 2. About 2 log(number of features) makes it behave like the entropies.
    update : {"fixed", "adaptive", "curvature", "exact"}
        alpha = C on mistakes only; min(C, loss); min(C, loss / curvature of the dual along x); the alpha that raises
        the dual most. The last two need no scaling of the examples, the first two need a curvature of at most 1.
    C : float
        The largest multiplier. Infinite (a hard margin) with the euclidean and p-norm links, except for ``fixed``; with
        the others more than 1e60 counts as 1e60.
    margin : float
        The margin required of every example.
    multiclass : {"max", "ovr"}
        More than two classes: the right label against its highest rival, all weights under one link; or a learner
        for each class against the rest, with a link each.

    Notes
    -----
    With the euclidean link, ``fixed`` is the :class:`Perceptron` (its weights times C), ``exact`` and ``curvature`` are
    :class:`PassiveAggressive` of variant I; with the entropies, ``fixed`` is :class:`Winnow` of version 2. The
    entropies start from uniform weights over the known labels: more than two must be announced with ``classes``.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from ellipsoid import QuasiAdditive
    >>> X, y = load_digits(return_X_y=True)
    >>> model = QuasiAdditive(link="balanced", update="exact", margin=0.1).partial_fit(X / 16, y, classes=range(10))
    >>> 0 < model.dual_objective_ < model.t_
    True
    >>> all(c.observed <= c.bound for c in model.certificates())
    True

    References
    ----------
    Shalev-Shwartz and Singer, "Online learning meets optimization in the dual", COLT 2006.
    """

    _core: DualLearner = field(init=False)
    _multilabel = True

    link: str = "euclidean"
    p: float = 4.0
    update: str = "exact"
    C: float = 1.0
    margin: float = 1.0
    multiclass: str = "max"

    @property
    def _counts_features(self) -> bool | int:  # type: ignore[override]
        """All share the weight of a distribution."""
        return self._started_with("link") in ("entropy", "balanced")

    @property
    def _takes_sets(self) -> bool:
        """A distribution has no score between those of right and wrong labels."""
        return self.multiclass != "ovr" and self.link != "entropy"

    def _start(self) -> DualLearner:
        kind, push = one_of("link", self.link, LINKS), one_of("update", self.update, STEP_KINDS)
        ovr = one_of("multiclass", self.multiclass, {"max": False, "ovr": True})
        p = positive("p", self.p, most=LARGEST_POWER)
        if p < 2.0:
            raise ValueError(f"p must be at least 2, got {self.p!r}")
        link = Link(kind, p if self.link == "p-norm" else 2.0, not ovr)
        margin, cap = positive("margin", self.margin), positive("C", self.C, infinite=True)
        if cap == inf and not link.quadratic:
            raise ValueError(f"C must be finite with link={self.link!r}: no finite step makes every margin hold")
        # Rows are shorter than 1e146 and weigh less than 2**53: sums of as many rows as ever come are finite.
        if cap > 1e60 and push in (dual_ascent.FIXED_STEP, dual_ascent.ADAPTIVE_STEP):
            most = "finite" if cap == inf else "at most 1e60"
            raise ValueError(
                f"C must be {most} with update={self.update!r}, because its steps ignore the length of a row"
            )
        if not link.quadratic:
            cap = min(cap, 1e60)  # steps of that length are tried
        passive = 0.0 if push == dual_ascent.FIXED_STEP else margin
        if link.quadratic and link.p == 2.0:
            rule: Any = dual_ascent.DualAscent(passive, margin, cap, push)
        else:
            rule = dual_ascent.LinkedAscent(passive, margin, cap, push, link.pair)
        return DualLearner(rule, link, intercept=self._constant, average=self.average, one_vs_rest=ovr)

    def _check_growth(self, learner: Any, known: list[Any], labels: Any) -> None:
        if not learner.link.quadratic:
            refuse_third_label(learner, known, labels)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # A distribution has no negative weights: most data cannot be learned by it.
        tags.classifier_tags.poor_score = self.link == "entropy"
        return tags

    def _bounds(self, learner: Any, comparator: NDArray[np.float64]) -> list[Certificate]:
        w = comparator if learner.constant else comparator[:, 1:]
        run, link, theta = learner.solution(), learner.link, learner.theta()
        if link.quadratic:
            found = dual.running(run, comparator_of(link, theta, w))
        else:
            adrift = learner.rounding_loss().drift * len(link.groups(theta))
            found = dual.running(
                run,
                comparator_of(link, theta, w),
                lambda s: link.conjugate(s * theta),
                lambda s: conjugate_error(link, s * theta) + s * adrift,
            )
        if learner.mixed is not None and learner.mixed.kind == DUAL:
            return [*found, *dual.of_all_rows(run, learner.mixed, learner.rounds)]
        return [*found, *self._of_mistakes(learner, run, comparator_of(link, theta, link.fitted(w)))]

    def _of_mistakes(self, learner: DualLearner, run: dual.Dual, fitted: dual.Comparator) -> list[Certificate]:
        rule, tally, link = learner.rule, learner.tally, learner.link
        rival = learner.scores > 1 and not learner.one_vs_rest
        curvature = learner.curvature
        fixed = rule.step_kind == dual_ascent.FIXED_STEP
        # A feature that comes later raises G = log mean exp(theta) where that is negative, and so lowers D.
        lowered = link.kind == SIMPLEX and may_widen(learner)
        never_falls = not lowered and (rule.step_kind != dual_ascent.ADAPTIVE_STEP or curvature.high <= 2.0)
        gain = run.value.low if fixed else float(tally[tallies.GAIN])
        kind = "fixed" if fixed else "adaptive" if rule.step_kind == dual_ascent.ADAPTIVE_STEP else "best"
        if link.quadratic:
            fitted = best_multiple(fitted)
        increase = dual.least_increase(kind, rule.goal, rule.cap, curvature)
        if learner.split and rival and not fixed:
            # The binary rounds were rounds of two rows with a smaller cap, all their increases times `half`.
            early = dual.least_increase(kind, rule.goal, rule.cap, curvature / link.pair)
            increase = min(increase, learner.half * early)
        if tally[tallies.ZEROS] > 0.0 and rule.cap == inf:
            increase = 0.0
        condition = "kappa(x) at most its largest value in an update; finite if every mistake must increase the dual"
        mistakes = counted(learner)
        bound = dual.mistakes(run, fitted, mistakes, 0.0 if lowered else increase, condition)
        if fixed:
            bound = bound._replace(bound=min(bound.bound, dual.fixed_mistakes(run, fitted, curvature, link.quadratic)))
        if tally[tallies.WEIGHED]:
            bound = unproved([bound])[0]
        return [dual.gains(run, gain, mistakes, never_falls=never_falls), bound]


def refuse_third_label(learner: Learner, known: list[Any], labels: Any) -> None:
    """Uniform weights over k classes cannot become uniform weights over more in mid-stream."""
    before = len(learner.labels) + len(known)
    fresh = [label for label in np.unique(labels).tolist() if label not in {*learner.labels.values, *known}]
    if fresh and before + len(fresh) > 2:
        raise ValueError(
            f"y brings the label {fresh[-1]!r}, number {before + len(fresh)}, but multiplicative weights start uniform "
            "over the known classes; pass classes= with all labels at the first call"
        )
