"""Shapes of P from the online ellipsoid methods: the identity, changed in one direction at a time.

    B <- B - kappa (Bz)(Bz)' / (z'Bz),   0 <= kappa < 1,   P = exp(log_scale) B

(Yang, Jin, Ye, "Online learning by ellipsoid method", ICML 2009, section 2.)

After m updates B needs only m vectors, which are stored in one of these forms:

    column   B = I - U U'
    Gram     B = I - Z' S Z              the rows of Z are the update examples, often sparse
    product  B = J J',  J = I - H T H'   the compact "WY" product of the factors I - tau_k h_k h_k'

For column and Gram forms everything follows from the eigenvalues l and eigenvectors Q of the small matrix U'U
(U = Z'R, S = R R'): the inverse is the Woodbury identity, I + U (I - U'U)^{-1} U', and the root of B is
I - U Q diag(1 / (1 + sqrt(1 - l))) Q'U'.
"""

from __future__ import annotations

from abc import abstractmethod
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from scipy.linalg import solve_triangular

from .shape import (
    EPSILON,
    FloatArray,
    Rounding,
    RowsLike,
    Shape,
    checked_spectrum,
    dense_product,
    densify,
    finite_matrix,
    squared_lengths,
)


class _LowRankShape(Shape):
    """B = I - U U', where only x -> x U, c -> c U' and the eigenvalues of U'U are known."""

    @abstractmethod
    def _project(self, rows: RowsLike) -> FloatArray: ...

    @abstractmethod
    def _expand(self, coefficients: FloatArray) -> FloatArray: ...

    @abstractmethod
    def _inner(self) -> FloatArray:
        """U'U, m x m."""

    @cached_property
    def _spectrum(self) -> tuple[FloatArray, FloatArray]:
        # Returns what each eigen-direction of U U' leaves, 1 - l, and the eigenvectors Q of U'U.
        inner = self._inner()
        eigenvalues, vectors = np.linalg.eigh(0.5 * (inner + inner.T))
        left = checked_spectrum(1.0 - eigenvalues, "I - U U' must be positive semidefinite")
        left[left <= 4 * len(left) * EPSILON] = 0.0
        return left, vectors

    @abstractmethod
    def _bulk(self) -> float:
        """A bound on the terms of the sums in x U, over |x|."""

    @cached_property
    def rounding(self) -> Rounding:
        left = self._spectrum[0]
        terms = (self.dim + 2 * len(left) + 8) * EPSILON * (1.0 + self._bulk())
        least = float(left[left > 0.0].min(initial=1.0))
        return Rounding(2 * terms, 0.0, 4 * terms / least, 1.0 / np.sqrt(least))

    def _log_det(self) -> float:
        left = self._spectrum[0]
        return -np.inf if (left == 0.0).any() else float(np.log(left).sum())

    def _apply(self, rows: RowsLike) -> FloatArray:
        return densify(rows) - self._expand(self._project(rows))

    def _quadratic(self, rows: RowsLike) -> FloatArray:
        norms = squared_lengths(rows)
        values = norms - squared_lengths(self._project(rows))
        # |x|^2 - |U'x|^2 loses the digits of a narrow direction; |F x|^2 keeps half of what would be lost.
        narrow = np.flatnonzero(values < 1e-3 * norms)
        if narrow.size:
            values[narrow] = squared_lengths(self._stretch(densify(rows[narrow])))
        return values

    def _inverse_quadratic(self, rows: RowsLike, zero: float) -> FloatArray:
        left, vectors = self._spectrum
        coordinates = self._project(rows) @ vectors
        flat = left == 0.0
        values = squared_lengths(rows) + squared_lengths(coordinates[:, ~flat] / np.sqrt(left[~flat]))
        # Along a flat direction U Q is a unit vector, so the coordinate is a length.
        values[(np.abs(coordinates[:, flat]) > zero).any(axis=1)] = np.inf
        return values

    def _stretch(self, rows: FloatArray) -> FloatArray:
        left, vectors = self._spectrum
        return rows - self._expand(((self._project(rows) @ vectors) / (1.0 + np.sqrt(left))) @ vectors.T)


class ColumnShape(_LowRankShape):
    """P = exp(log_scale) (I - U U') with U dense, dim x m."""

    def __init__(self, columns: ArrayLike, log_scale: float = 0.0) -> None:
        self._columns = finite_matrix(columns, "U")
        super().__init__(self._columns.shape[0], log_scale)

    def _project(self, rows: RowsLike) -> FloatArray:
        return dense_product(rows, self._columns)

    def _expand(self, coefficients: FloatArray) -> FloatArray:
        return np.asarray(coefficients @ self._columns.T)

    def _inner(self) -> FloatArray:
        return np.asarray(self._columns.T @ self._columns)

    def _bulk(self) -> float:
        return float(np.linalg.norm(self._columns)) ** 2


class _ExampleShape(_LowRankShape):
    """The same for U = Z' root, with Z of m rows (dense or CSR) and an m x m ``root`` that a subclass computes."""

    _root: FloatArray

    def __init__(self, rows: Any, square: ArrayLike, name: str, log_scale: float) -> None:
        if sp.issparse(rows):
            self._rows: Any = sp.csr_matrix(rows, dtype=np.float64)
            if not np.isfinite(self._rows.data).all():
                raise ValueError("Z must be finite, it contains NaN or inf")
        else:
            self._rows = finite_matrix(rows, "Z")
        self._square = finite_matrix(square, name)
        count, dim = self._rows.shape
        if self._square.shape != (count, count):
            raise ValueError(
                f"{name} must be {count} x {count}, one row for each row of Z, got shape {self._square.shape}"
            )
        super().__init__(dim, log_scale)

    def _project(self, rows: RowsLike) -> FloatArray:
        return np.asarray(dense_product(rows, self._rows.T) @ self._root)

    def _expand(self, coefficients: FloatArray) -> FloatArray:
        return np.asarray((self._rows.T @ (self._root @ coefficients.T)).T)

    def _inner(self) -> FloatArray:
        return np.asarray(self._root.T @ dense_product(self._rows, self._rows.T) @ self._root)

    def _bulk(self) -> float:
        return float(np.sqrt(squared_lengths(self._rows)) @ np.linalg.norm(self._root, axis=1)) ** 2


class GramShape(_ExampleShape):
    """P = exp(log_scale) (I - Z' S Z): the rows of Z (m x dim, dense or CSR) and S (m x m, semidefinite)."""

    def __init__(self, rows: Any, coefficients: ArrayLike, log_scale: float = 0.0) -> None:
        super().__init__(rows, coefficients, "S", log_scale)
        matrix = self._square
        if np.abs(matrix - matrix.T).max(initial=0.0) > 1e-8 * np.abs(matrix).max(initial=0.0):
            raise ValueError("S must be symmetric")
        # In units of the rows, which may differ much in length: small rows have large coefficients.
        lengths = np.sqrt(squared_lengths(self._rows))
        lengths[lengths == 0.0] = 1.0
        eigenvalues, vectors = np.linalg.eigh(0.5 * lengths[:, None] * (matrix + matrix.T) * lengths)
        spectrum = checked_spectrum(eigenvalues, "S must be positive semidefinite")
        self._root = vectors * np.sqrt(spectrum) / lengths[:, None]


class FactoredGramShape(_ExampleShape):
    """The same for the upper triangular R with S^{-1} = R'R, which keeps digits where rows are nearly equal."""

    def __init__(self, rows: Any, factor: ArrayLike, log_scale: float = 0.0) -> None:
        super().__init__(rows, factor, "R", log_scale)
        if not (np.diagonal(self._square) > 0.0).all():
            raise ValueError("R must have a positive diagonal")
        self._root = solve_triangular(self._square, np.eye(len(self._square)))

    def _project(self, rows: RowsLike) -> FloatArray:
        products = dense_product(rows, self._rows.T)
        return np.asarray(solve_triangular(self._square, products.T, trans="T").T)

    def _inner(self) -> FloatArray:
        half = solve_triangular(self._square, dense_product(self._rows, self._rows.T), trans="T")
        return np.asarray(solve_triangular(self._square, half.T, trans="T"))


class ProductShape(Shape):
    """P = exp(log_scale) J J' with J = I - H T H', H dim x m and T m x m (upper triangular when built here).

    >>> ProductShape.from_reflections([[1.0], [0.0]], [0.5]).dense()
    array([[0.25, 0.  ],
           [0.  , 1.  ]])
    """

    def __init__(self, vectors: ArrayLike, weights: ArrayLike, log_scale: float = 0.0) -> None:
        self._vectors = finite_matrix(vectors, "H")
        self._weights = finite_matrix(weights, "T")
        count = self._vectors.shape[1]
        if self._weights.shape != (count, count):
            raise ValueError(f"T must be {count} x {count}, one row for each column of H, got {self._weights.shape}")
        super().__init__(self._vectors.shape[0], log_scale)

    @classmethod
    def from_reflections(cls, vectors: ArrayLike, taus: ArrayLike, log_scale: float = 0.0) -> ProductShape:
        """J = (I - tau_1 h_1 h_1') ... (I - tau_m h_m h_m'), the columns of ``vectors`` being h_1 .. h_m."""
        columns = finite_matrix(vectors, "H")
        steps = np.asarray(taus, dtype=np.float64)
        if steps.shape != (columns.shape[1],):
            raise ValueError(f"taus must hold one number for each of the {columns.shape[1]} columns of H")
        weights = np.zeros((steps.size, steps.size))
        for k, tau in enumerate(steps):
            weights[:k, k] = -tau * (weights[:k, :k] @ (columns[:, :k].T @ columns[:, k]))
            weights[k, k] = tau
        return cls(columns, weights, log_scale)

    @cached_property
    def _core(self) -> FloatArray:
        # I - T H'H, whose determinant is that of J.
        return np.eye(len(self._weights)) - self._weights @ (self._vectors.T @ self._vectors)

    @cached_property
    def rounding(self) -> Rounding:
        count = len(self._weights)
        weight = 1.0 + float(np.abs(self._weights).sum())
        columns = float(np.linalg.norm(self._vectors)) ** 2
        terms = (self.dim + 2 * count + 8) * EPSILON * weight
        if self._log_det() == -np.inf:
            return Rounding(0.0, terms, 1.0, np.inf)
        solved = float(np.linalg.norm(np.linalg.solve(self._core, self._weights)))
        inverse_root = 1.0 + columns * solved
        doubt = count * EPSILON * float(np.linalg.cond(self._core)) if count else 0.0
        inverse = terms * inverse_root + columns * solved * doubt
        return Rounding(0.0, terms, 4 * inverse, inverse_root)

    def _transposed(self, rows: RowsLike) -> FloatArray:
        return densify(rows) - (dense_product(rows, self._vectors) @ self._weights) @ self._vectors.T

    def _log_det(self) -> float:
        return 2.0 * float(np.linalg.slogdet(self._core)[1])

    def _apply(self, rows: RowsLike) -> FloatArray:
        return self._stretch(self._transposed(rows))

    def _quadratic(self, rows: RowsLike) -> FloatArray:
        return squared_lengths(self._transposed(rows))

    def _inverse_quadratic(self, rows: RowsLike, zero: float) -> FloatArray:
        if self._log_det() == -np.inf:
            raise ValueError("J = I - H T H' is singular; give a flat ellipsoid as a factor or a dense matrix")
        weights = np.linalg.solve(self._core, self._weights)
        return squared_lengths(densify(rows) + (dense_product(rows, self._vectors) @ weights.T) @ self._vectors.T)

    def _stretch(self, rows: FloatArray) -> FloatArray:
        return rows - (rows @ self._vectors) @ self._weights.T @ self._vectors.T
