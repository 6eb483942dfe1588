"""The parameters that learners share: those of every online learner, and those of a kernel."""

from functools import cache
from math import inf
from typing import Any

from ellipsoid.representation.kernel.expansion import KernelSpec
from ellipsoid.representation.kernel.functions import KERNELS

from .declaration import declared
from .validation import one_of, positive


@declared
class OnlineParameters:
    """How a stream is learned, whatever the rule.

    Parameters
    ----------
    fit_intercept : bool
        Add a constant feature 1 to every example; its weight is the intercept.
    average : bool
        Predict with the average of all hypotheses so far instead of the last one.
    n_epochs : int
        Passes that ``fit`` makes over its data.
    shuffle : bool
        A new random order of the rows for each pass of ``fit``; streams are never shuffled.
    random_state : int, RandomState or None
        Seed of those orders.
    grow_features : bool
        Let a wider X add features in mid-stream; otherwise it is refused.
    early_stopping : bool
        Let ``fit`` hold rows out, and end when their score no longer rises: ``n_epochs`` is then the most passes, and
        ``n_iter_`` those that were made. The weights are those of the last pass, as in ``SGDClassifier``.
    validation_fraction : float
        The share of the rows that is held out, as evenly from all labels.
    n_iter_no_change : int
        Passes in a row without progress after which no other follows.
    tol : float
        What counts as progress: a score better than the best so far by more than this.
    """

    fit_intercept: bool = True
    average: bool = False
    n_epochs: int = 5
    shuffle: bool = True
    random_state: Any = None
    grow_features: bool = False
    early_stopping: bool = False
    validation_fraction: float = 0.1
    n_iter_no_change: int = 5
    tol: float = 1e-3

    @property
    def _constant(self) -> float:
        """The value of the constant feature, 0 without one."""
        return 1.0 if self.fit_intercept else 0.0

    @classmethod
    @cache
    def _get_param_names(cls) -> list[str]:
        """The names of the parameters; scikit-learn reads the signature anew for every copy of an estimator."""
        return super()._get_param_names()  # type: ignore[misc]


@declared
class InterceptParameters:
    """How large the constant feature is.

    Parameters
    ----------
    intercept_scaling : float
        The value of the constant feature. Beside sparse rows of length one, 1 is one of the largest features: 0.1 makes
        it one of many, as the damped intercept of ``SGDClassifier`` on sparse rows is.
    """

    intercept_scaling: float = 1.0
    fit_intercept: bool = True

    @property
    def _constant(self) -> float:
        return positive("intercept_scaling", self.intercept_scaling) if self.fit_intercept else 0.0


@declared
class WeightParameters:
    """What the rows of a class count.

    Parameters
    ----------
    class_weight : None, dict of label to weight, or "balanced"
        Multiplies the weights of the rows of each class, by 1 where the dict has none. "balanced" is n / (K n_y), of n
        rows of K labels, n_y of this one: in ``fit`` of all rows, on a stream of those up to and including the row.
    """

    class_weight: Any = None


@declared
class SlackParameters:
    """How far a passive-aggressive learner goes.

    Parameters
    ----------
    variant : {"hard", "I", "II"}
        No slack, slack paid linearly (one move is at most ``C``), slack paid quadratically.
    C : float
        Aggressiveness of variants I and II.
    """

    variant: str = "I"
    C: float = 1.0

    def _slack(self) -> tuple[float, float]:
        """The cap of a step, and what is added to the squared norm of its example."""
        C = positive("C", self.C, infinite=True)
        return one_of("variant", self.variant, {"hard": (inf, 0.0), "I": (C, 0.0), "II": (inf, 1.0 / (2.0 * C))})

    def _weighs(self, learner: Any) -> bool:
        return bool(learner.rule.cap < inf or learner.rule.ridge > 0.0)


@declared
class KernelParameters:
    """The space in which a learner is linear.

    Parameters
    ----------
    kernel : {"linear", "rbf", "poly", "precomputed"} or callable
        Other kernels than the linear one keep support patterns (``support_vectors_``, ``dual_coef_``) instead of
        weights; a callable maps two matrices to the matrix of their rows' kernel values; with "precomputed" X holds
        kernel values, one column per training example in the order in which they are learned.
    gamma, degree, coef0
        Of the kernel, as in ``sklearn.svm.SVC``; gamma "auto" is one over the number of features. (SVC's "scale" needs
        the variance of all rows, which nobody knows of a stream.)
    """

    kernel: Any = "linear"
    gamma: float | str = "auto"
    degree: int = 3
    coef0: float = 0.0

    def _kernel_spec(self) -> KernelSpec:
        """The kernel's name or function with its parameters, or the sentence that says what is wrong with one."""
        kernel, gamma = self.kernel, self.gamma
        if not callable(kernel):
            one_of("kernel", kernel, {**KERNELS, "precomputed": None})
        width = None if isinstance(gamma, str) and gamma == "auto" else positive("gamma", gamma)
        if positive("degree", self.degree) != int(self.degree):
            raise ValueError(f"degree must be a positive integer, got {self.degree!r}")
        return kernel, width, float(self.degree), positive("coef0", self.coef0, zero=True)
