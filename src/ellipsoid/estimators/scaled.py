"""ROMMA and ALMA: learners that multiply their weights before they add to them."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ellipsoid.certificates import Certificate, scaled
from ellipsoid.representation.scaled.tables import PowerTable
from ellipsoid.representation.scaled.weights import SKIPPED, WEIGHT
from ellipsoid.rules import alma, perceptron, romma

from .kernelized import KernelClassifier
from .learner import Learner
from .linear import run_of
from .parameters import one_of, positive
from .scaled_learners import ScaledExpansionLearner, ScaledLearner


class ScaledClassifier(KernelClassifier):
    """What ROMMA and ALMA share."""

    _linear_learner = ScaledLearner
    _expansion_learner = ScaledExpansionLearner

    # A pattern that is given up would change the norm that the next step relies on.
    budget = None


class ROMMA(ScaledClassifier):
    """Relaxed online maximum margin: the shortest weights that satisfy this example and what the last ones stood for.

    For data that some hypothesis separates. On others the weights grow without end (they are kept in ever larger units,
    which no prediction feels), and examples that contradict all weights at once are skipped, see ``skipped_``.

    Parameters
    ----------
    aggressive : bool
        Learn wherever the margin is below 1, not on mistakes only.
    update : {"uniform", "max", "prop"}
        How the blame is shared among the rivals that scored too high: equally, all to the highest, or in proportion to
        the excess; with two labels all are the same.
    kernel : {"linear", "rbf", "poly", "precomputed"} or callable
        Other kernels than the linear one keep support patterns (``support_vectors_``, ``dual_coef_``) instead of
        weights; a callable maps two matrices to the matrix of their rows' kernel values; with "precomputed" X holds
        kernel values, one column per training example in the order in which they are learned.
    gamma, degree, coef0
        Of the kernel, as in ``sklearn.svm.SVC``; gamma "auto" is one over the number of features.
    fit_intercept : bool
        Add a constant feature 1 to every example; its weight is the intercept.
    average : bool or "vote"
        Predict with the average of all hypotheses so far; "vote" (kernels only) lets them vote, one vote for each round
        that a hypothesis survived.
    n_epochs : int
        Passes that ``fit`` makes over its data.
    shuffle : bool
        A new random order of the rows for each pass of ``fit``; streams are never shuffled.
    random_state : int, RandomState or None
        Seed of those orders.
    grow_features : bool
        Let a wider X add features in mid-stream; otherwise it is refused.

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
        kernel: Any = "linear",
        gamma: float | str = "auto",
        degree: int = 3,
        coef0: float = 0.0,
        fit_intercept: bool = True,
        average: bool | str = False,
        n_epochs: int = 5,
        shuffle: bool = True,
        random_state: Any = None,
        grow_features: bool = False,
    ) -> None:
        self.aggressive = aggressive
        self.update = update
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.fit_intercept = fit_intercept
        self.average = average
        self.n_epochs = n_epochs
        self.shuffle = shuffle
        self.random_state = random_state
        self.grow_features = grow_features

    def _start(self) -> Learner:
        sharing = one_of("update", self.update, perceptron.SHARINGS)
        rule = romma.ROMMA(sharing, 1.0 if self.aggressive else 0.0)
        return self._learner(rule, half=0.5)

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


class ALMA(ScaledClassifier):
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
    kernel : {"linear", "rbf", "poly", "precomputed"} or callable
        Other kernels than the linear one keep support patterns (``support_vectors_``, ``dual_coef_``) instead of
        weights; a callable maps two matrices to the matrix of their rows' kernel values; with "precomputed" X holds
        kernel values, one column per training example in the order in which they are learned.
    gamma, degree, coef0
        Of the kernel, as in ``sklearn.svm.SVC``; gamma "auto" is one over the number of features.
    fit_intercept : bool
        Add a constant feature 1 to every example; its weight is the intercept.
    average : bool or "vote"
        Predict with the average of all hypotheses so far; "vote" (kernels only) lets them vote, one vote for each round
        that a hypothesis survived.
    n_epochs : int
        Passes that ``fit`` makes over its data.
    shuffle : bool
        A new random order of the rows for each pass of ``fit``; streams are never shuffled.
    random_state : int, RandomState or None
        Seed of those orders.
    grow_features : bool
        Let a wider X add features in mid-stream; otherwise it is refused.

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
        kernel: Any = "linear",
        gamma: float | str = "auto",
        degree: int = 3,
        coef0: float = 0.0,
        fit_intercept: bool = True,
        average: bool | str = False,
        n_epochs: int = 5,
        shuffle: bool = True,
        random_state: Any = None,
        grow_features: bool = False,
    ) -> None:
        self.p = p
        self.alpha = alpha
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
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
        if p > 2.0 and not (isinstance(self.kernel, str) and self.kernel == "linear"):
            raise ValueError(f"p must be 2 with a kernel, whose feature space has no other norm; got {self.p!r}")
        rule = alma.ALMA(alpha, p)
        # |(-h w, h w)|_q = |w|_q: a third label changes nothing for the two before it.
        return self._learner(rule, half=2.0 ** (1.0 / p - 1.0))

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
