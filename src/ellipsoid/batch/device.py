"""The kernel matrix of the ellipsoidal SVM, and Omega, in the memory of a GPU.

The solver is the same as on the CPU, where blocks of points are chosen and moved; the N x N matrices stay on the
device. There Omega is kept whole, because computing the full product is faster than extracting one triangle.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ellipsoid.representation.kernel.device import DevicePatterns, cuda_arrays

from .features import strips
from .posterior import BUFFER, Posterior
from .problem import Matrix, Problem, Vector

# The most points for which the kernel matrix and Omega, with room to renew it, fit on a large device: 20 GB each.
DEVICE_LIMIT = 50_000


class DeviceKernel:
    """K of all training points with each other."""

    def __init__(self, X: Any, kernel: Any) -> None:
        self.arrays = cuda_arrays()
        self.patterns = DevicePatterns(self.arrays, "double")
        rows = self.patterns.down(X)
        points = rows, (rows * rows).sum(axis=1)
        n = len(rows)
        try:
            self.matrix = self.arrays.empty((n, n))
            for part in strips(n):
                some = points[0][part], points[1][part]
                self.matrix[part] = self.patterns.values(kernel.formula, some, points, 0.0)
        except MemoryError as error:
            raise MemoryError(
                f"the device has no memory for the kernel matrix of {n:,} points, {8 * n * n / 2**30:.0f} GB, and "
                'as much again three times: use fewer points, solver="features", or device="cpu"'
            ) from error
        if kernel.name == "rbf":
            self.arrays.fill_diagonal(self.matrix, 1.0)

    def diagonal(self) -> Vector:
        """K(x, x) of every point."""
        return self.patterns.up(self.matrix.diagonal()).copy()

    def __getitem__(self, where: Any) -> Matrix:
        """A part of the matrix."""
        return self.patterns.up(self.matrix[where])

    def __reduce__(self) -> Any:
        raise TypeError('a kernel matrix on a device cannot be copied: set device="cpu" and fit again')


def device_scores(kernel: Any, X: Any, support: Any, coef: Matrix) -> Matrix:
    """``sum_i coef[r, i] K(x_i, x)`` over the support points, a column for each r."""
    device = DevicePatterns(cuda_arrays(), "double")
    device.rows = device.down(support)
    device.norms = (device.rows * device.rows).sum(axis=1)
    weights = device.arrays.asarray(coef.T)
    out = np.empty((X.shape[0], len(coef)))
    for part in strips(len(out)):
        rows = device.down(X[part])
        out[part] = device.up(device.sums_of(kernel.formula, (rows, (rows * rows).sum(axis=1)), weights, 0.0))
    return out


class DevicePosterior(Posterior):
    """Omega on the device, with its diagonal beside it."""

    def __init__(self, kernel: DeviceKernel, problem: Problem, alpha: Vector) -> None:
        self.arrays, self.up = kernel.arrays, kernel.patterns.up
        super().__init__(kernel.matrix, problem, alpha)

    def new_buffer(self, n: int) -> Any:
        return self.arrays.empty((n, BUFFER))

    def kernel_times(self, vector: Vector) -> Vector:
        return self.up(self.kernel @ self.arrays.asarray(vector))

    def kernel_block(self, which: NDArray[np.int64]) -> Matrix:
        places = self.arrays.asarray(which)
        return np.ascontiguousarray(self.up(self.kernel[places[:, None], places[None, :]]))

    def kernel_rows_times(self, which: NDArray[np.int64], weights: Vector) -> Vector:
        return self.up(self.arrays.asarray(weights) @ self.kernel[self.arrays.asarray(which)])

    def take_columns(self, columns: Any, which: NDArray[np.int64]) -> Any:
        return columns[:, self.arrays.asarray(which)]

    def take_square(self, columns: Any, which: NDArray[np.int64]) -> Matrix:
        return np.ascontiguousarray(self.up(columns[self.arrays.asarray(which)]))

    def refresh(self, alpha: Vector) -> None:
        arrays = self.arrays
        root_c, share = arrays.asarray(self.root_c), self.r / (1.0 - self.r)
        self.upper = self.kernel * root_c[:, None]
        self.upper *= root_c[None, :]
        self.log_determinant = 0.0
        support = np.flatnonzero(alpha > 0)
        half: Any = None
        if len(support):
            places, root = arrays.asarray(support), arrays.asarray(np.sqrt(alpha[support]))
            cross = root[:, None] * self.upper[places]
            system = cross[:, places] * root[None, :]
            system += (1.0 - self.r) * arrays.eye(len(support))
            lower = arrays.linalg.cholesky(system)
            logarithms = float(arrays.log(lower.diagonal()).sum())
            if not np.isfinite(logarithms):
                raise ValueError("the kernel is not positive semi-definite; choose another kernel")
            self.log_determinant = 2.0 * logarithms - len(support) * float(np.log(1.0 - self.r))
            half = solve_lower(arrays, lower, cross)
        self.upper *= share
        if half is not None:
            # In strips, since the whole product would be another matrix of this size.
            for part in strips(len(alpha)):
                self.upper[part] -= share * (half[:, part].T @ half)
        self.diagonal = self.up(self.upper.diagonal()).copy()
        self.buffered = [0, 0]

    def columns(self, which: NDArray[np.int64]) -> Any:
        """Omega's columns ``which`` on the device, including the moves not yet written."""
        places = self.arrays.asarray(which)
        out = self.upper[:, places]
        for sign, factor in self._pending():
            out -= sign * (factor @ factor[places].T)
        return out

    def full(self) -> Matrix:
        raise NotImplementedError("pair steps on all of Omega are made on the CPU")

    def move(self, columns: Any, block: Matrix, delta: Vector) -> None:
        values, vectors = self.middle_factor(block, delta)
        self._buffer_move(columns @ self.arrays.asarray(vectors * np.sqrt(np.abs(values))), values)

    def squared_rows(self, matrix: Any) -> Vector:
        return self.up((matrix * matrix).sum(axis=1))

    def _flush(self) -> None:
        for sign, factor in self._pending():
            for part in strips(len(self.upper), 8192):
                self.upper[part] -= sign * (factor[part] @ factor.T)
        self.buffered = [0, 0]

    def times(self, vector: Vector) -> Vector:
        return self.up(self.upper @ self.arrays.asarray(vector))


def solve_lower(arrays: Any, lower: Any, right: Any) -> Any:
    """L^{-1} R, on the device where they are."""
    if arrays is np:
        from scipy.linalg import solve_triangular
    else:
        from cupyx.scipy.linalg import solve_triangular
    return solve_triangular(lower, right, lower=True, overwrite_b=True)
