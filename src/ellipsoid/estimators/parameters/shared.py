"""Parameters that several learners share: those of every online learner, and those of a kernel."""

from functools import cache
from math import inf
from typing import Any

from ellipsoid.representation.kernel.expansion import KernelSpec
from ellipsoid.representation.kernel.functions import KERNELS

from .declaration import declared
from .validation import one_of, positive


@declared
class OnlineParameters:
    """How a stream is learned, for every rule.

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
        Let ``fit`` hold out rows, and stop when their score no longer rises: ``n_epochs`` is then the largest number
        of passes, and ``n_iter_`` the number of passes made. The weights are those of the last pass, as in
        ``SGDClassifier``.
    validation_fraction : float
        The share of the rows to hold out, the same for every label.
    n_iter_no_change : int
        Stop after this many passes in a row without progress.
    tol : float
        Progress is a score that exceeds the best so far by more than this.
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
        """The names of the parameters, cached: scikit-learn would read the signature for every copy of an estimator."""
        return super()._get_param_names()  # type: ignore[misc]


@declared
class InterceptParameters:
    """The size of the constant feature.

    Parameters
    ----------
    intercept_scaling : float
        The value of the constant feature. In sparse rows of length one, 1 would be one of the largest values, and 0.1
        is like the others; ``SGDClassifier`` damps its intercept on sparse rows for the same reason.
    """

    intercept_scaling: float = 1.0
    fit_intercept: bool = True

    @property
    def _constant(self) -> float:
        return positive("intercept_scaling", self.intercept_scaling) if self.fit_intercept else 0.0


@declared
class WeightParameters:
    """The weights of classes.

    Parameters
    ----------
    class_weight : None, dict of label to weight, or "balanced"
        Factors for the weights of the rows of each class, 1 for a class that is not in the dict. "balanced" is
        n / (K n_y), with n rows of K labels, n_y of this label: in ``fit`` all rows, on a stream those up to this row.
    """

    class_weight: Any = None


@declared
class SlackParameters:
    """The size of a passive-aggressive step.

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
        """The cap of a step, and the ridge that is added to the squared norm of its example."""
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
        Kernels other than the linear one keep support patterns (``support_vectors_``, ``dual_coef_``) instead of
        weights; a callable maps two matrices to the matrix of their rows' kernel values; with "precomputed" X holds
        kernel values, one column per training example in the order in which they are learned.
    gamma, degree, coef0
        Parameters of the kernel, as in ``sklearn.svm.SVC``; gamma "auto" is one over the number of features. (SVC's
        "scale" needs the variance of all rows, which is unknown on a stream.)
    """

    kernel: Any = "linear"
    gamma: float | str = "auto"
    degree: int = 3
    coef0: float = 0.0

    def _kernel_spec(self) -> KernelSpec:
        """The kernel's name or function with its parameters, all checked."""
        kernel, gamma = self.kernel, self.gamma
        if not callable(kernel):
            one_of("kernel", kernel, {**KERNELS, "precomputed": None})
        width = None if isinstance(gamma, str) and gamma == "auto" else positive("gamma", gamma)
        if positive("degree", self.degree) != int(self.degree):
            raise ValueError(f"degree must be a positive integer, got {self.degree!r}")
        return kernel, width, float(self.degree), positive("coef0", self.coef0, zero=True)
