"""Estimators that are linear in the space of the inputs, or in the feature space of a kernel."""

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ellipsoid.certificates import Certificate
from ellipsoid.representation.kernel.patterns import WIDEST_LAYOUT

from ..parameters.declaration import declared
from ..parameters.shared import InterceptParameters, KernelParameters
from ..parameters.validation import check_flag, is_count, one_of
from ..state.device_learner import DeviceParameters
from ..state.expansion import ExpansionLearner
from ..state.learner import Learner
from .base import OnlineClassifier


@declared
class KernelClassifier(DeviceParameters, KernelParameters, InterceptParameters, OnlineClassifier):
    """A learner that keeps weights, or with a kernel support patterns and their coefficients.

    Parameters
    ----------
    average : bool or "vote"
        Predict with the average of all hypotheses so far; "vote" (kernels only) lets them vote, with one vote for each
        round that a hypothesis survived.
    """

    average: Any = False

    _linear_learner: ClassVar[type[Learner]] = Learner
    _expansion_learner: ClassVar[type[ExpansionLearner]] = ExpansionLearner

    @property
    def _counts_features(self) -> bool | int:  # type: ignore[override]
        """The kernel values of wide rows are computed in another way, and rounded differently."""
        kernel = self._started_with("kernel")
        return False if isinstance(kernel, str) and kernel == "linear" else WIDEST_LAYOUT

    def _learner(
        self, rule: Any, *, budget: int | None = None, one_vs_rest: bool = False, half: float = 1.0
    ) -> Learner:
        """A learner for the rule, in the space that the parameters choose."""
        kernel, vote = self._kernel_spec(), isinstance(self.average, str)
        if budget is not None and not is_count(budget):
            raise ValueError(f"budget must be a positive integer or None, got {budget!r}")
        budget = None if budget is None else int(budget)
        if vote:
            one_of("average", self.average, {"vote": None})
        else:
            check_flag("average", self.average)
        if kernel[0] == "linear":
            if vote:
                raise ValueError(
                    'average="vote" needs a kernel; for a linear model use kernel="poly", degree=1, gamma=1'
                )
            if budget is not None:
                raise ValueError("budget limits support patterns, but a linear learner has none; set budget=None")
            return self._linear_learner(
                rule, intercept=self._constant, average=self.average, one_vs_rest=one_vs_rest, half=half
            )
        if vote and budget is not None:
            raise ValueError('average="vote" needs every hypothesis, but a budget drops some; set budget=None')
        passes = self.n_epochs if isinstance(self.n_epochs, int | np.integer) else 1
        return self._expansion_learner(
            rule, kernel, intercept=self._constant, average=self.average, passes=int(passes), budget=budget,
            one_vs_rest=one_vs_rest, half=half,
        )  # fmt: skip

    def _install(self, learner: Learner) -> None:
        super()._install(learner)
        if isinstance(learner, ExpansionLearner):
            learner.forget_passes()

    @property
    def support_vectors_(self) -> Any:
        """Kernel models: the support patterns, in the order of their first update (``OnlineSVM``: of arrival)."""
        core = self._expansion("support_vectors_")
        if core.kernel[0] == "precomputed":
            raise AttributeError(
                "a model with a precomputed kernel knows its support patterns only by column; see support_"
            )
        return core.table.reading().support()

    @property
    def support_(self) -> NDArray[np.int64]:
        """Models of a precomputed kernel: the columns of their support patterns."""
        core = self._expansion("support_")
        if core.kernel[0] != "precomputed":
            raise AttributeError("support_ is for precomputed kernels; see support_vectors_")
        return core.table.reading().support()

    @property
    def dual_coef_(self) -> NDArray[np.float64]:
        """Kernel models: the coefficients that predictions use, one row per score, one column per support pattern."""
        core = self._expansion("dual_coef_")
        return core.table.reading().coefficients(core.scores, core.rounds).T

    def _expansion(self, name: str) -> ExpansionLearner:
        core = self._fitted(name)
        if not isinstance(core, ExpansionLearner):
            raise AttributeError(f"{name} is for kernel models; a linear model has coef_ and intercept_")
        return core

    def certificates(self, comparator: Any = None) -> list[Certificate]:
        """The bounds that hold for this run so far, see the base class; a kernel model is its own comparator."""
        core = self._learned()
        if isinstance(core, ExpansionLearner):
            if comparator is not None:
                raise ValueError("a kernel model has no coordinates to compare with; comparator must be None")
            if core.budget is not None:
                return []  # no bound accounts for the patterns that were given up
        return super().certificates(comparator)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = isinstance(self.kernel, str) and self.kernel == "precomputed"
        return tags


@declared
class BudgetClassifier(KernelClassifier):
    """A kernel learner that can limit the number of its support patterns.

    Parameters
    ----------
    budget : int or None
        The most support patterns to keep: if there are more, the one that is missed least is projected onto the others.
    """

    budget: int | None = None
