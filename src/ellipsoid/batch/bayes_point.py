"""The Bayes point machine as a scikit-learn estimator, for comparison with the ellipsoidal SVM."""

import warnings
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from ellipsoid.estimators.parameters import validation
from ellipsoid.estimators.parameters.declaration import declared

from .billiard import billiard, perceptrons
from .classifier import BatchClassifier, check_two_classes, scores, warn_of_zero_rows
from .features import incomplete_cholesky
from .kernels import KernelFunction, check_kernel, make_kernel
from .problem import Matrix, Vector


@declared
class BayesPointMachine(BatchClassifier):
    """The centre of mass of the version space, found by billiards or by averaging perceptrons.

    Points are scaled to length one in the kernel's feature space (a version space does not depend on their lengths).
    The kernel matrix of the training points must fit into memory.

    Parameters
    ----------
    kernel, gamma, degree, coef0
        As in ``sklearn.svm.SVC``: "linear", "rbf", "poly", "precomputed" or a function of two matrices. The default of
        the online learners is ``gamma="auto"``, 1/features, since ``"scale"`` needs the variance of all of X.
    method : "billiard" or "perceptrons"
        The kernel billiard, or the average of perceptrons trained on permutations of the data.
    regularization : float
        Added to the diagonal of the normalised kernel, which softens the boundary. 0 is the hard version space, which
        exists only for separable classes.
    fit_intercept : bool
        Add a constant feature of the same length as the points. Must be False for a precomputed kernel, which does not
        hold the lengths of new points.
    tol : float
        The billiard ends when doubling the bounces turns the vector of training values by less than this angle.
    max_bounces, n_perceptrons, max_iter : int
        The most bounces of the billiard, the number of perceptrons to average, the most passes of a perceptron.
    random_state : int, RandomState instance or None

    Attributes
    ----------
    dual_coef_, support_, classes_
    n_bounces_, change_
        Per binary problem: the number of bounces, and the angle (in radians) by which the last doubling turned the
        values.
    n_iter_ : int
        Passes that the slowest perceptron needed to separate its classes.

    Examples
    --------
    >>> import numpy as np
    >>> from ellipsoid import BayesPointMachine
    >>> X = np.array([[0.0, 1.0], [1.0, 1.2], [1.0, 0.0], [2.0, 0.1]])
    >>> model = BayesPointMachine(kernel="linear", random_state=0).fit(X, ["up", "up", "right", "right"])
    >>> model.predict([[0.5, 3.0], [3.0, 0.5]]).tolist()
    ['up', 'right']
    """

    kernel: str | KernelFunction = "rbf"
    gamma: float | str = "scale"
    degree: int = 3
    coef0: float = 0.0
    method: str = "billiard"
    regularization: float = 0.1
    fit_intercept: bool = True
    tol: float = 0.02
    max_bounces: int = 200_000
    n_perceptrons: int = 100
    max_iter: int = 1000
    random_state: Any = None

    def fit(self, X: Any, y: ArrayLike) -> Self:
        """Find the centre of the version space of every class against the rest."""
        with self._restored_on_error():
            self._check_parameters()
            X, self.classes_, codes = self._training_rows(X, y)
            self.kernel_ = make_kernel(self.kernel, self.gamma, self.degree, self.coef0, X)
            self._constant = bool(self.fit_intercept)
            if self._constant and self.kernel_.name == "precomputed":
                raise ValueError(
                    "fit_intercept=True needs k(x, x) of new points, which a precomputed kernel does not give; set "
                    "fit_intercept=False, or pass the kernel as a function"
                )
            K = self.kernel_(X, X)
            check_kernel(self.kernel_, K)
            lengths = np.sqrt(np.diag(K))
            kept = np.flatnonzero(lengths > 0)
            warn_of_zero_rows(~(lengths > 0), stacklevel=3)
            check_two_classes(codes[kept])
            gram = self._normalised(K[np.ix_(kept, kept)], lengths[kept], lengths[kept])
            gram[np.diag_indices_from(gram)] += self.regularization
            phi, to_points = incomplete_cholesky(lambda j: gram[:, j], np.diag(gram).copy(), len(gram), tol=1e-14)
            phi /= np.linalg.norm(phi, axis=1)[:, None]
            rng = np.random.default_rng(int(check_random_state(self.random_state).randint(2**31 - 1)))
            self._fit_classes(phi, codes[kept], rng, to_points.transform)
            # Predictions divide the plain kernel values by these lengths.
            self.support_ = kept[to_points.landmarks]
            self._lengths = lengths[self.support_]
            if self.kernel_.name != "precomputed":
                self.support_vectors_ = X[self.support_]
        return self

    def _fit_classes(self, phi: Matrix, codes: NDArray[np.int64], rng: np.random.Generator, transform: Matrix) -> None:
        positives = [1] if len(self.classes_) == 2 else range(len(self.classes_))
        coefficients, bounces, changes, self.n_iter_ = [], [], [], 0
        for positive in positives:
            y = np.where(codes == positive, 1.0, -1.0)
            centre, made, change = self._centre(phi * y[:, None], positive, rng)
            coefficients.append(transform @ centre)
            bounces.append(made)
            changes.append(change)
        self.dual_coef_ = np.array(coefficients)
        self.n_bounces_ = bounces[0] if len(bounces) == 1 else np.array(bounces)
        self.change_ = changes[0] if len(changes) == 1 else np.array(changes)

    def _centre(self, signed: Matrix, positive: int, rng: np.random.Generator) -> tuple[Vector, int, float]:
        count = self.n_perceptrons if self.method == "perceptrons" else 1
        inside, separating, passes = perceptrons(signed, count=count, max_iter=self.max_iter, rng=rng)
        if separating == 0:
            raise ValueError(
                f"{self._named(positive)}: no perceptron separated it from the rest in {self.max_iter} "
                "passes, so the hard version space may be empty; raise regularization (a soft boundary) or max_iter"
            )
        self.n_iter_ = max(self.n_iter_, passes)
        if self.method == "perceptrons":
            return inside / np.linalg.norm(inside), 0, float("nan")
        centre, made, change = billiard(signed, inside, max_bounces=self.max_bounces, tol=self.tol, rng=rng)
        if change > self.tol:
            warnings.warn(
                f"{self._named(positive)}: after max_bounces={self.max_bounces} the last bounce still turned the "
                f"values by {change:.3g} radians; raise max_bounces or tol",
                ConvergenceWarning,
                stacklevel=4,
            )
        return centre, made, change

    def _check_parameters(self) -> None:
        validation.check_flags(self)
        if self.method not in ("billiard", "perceptrons"):
            raise ValueError(f"method must be 'billiard' or 'perceptrons', got {self.method!r}")
        try:
            validation.positive("regularization", self.regularization, zero=True)
        except ValueError as error:
            raise ValueError(f"regularization must not be negative: {error}") from None
        validation.positive("tol", self.tol, infinite=True)
        for name in ("max_bounces", "n_perceptrons", "max_iter"):
            validation.whole(name, getattr(self, name))

    def _normalised(self, K: Matrix, left: Vector, right: Vector) -> Matrix:
        """Kernel values of points scaled to length one; with a constant feature it contributes half of them."""
        unit = K / np.maximum(left, 1e-300)[:, None] / right[None, :]
        return 0.5 * (unit + 1.0) if self._constant else unit

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """The product of a point, scaled to length one, with each centre of mass."""
        X = self._new_rows(X)
        if self.kernel_.name == "precomputed":
            # k(x, x) is unknown; without a constant neither the sign nor the order of the classes depends on it.
            cross, left = X[:, self.support_], np.ones(X.shape[0])
        else:
            cross, left = self.kernel_(X, self.support_vectors_), np.sqrt(self.kernel_.diagonal(X))
        return scores(self._normalised(cross, left, self._lengths), self.dual_coef_)
