"""The ellipsoidal support vector classifier as a scikit-learn estimator."""

import warnings
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_sample_weight

from ellipsoid.estimators.parameters.declaration import declared
from ellipsoid.estimators.parameters.validation import check_flags, one_of, positive, whole
from ellipsoid.estimators.state.binary_esvm import SOFT_MARGIN_R, check_constants
from ellipsoid.representation.kernel.device import cuda_arrays, cuda_present

from .classifier import BatchClassifier, check_two_classes, scores, warn_of_zero_rows
from .device import device_scores
from .features import FeatureRows
from .fitting import Prepared, Settings, choose_solver, feature_width, fit_binary, kernel_width, prepare
from .kernels import KernelFunction, make_kernel, refuse_huge
from .problem import HARD_MARGIN_R, Matrix, Solution, Vector
from .progress import GapBar


@declared
class EllipsoidalSVC(BatchClassifier):
    """A large-margin classifier at the centre of a large ellipsoid in the version space; an SVM uses a ball instead.

    Parameters
    ----------
    nu : float or "auto"
        The price of slack is 1/nu. Unlike the nu of ``sklearn.svm.NuSVC`` it is not a fraction: search
        ``nu * rank / N`` on a grid from 1e-4 to 0.3, where rank is the number of features (N for a full-rank kernel).
        "auto" sets that product to 0.02.
    r : float in (0, 1), optional
        The weight of the ellipsoid's volume against its trace. By default 0.9, and 1 - 1e-6 for a hard margin.
    kernel : "linear", "rbf", "poly", "precomputed" or a function of two matrices
    gamma, degree, coef0
        The kernel's parameters, as in ``sklearn.svm.SVC``. ``gamma="scale"`` divides by the variance of X, which a
        learner of a stream cannot know; ``gamma="auto"`` means 1/features in both.
    hard_margin : bool
        Allow no slack. Raises ``ValueError`` when the classes cannot be separated.
    margin_scaling : "unit" or "paper"
        "unit" measures margins in units of a point's length, so that the scale of X does not matter; "paper" is the
        literal Problem 6 of the paper. They agree for points of length one (any RBF kernel).
    formulation : "relaxed" or "exact"
        "exact" solves Problem 5 of the paper with a conic solver (the optional extra ``exact``), in few dimensions.
    solver : "auto", "smo", "block" or "features"
        Pair steps or blocks of them on the exact kernel matrix, or coordinate ascent in explicit features.
    n_components : int
        How many features replace the kernel when ``solver`` is, or becomes, "features".
    features : "cholesky" or "nystroem"
        How they are made: pivoted incomplete Cholesky factorisation, or random landmarks.
    tol : float
        The fit stops when the duality gap is at most ``tol * max(1, |dual objective|)``. With up to 200 points every
        solver continues for a short while, to the limit of rounding where it can.
    max_iter : int
        The most passes over the data (N pair steps are a pass); a ``ConvergenceWarning`` is issued if they do not
        suffice.
    warm_start : bool
        Begin with the multipliers of the last fit; points may have been appended to X since then.
    verbose : bool
        Show the duality gap in a progress bar on standard error.
    random_state : int, RandomState instance or None
        Order of the passes and choice of landmarks.
    device : {"cpu", "cuda", "auto"}
        Where the kernel matrix is kept: "cuda" is an NVIDIA GPU, for up to 50,000 points and the solver "block";
        "auto" uses one if there is one and the problem allows it. The duality gap is certified in the same way.

    Attributes
    ----------
    dual_objective_, duality_gap_, norm_, n_iter_
        Per binary problem (a number if there is one only): the dual value (in kernel form, without the constant
        r d (1 + log((1-r)/r))), the certified distance of the objective from its optimum, ``|w|``, passes used.
    intercept_, coef_ (linear kernel), support_, dual_coef_ (kernel expansion)

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import StandardScaler
    >>> from ellipsoid import EllipsoidalSVC
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X = StandardScaler().fit_transform(X)
    >>> model = EllipsoidalSVC(kernel="rbf", gamma=0.02, nu=0.05).fit(X[::2], y[::2])
    >>> bool(model.score(X[1::2], y[1::2]) > 0.95)
    True
    >>> bool(model.duality_gap_ <= 1e-3 * abs(model.dual_objective_) + 1)
    True
    """

    nu: float | str = "auto"
    r: float | None = None
    kernel: str | KernelFunction = "rbf"
    gamma: float | str = "scale"
    degree: int = 3
    coef0: float = 0.0
    hard_margin: bool = False
    margin_scaling: str = "unit"
    formulation: str = "relaxed"
    solver: str = "auto"
    n_components: int = 300
    features: str = "cholesky"
    tol: float = 1e-3
    max_iter: int = 1000
    warm_start: bool = False
    verbose: bool = False
    random_state: Any = None
    device: str = "cpu"

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Solve the problem on X and y; the weights multiply the price of each point's slack."""
        with self._restored_on_error():
            settings = self._settings()
            X, classes, codes = self._training_rows(X, y)
            weights = None if sample_weight is None else _check_sample_weight(sample_weight, X, dtype=np.float64)
            if weights is not None and (weights < 0).any():
                raise ValueError(f"sample_weight must not be negative, got {weights.min()} in row {weights.argmin()}")
            self.kernel_ = make_kernel(self.kernel, self.gamma, self.degree, self.coef0, X, weights)
            kept = self._informative(X, weights)
            check_two_classes(codes[kept])
            same_classes = np.array_equal(classes, getattr(self, "classes_", ()))
            previous = getattr(self, "_models", None) if self.warm_start and same_classes else None
            X, codes = _subset(X, kept, self.kernel == "precomputed"), codes[kept]
            weights = None if weights is None else weights[kept]
            device = self._on_device(settings.exact)
            solver = choose_solver(self.solver, self.kernel_, X.shape[0], X.shape[1], device)
            prepared = prepare(X, self.kernel_, solver, settings, device and solver == "block")
            self.classes_ = classes
            self._unit_margins = self.margin_scaling == "unit"
            self.solver_ = prepared.solver
            self._models = self._solve_all(prepared, codes, settings, weights, previous)
            self._training = (X, prepared, kept)
            self._publish()
        return self

    def _on_device(self, exact: bool = False) -> bool:
        """Whether the kernel matrix is kept on a GPU; raises where a GPU was asked for and cannot be used."""
        one_of("device", self.device, {"cpu": None, "cuda": None, "auto": None})
        fits = self.kernel_.name in ("rbf", "poly") and self.solver in ("auto", "block") and not exact
        if self.device == "cpu" or (self.device == "auto" and not (fits and cuda_present())):
            return False
        if not fits:
            raise ValueError(
                'device="cuda" is for kernel "rbf" or "poly" and solver "auto" or "block"; use device="cpu"'
            )
        cuda_arrays()
        return True

    def _settings(self) -> Settings:
        check_flags(self)
        r = self.r if self.r is not None else HARD_MARGIN_R if self.hard_margin else SOFT_MARGIN_R
        if isinstance(self.nu, str) and self.nu != "auto":
            raise ValueError(f"nu must be positive or 'auto', got {self.nu!r}")
        check_constants(1.0 if isinstance(self.nu, str) else self.nu, r)
        if self.formulation not in ("relaxed", "exact"):
            raise ValueError(f"formulation must be 'relaxed' or 'exact', got {self.formulation!r}")
        positive("tol", self.tol, infinite=True)
        whole("max_iter", self.max_iter)
        whole("n_components", self.n_components)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        return Settings(
            self.nu, r, self.hard_margin, self.margin_scaling, self.formulation == "exact", self.tol, self.max_iter,
            self.n_components, self.features, seed,
        )  # fmt: skip

    def _informative(self, X: Any, weights: Vector | None) -> NDArray[np.int64]:
        """The rows to learn from: points at the origin of the feature space and points of weight zero are dropped."""
        with np.errstate(over="ignore"):
            diagonal = np.diag(X) if self.kernel == "precomputed" else self.kernel_.diagonal(X)
        refuse_huge(diagonal, "kernel value with itself")
        if diagonal.min() < 0:
            raise ValueError(f"the kernel has a negative diagonal: row {int(diagonal.argmin())} has k(x, x) < 0")
        empty = diagonal == 0
        warn_of_zero_rows(empty, stacklevel=4)
        return np.flatnonzero(~empty if weights is None else ~empty & (weights > 0))

    def _solve_all(
        self,
        prepared: Prepared,
        codes: NDArray[np.int64],
        settings: Settings,
        weights: Vector | None,
        previous: list[Solution] | None,
    ) -> list[Solution]:
        positives = [1] if len(self.classes_) == 2 else list(range(len(self.classes_)))
        models = []
        with GapBar(self.verbose) as bar:
            for k, positive in enumerate(positives):
                bar.start(f"e-SVM, {self._named(positive)}")
                y = np.where(codes == positive, 1.0, -1.0)
                model = fit_binary(prepared, y, settings, weights, None if previous is None else previous[k], bar)
                self._warn(model, y, positive)
                models.append(model)
        return models

    def _warn(self, model: Solution, y: Vector, positive: int) -> None:
        if not model.converged:
            if model.shape is not None:
                worker, remedy = "the conic solver", "rescale X, or raise tol"
            elif model.iterations < self.max_iter:
                worker, remedy = "rounding", "more passes would not help: raise tol"
            else:
                worker, remedy = f"max_iter={self.max_iter} passes", "raise max_iter or tol"
            warnings.warn(
                f"{self._named(positive)}: {worker} left a duality gap of {model.gap:.3g} (dual objective "
                f"{model.dual:.6g}); {remedy}",
                ConvergenceWarning,
                stacklevel=4,
            )
        if model.problem.hard or model.shape is not None:
            return
        minority = y == (1.0 if (y > 0).sum() <= (y < 0).sum() else -1.0)
        if (model.alpha[minority] >= model.problem.C[minority] * (1.0 - 1e-9)).all():
            warnings.warn(
                f"{self._named(positive)}: every point of the smaller side is at its bound, so the larger "
                "side alone decides the bias; reduce nu",
                stacklevel=4,
            )

    def _publish(self) -> None:
        """Set the public attributes from the binary models."""
        models = self._models
        X, prepared, kept = self._training

        def each(name: str) -> Any:
            values = [getattr(model, name) for model in models]
            return values[0] if len(values) == 1 else np.array(values)

        self.dual_objective_, self.duality_gap_ = each("dual"), each("gap")
        self.norm_ = each("norm_w")
        self.n_iter_ = max(model.iterations for model in models)
        self.intercept_ = np.array([model.bias for model in models])
        for name in ("coef_", "dual_coef_", "support_", "support_vectors_"):
            if hasattr(self, name):
                delattr(self, name)
        if self.kernel_.name == "linear" and prepared.feature_map is None:
            self.coef_ = np.vstack([model.w for model in models])
            return
        if prepared.feature_map is not None:
            # w = sum_l (T w)_l phi(landmark_l): the features' model is a kernel expansion on the landmarks.
            expansion = np.vstack([prepared.feature_map.transform @ model.w for model in models])
            points = prepared.feature_map.landmarks
        else:
            expansion = np.vstack([model.coef for model in models])
            points = np.flatnonzero((expansion != 0).any(axis=0))
            expansion = expansion[:, points]
        self.dual_coef_ = expansion
        self.support_ = kept[points]
        if self.kernel_.name != "precomputed":
            self.support_vectors_ = X[points]

    def _cross(self, X: Any, points: NDArray[np.int64]) -> Matrix:
        """Kernel values of new rows with training points, given by their positions among the kept ones."""
        training, _, kept = self._training
        return X[:, kept[points]] if self.kernel_.name == "precomputed" else self.kernel_(X, training[points])

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """w.phi(x) + b for every binary problem; ``|w| <= 1`` in each, so the values are comparable."""
        X = self._new_rows(X)
        if hasattr(self, "coef_"):
            return scores(X, self.coef_) + self.intercept_
        if self._on_device():
            found = device_scores(self.kernel_, X, self.support_vectors_, self.dual_coef_)
            return (found[:, 0] if found.shape[1] == 1 else found) + self.intercept_
        precomputed = self.kernel_.name == "precomputed"
        cross = X[:, self.support_] if precomputed else self.kernel_(X, self.support_vectors_)
        return scores(cross, self.dual_coef_) + self.intercept_

    def ellipsoid_width(self, X: Any) -> NDArray[np.float64]:
        """phi(x)'B phi(x): how far the ellipsoid reaches in the direction of x, per binary problem.

        Needs the kernel values k(x, x); a precomputed kernel does not hold them for new points. The matrix of
        ``formulation="exact"`` is called E.
        """
        X = self._new_rows(X)
        return self._widths(X, self._features(X))

    def _features(self, X: Any) -> FeatureRows | None:
        """New rows in the features in which the problem was solved; None where only the kernel is known."""
        landmarks = self._training[1].feature_map
        if landmarks is not None:
            return FeatureRows(landmarks(self._cross(X, landmarks.landmarks)))
        if self.kernel_.name == "precomputed":
            raise ValueError(
                "ellipsoid_width and margin_ratio need k(x, x) of new points, which a precomputed "
                "kernel does not give; pass the kernel as a function"
            )
        return FeatureRows(X) if self.kernel_.name == "linear" else None

    def _widths(self, X: Any, rows: FeatureRows | None) -> NDArray[np.float64]:
        training, prepared, _ = self._training
        widths = []
        for model in self._models:
            if rows is not None and (model.inverse is not None or model.shape is not None):
                widths.append(feature_width(model, rows))
            else:
                cross = self._cross(X, np.arange(training.shape[0]))
                K = prepared.kernel_matrix
                assert K is not None
                widths.append(kernel_width(model, K, cross, self.kernel_.diagonal(X)))
        return widths[0] if len(widths) == 1 else np.column_stack(widths)

    def margin_ratio(self, X: Any) -> NDArray[np.float64]:
        """``|f(x)|`` over the margin that a training point at x would need: a ratio above one means it has that margin.

        With ``formulation="exact"`` that margin is how far the ellipsoid reaches, ``|E phi(x)|``: above one, all
        classifiers of the ellipsoid agree on x. The relaxed margin is smaller and does not imply this.
        """
        X = self._new_rows(X)
        values, rows = np.abs(self.decision_function(X)), self._features(X)
        shapes = [model.shape for model in self._models if model.shape is not None]
        if shapes:
            assert rows is not None
            reaches = [np.linalg.norm(rows.dense() @ shape, axis=1) for shape in shapes]
            asked = reaches[0] if values.ndim == 1 else np.column_stack(reaches)
        else:
            asked = self._widths(X, rows)
            if self._unit_margins:
                # Approximate features of a kernel have other lengths than the kernel.
                lengths = np.sqrt(self.kernel_.diagonal(X) if rows is None else rows.squared_norms())
                lengths = np.where(lengths > 0, lengths, 1.0)
                asked = asked / (lengths if values.ndim == 1 else lengths[:, None])
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(asked > 0, values / asked, np.inf)


def _subset(X: Any, kept: NDArray[np.int64], pairwise: bool) -> Any:
    if len(kept) == X.shape[0]:
        return X
    if pairwise:
        return np.ascontiguousarray(X[np.ix_(kept, kept)])
    return sparse.csr_array(X[kept]) if sparse.issparse(X) else X[kept]
