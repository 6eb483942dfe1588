"""NHERD: learning with a normal herd."""

from ellipsoid.ellipsoids.forms.diagonal import DROP, EXACT_MAP, INVERSE
from ellipsoid.rules import gaussian

from .parameters.declaration import declared
from .parameters.validation import one_of, positive
from .second_order import LinearGaussianLearner, SecondOrderClassifier


@declared
class NHERD(SecondOrderClassifier):
    """Normal herd: AROW's step for the weights, and a covariance that shrinks twice as fast.

    Parameters
    ----------
    C : float
        The larger, the longer the steps; 1 suits rows of length about 1.
    diagonal : {"exact", "project", "drop"}
        What a diagonal takes from a full step: the best diagonal map of the herd, the diagonal of the inverse of a full
        step, or its own diagonal.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from ellipsoid import NHERD
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = NHERD(C=0.1).partial_fit(scale(X)[:400], y[:400])
    >>> model.score(scale(X)[400:], y[400:]) > 0.95
    True

    References
    ----------
    Crammer and Lee, "Learning via Gaussian herding", NIPS 2010.
    """

    C: float = 1.0
    diagonal: str = "exact"

    def _start(self) -> LinearGaussianLearner:
        rule = gaussian.GaussianRule(1.0, gaussian.HERDING, 1.0 / positive("C", self.C), 0.0, self._doubt())
        kinds = {"exact": EXACT_MAP, "project": INVERSE, "drop": DROP}
        return self._covariance(rule, one_of("diagonal", self.diagonal, kinds))
