"""Shapes: the positive semidefinite matrix P of an ellipsoid, kept in the form it was made in.

    E = { c + F u : |u| <= 1 },   P = F F' = exp(log_scale) B

A shape computes x P, x'Px, d'P^{-1}d, F u and log det P, and needs no dim x dim matrix for that.  This file
has the base class, the ball, and the shapes that do hold dim x dim numbers (a factor of P, or P itself).  The
shapes of the online ellipsoid methods, which hold far fewer, are in `factored`.
"""

from abc import ABC, abstractmethod
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

FloatArray = NDArray[np.float64]
RowsLike = Any  # a dense (n, dim) array or a CSR matrix of that shape

EPSILON = float(np.finfo(np.float64).eps)
INDEFINITE = 1e-10  # an eigenvalue more negative than this, relative to the largest, is not rounding


class Rounding(NamedTuple):
    """Bounds on the rounding errors of a shape's results, where P = exp(log_scale) B.

    ``square`` bounds the error of x'Bx over |x|^2, ``root`` a further error of sqrt(x'Bx) over |x|; ``inverse`` is the
    relative error of sqrt(d'B^{-1}d), and ``inverse_root`` the square root of the norm of B^{-1}.
    """

    square: float
    root: float
    inverse: float
    inverse_root: float


def finite_matrix(values: ArrayLike, name: str) -> FloatArray:
    """A float64 2-D array without NaN or inf, or a ValueError that says what is wrong with ``name``."""
    matrix = np.array(values, dtype=np.float64)
    if matrix.ndim != 2:
        raise ValueError(f"{name} must be a 2-D array, got {matrix.ndim} dimension(s)")
    if not np.isfinite(matrix).all():
        raise ValueError(f"{name} must be finite, it contains NaN or inf")
    return matrix


def squared_lengths(rows: RowsLike) -> FloatArray:
    """|x|^2 for every row, dense or sparse."""
    if sp.issparse(rows):
        return np.asarray(rows.multiply(rows).sum(axis=1), dtype=np.float64).ravel()
    return np.asarray(np.einsum("ij,ij->i", rows, rows))


def densify(rows: RowsLike) -> FloatArray:
    return rows.toarray() if sp.issparse(rows) else rows


def dense_product(rows: RowsLike, matrix: RowsLike) -> FloatArray:
    return np.asarray(densify(rows @ matrix))


def _times_scale(values: FloatArray, log_scale: float) -> FloatArray:
    # A zero stays a zero however large the scale; anything else may overflow to inf.
    with np.errstate(over="ignore", invalid="ignore"):
        return np.where(values == 0.0, 0.0, values * np.exp(log_scale))


def checked_spectrum(eigenvalues: FloatArray, message: str) -> FloatArray:
    largest = max(float(eigenvalues.max(initial=0.0)), 0.0)
    if eigenvalues.min(initial=0.0) < -INDEFINITE * max(largest, np.finfo(np.float64).tiny):
        raise ValueError(f"{message}, its smallest eigenvalue is {eigenvalues.min():.3g}")
    return np.maximum(eigenvalues, 0.0)


class Shape(ABC):
    """P = exp(log_scale) B; a subclass knows B.  ``log_scale = -inf`` is a single point, P = 0.

    Rows are dense or CSR, results are dense.
    """

    def __init__(self, dim: int, log_scale: float) -> None:
        if dim < 1:
            raise ValueError(f"dim must be at least 1, got {dim}")
        if np.isnan(log_scale) or log_scale == np.inf:
            raise ValueError(f"log_scale must be finite or -inf, got {log_scale}")
        self.dim = int(dim)
        self.log_scale = float(log_scale)

    @property
    def log_det(self) -> float:
        """log det P, minus infinity when the ellipsoid is flat."""
        return -np.inf if self.log_scale == -np.inf else self.dim * self.log_scale + self._log_det()

    def apply(self, rows: RowsLike) -> FloatArray:
        """X P."""
        return _times_scale(self._apply(rows), self.log_scale)

    def quadratic(self, rows: RowsLike) -> FloatArray:
        """x'Px for every row x."""
        return _times_scale(np.maximum(self._quadratic(rows), 0.0), self.log_scale)

    def inverse_quadratic(self, rows: RowsLike, zero: float) -> FloatArray:
        """d'P^{-1}d for every row d; infinite when d leaves the range of P by more than ``zero``."""
        if self.log_scale == -np.inf:
            return np.where(np.sqrt(squared_lengths(rows)) <= zero, 0.0, np.inf)
        return _times_scale(self._inverse_quadratic(rows, zero), -self.log_scale)

    def stretch(self, rows: FloatArray) -> FloatArray:
        """F u for every row u, where F F' = P: the unit ball becomes the ellipsoid about 0."""
        return _times_scale(self._stretch(rows), 0.5 * self.log_scale)

    def dense(self) -> FloatArray:
        """P itself, dim x dim."""
        matrix = self.apply(np.eye(self.dim))
        return 0.5 * (matrix + matrix.T)

    def widths(self, rows: RowsLike) -> FloatArray:
        """sqrt(x'Px) for every row x, rounded up: not below the exact value for these numbers."""
        if self.log_scale == -np.inf:
            return np.zeros(rows.shape[0])
        norms = squared_lengths(rows)
        roots = np.sqrt(np.maximum(self._quadratic(rows), 0.0) + self.rounding.square * norms)
        loose = 1.0 + EPSILON * (8.0 + self.dim)
        return _times_scale((roots + self.rounding.root * np.sqrt(norms)) * loose, 0.5 * self.log_scale)

    def allowance(self, rows: RowsLike, lengths: FloatArray) -> FloatArray:
        """The error of sqrt(d'P^{-1}d), over 1 + itself, if d is rounded like a number of size ``lengths``."""
        if self.log_scale == -np.inf:
            return np.zeros(rows.shape[0])
        inverse, inverse_root = self.rounding.inverse, self.rounding.inverse_root
        with np.errstate(over="ignore", invalid="ignore"):
            found = inverse + EPSILON * (8.0 + lengths * inverse_root * np.exp(-0.5 * self.log_scale))
        # An error beyond that leaves nothing known.
        return np.where(found < 0.5, found, 0.5)

    @cached_property
    @abstractmethod
    def rounding(self) -> Rounding:
        """The rounding errors for this B."""

    @abstractmethod
    def _log_det(self) -> float: ...

    @abstractmethod
    def _apply(self, rows: RowsLike) -> FloatArray: ...

    @abstractmethod
    def _quadratic(self, rows: RowsLike) -> FloatArray: ...

    @abstractmethod
    def _inverse_quadratic(self, rows: RowsLike, zero: float) -> FloatArray: ...

    @abstractmethod
    def _stretch(self, rows: FloatArray) -> FloatArray: ...


class BallShape(Shape):
    """P = exp(log_scale) I."""

    @cached_property
    def rounding(self) -> Rounding:
        return Rounding(0.0, 0.0, self.dim * EPSILON, 1.0)

    def _log_det(self) -> float:
        return 0.0

    def _apply(self, rows: RowsLike) -> FloatArray:
        return np.array(densify(rows))

    def _quadratic(self, rows: RowsLike) -> FloatArray:
        return squared_lengths(rows)

    def _inverse_quadratic(self, rows: RowsLike, zero: float) -> FloatArray:
        return squared_lengths(rows)

    def _stretch(self, rows: FloatArray) -> FloatArray:
        return rows


class FactorShape(Shape):
    """P = exp(log_scale) J J' with a dense factor J, square or thin (then the ellipsoid is flat)."""

    def __init__(self, factor: ArrayLike, log_scale: float = 0.0) -> None:
        self._factor = finite_matrix(factor, "factor")
        super().__init__(self._factor.shape[0], log_scale)

    @cached_property
    def _axes(self) -> tuple[FloatArray, FloatArray]:
        # B = W diag(lengths^2) W', only the directions whose length rounding cannot have made.
        directions, lengths, _ = np.linalg.svd(self._factor, full_matrices=False)
        kept = lengths > lengths.max(initial=0.0) * self.dim * EPSILON
        return directions[:, kept], lengths[kept]

    @cached_property
    def rounding(self) -> Rounding:
        lengths = self._axes[1]
        norm = float(np.linalg.norm(self._factor))
        least = float(lengths.min(initial=np.inf))
        return Rounding(0.0, (self.dim + 4) * EPSILON * norm, 8 * self.dim * EPSILON * norm / least, 1.0 / least)

    def _log_det(self) -> float:
        lengths = self._axes[1]
        return 2.0 * float(np.log(lengths).sum()) if lengths.size == self.dim else -np.inf

    def _apply(self, rows: RowsLike) -> FloatArray:
        return np.asarray((rows @ self._factor) @ self._factor.T)

    def _quadratic(self, rows: RowsLike) -> FloatArray:
        return squared_lengths(dense_product(rows, self._factor))

    def _inverse_quadratic(self, rows: RowsLike, zero: float) -> FloatArray:
        directions, lengths = self._axes
        coordinates = dense_product(rows, directions)
        values = squared_lengths(coordinates / lengths)
        if lengths.size < self.dim:
            outside = np.sqrt(squared_lengths(densify(rows) - coordinates @ directions.T))
            values[outside > zero] = np.inf
        return values

    def _stretch(self, rows: FloatArray) -> FloatArray:
        directions, lengths = self._axes
        return np.asarray(((rows @ directions) * lengths) @ directions.T)


class DenseShape(FactorShape):
    """P given as a symmetric positive semidefinite matrix."""

    def __init__(self, matrix: ArrayLike, log_scale: float = 0.0) -> None:
        self._matrix = finite_matrix(matrix, "P")
        rows, columns = self._matrix.shape
        if rows != columns:
            raise ValueError(f"P must be square, got shape {self._matrix.shape}")
        if np.abs(self._matrix - self._matrix.T).max(initial=0.0) > 1e-8 * np.abs(self._matrix).max(initial=0.0):
            raise ValueError("P must be symmetric; symmetrise it as (P + P.T) / 2 if that is what you mean")
        self._matrix = 0.5 * (self._matrix + self._matrix.T)
        eigenvalues, vectors = np.linalg.eigh(self._matrix)
        eigenvalues = checked_spectrum(eigenvalues, "P must be positive semidefinite")
        eigenvalues[eigenvalues <= eigenvalues.max(initial=0.0) * rows * EPSILON] = 0.0
        super().__init__(vectors * np.sqrt(eigenvalues), log_scale)

    def _apply(self, rows: RowsLike) -> FloatArray:
        return dense_product(rows, self._matrix)
