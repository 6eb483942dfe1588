"""Confidence-weighted learners: CW and its soft versions SCW-I and SCW-II."""

from math import inf
from typing import Any

from scipy.special import ndtri

from ellipsoid.certificates import Certificate, second_order
from ellipsoid.ellipsoids.forms.diagonal import DROP, INVERSE
from ellipsoid.rules import confidence, gaussian

from .parameters.declaration import declared
from .parameters.validation import one_of, positive
from .second_order import LinearGaussianLearner, SecondOrderClassifier


@declared
class ConfidenceClassifier(SecondOrderClassifier):
    """What CW and SCW share.

    Parameters
    ----------
    eta : float
        The probability that is asked of every example; between 0.5 and 1.
    diagonal : {"drop", "inverse"}
        What a diagonal takes from a full step: its own diagonal, or the diagonal of its inverse, which shrinks faster.
    """

    eta: float = 0.9
    diagonal: str = "drop"

    def _confident(self, kind: int, C: float) -> LinearGaussianLearner:
        """A learner that asks for the probability ``eta`` in this way, at the price C."""
        if not 0.5 < positive("eta", self.eta) < 1.0:
            raise ValueError(f"eta must lie between 0.5 and 1, got {self.eta!r}")
        # How many deviations the margin must have for that probability.
        phi = float(ndtri(float(self.eta)))
        rule = gaussian.GaussianRule(confidence.UNREACHED, kind, C, phi, self._doubt())
        return self._covariance(rule, one_of("diagonal", self.diagonal, {"drop": DROP, "inverse": INVERSE}))


@declared
class ConfidenceWeighted(ConfidenceClassifier):
    """Confidence-weighted: after each step its example is right with probability ``eta``; for data without noise.

    Each mistake divides det S by at least 1 + phi^2, where phi is the normal quantile of ``eta``. On noisy data the
    covariance, and with it every later step, falls geometrically to zero: use :class:`SCW` or :class:`AROW` there.
    The unit in which rows are measured does not matter.

    Parameters
    ----------
    variant : {"stdev", "variance"}
        Measure the margin in deviations, which gives the probability ``eta``; or in variances, the form published
        first, which does so only where the variance is 1 and depends on the unit of the rows.

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

    variant: str = "stdev"

    def _start(self) -> LinearGaussianLearner:
        kinds = {"stdev": confidence.STDEV, "variance": confidence.VARIANCE}
        return self._confident(one_of("variant", self.variant, kinds), inf)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # Classes that overlap are noise to it: there it ends where its covariance has vanished.
        tags.classifier_tags.poor_score = True
        return tags

    def _bounds_of(
        self, learner: Any, run: second_order.GaussianRun, u: second_order.MeasuredComparator
    ) -> list[Certificate]:
        bounds = super()._bounds_of(learner, run, u)
        if bounds and learner.rule.kind == confidence.STDEV:
            bounds.insert(0, second_order.determinant_mistakes(run, learner.rule.phi))
        return bounds


@declared
class SCW(ConfidenceClassifier):
    """Soft confidence-weighted: confidence-weighted steps that noise cannot drive too far.

    Parameters
    ----------
    C : float
        The largest step (variant I), or the price of the squared remaining loss (II). Infinite:
        :class:`ConfidenceWeighted`.
    variant : {"I", "II"}
        The loss is the number of deviations that the margin lacks, or its square.

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

    C: float = 1.0
    variant: str = "I"

    def _start(self) -> LinearGaussianLearner:
        kind = one_of("variant", self.variant, {"I": confidence.STDEV, "II": confidence.SQUARED})
        return self._confident(kind, positive("C", self.C, infinite=True))
