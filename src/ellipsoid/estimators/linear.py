"""The learners that add multiples of an example, linear or with a kernel: Perceptron, PassiveAggressive, MIRA."""

import numpy as np
from numpy.typing import NDArray

from ellipsoid.certificates import Certificate, additive
from ellipsoid.certificates.certificate import unproved
from ellipsoid.engine import tally as tallies
from ellipsoid.rules import (
    blame,
    category_ranking,  # noqa: F401 (it registers the rules for label sets)
    mira,
    passive_aggressive,
    perceptron,
)

from .parameters.declaration import declared
from .parameters.shared import SlackParameters, WeightParameters
from .parameters.validation import one_of, positive
from .shell.kernelized import BudgetClassifier
from .state.expansion import ExpansionLearner
from .state.learner import Learner


def run_of(learner: Learner, comparator: NDArray[np.float64]) -> additive.Run:
    """What the bounds of a linear learner need."""
    weights = learner.table.weights(learner.scores, 0)
    blocks, expansion = 1 if learner.scores == 1 else 2, isinstance(learner, ExpansionLearner)
    # A score of an expansion sums kernel values of all updates, each made of products of all features.
    terms = 1 + learner.width + (int(learner.tally[tallies.UPDATES]) if expansion else 0)
    return additive.Run(learner.tally, weights, comparator, blocks, learner.split, terms, expansion, learner.mixed)


@declared
class Perceptron(WeightParameters, BudgetClassifier):
    """Perceptron, and its ultraconservative multiclass family.

    If some wrong label scores at least the score of the right one minus ``margin``, the example is added to the row of
    the right label, and those wrong labels share the blame.

    Parameters
    ----------
    multiclass : {"uniform", "max", "proportional", "ovr"}
        How rivals share the blame: equally, all to the highest, in proportion to the excess; or one binary Perceptron
        for each class against the rest. With two labels all are the binary Perceptron.
    margin : float
        0 updates on mistakes only (ties are mistakes); more updates on narrow successes too.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from ellipsoid import Perceptron
    >>> X, y = load_digits(return_X_y=True)
    >>> model = Perceptron(multiclass="max", average=True).partial_fit(X[:1500], y[:1500])
    >>> model.mistakes_ == model.updates_
    True
    >>> model.score(X[1500:], y[1500:]) > 0.85
    True

    References
    ----------
    Crammer and Singer, "Ultraconservative online algorithms for multiclass problems", JMLR 3 (2003).
    """

    _multilabel = True

    multiclass: str = "max"
    margin: float = 0.0

    @property
    def _takes_sets(self) -> bool:
        return self.multiclass != "ovr"

    def _start(self) -> Learner:
        sharing = one_of("multiclass", self.multiclass, {**blame.SHARINGS, "ovr": blame.MAX})
        rule = perceptron.PerceptronRule(sharing, positive("margin", self.margin, zero=True), 1.0)
        return self._learner(rule, budget=self.budget, one_vs_rest=self.multiclass == "ovr")

    def _weighs(self, learner: Learner) -> bool:
        return True

    def _bounds(self, learner: Learner, comparator: NDArray[np.float64]) -> list[Certificate]:
        run = run_of(learner, comparator)
        if learner.one_vs_rest and learner.scores > 1:
            parts = run.steps(tallies.PARTS)
            found = additive.perceptron(run._replace(blocks=1), learner.rule.margin, parts, tallies.PARTS)
            # The weights of single learners' updates are not added up, nor is their average margin known then.
            return unproved(found[1:3]) if run.has_weights else found
        return additive.perceptron(run, learner.rule.margin, run.push.high if run.has_weights else run.steps())


@declared
class PassiveAggressive(SlackParameters, WeightParameters, BudgetClassifier):
    """Passive-aggressive: the smallest move that restores the margin, multiclass against the highest rival.

    Parameters
    ----------
    margin : float
        The margin required of every example.

    Examples
    --------
    One uncapped move ends exactly on the margin, the intercept included:

    >>> import numpy as np
    >>> from ellipsoid import PassiveAggressive
    >>> model = PassiveAggressive(variant="hard").partial_fit([[3.0, 4.0]], [1], classes=[0, 1])
    >>> model.decision_function([[3.0, 4.0]]).round(12)
    array([1.])

    References
    ----------
    Crammer, Dekel, Keshet, Shalev-Shwartz and Singer, "Online passive-aggressive algorithms", JMLR 7 (2006).
    """

    _multilabel = True

    margin: float = 1.0

    def _start(self) -> Learner:
        slack = self._slack()
        rule = passive_aggressive.PassiveAggressiveRule(positive("margin", self.margin), *slack)
        return self._learner(rule, budget=self.budget, half=0.5)

    def _bounds(self, learner: Learner, comparator: NDArray[np.float64]) -> list[Certificate]:
        return additive.passive_aggressive(run_of(learner, comparator), *learner.rule)


@declared
class MIRA(BudgetClassifier):
    """MIRA, solved exactly: the smallest move of all prototypes together that corrects the example, up to a cap.

    Parameters
    ----------
    margin : float
        By how much the right label must lead; only its ratio to the squared norms of the examples matters.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from ellipsoid import MIRA
    >>> X, y = load_digits(return_X_y=True)
    >>> model = MIRA().partial_fit(X[:1500], y[:1500])
    >>> all(c.observed <= c.bound for c in model.certificates())
    True

    References
    ----------
    Crammer and Singer, "Ultraconservative online algorithms for multiclass problems", JMLR 3 (2003), section 5.
    """

    _multilabel = True

    margin: float = 0.01

    def _start(self) -> Learner:
        rule = mira.MIRARule(positive("margin", self.margin))
        return self._learner(rule, budget=self.budget)

    def _bounds(self, learner: Learner, comparator: NDArray[np.float64]) -> list[Certificate]:
        return additive.mira(run_of(learner, comparator), learner.rule.margin)
