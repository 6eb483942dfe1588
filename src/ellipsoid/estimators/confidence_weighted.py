"""Confidence-weighted learners: CW and its soft versions SCW-I and SCW-II."""

from math import inf
from typing import Any

from scipy.special import ndtri

from ellipsoid.certificates import Certificate, second_order
from ellipsoid.rules import confidence

from .learner import Learner
from .parameters import one_of, positive
from .second_order import SecondOrderClassifier, SecondOrderLearner

DIAGONALS = {"drop": "drop", "inverse": "inverse"}


def quantile(eta: Any) -> float:
    """phi: how many deviations the margin must have for the probability ``eta``."""
    if not 0.5 < positive("eta", eta) < 1.0:
        raise ValueError(f"eta must lie between 0.5 and 1, got {eta!r}")
    return float(ndtri(float(eta)))


class ConfidenceWeighted(SecondOrderClassifier):
    """Confidence-weighted: after each step its example is right with probability ``eta``; for data without noise.

    Each mistake divides det S by 1 + phi^2 at the least, phi the normal quantile of ``eta``. On noisy data the
    covariance, and with it every later step, falls geometrically to nothing: then take :class:`SCW` or :class:`AROW`.
    It does not matter in which unit rows are measured.

    Parameters
    ----------
    eta : float
        The probability that is asked of every example; between 0.5 and 1.
    variant : {"stdev", "variance"}
        The margin is measured in deviations, which is the probability; or in variances, the first published form, which
        is that only where the variance is 1, and which feels the unit of the rows.
    shape : {"auto", "dense", "diagonal", "sketch"}
        How the covariance is kept: whole; a variance for each weight; its largest directions. "auto" is whole for 512
        weights at the most, beyond it diagonal.
    diagonal : {"drop", "inverse"}
        What a diagonal takes from a full step: its own diagonal, or the diagonal of its inverse, which shrinks faster.
    size : int
        Directions that a sketch keeps.
    selective : bool
        Ask for a label only where ``confidence`` is at most ``certainty``, and learn from asked labels only.
    certainty : float
        Of that rule, and of ``query``; between 0.5 and 1.
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
    >>> from ellipsoid import ConfidenceWeighted
    >>> X, y = load_digits(n_class=2, return_X_y=True)
    >>> model = ConfidenceWeighted(eta=0.9).partial_fit(X[:200], y[:200])
    >>> model.score(X[200:], y[200:]) > 0.98
    True
    >>> all(c.observed <= c.bound for c in model.certificates())
    True

    References
    ----------
    Crammer, Dredze and Pereira, "Exact convex confidence-weighted learning", NIPS 2008 (stdev); Dredze, Crammer and
    Pereira, "Confidence-weighted linear classification", ICML 2008 (variance).
    """

    def __init__(
        self,
        *,
        eta: float = 0.9,
        variant: str = "stdev",
        shape: str = "auto",
        diagonal: str = "drop",
        size: int = 20,
        selective: bool = False,
        certainty: float = 0.9,
        fit_intercept: bool = True,
        average: bool = False,
        n_epochs: int = 5,
        shuffle: bool = True,
        random_state: Any = None,
        grow_features: bool = False,
    ) -> None:
        self.eta = eta
        self.variant = variant
        self.shape = shape
        self.diagonal = diagonal
        self.size = size
        self.selective = selective
        self.certainty = certainty
        self.fit_intercept = fit_intercept
        self.average = average
        self.n_epochs = n_epochs
        self.shuffle = shuffle
        self.random_state = random_state
        self.grow_features = grow_features

    def _start(self) -> SecondOrderLearner:
        form = one_of("variant", self.variant, {"stdev": confidence.STDEV, "variance": confidence.VARIANCE})
        rule = confidence.Confidence(confidence.EVER, quantile(self.eta), form, inf, self._doubt())
        return self._covariance(rule, one_of("diagonal", self.diagonal, DIAGONALS), self.size)

    def _list(
        self, learner: Learner, run: second_order.Run, against: second_order.Against, norm: float, size: float
    ) -> list[Certificate]:
        if learner.table.form == "product":
            return []  # a sketch changes the determinant, and h, by itself
        margin = self._margin(learner, run, against, norm, size)
        if learner.rule.form == confidence.VARIANCE:
            return [margin]
        return [second_order.determinant(run, learner.rule.phi), margin]


class SCW(SecondOrderClassifier):
    """Soft confidence-weighted: confidence-weighted steps that noise cannot drive too far.

    Parameters
    ----------
    C : float
        The largest step (variant I), or the price of what is left of the loss, squared (II). Infinite:
        :class:`ConfidenceWeighted`.
    eta : float
        The probability that is asked of every example; between 0.5 and 1.
    variant : {"I", "II"}
        The loss is the margin's lack of deviations, or its square.
    shape : {"auto", "dense", "diagonal", "sketch"}
        How the covariance is kept: whole; a variance for each weight; its largest directions. "auto" is whole for 512
        weights at the most, beyond it diagonal.
    diagonal : {"drop", "inverse"}
        What a diagonal takes from a full step: its own diagonal, or the diagonal of its inverse, which shrinks faster.
    size : int
        Directions that a sketch keeps.
    selective : bool
        Ask for a label only where ``confidence`` is at most ``certainty``, and learn from asked labels only.
    certainty : float
        Of that rule, and of ``query``; between 0.5 and 1.
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
    >>> from ellipsoid import SCW
    >>> X, y = load_digits(return_X_y=True)
    >>> model = SCW(C=0.1).partial_fit(X[:1500] / 16, y[:1500])
    >>> model.score(X[1500:] / 16, y[1500:]) > 0.85
    True

    References
    ----------
    Wang, Zhao and Hoi, "Exact soft confidence-weighted learning", ICML 2012.
    """

    def __init__(
        self,
        *,
        C: float = 1.0,
        eta: float = 0.9,
        variant: str = "I",
        shape: str = "auto",
        diagonal: str = "drop",
        size: int = 20,
        selective: bool = False,
        certainty: float = 0.9,
        fit_intercept: bool = True,
        average: bool = False,
        n_epochs: int = 5,
        shuffle: bool = True,
        random_state: Any = None,
        grow_features: bool = False,
    ) -> None:
        self.C = C
        self.eta = eta
        self.variant = variant
        self.shape = shape
        self.diagonal = diagonal
        self.size = size
        self.selective = selective
        self.certainty = certainty
        self.fit_intercept = fit_intercept
        self.average = average
        self.n_epochs = n_epochs
        self.shuffle = shuffle
        self.random_state = random_state
        self.grow_features = grow_features

    def _start(self) -> SecondOrderLearner:
        form = one_of("variant", self.variant, {"I": confidence.STDEV, "II": confidence.SQUARED})
        C = positive("C", self.C, infinite=True)
        rule = confidence.Confidence(confidence.EVER, quantile(self.eta), form, C, self._doubt())
        return self._covariance(rule, one_of("diagonal", self.diagonal, DIAGONALS), self.size)

    def _list(
        self, learner: Learner, run: second_order.Run, against: second_order.Against, norm: float, size: float
    ) -> list[Certificate]:
        if learner.table.form == "product":
            return []
        return [self._margin(learner, run, against, norm, size)]
