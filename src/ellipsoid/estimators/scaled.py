"""ROMMA and ALMA: learners that multiply their weights before they add to them."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ellipsoid.certificates import Certificate, scaled
from ellipsoid.representation.scaled import SKIPPED, WEIGHT
from ellipsoid.representation.scaled_tables import PowerTable, ScaledTable
from ellipsoid.rules import alma, perceptron, romma

from .base import OnlineClassifier
from .learner import Learner
from .linear import run_of
from .parameters import one_of, positive


class ScaledLearner(Learner):
    """A learner whose hypothesis is a multiple of its table; ``power`` > 2 keeps it in the dual of that norm."""

    def __init__(self, rule: Any, *, intercept: bool, average: bool, half: float, power: float = 2.0) -> None:
        super().__init__(rule, intercept=intercept, average=average, half=half)
        self.power = power

    def new_table(self, by_class: bool) -> ScaledTable:
        """Weights with a factor in front."""
        if self.power > 2.0:
            return PowerTable(by_class=by_class, average=self.average, power=self.power)
        return ScaledTable(by_class=by_class, average=self.average)


class ROMMA(OnlineClassifier):
    """Relaxed online maximum margin: the shortest weights that satisfy this example and what the last ones stood for.

    For data that some hypothesis separates. On others the weights grow without end (they are kept in ever larger units,
    which no prediction feels), and examples that contradict all weights at once are skipped, see ``skipped_``.

    Parameters
    ----------
    aggressive : bool
        Learn wherever the margin is below 1, not on mistakes only.
    update : {"uniform", "max", "prop"}
        How the blame is shared among rivals, as for :class:`Perceptron`; with two labels all are the same.
    fit_intercept, average, n_epochs, shuffle, random_state, grow_features
        As for every learner here, see :class:`Perceptron`.

    Examples
    --------
    After an update the example has margin 1 exactly:

    >>> from ellipsoid import ROMMA
    >>> model = ROMMA().partial_fit([[3.0, 4.0], [2.0, -1.0]], [1, 0], classes=[0, 1])
    >>> model.decision_function([[2.0, -1.0]]).round(12)
    array([-1.])

    References
    ----------
    Li and Long, "The relaxed online maximum margin algorithm", Machine Learning 46 (2002); Crammer and Singer,
    "Ultraconservative online algorithms for multiclass problems", JMLR 3 (2003), section 6.
    """

    def __init__(
        self,
        aggressive: bool = False,
        update: str = "max",
        fit_intercept: bool = True,
        average: bool = False,
        n_epochs: int = 5,
        shuffle: bool = True,
        random_state: Any = None,
        grow_features: bool = False,
    ) -> None:
        self.aggressive = aggressive
        self.update = update
        self.fit_intercept = fit_intercept
        self.average = average
        self.n_epochs = n_epochs
        self.shuffle = shuffle
        self.random_state = random_state
        self.grow_features = grow_features

    def _start(self) -> Learner:
        sharing = one_of("update", self.update, perceptron.SHARINGS)
        rule = romma.ROMMA(sharing, 1.0 if self.aggressive else 0.0)
        return ScaledLearner(rule, intercept=self.fit_intercept, average=self.average, half=0.5)

    @property
    def skipped_(self) -> int:
        """Examples that asked for an update which no weights satisfy: their opposite is all that was learned."""
        return int(self._fitted("skipped_").table.numbers[SKIPPED])

    def _bounds(self, learner: Learner, comparator: NDArray[np.float64]) -> list[Certificate]:
        labels, shared = learner.scores, learner.rule.margin > 0.0
        parts = {perceptron.UNIFORM: labels * (labels - 1), perceptron.PROP: labels, perceptron.MAX: 2}
        return scaled.romma(
            run_of(learner, comparator),
            goal=learner.table.goal,
            skipped=self.skipped_,
            parts=1 if labels == 1 else parts[learner.rule.sharing if shared else perceptron.MAX],
        )


class ALMA(OnlineClassifier):
    """Approximately large margin in p-norm: steps that become smaller, weights of norm at most one.

    Reaches ``1 - alpha`` of the largest margin that any weights have on separable data, without knowing that margin.
    Rows are scaled to p-norm one as they come; with several labels the right one meets its highest rival.

    Parameters
    ----------
    p : float
        At least 2. The larger, the better the bound for few relevant among many features; about 2 log(features) makes
        it multiplicative in kind.
    alpha : float
        In (0, 1]; 1 learns from mistakes only.
    fit_intercept, average, n_epochs, shuffle, random_state, grow_features
        As for every learner here, see :class:`Perceptron`.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from ellipsoid import ALMA
    >>> X, y = load_digits(return_X_y=True)
    >>> model = ALMA(average=True).partial_fit(X[:1500], y[:1500])
    >>> model.score(X[1500:], y[1500:]) > 0.85
    True
    >>> all(c.observed <= c.bound for c in model.certificates())
    True

    References
    ----------
    Gentile, "A new approximate maximal margin classification algorithm", JMLR 2 (2001).
    """

    def __init__(
        self,
        p: float = 2,
        alpha: float = 0.9,
        fit_intercept: bool = True,
        average: bool = False,
        n_epochs: int = 5,
        shuffle: bool = True,
        random_state: Any = None,
        grow_features: bool = False,
    ) -> None:
        self.p = p
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.average = average
        self.n_epochs = n_epochs
        self.shuffle = shuffle
        self.random_state = random_state
        self.grow_features = grow_features

    def _start(self) -> Learner:
        p, alpha = positive("p", self.p), positive("alpha", self.alpha)
        if p < 2.0:
            raise ValueError(f"p must be at least 2, got {self.p!r}")
        if alpha > 1.0:
            raise ValueError(f"alpha must lie in (0, 1], got {self.alpha!r}")
        rule = alma.ALMA(alpha, p)
        # |(-h w, h w)|_q = |w|_q: a third label changes nothing for the two before it.
        half = 2.0 ** (1.0 / p - 1.0)
        return ScaledLearner(rule, intercept=self.fit_intercept, average=self.average, half=half, power=p)

    def _bounds(self, learner: Learner, comparator: NDArray[np.float64]) -> list[Certificate]:
        table, rule = learner.table, learner.rule
        run = run_of(learner, comparator)
        return scaled.alma(
            run,
            table.dual(learner.scores) if isinstance(table, PowerTable) else run.weights,
            power=rule.p,
            alpha=rule.alpha,
            weight=float(table.numbers[WEIGHT]),
        )
