"""Kernel functions of the batch estimators, named and parametrised as in ``sklearn.svm.SVC``."""

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg import LinAlgError, cholesky

from ellipsoid.ellipsoids.shapes.shape import squared_lengths
from ellipsoid.engine.rows import HUGE
from ellipsoid.estimators.parameters.validation import positive, whole
from ellipsoid.representation.kernel.functions import KERNELS, from_products

from .problem import Matrix, Vector

KernelFunction = Callable[[Any, Any], Matrix]
NAMES = ("linear", "rbf", "poly", "precomputed")


@dataclass(frozen=True)
class Kernel:
    """k(x, x') = x.x', exp(-gamma |x-x'|^2), (gamma x.x' + coef0)^degree, a function of two matrices or precomputed."""

    name: str | KernelFunction
    gamma: float = 1.0
    degree: int = 3
    coef0: float = 0.0

    def __call__(self, A: Any, B: Any) -> Matrix:
        """The matrix k(a_i, b_j)."""
        if callable(self.name):
            return np.asarray(self.name(A, B), dtype=np.float64)
        if self.name == "precomputed":
            return np.asarray(A, dtype=np.float64)
        product = A @ B.T
        product = np.ascontiguousarray(product.toarray() if sparse.issparse(product) else product, dtype=np.float64)
        from_products(self.formula, product, squared_lengths(A), squared_lengths(B))
        if A is B and self.name == "rbf":
            np.fill_diagonal(product, 1.0)
        return product

    @property
    def formula(self) -> Any:
        """The compiled formula with its parameters, of a kernel that has one."""
        return KERNELS[str(self.name)](self.gamma, float(self.degree), self.coef0)

    def diagonal(self, A: Any) -> Vector:
        """k(a_i, a_i)."""
        if callable(self.name):
            return np.array([float(np.asarray(self.name(A[[i]], A[[i]])).item()) for i in range(A.shape[0])])
        if self.name == "rbf":
            return np.ones(A.shape[0])
        norms = squared_lengths(A)
        return norms if self.name == "linear" else (self.gamma * norms + self.coef0) ** self.degree

    @property
    def surely_positive(self) -> bool:
        """Whether the kernel is positive semi-definite for any data."""
        return self.name in ("linear", "rbf") or (self.name == "poly" and self.coef0 >= 0 and self.gamma >= 0)


def make_kernel(
    name: str | KernelFunction, gamma: float | str, degree: int, coef0: float, X: Any, weights: Vector | None = None
) -> Kernel:
    """The kernel with gamma="scale" and "auto" resolved on the training data; weights count as repetitions of rows."""
    if not callable(name) and name not in NAMES:
        raise ValueError(f"kernel must be one of {', '.join(NAMES)} or a function, got {name!r}")
    if not callable(name) and name != "precomputed":
        with np.errstate(over="ignore"):
            refuse_huge(squared_lengths(X), "squared norm")
    if gamma == "scale":
        variance = _variance(X, weights) if name in ("rbf", "poly") else 1.0
        value = 1.0 / (X.shape[1] * variance) if variance > 0 else 1.0
    elif gamma == "auto":
        value = 1.0 / X.shape[1]
    elif isinstance(gamma, str):
        raise ValueError(f"gamma must be 'scale', 'auto' or positive, got {gamma!r}")
    else:
        value = positive("gamma", gamma)
    if not isinstance(coef0, Real) or not np.isfinite(float(coef0)):
        raise ValueError(f"coef0 must be a finite number, got {coef0!r}")
    return Kernel(name, value, whole("degree", degree), float(coef0))


def refuse_huge(values: Vector, what: str) -> None:
    """Raise ``ValueError`` for the first row whose value is too large to compute with."""
    fine = values <= HUGE
    if not fine.all():
        row = int(np.argmin(fine))
        raise ValueError(f"row {row} of X is too large: its {what} is beyond {HUGE:g}; rescale the features")


def check_kernel(kernel: Kernel, K: Matrix) -> None:
    """Refuse a matrix that is not symmetric and positive semi-definite."""
    label = "the precomputed kernel" if kernel.name == "precomputed" else f"kernel {kernel.name!r}"
    diagonal = np.diag(K)
    if diagonal.min(initial=0.0) < 0:
        raise ValueError(f"{label} has a negative diagonal: row {int(diagonal.argmin())} has k(x, x) < 0")
    scale = float(np.abs(K).max(initial=0.0))
    if kernel.surely_positive:
        return
    if not np.allclose(K, K.T, rtol=0.0, atol=1e-8 * max(scale, 1e-300)):
        raise ValueError(f"{label} is not symmetric; pass k(X, X) of the training points")
    system = 0.5 * (K + K.T)
    system[np.diag_indices_from(system)] += 1e-10 * max(float(diagonal.sum()), 1e-300)
    try:
        cholesky(system, lower=True, overwrite_a=True, check_finite=False)
    except LinAlgError:
        raise ValueError(f"{label} is not positive semi-definite; choose another kernel") from None


def _variance(X: Any, weights: Vector | None) -> float:
    """The variance of all entries of X, each row counted by its weight."""
    share = np.full(X.shape[0], 1.0 / X.shape[0]) if weights is None else weights / weights.sum()
    sums = np.asarray(X.sum(axis=1)).ravel()
    mean = float(share @ sums) / X.shape[1]
    if sparse.issparse(X):
        return float(share @ squared_lengths(X)) / X.shape[1] - mean**2
    return float(share @ squared_lengths(X - mean)) / X.shape[1]
