"""Winnow: multiplicative updates for the ultraconservative family."""

from dataclasses import field
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ellipsoid.certificates import Certificate, multiplicative
from ellipsoid.certificates.mixed import counted, sums_of_all
from ellipsoid.certificates.rounding import Span
from ellipsoid.engine import Multiclass
from ellipsoid.engine import tally as tallies
from ellipsoid.engine.tasks import PLAIN
from ellipsoid.links.functions import BALANCED, SIMPLEX, Link
from ellipsoid.links.table import LinkTable
from ellipsoid.rules import (
    blame,
    category_ranking,  # noqa: F401 (the digest of compiled code covers every body for the Perceptron's rule)
)
from ellipsoid.rules.perceptron import PerceptronRule

from .dual import refuse_third_label
from .dual_bounds import comparator_of, conjugate_error, may_widen, rounding_behind_link
from .inputs.rows import RowSource
from .parameters.declaration import declared
from .parameters.validation import one_of, positive
from .shell.base import OnlineClassifier
from .state.learner import NO_LABELS, Learner


class WinnowLearner(Learner):
    """A row of weights for every label, two labels included: their rows are not opposite."""

    table: LinkTable

    def __init__(self, rule: PerceptronRule, link: Link, *, intercept: float, average: bool) -> None:
        # The lead of the second label is twice what either score differs from their mean.
        super().__init__(rule, intercept=intercept, average=average, half=0.5)
        self.link = link

    @property
    def score_columns(self) -> int:
        """Of two labels the lead of the second."""
        return 1 if len(self.labels) == 2 else self.scores

    def functions(self, labels: int) -> int:
        """How many functions so many labels need: one each."""
        return labels

    def new_table(self, by_class: bool) -> LinkTable:
        return LinkTable(self.link, average=self.average, constant=self.constant != 0.0)

    def task(self, ledger: Any, mode: int = PLAIN, Y: NDArray[np.uint8] = NO_LABELS) -> Multiclass:
        """Every label has a score of its own, also where there are two."""
        return Multiclass(ledger, mode, len(self.labels))

    def decision(self, source: RowSource) -> NDArray[np.float64]:
        """Scores of every row; for two classes the lead of the second."""
        scores = super().decision(source)
        return scores[:, 1:] - scores[:, :1] if len(self.labels) == 2 else scores

    def weights(self) -> NDArray[np.float64]:
        """Weights used for prediction; for two classes those of the lead."""
        weights = super().weights()
        return weights[1:] - weights[:1] if len(self.labels) == 2 else weights

    def theta(self) -> NDArray[np.float64]:
        """The exponents, one row per label; without an intercept the constant feature has no column."""
        theta: NDArray[np.float64] = self.table.theta(self.scores)
        return theta if self.constant else theta[:, 1:]


@declared
class Winnow(OnlineClassifier):
    """Winnow, multiclass: weights are multiplied by exponentials of the example, and sum to one.

    Made for many features of which few matter: its bounds grow with the logarithm of the number of features. Entries
    of rows should be at most about 1 in size.

    Parameters
    ----------
    version : {1, 2}
        1: the weights of each label sum to one; 2: all weights together do.
    eta : float
        Step in the exponents. Where some weights have margin g on all rows, g / 2 is best for version 1, g for 2.
    balanced : bool
        Learn on features and their negatives, so that weights may be negative; this does not double the memory. Without
        it all weights are positive, and examples that need a negative weight cannot be learned.
    multiclass : {"uniform", "max", "proportional"}
        How rivals that scored too high share the blame: equally, all to the highest, or in proportion to the excess.
    margin : float
        0 updates on mistakes only (ties are mistakes); more updates on narrow successes too.
    average : bool
        Predict with the average of all hypotheses so far instead of the last one.
        It costs a pass over all weights at each update.

    Notes
    -----
    Version 2 with ``multiclass="max"`` is :class:`QuasiAdditive` with ``update="fixed"``, C = eta and the link
    "balanced" or "entropy". For two labels both versions, balanced, are one algorithm, and version 2 is balanced
    in any case. The start is uniform over the known labels: more than two must be announced with ``classes``.

    Examples
    --------
    One feature of a thousand decides:

    >>> import numpy as np
    >>> from ellipsoid import Perceptron, Winnow
    >>> X = np.random.default_rng(0).choice([-1.0, 1.0], size=(1000, 1000))
    >>> y = X[:, 7] > 0
    >>> Winnow(eta=0.5).partial_fit(X, y).mistakes_ < Perceptron().partial_fit(X, y).mistakes_ / 5
    True

    References
    ----------
    Crammer and Singer, "Ultraconservative online algorithms for multiclass problems", JMLR 3 (2003), section 6.
    """

    _core: WinnowLearner = field(init=False)
    _counts_features = True  # all share the weight

    version: int = 2
    eta: float = 0.1
    balanced: bool = True
    multiclass: str = "max"
    margin: float = 0.0

    def _start(self) -> WinnowLearner:
        sharing = one_of("multiclass", self.multiclass, blame.SHARINGS)
        if self.version not in (1, 2):
            raise ValueError(f"version must be 1 or 2, got {self.version!r}")
        rule = PerceptronRule(sharing, positive("margin", self.margin, zero=True), positive("eta", self.eta))
        link = Link(BALANCED if self.balanced else SIMPLEX, joint=self.version == 2)
        return WinnowLearner(rule, link, intercept=self._constant, average=self.average)

    def _check_growth(self, learner: Learner, known: list[Any], labels: Any) -> None:
        refuse_third_label(learner, known, labels)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # Without the features' negatives no weight is negative: most data cannot be learned.
        tags.classifier_tags.poor_score = not self.balanced
        return tags

    def _bounds(self, learner: Any, comparator: NDArray[np.float64]) -> list[Certificate]:
        rule, tally, theta = learner.rule, learner.tally, learner.theta()
        U = comparator if learner.constant else comparator[:, 1:]
        if len(learner.labels) == 2 and len(U) == 1:
            U = _two_rows(learner.link, U)
        off = rounding_behind_link(sums_of_all(learner), learner.link, 2.0 + learner.width, 0.0)
        groups = len(learner.link.groups(theta))
        run = multiplicative.Multiplied(
            updates=counted(learner, tallies.UPDATES), eta=rule.size, margin=rule.margin, lost=off.lost,
            growth=Span.about(float(tally[tallies.RADIUS2]), 8) * (1.0 if learner.link.joint else 2.0),
            drift=groups * off.drift,
        )  # fmt: skip
        conjugate = Span.within(
            learner.link.conjugate(theta), conjugate_error(learner.link, theta) + groups * off.drift
        )
        held = comparator_of(learner.link, theta, learner.link.fitted(U))
        zeros = bool(tally[tallies.ZEROS] > 0.0)
        if learner.link.kind == SIMPLEX and not learner.link.joint and may_widen(learner):
            # A feature that comes later raises each log mean exp(theta_r) that is negative, and so perhaps their sum.
            run = run._replace(lost=inf)
        return [
            *multiplicative.winnow(run, held, mistakes=counted(learner), zeros=zeros),
            multiplicative.growth_of_normaliser(run, conjugate),
        ]


def _two_rows(link: Link, w: NDArray[np.float64]) -> NDArray[np.float64]:
    """A weight vector as the rows of two labels whose difference it is; both non-negative where they must be."""
    if link.kind == BALANCED:
        return np.vstack([-0.5 * w, 0.5 * w])
    rows = np.vstack([np.maximum(-w, 0.0), np.maximum(w, 0.0)])
    if not link.joint:
        # Row sums must agree: what one row lacks is spread over both alike, which changes no score.
        sums = rows.sum(axis=1, keepdims=True)
        rows = rows + (sums.max() - sums) / rows.shape[1] if sums[0] != sums[1] else rows
    return rows
