"""Explicit features: the rows phi_i of a matrix, dense or sparse, and low-rank features of a kernel.

The solver in features (``scalable``) needs a few products with Phi and never the N x N kernel. For other kernels than
the linear one, Phi comes from a pivoted incomplete Cholesky factorisation (Fine and Scheinberg, JMLR 2001: greedy on
the largest residual) or from Nystroem's method on random landmarks (Williams and Seeger, NIPS 2000); both give
Phi Phi' ~ K.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import cholesky, eigh, solve_triangular

from ellipsoid.ellipsoids.shapes.shape import squared_lengths
from ellipsoid.engine.compile import compiled

from .problem import Matrix, Vector

# Rows per chunk, so that a product with a large dense Phi stays in the cache and needs little memory.
CHUNK = 4096
# With a smaller share of nonzeros than this a loop over them is faster than BLAS on whole rows. Nonzeros are counted
# only in matrices of at least so many entries.
SPARSE, LARGE = 0.25, 100_000


def strips(count: int, size: int = CHUNK) -> list[slice]:
    """Slices of ``size`` rows that cover ``count`` rows."""
    return [slice(start, start + size) for start in range(0, count, size)]


class SparseParts(NamedTuple):
    """The arrays of compressed sparse rows, for compiled code."""

    data: np.ndarray
    indices: np.ndarray
    indptr: np.ndarray


@compiled(error_model="numpy")
def quadratic_of_rows(rows, form):
    """phi_i' form phi_i for every row; ``form`` is symmetric, so the pairs above the diagonal count twice."""
    data, indices, indptr = rows
    out = np.empty(len(indptr) - 1)
    for i in range(out.shape[0]):
        total = 0.0
        for a in range(indptr[i], indptr[i + 1]):
            line = form[indices[a]]
            inner = 0.5 * data[a] * line[indices[a]]
            for b in range(a + 1, indptr[i + 1]):
                inner += data[b] * line[indices[b]]
            total += data[a] * inner
        out[i] = 2.0 * total
    return out


@compiled(error_model="numpy")
def gram_of_rows(rows, weights, width):
    """sum_i weights_i phi_i phi_i'."""
    data, indices, indptr = rows
    total = np.zeros((width, width))
    for i in range(weights.shape[0]):
        if weights[i] == 0.0:
            continue
        for a in range(indptr[i], indptr[i + 1]):
            line = total[indices[a]]
            value = weights[i] * data[a]
            for b in range(indptr[i], indptr[i + 1]):
                line[indices[b]] += value * data[b]
    return total


@compiled(error_model="numpy")
def filled_rows(rows, which, width):
    """The rows ``which``, zeros filled in."""
    data, indices, indptr = rows
    out = np.zeros((which.shape[0], width))
    for i in range(which.shape[0]):
        for a in range(indptr[which[i]], indptr[which[i] + 1]):
            out[i, indices[a]] += data[a]
    return out


class FeatureRows:
    """The rows phi_i, and the products with them that the solver in features needs.

    Sums over single rows (``quadratic``, ``weighted_gram``) use the nonzeros alone where there are few, even of a dense
    matrix: s of them need O(s^2) of the O(m^2) operations of a full row. Blocks of rows are dense, for BLAS.
    """

    def __init__(self, phi: Any) -> None:
        self.sparse = sparse.issparse(phi)
        self.parts: SparseParts | None = None
        if self.sparse:
            self.phi: Any = sparse.csr_array(phi, dtype=np.float64)
            self.parts = SparseParts(self.phi.data, self.phi.indices, self.phi.indptr)
        else:
            self.phi = np.ascontiguousarray(phi, dtype=np.float64)
            if self.phi.size >= LARGE and np.count_nonzero(self.phi) <= SPARSE * self.phi.size:
                rows = sparse.csr_array(self.phi)
                self.parts = SparseParts(rows.data, rows.indices, rows.indptr)
        self.shape: tuple[int, int] = self.phi.shape

    def block(self, which: NDArray[np.int64]) -> Matrix:
        """The rows ``which`` as a dense matrix."""
        if self.sparse:
            assert self.parts is not None
            return filled_rows(self.parts, which, self.shape[1])
        return self.phi[which]

    def dense(self) -> Matrix:
        return self.phi.toarray() if self.sparse else self.phi

    def squared_norms(self) -> Vector:
        return squared_lengths(self.phi)

    def times(self, w: Vector) -> Vector:
        return self.phi @ w

    def absolute_times(self, w: Vector) -> Vector:
        """sum_j |phi_ij| |w_j|, of which the rounding error of a product with w is a share."""
        parts = [abs(self.phi[rows]) @ np.abs(w) for rows in strips(self.shape[0])]
        return np.concatenate(parts)

    def absolute_sum(self, weights: Vector) -> Vector:
        """sum_i |phi_i| weights_i, of which the rounding error of ``combine`` is a share."""
        return sum(abs(self.phi[rows]).T @ weights[rows] for rows in strips(self.shape[0]))

    @property
    def depth(self) -> int:
        """The most additions that a term of ``weighted_gram`` takes part in."""
        n = self.shape[0]
        return n if self.parts is not None else min(n, CHUNK) + n // CHUNK + 1

    def combine(self, beta: Vector) -> Vector:
        """sum_i beta_i phi_i."""
        return self.phi.T @ beta

    def weighted_gram(self, weights: Vector) -> Matrix:
        if self.parts is not None:
            return gram_of_rows(self.parts, weights, self.shape[1])
        total = np.zeros((self.shape[1], self.shape[1]))
        for rows in strips(self.shape[0]):
            used = np.flatnonzero(weights[rows])
            part, share = self.phi[rows][used], weights[rows][used]
            total += part.T @ (part * share[:, None])
        return total

    def factor(self, weights: Vector, ridge: float) -> Matrix:
        """The lower Cholesky factor of ``ridge I + sum_i weights_i phi_i phi_i'``."""
        system = self.weighted_gram(weights)
        system[np.diag_indices_from(system)] += ridge
        return cholesky(system, lower=True, overwrite_a=True, check_finite=False)

    def quadratic(self, form: Matrix) -> Vector:
        """phi_i' form phi_i for every row, ``form`` symmetric."""
        if self.parts is not None:
            return quadratic_of_rows(self.parts, form)
        out = np.empty(self.shape[0])
        for rows in strips(self.shape[0]):
            part = self.phi[rows]
            out[rows] = np.einsum("ij,ij->i", part, part @ form)
        return out

    def squared_images(self, root: Matrix, weights: Vector) -> tuple[Vector, Vector]:
        """|y|^2 and (|y|.weights)^2 for y = root phi_i: ``quadratic`` of root'root, without its cancellation."""
        out, sums = np.empty(self.shape[0]), np.empty(self.shape[0])
        for rows in strips(self.shape[0]):
            image = self.phi[rows] @ root.T
            out[rows] = np.einsum("ij,ij->i", image, image)
            sums[rows] = np.abs(image) @ weights
        return out, sums**2


@dataclass(frozen=True)
class LandmarkMap:
    """phi(x) = T' k(landmarks, x): a feature map that also serves points not seen in training."""

    landmarks: NDArray[np.int64]
    transform: Matrix

    def __call__(self, kernel_to_landmarks: Matrix) -> Matrix:
        """Features of points, from their kernel values with the landmarks (one row per point)."""
        return kernel_to_landmarks @ self.transform


def incomplete_cholesky(
    column: Callable[[int], Vector], diagonal: Vector, rank: int, tol: float = 1e-10
) -> tuple[Matrix, LandmarkMap]:
    """Pivoted incomplete Cholesky: K ~ Phi Phi' with at most ``rank`` columns of K ever computed.

    Each pivot is the point that the features so far describe worst; it stops early when the residual's trace falls
    below ``tol`` of K's.
    """
    n = len(diagonal)
    residual = diagonal.astype(np.float64).copy()
    factor = np.zeros((n, min(rank, n)), order="F")
    pivots: list[int] = []
    enough = tol * residual.sum()
    for k in range(factor.shape[1]):
        pivot = int(np.argmax(residual))
        if residual[pivot] <= 1e-14 * diagonal.max() or residual.sum() <= enough:
            break
        new = column(pivot) - factor[:, :k] @ factor[pivot, :k]
        new /= np.sqrt(residual[pivot])
        factor[:, k] = new
        residual = np.maximum(residual - new * new, 0.0)
        residual[pivot] = 0.0
        pivots.append(pivot)
    width = len(pivots)
    landmarks = np.array(pivots, dtype=np.int64)
    phi = np.ascontiguousarray(factor[:, :width])
    lower = np.tril(phi[landmarks])
    transform = solve_triangular(lower, np.eye(width), lower=True).T
    return phi, LandmarkMap(landmarks, np.ascontiguousarray(transform))


def nystroem(
    columns: Callable[[NDArray[np.int64]], Matrix], n: int, rank: int, rng: np.random.Generator
) -> tuple[Matrix, LandmarkMap]:
    """Nystroem features on random landmarks: Phi = K_nL K_LL^{-1/2}, null directions dropped."""
    landmarks = np.sort(rng.choice(n, size=min(rank, n), replace=False))
    cross = columns(landmarks)
    values, vectors = eigh(cross[landmarks])
    kept = values > 1e-12 * values[-1]
    transform = vectors[:, kept] / np.sqrt(values[kept])
    return cross @ transform, LandmarkMap(landmarks, transform)
