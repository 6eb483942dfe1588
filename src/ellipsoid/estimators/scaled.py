"""ROMMA and ALMA: learners that multiply their weights before they add to them."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ellipsoid.certificates import Certificate, scaled
from ellipsoid.certificates.certificate import unproved
from ellipsoid.representation.scaled.tables import PowerTable
from ellipsoid.representation.scaled.weights import ROW_WEIGHT, SKIPPED
from ellipsoid.rules import alma, blame, romma

from .linear import run_of
from .parameters.declaration import declared
from .parameters.validation import one_of, positive
from .shell.kernelized import KernelClassifier
from .state.learner import Learner
from .state.scaled import ScaledExpansionLearner, ScaledLearner


class ScaledClassifier(KernelClassifier):
    """What ROMMA and ALMA share; no budget: a pattern given up would change the norm that the next step relies on."""

    _linear_learner = ScaledLearner
    _expansion_learner = ScaledExpansionLearner


@declared
class ROMMA(ScaledClassifier):
    """Relaxed online maximum margin: the shortest weights that fit this example and a half-space for all earlier ones.

    For data that some hypothesis separates. On other data the weights grow without limit (they are kept in ever larger
    units, which changes no prediction), and examples that no weights can satisfy are skipped, see ``skipped_``.

    Parameters
    ----------
    aggressive : bool
        Learn wherever the margin is below 1, not only on mistakes.
    multiclass : {"uniform", "max", "proportional"}
        How rivals that scored too high share the blame: equally, all to the highest, or in proportion to the excess;
        with two labels all are the same.

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

    aggressive: bool = False
    multiclass: str = "max"

    def _start(self) -> Learner:
        sharing = one_of("multiclass", self.multiclass, blame.SHARINGS)
        rule = romma.ROMMARule(sharing, 1.0 if self.aggressive else 0.0)
        return self._learner(rule, half=0.5)

    @property
    def skipped_(self) -> int:
        """Examples that asked for an update which no weights satisfy: their opposite is all that was learned."""
        return int(self._fitted("skipped_").table.numbers[SKIPPED])

    def _bounds(self, learner: Any, comparator: NDArray[np.float64]) -> list[Certificate]:
        labels, shared = learner.scores, learner.rule.margin > 0.0
        parts = {blame.UNIFORM: labels * (labels - 1), blame.PROPORTIONAL: labels, blame.MAX: 2}
        found = scaled.romma(
            run_of(learner, comparator),
            goal=learner.table.goal,
            skipped=self.skipped_,
            parts=1 if labels == 1 else parts[learner.rule.sharing if shared else blame.MAX],
        )
        # A mixture is longer or shorter than the sum of its coefficients says.
        why = "for mixtures a bound is proved only against weights that have margin 1 on every row of all shards"
        return found if learner.mixed is None else unproved(found, why)


@declared
class ALMA(ScaledClassifier):
    """Approximately large margin in p-norm: steps that get smaller, and weights of norm at most one.

    Reaches ``1 - alpha`` of the largest possible margin on separable data, without knowing that margin.
    Rows are scaled to p-norm one as they come; with several labels the right one is compared with its highest rival.

    Parameters
    ----------
    p : float
        At least 2. The larger, the better the bound if few of many features matter; with about 2 log(features) it
        behaves like a multiplicative learner.
    alpha : float
        In (0, 1]; 1 learns from mistakes only.

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

    p: float = 2.0
    alpha: float = 0.9

    def _start(self) -> Learner:
        p, alpha = positive("p", self.p), positive("alpha", self.alpha)
        if p < 2.0:
            raise ValueError(f"p must be at least 2, got {self.p!r}")
        if alpha > 1.0:
            raise ValueError(f"alpha must lie in (0, 1], got {self.alpha!r}")
        if p > 2.0 and not (isinstance(self.kernel, str) and self.kernel == "linear"):
            raise ValueError(f"p must be 2 with a kernel, whose feature space has only that norm; got {self.p!r}")
        rule = alma.ALMARule(alpha, p, alma.EVERY_MARGIN)
        # |(-h w, h w)|_q = |w|_q: a third label changes nothing for the two before it.
        return self._learner(rule, half=2.0 ** (1.0 / p - 1.0))

    def _bounds(self, learner: Any, comparator: NDArray[np.float64]) -> list[Certificate]:
        table, rule = learner.table, learner.rule
        run = run_of(learner, comparator)
        found = scaled.alma(
            run,
            table.dual(learner.scores) if isinstance(table, PowerTable) else run.weights,
            power=rule.p,
            alpha=rule.alpha,
            weight=float(table.numbers[ROW_WEIGHT]),
        )
        if learner.mixed is None:
            return found
        return [
            *unproved(found[:-1], "its steps depend on how many there were: no bound is proved for mixtures"),
            found[-1],
        ]
