"""NHERD: learning with a normal herd."""

from typing import Any

from ellipsoid.certificates import Certificate, second_order
from ellipsoid.rules import nherd

from .learner import Learner
from .parameters import one_of, positive
from .second_order import SecondOrderClassifier, SecondOrderLearner


class NHERD(SecondOrderClassifier):
    """Normal herd: AROW's step for the weights, and a covariance that shrinks twice as fast.

    Parameters
    ----------
    C : float
        The larger, the farther a step goes; 1 suits rows of length about 1.
    shape : {"auto", "dense", "diagonal", "sketch"}
        How the covariance is kept: whole; a variance for each weight; its largest directions. "auto" is whole for 512
        weights at the most, beyond it diagonal.
    diagonal : {"exact", "project", "drop"}
        What a diagonal takes from a full step: the best diagonal map of the herd, the diagonal of the inverse of a full
        step, or its own diagonal.
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

    def __init__(
        self,
        *,
        C: float = 1.0,
        shape: str = "auto",
        diagonal: str = "exact",
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
        rule = nherd.NHERD(1.0, 1.0 / positive("C", self.C), self._doubt())
        names = {"exact": "exact", "project": "project", "drop": "drop"}
        return self._covariance(rule, one_of("diagonal", self.diagonal, names), self.size)

    def _list(
        self, learner: Learner, run: second_order.Run, against: second_order.Against, norm: float, size: float
    ) -> list[Certificate]:
        if learner.table.form == "product":
            return []
        return [self._margin(learner, run, against, norm, size)]
