"""Passive-aggressive regression: the smallest move that brings a number into the tube."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ellipsoid.certificates import Certificate
from ellipsoid.certificates.mixed import sums_of_all
from ellipsoid.certificates.regression import tube_bounds
from ellipsoid.engine import tally as tallies
from ellipsoid.rules.passive_aggressive import PassiveAggressiveRule

from .parameters.declaration import declared
from .parameters.shared import SlackParameters
from .parameters.validation import positive
from .shell.kernelized import BudgetClassifier
from .shell.regression import NumberExpansionLearner, NumberLearner, OnlineRegressor
from .state.expansion import ExpansionLearner
from .state.learner import Learner


@declared
class PassiveAggressiveRegressor(SlackParameters, OnlineRegressor, BudgetClassifier):
    """Passive-aggressive regression: rows predicted to within the tube change nothing, others as little as necessary.

    It replaces scikit-learn's learner of this name, which is removed in version 1.10, and
    ``SGDRegressor(learning_rate="pa1")``: the steps are the same, with the intercept as part of the row.

    Parameters
    ----------
    tube : float
        The largest error of a prediction that costs no loss; scikit-learn's ``epsilon``.

    Examples
    --------
    One uncapped move ends on the edge of the tube:

    >>> from ellipsoid import PassiveAggressiveRegressor
    >>> model = PassiveAggressiveRegressor(variant="hard", tube=0.1).partial_fit([[3.0, 4.0]], [2.0])
    >>> model.predict([[3.0, 4.0]]).round(12)
    array([1.9])
    >>> model.learn_one([1.0, 0.0], 5.0).predict_one([1.0, 0.0]).__round__(12)
    4.9

    References
    ----------
    Crammer, Dekel, Keshet, Shalev-Shwartz and Singer, "Online passive-aggressive algorithms", JMLR 7 (2006).
    """

    _linear_learner = NumberLearner
    _expansion_learner = NumberExpansionLearner

    tube: float = 0.1

    def _start(self) -> Learner:
        slack = self._slack()
        if isinstance(self.average, str):
            raise ValueError(f"average must be True or False, because numbers cannot be voted on; got {self.average!r}")
        rule = PassiveAggressiveRule(0.0, *slack)
        learner: Any = self._learner(rule, budget=self.budget)
        learner.tube = positive("tube", self.tube, zero=True)
        return learner

    @property
    def dual_objective_(self) -> float:
        """B - tube A - ``|w|^2`` / 2: with variant I, ``|u|^2`` / 2 + C times the losses of u is no less for any u."""
        core = self._fitted("dual_objective_")
        with np.errstate(over="ignore"):
            tally, length2 = core.tally, float((np.asarray(core.table.weights(1, 0)) ** 2).sum())
        return float(tally[tallies.GAIN]) - core.tube * float(tally[tallies.PUSH]) - length2 / 2.0

    def _bounds(self, learner: Any, comparator: NDArray[np.float64]) -> list[Certificate]:
        expansion = isinstance(learner, ExpansionLearner)
        terms = 1 + learner.width + (int(learner.tally[tallies.UPDATES]) if expansion else 0)
        own = np.array(learner.table.weights(1, 0))
        return tube_bounds(learner.tally, sums_of_all(learner), own, comparator, learner.tube, learner.rule, terms)
