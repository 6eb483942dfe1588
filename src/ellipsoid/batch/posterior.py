"""Omega, the posterior covariance of the points, kept up to date as the multipliers move.

    Omega = r ((1-r) I + Kc A)^{-1} Kc,     Omega_ij = sqrt(c_i c_j) phi_i'B phi_j,     Kc_ij = sqrt(c_i c_j) K_ij

It is symmetric, unlike the matrix of section 3.3 of Momma, Hatano and Nakayama: one triangle is stored, and one BLAS-3
call (``syrk``) per block of moves updates it at half the cost of a general product.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cholesky, eigh, solve_triangular
from scipy.linalg.blas import dgemm, dsymv, dsyrk
from scipy.linalg.lapack import dgesv

from ellipsoid.engine.compile import compiled

from .features import FeatureRows
from .problem import Matrix, Problem, Vector

# Omega is computed anew when its relative error along a random direction exceeds this.
DRIFT = 1e-9
# How many columns of moves are buffered before they are written into Omega together.
BUFFER = 256


@compiled(error_model="numpy")
def _columns(upper, which, out):
    """out[:, k] = the column which[k] of the symmetric matrix whose upper triangle is stored."""
    n = upper.shape[0]
    for i in range(n):
        for k in range(which.shape[0]):
            w = which[k]
            out[i, k] = upper[i, w] if i <= w else upper[w, i]


def cholesky_of_kernel(alpha: Vector, scaled_kernel: Matrix, r: float) -> Matrix:
    """The lower factor of ``(1-r) I + A^{1/2} Kc A^{1/2}``."""
    root = np.sqrt(alpha)
    system = scaled_kernel * root[:, None] * root[None, :]
    system[np.diag_indices_from(system)] += 1.0 - r
    try:
        return cholesky(system, lower=True, overwrite_a=True, check_finite=False)
    except LinAlgError:
        raise ValueError("the kernel is not positive semi-definite; choose another kernel") from None


def log_determinant(lower: Matrix, r: float) -> float:
    """log|LL'/(1-r)|."""
    return float(2.0 * np.log(np.diag(lower)).sum() - len(lower) * np.log(1.0 - r))


class Posterior:
    """Omega's upper triangle (Fortran order), its diagonal, and log|I + A^{1/2} Kc A^{1/2}/(1-r)|.

    With ``rows``, fewer features than points, Omega is computed from these, since K may have been centred.
    """

    def __init__(self, kernel: Matrix, problem: Problem, alpha: Vector, rows: FeatureRows | None = None) -> None:
        self.r = problem.r
        self.c, self.rows = problem.c, rows
        self.root_c = np.sqrt(problem.c)
        self.kernel = kernel
        self.buffers = [self.new_buffer(len(alpha)) for _ in range(2)]
        self.refresh(alpha)

    def new_buffer(self, n: int) -> Matrix:
        """A buffer for moves that are not yet written into Omega."""
        return np.empty((n, BUFFER), order="F")

    # -- the kernel matrix -------------------------------------------------------------------------------------

    def kernel_times(self, vector: Vector) -> Vector:
        """K v."""
        return self.kernel @ vector

    def kernel_block(self, which: NDArray[np.int64]) -> Matrix:
        """K of some points with each other."""
        return np.ascontiguousarray(self.kernel[np.ix_(which, which)])

    def kernel_rows_times(self, which: NDArray[np.int64], weights: Vector) -> Vector:
        """The sum of some rows of K, weighted."""
        return weights @ self.kernel[which]

    # -- Omega -------------------------------------------------------------------------------------------------

    def take_columns(self, columns: Matrix, which: NDArray[np.int64]) -> Matrix:
        return columns[:, which]

    def take_square(self, columns: Matrix, which: NDArray[np.int64]) -> Matrix:
        """Omega of some points with each other, from their columns."""
        return np.ascontiguousarray(columns[which])

    def scaled_kernel(self) -> Matrix:
        return self.kernel * self.root_c[:, None] * self.root_c[None, :]

    def refresh(self, alpha: Vector) -> None:
        """Compute Omega and the log-determinant anew from alpha, by one Cholesky factorisation."""
        self.buffered = [0, 0]
        if self.rows is not None:
            lower = self.rows.factor(alpha * self.c, 1.0 - self.r)
            images = solve_triangular(lower, self.rows.dense().T * self.root_c, lower=True, check_finite=False)
            self.upper = dsyrk(self.r, images, trans=True)
            self.log_determinant = log_determinant(lower, self.r)
            self.diagonal = np.diag(self.upper).copy()
            return
        scaled = self.scaled_kernel()
        self.log_determinant = 0.0
        support = np.flatnonzero(alpha > 0)
        self.upper = np.asfortranarray(scaled * (self.r / (1.0 - self.r)))
        if len(support):
            lower = cholesky_of_kernel(alpha[support], scaled[np.ix_(support, support)], self.r)
            cross = np.sqrt(alpha[support])[:, None] * scaled[support]
            half = solve_triangular(lower, cross, lower=True, overwrite_b=True, check_finite=False)
            self.upper = dsyrk(-self.r / (1.0 - self.r), half, beta=1.0, c=self.upper, trans=True, overwrite_c=True)
            self.log_determinant = log_determinant(lower, self.r)
        self.diagonal = np.diag(self.upper).copy()

    def columns(self, which: NDArray[np.int64]) -> Matrix:
        """Omega's columns ``which``, including the moves not yet written into the triangle."""
        out = np.empty((len(self.diagonal), len(which)), order="F")
        _columns(self.upper, which, out)
        for sign, factor in self._pending():
            out = dgemm(-sign, factor, factor[which], beta=1.0, c=out, trans_b=True, overwrite_c=True)
        return out

    def full(self) -> Matrix:
        """Omega as a full matrix in C order."""
        self._flush()
        whole = np.triu(self.upper)
        return np.ascontiguousarray(whole + np.triu(whole, 1).T)

    def move(self, columns: Matrix, block: Matrix, delta: Vector) -> None:
        """Update Omega after the multipliers of a block moved by ``delta`` (none of it zero).

        ``columns`` are Omega's columns of the block, ``block`` its square part, both before the move. The middle
        matrix D(I + Omega_WW D/r)^{-1}/r is symmetric but indefinite: its eigenvectors split the update into a
        positive and a negative part. Both are buffered, because ``syrk`` is twice as fast on wide factors.
        """
        values, vectors = self.middle_factor(block, delta)
        rotated = dgemm(1.0, columns, vectors * np.sqrt(np.abs(values)))
        self._buffer_move(rotated, values)

    def middle_factor(self, block: Matrix, delta: Vector) -> tuple[Vector, Matrix]:
        """Eigenvalues and eigenvectors of the middle matrix."""
        system = np.eye(len(delta)) + block * (delta[None, :] / self.r)
        # A nearly singular system needs no warning: the gap is certified from the multipliers, not from Omega.
        _, _, middle, singular = dgesv(system.T, np.diag(delta / self.r), overwrite_b=True)
        if singular or not np.isfinite(middle).all():
            raise ValueError("Omega is not positive semi-definite")
        values, vectors = eigh(0.5 * (middle + middle.T), check_finite=False)
        return values, vectors

    def _buffer_move(self, rotated: Matrix, values: Vector) -> None:
        if max(self.buffered) + len(values) > BUFFER:
            self._flush()
        # Eigenvalues come in ascending order.
        least, most = np.searchsorted(values, 0.0, side="left"), np.searchsorted(values, 0.0, side="right")
        for part, (sign, chosen) in enumerate(((1.0, rotated[:, most:]), (-1.0, rotated[:, :least]))):
            self.buffers[part][:, self.buffered[part] : self.buffered[part] + chosen.shape[1]] = chosen
            self.buffered[part] += chosen.shape[1]
            self.diagonal -= sign * self.squared_rows(chosen)

    def squared_rows(self, matrix: Matrix) -> Vector:
        """Squared norms of the rows."""
        return np.einsum("ij,ij->i", matrix, matrix)

    def _pending(self) -> list[tuple[float, Matrix]]:
        both = zip((1.0, -1.0), self.buffers, self.buffered, strict=True)
        return [(sign, buffer[:, :width]) for sign, buffer, width in both if width]

    def _flush(self) -> None:
        for sign, factor in self._pending():
            self.upper = dsyrk(-sign, factor, beta=1.0, c=self.upper, overwrite_c=True)
        self.buffered = [0, 0]

    def drift(self, alpha: Vector, rng: np.random.Generator) -> float:
        """Relative residual of ((1-r) I + Kc A) Omega = r Kc along a random direction: O(N^2)."""
        self._flush()
        direction = rng.standard_normal(len(alpha))
        image = self.times(direction)

        def scaled_times(v: Vector) -> Vector:
            if self.rows is not None:
                return self.root_c * self.rows.times(self.rows.combine(self.root_c * v))
            return self.root_c * self.kernel_times(self.root_c * v)

        right = self.r * scaled_times(direction)
        left = (1.0 - self.r) * image + scaled_times(alpha * image)
        return float(np.linalg.norm(left - right)) / max(float(np.linalg.norm(right)), 1e-300)

    def times(self, vector: Vector) -> Vector:
        """Omega v, once all moves are written."""
        return dsymv(1.0, self.upper, vector)
