"""AROW and the second-order Perceptron, linear and with kernels."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ellipsoid.certificates import Certificate, second_order
from ellipsoid.certificates.rounding import Span
from ellipsoid.ellipsoids import state as slots
from ellipsoid.ellipsoids.endless import SketchTable
from ellipsoid.ellipsoids.kernel_table import KernelTable
from ellipsoid.representation.kernel.functions import KERNELS
from ellipsoid.rules import arow

from .ellipsoidal import EllipsoidLearner
from .kernelized import kernel_spec
from .learner import Learner
from .parameters import one_of, positive
from .second_order import SecondOrderClassifier, SecondOrderKernelLearner


class RidgeClassifier(SecondOrderClassifier):
    """What AROW and SOP share: weights that are the ridge solution on the examples of their updates."""

    kernel: Any
    gamma: Any
    degree: Any
    coef0: Any
    size: Any

    def _ridge(self, margin: float, r: float, diagonal: str) -> EllipsoidLearner:
        rule = arow.AROW(margin, r, self._doubt())
        one_of("kernel", self.kernel, KERNELS)
        if self.kernel == "linear":
            return self._covariance(rule, diagonal, self.size, gram="sparse")
        one_of("shape", self.shape, {"auto": None, "gram": None})
        spec = kernel_spec(self.kernel, self.gamma, self.degree, self.coef0)
        options = {"kernel": spec, "columns": float("inf")}
        return SecondOrderKernelLearner(rule, intercept=self.fit_intercept, average=self.average, table=options)

    @property
    def support_vectors_(self) -> NDArray[np.float64]:
        """Kernel models: the examples of the updates."""
        return self._kernel_table("support_vectors_").patterns()

    @property
    def dual_coef_(self) -> NDArray[np.float64]:
        """Kernel models: coefficients of the update examples, one row per score."""
        return self._kernel_table("dual_coef_").coefficients(self.t_).T

    def _kernel_table(self, name: str) -> KernelTable:
        table = self._fitted(name).table
        if not isinstance(table, KernelTable):
            raise AttributeError(f"{name} belongs to kernel models; a linear one has coef_ and intercept_")
        return table

    def certificates(self, comparator: Any = None) -> list[Certificate]:
        """The bounds that hold for this run so far; a kernel model is its own comparator, a diagonal has no bounds."""
        core = self._learned()
        if not isinstance(core.table, KernelTable):
            return super().certificates(comparator)
        if comparator is not None:
            raise ValueError("a kernel model has no coordinates to compare with; comparator must be None")
        run, scale = self._run(core), float(np.exp(core.table.numbers[slots.LOG_SCALE]))
        try:
            size2, inner, norm2 = core.table.pulled()
        except np.linalg.LinAlgError:
            size2, inner, norm2, run = 0.0, 0.0, 0.0, run._replace(uncertain=float("inf"))
        own = max(0.0, inner) / scale
        norm, size = (Span.about(max(0.0, square), 64.0).root().high for square in (norm2, size2))
        return self._list(core, run, second_order.Against(own, own, own), norm / scale, size)

    def _list(
        self, learner: Learner, run: second_order.Run, against: second_order.Against, norm: float, size: float
    ) -> list[Certificate]:
        table, r = learner.table, float(learner.rule.r)
        scale = float(np.exp(table.numbers[slots.LOG_SCALE]))
        if isinstance(table, SketchTable):
            missing = r / scale * float(table.numbers[slots.MISSING])
            return [second_order.squares(run, against, r, missing, size)]
        steep = (1.0 + float(table.numbers[slots.STEEP])) / scale
        inner = against.inner / size if size > 0.0 else 0.0
        margin = second_order.margin(run, inner, norm, run.updates / r, steep, against.own, positive=True)
        return [second_order.mistakes(run, against, r), second_order.squares(run, against, r), margin]


class AROW(RidgeClassifier):
    """Adaptive regularisation of weights: each weight with a confidence, moved by every margin below 1.

    A good first choice for a stream of any kind, noisy or not: large steps where little is known, small ones where
    much is. The weights are the ridge solution on the examples of all updates so far.

    Parameters
    ----------
    r : float
        The smaller, the farther a step goes; 1 suits rows of length about 1. The larger, the more noise is borne.
    trigger : {"margin", "mistake"}
        Step on every margin below 1, or on mistakes only: then it is the second-order Perceptron.
    shape : {"auto", "dense", "diagonal", "sketch", "gram"}
        How the covariance is kept: whole; a variance for each weight; its largest directions; over the examples of all
        updates, for short streams of many features. "auto" is whole for 512 weights at the most, beyond it diagonal.
    diagonal : {"inverse", "drop"}
        What a diagonal takes from a full step: the diagonal of its inverse, or its own.
    size : int
        Directions that a sketch keeps.
    selective : bool
        Ask for a label only where ``confidence`` is at most ``certainty``, and learn from asked labels only.
    certainty : float
        Of that rule, and of ``query``; between 0.5 and 1.
    kernel : {"linear", "rbf", "poly"}
        Other kernels than the linear one keep the update examples (``support_vectors_``, ``dual_coef_``) and the Gram
        form: an update costs the square of their number.
    gamma, degree, coef0 : float
        Of the kernel, as in ``sklearn.svm.SVC``; gamma "auto" is one over the number of features.
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
    """

    def __init__(
        self,
        *,
        r: float = 1.0,
        trigger: str = "margin",
        shape: str = "auto",
        diagonal: str = "inverse",
        size: int = 20,
        selective: bool = False,
        certainty: float = 0.9,
        kernel: str = "linear",
        gamma: float | str = "auto",
        degree: int = 3,
        coef0: float = 0.0,
        fit_intercept: bool = True,
        average: bool = False,
        n_epochs: int = 5,
        shuffle: bool = True,
        random_state: Any = None,
        grow_features: bool = False,
    ) -> None:
        self.r = r
        self.trigger = trigger
        self.shape = shape
        self.diagonal = diagonal
        self.size = size
        self.selective = selective
        self.certainty = certainty
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

    def _start(self) -> EllipsoidLearner:
        margin = one_of("trigger", self.trigger, {"margin": 1.0, "mistake": 0.0})
        diagonal = one_of("diagonal", self.diagonal, {"inverse": "inverse", "drop": "drop"})
        return self._ridge(margin, positive("r", self.r), diagonal)


class SecondOrderPerceptron(RidgeClassifier):
    """Second-order Perceptron: the ridge solution on the examples it was wrong about.

    It is AROW on mistakes only, with ``r`` = ``a``: the published score has the present row in the matrix, which
    divides every score by 1 + v / a and changes no sign.

    Parameters
    ----------
    a : float
        The ridge: how much of the plain Perceptron is left.
    shape : {"auto", "dense", "diagonal", "sketch", "gram"}
        How the covariance is kept: whole; a variance for each weight; its largest directions; over the examples of all
        mistakes, for many features. "auto" is whole for 512 weights at the most, beyond it diagonal.
    size : int
        Directions that a sketch keeps.
    selective : bool
        Ask for a label only where ``confidence`` is at most ``certainty``, and learn from asked labels only.
    certainty : float
        Of that rule, and of ``query``; between 0.5 and 1.
    kernel : {"linear", "rbf", "poly"}
        Other kernels than the linear one keep the update examples (``support_vectors_``, ``dual_coef_``) and the Gram
        form: an update costs the square of their number.
    gamma, degree, coef0 : float
        Of the kernel, as in ``sklearn.svm.SVC``; gamma "auto" is one over the number of features.
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

    def __init__(
        self,
        *,
        a: float = 1.0,
        shape: str = "auto",
        size: int = 20,
        selective: bool = False,
        certainty: float = 0.9,
        kernel: str = "linear",
        gamma: float | str = "auto",
        degree: int = 3,
        coef0: float = 0.0,
        fit_intercept: bool = True,
        average: bool = False,
        n_epochs: int = 5,
        shuffle: bool = True,
        random_state: Any = None,
        grow_features: bool = False,
    ) -> None:
        self.a = a
        self.shape = shape
        self.size = size
        self.selective = selective
        self.certainty = certainty
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

    def _start(self) -> EllipsoidLearner:
        return self._ridge(0.0, positive("a", self.a), "inverse")
