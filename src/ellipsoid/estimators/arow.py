"""AROW and the second-order Perceptron, linear and with kernels."""

from math import inf
from typing import Any

import numpy as np

from ellipsoid.certificates import Certificate, second_order
from ellipsoid.certificates.certificate import unproved
from ellipsoid.certificates.rounding import Span, relative_error
from ellipsoid.ellipsoids import state as slots
from ellipsoid.ellipsoids.forms.diagonal import DROP, INVERSE
from ellipsoid.ellipsoids.tables.drift import DriftTable
from ellipsoid.ellipsoids.tables.gaussian import SketchTable
from ellipsoid.ellipsoids.tables.kernel import KernelTable
from ellipsoid.engine import tally as tallies
from ellipsoid.rules import gaussian

from .ellipsoidal import EllipsoidLearner, KernelEllipsoidalClassifier
from .parameters.declaration import declared
from .parameters.shared import WeightParameters
from .parameters.validation import one_of, positive
from .second_order import KernelGaussianLearner, SecondOrderClassifier
from .state.learner import Learner


@declared
class RidgeClassifier(KernelEllipsoidalClassifier, SecondOrderClassifier):
    """What AROW and SOP share: weights that are the ridge solution on the examples of their updates.

    Parameters
    ----------
    """

    def _ridge(self, margin: float, r: float, kind: int, walk: tuple[float, float] | None = None) -> EllipsoidLearner:
        rule = gaussian.GaussianRule(margin, gaussian.ADAPTIVE, r, 0.0, self._doubt())
        options = self._kernel_options(inf)
        if walk is not None:
            if options is not None:
                raise ValueError(
                    "drift is for linear learners, because the Gaussian of a kernel cannot grow in "
                    "all directions; set drift=0"
                )
            if self.selective:
                raise ValueError(
                    "drift and selective contradict each other, because a stream that changes needs "
                    "all its labels; give one of them"
                )
            one_of("shape", self.shape, {"auto": None, "dense": None, "diagonal": None})
            return self._covariance(rule, kind, walk)
        if options is None:
            return self._covariance(rule, kind, gram="sparse")
        return KernelGaussianLearner(rule, intercept=self._constant, average=self.average, table=options)

    def _kernel_bounds(self, learner: EllipsoidLearner, table: KernelTable) -> list[Certificate]:
        run, scale = self._sums(learner), float(np.exp(table.numbers[slots.LOG_SCALE]))
        # Where numbers are too large the errors are infinite, or no numbers, and so is what is uncertain.
        with np.errstate(all="ignore"):
            try:
                products, uncancelled, off = table.preimage_products()
            except np.linalg.LinAlgError:
                products, uncancelled, off = np.zeros(3), np.full(3, inf), 0.0
            errors = uncancelled * (off + relative_error(learner.width + 8.0 + 2.0 * run.updates))
            share = float(np.where(errors == 0.0, 0.0, errors / np.abs(products)).max())
        run = run._replace(uncertain=run.uncertain + share)
        size, pull = (Span.within(float(products[k]), float(errors[k])).root().high for k in (0, 2))
        own = max(0.0, float(products[1])) / scale
        return self._bounds_of(learner, run, second_order.MeasuredComparator(own, own, own, size, pull / scale))

    def _bounds_of(
        self, learner: Any, run: second_order.GaussianRun, u: second_order.MeasuredComparator
    ) -> list[Certificate]:
        found = self._bounds_without_weights(learner, run, u)
        if not learner.tally[tallies.WEIGHED]:
            return found
        # An average over the updates has the sum of their weights below it, which is not kept.
        return unproved([each for each in found if not each.name.startswith("average")])

    def _bounds_without_weights(
        self, learner: Any, run: second_order.GaussianRun, u: second_order.MeasuredComparator
    ) -> list[Certificate]:
        r, numbers = float(learner.rule.price), learner.table.numbers
        if isinstance(learner.table, SketchTable):
            dropped = r / float(np.exp(numbers[slots.LOG_SCALE])) * float(numbers[slots.DROPPED])
            return [second_order.arow_squares(run, u, r, dropped)]
        margin = second_order.gaussian_margin(run, u, run.updates / r, positive=True)
        mixed = learner.mixed
        if mixed is None:
            return [second_order.arow_mistakes(run, u, r), second_order.arow_squares(run, u, r), margin]
        # Each shard's losses are held against a start of its own; what was learned since has no such sum.
        since = learner.tally[tallies.UPDATES] > mixed.apart[tallies.UPDATES]
        starts = (mixed.factor - 1.0) * r / float(np.exp(numbers[slots.LOG_SCALE]))
        squares = second_order.arow_squares(run, u, r, starts)
        return [
            second_order.arow_mistakes(run, u, r, measured=True),
            squares._replace(bound=inf) if since else squares,
            margin,
        ]


@declared
class AROW(WeightParameters, RidgeClassifier):
    """Adaptive regularisation of weights: each weight with a confidence, moved by every margin below 1.

    A good first choice for any stream, noisy or not: it takes large steps where little is known and small ones where
    much is. The weights are the ridge solution on the examples of all updates so far.

    Parameters
    ----------
    r : float
        The smaller, the longer the steps; the larger, the more noise is tolerated. 1 suits rows of length about 1.
    trigger : {"margin", "mistake"}
        Step on every margin below 1, or on mistakes only; the latter is the second-order Perceptron.
    diagonal : {"inverse", "drop"}
        What a diagonal takes from a full step: the diagonal of its inverse, or its own.
    drift : float
        By how much every variance grows after each round. Above 0 it is for streams that change: the truth is assumed
        to walk at random, and old rows are forgotten. 1e-6 forgets slowly, 0.1 at once; only its ratio to ``r``
        matters.
    ceiling : float
        With a drift, the largest variance: without this limit, rare features would be trusted too little.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from ellipsoid import AROW
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = AROW().partial_fit(scale(X)[:400], y[:400])
    >>> model.score(scale(X)[400:], y[400:]) > 0.95
    True
    >>> all(c.observed <= c.bound for c in model.certificates())
    True
    >>> bool((model.confidence(scale(X)) >= 0.5).all())
    True

    References
    ----------
    Crammer, Kulesza and Dredze, "Adaptive regularization of weight vectors", NIPS 2009; Machine Learning 91 (2013).
    Vaits and Crammer, "Re-adapting the regularization of weights for non-stationary regression", ALT 2011.
    """

    r: float = 1.0
    trigger: str = "margin"
    diagonal: str = "inverse"
    drift: float = 0.0
    ceiling: float = 10.0

    def _start(self) -> EllipsoidLearner:
        margin = one_of("trigger", self.trigger, {"margin": 1.0, "mistake": 0.0})
        kind = one_of("diagonal", self.diagonal, {"inverse": INVERSE, "drop": DROP})
        drift, ceiling = positive("drift", self.drift, zero=True), positive("ceiling", self.ceiling)
        if 0.0 < drift < 1e-12 * max(1.0, ceiling):
            raise ValueError(f"drift must be 0, or at least 1e-12 times ceiling to have an effect; got {self.drift!r}")
        return self._ridge(margin, positive("r", self.r), kind, (drift, ceiling) if drift else None)

    def _bounds(self, learner: Any, comparator: Any) -> list[Certificate]:
        if not isinstance(learner.table, DriftTable):
            return super()._bounds(learner, comparator)
        numbers = learner.table.numbers
        proved = learner.scores == 1 and not (learner.split or numbers[slots.CAPPED] or learner.tally[tallies.WEIGHED])
        # Every round adds the drift to what a downdate has rounded by units of the largest variance; so are sums.
        drift, ceiling = learner.table.drift, max(1.0, learner.table.ceiling)
        steep = (learner.width + 8.0) * min(ceiling, 1.0 + drift * learner.rounds) / drift
        off = 16.0 * float(np.finfo(float).eps) * (steep + float(numbers[slots.CUTS]))
        return [second_order.moving_cost(float(numbers[slots.SQUARED_LOSS]), off, bool(proved))]

    def _weighs(self, learner: Learner) -> bool:
        # Asked on mistakes only, it would pass over copies that the first ones have put right.
        return bool(learner.rule.margin > 0.0)


@declared
class SecondOrderPerceptron(RidgeClassifier):
    """Second-order Perceptron: the ridge solution on the examples that it got wrong.

    It is AROW on mistakes only, with ``r`` = ``a``: the published score has the present row in the matrix, which
    divides every score by 1 + v / a and changes no sign.

    Parameters
    ----------
    a : float
        The ridge: how much of the plain Perceptron is left.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from ellipsoid import SecondOrderPerceptron
    >>> X, y = load_digits(return_X_y=True)
    >>> model = SecondOrderPerceptron(kernel="rbf", gamma=0.001).partial_fit(X[:600], y[:600])
    >>> model.updates_ == model.mistakes_ == len(model.support_vectors_)
    True
    >>> all(c.observed <= c.bound for c in model.certificates())
    True

    References
    ----------
    Cesa-Bianchi, Conconi and Gentile, "A second-order Perceptron algorithm", SIAM Journal on Computing 34 (2005).
    """

    a: float = 1.0

    def _start(self) -> EllipsoidLearner:
        return self._ridge(0.0, positive("a", self.a), INVERSE)
