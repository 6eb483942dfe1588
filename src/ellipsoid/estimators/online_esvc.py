"""The online ellipsoidal SVM as an estimator: streams, averaging, and a certificate after every epoch."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import ConvergenceWarning

from ellipsoid.certificates import Certificate
from ellipsoid.certificates.rounding import Span

from .inputs import checks
from .inputs.labels import Codes
from .parameters.declaration import declared
from .parameters.validation import positive
from .shell.base import OnlineClassifier
from .shell.early_stopping import HeldOut
from .state.binary_esvm import SOFT_MARGIN_R, Terms, check_constants
from .state.online_esvc import EllipsoidalSVMLearner, row_lengths


@declared
class OnlineEllipsoidalSVC(OnlineClassifier):
    """A linear ellipsoidal SVM learned one example at a time, O(n^2) each.

    Parameters
    ----------
    nu : float
        The price of a slack is ``1/(N nu |x|)``: the batch estimator's ``nu`` divided by the number of points. Search
        ``nu * n`` (n the number of features) on a grid from 1e-4 to 0.3.
    r : float in (0, 1)
        The weight of the ellipsoid's volume against its size ("relaxed" problem).
    formulation : {"relaxed", "trace"}
        The online form of the batch problem, or the paper's Problem 14, whose ellipsoid is bounded by its trace. The
        latter's ellipsoid is a ball unless ``nu`` is well below 1/n^2.
    tol : float
        ``fit`` stops after the epoch in which the certified gap is at most ``tol * max(1, |dual objective|)``.
    n_epochs : int
        The most passes of ``fit``; a ``ConvergenceWarning`` is issued if they do not reach ``tol``.
    average : bool
        Predict with the average of all w, in which later ones weigh more; the certificate is about this average.
    intercept_scaling : float, optional
        The size of the constant feature: by default the median length of the rows in ``fit``, and on a stream the
        length of the first row that is not zero; zero rows before it are counted, but nothing is learned from them.

    Attributes
    ----------
    duality_gap_, dual_objective_
        After ``fit``: an upper bound on the distance of the objective from its optimum, and a lower bound on the
        optimum; per class if there are more than two. On a stream ``dual_objective_`` holds for the examples so far.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import StandardScaler
    >>> from ellipsoid import OnlineEllipsoidalSVC
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X = StandardScaler().fit_transform(X)
    >>> model = OnlineEllipsoidalSVC(random_state=0)
    >>> for start in range(0, len(y), 50):
    ...     model = model.partial_fit(X[start : start + 50], y[start : start + 50])
    >>> model.t_
    569
    >>> bool(model.score(X, y) > 0.9)
    True
    """

    nu: float = 1e-3
    r: float = SOFT_MARGIN_R
    formulation: str = "relaxed"
    tol: float = 1e-2
    average: bool = True
    n_epochs: int = 20
    intercept_scaling: float | None = None

    _counts_features = True  # the inverse that is kept is computed afresh now and then, as wide as it is

    def _start(self) -> EllipsoidalSVMLearner:
        check_constants(self.nu, self.r)
        if self.formulation not in ("relaxed", "trace"):
            raise ValueError(f"formulation must be 'relaxed' or 'trace', got {self.formulation!r}")
        positive("tol", self.tol, infinite=True)
        terms = Terms(
            float(self.nu), float(self.r) if self.formulation == "relaxed" else 0.0, int(bool(self.fit_intercept)), 0.0
        )
        bias = None if self.intercept_scaling is None else positive("intercept_scaling", self.intercept_scaling)
        return EllipsoidalSVMLearner(terms, intercept=self._constant, average=self.average, bias=bias)

    def _bounds(self, learner: Any, comparator: NDArray[np.float64]) -> list[Certificate]:
        """Weak duality, and the margin that no vector can exceed on the updates."""
        svms = learner.table.svms
        duals = [Span.within(svm.dual(), svm.rounding_error()) for svm in svms]
        least = sum(duals, Span.exactly(0.0))
        if learner.known_gaps:
            most = least + max(float(np.sum(learner.known_gaps)), 0.0) + 2.0 * sum(m.rounding_error() for m in svms)
            meaning = "always: the optimum over the data of fit is at least the first, and this model has the second"
        else:
            balls = [Span.within(svm.ball_objective(), svm.rounding_error()) for svm in svms]
            most = sum(balls, Span.exactly(0.0))
            meaning = "always: the optimum over the examples so far lies between the two, the second being a ball's"
        average, largest = learner.margins(comparator)
        return [
            Certificate("least objective", least.low, most.high, meaning),
            Certificate("margin", average.low, largest.high, "always, on average over the updates, all of length one"),
        ]

    def _make_passes(
        self, learner: Any, rows: Any, codes: Codes, make_pass: Callable[[], None], held: HeldOut | None
    ) -> None:
        if held is not None:
            raise ValueError("early_stopping must be False, because fit stops by its own certificate; see tol")
        norms = row_lengths(rows, np.arange(len(codes)))
        learner.settle(float(np.median(norms[norms > 0])) if (norms > 0).any() else 1.0, float(norms.max()))
        for epoch in range(self.n_epochs):
            make_pass()
            found = learner.gaps(rows, codes)
            self.n_iter_ = epoch + 1
            if all(np.isfinite(gap) and gap <= self.tol * max(1.0, abs(dual)) for gap, dual in found):
                break
        else:
            worst = max(gap for gap, _ in found)
            warnings.warn(
                f"n_epochs={self.n_epochs} passes left a certified gap of {worst:.3g}, above tol={self.tol} of the "
                "objective; raise n_epochs or tol",
                ConvergenceWarning,
                stacklevel=4,
            )
        learner.known_gaps = [float(gap) for gap, _ in found]

    @property
    def duality_gap_(self) -> Any:
        """The certified gap over the data of ``fit``; a stream has none, see ``certified_gap``."""
        core = self._fitted("duality_gap_")
        if not core.known_gaps:
            raise AttributeError("a duality gap is known only for the data of a whole fit; use certified_gap(X, y)")
        return core.known_gaps[0] if len(core.known_gaps) == 1 else np.array(core.known_gaps)

    @property
    def dual_objective_(self) -> Any:
        """A lower bound on the optimum over the examples so far."""
        duals = [svm.dual() for svm in self._fitted("dual_objective_").table.svms]
        return duals[0] if len(duals) == 1 else np.array(duals)

    @property
    def shape_(self) -> Any:
        """The matrix B, the constant feature (if any) first; one a class if there are more than two."""
        svms = self._fitted("shape_").table.svms
        try:
            shapes = [svm.shape() for svm in svms]
        except ValueError as error:
            raise AttributeError(str(error)) from error
        return shapes[0] if len(shapes) == 1 else np.array(shapes)

    def certified_gap(self, X: Any, y: ArrayLike) -> Any:
        """The duality gap over X and y; valid if they are what was learned, each row equally often."""
        core = self._learned()
        source = self._source(X, core, learning=False)
        source.check()
        codes, fresh = core.labels.encode(checks.labels_of(y, source.n, sets=False))
        if fresh:
            raise ValueError(
                f"row {fresh[0][0]} of y holds the label {fresh[0][1]!r}, which was never learned; "
                "use learned labels only"
            )
        gaps = [gap for gap, _ in core.gaps(source.rows(0, source.n), codes)]
        return gaps[0] if len(gaps) == 1 else np.array(gaps)
