"""An ellipsoid as an object, made of a centre and a shape: widths, membership, projections, samples, volume.

    E = { x : (x - c)' P^{-1} (x - c) <= 1 },   max over E of <a, x> = <a, c> + sqrt(a'Pa)

So ``width(X)`` = sqrt(x'Px) bounds how far scores may differ inside E, and ``log_volume`` = log det P measures
its size (the volume is a constant of the dimension times exp(log_volume / 2)).  P stays in the form it came in.
Bland, Goldfarb, Todd, "The ellipsoid method: a survey" (Operations Research 29, 1981), section 2; Yang, Jin, Ye,
"Online learning by ellipsoid method" (ICML 2009), section 2.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from .shapes.factored import ColumnShape, GramShape, ProductShape
from .shapes.shape import BallShape, DenseShape, FactorShape, FloatArray, RowsLike, Shape, densify, finite_matrix


class Ellipsoid:
    """The set of x with (x - centre)' P^{-1} (x - centre) <= 1.

    ``centre`` is a vector, or a K x d matrix of weights for K classes; the dimension is then K d, coordinates
    are counted row by row, and points may be given as (n, K d) or (n, K, d).  Build one with `ball`,
    `from_matrix`, `from_factor`, `from_columns`, `from_gram` or `from_product`; only `shape_matrix` forms P.

    >>> disc = Ellipsoid.ball([0.0, 1.0], radius=2.0)
    >>> disc.width([[3.0, 4.0]])
    array([10.])
    >>> disc.contains([[0.0, 3.0], [0.0, 3.1]])
    array([ True, False])
    """

    def __init__(self, centre: ArrayLike, shape: Shape) -> None:
        values = np.array(centre, dtype=np.float64)
        if values.ndim not in (1, 2) or values.size == 0:
            raise ValueError(f"centre must be a vector or a K x d matrix, got shape {values.shape}")
        if not np.isfinite(values).all():
            raise ValueError("centre must be finite, it contains NaN or inf")
        if not isinstance(shape, Shape):
            raise TypeError(f"shape must be a Shape such as BallShape or GramShape, got {type(shape).__name__}")
        if shape.dim != values.size:
            raise ValueError(f"centre has {values.size} coordinates but the shape has {shape.dim}")
        _ = shape.log_det  # a matrix that rounding has made indefinite is refused here, not at its first use
        values.flags.writeable = False
        self._centre = values
        self._shape = shape

    @classmethod
    def ball(cls, centre: ArrayLike, radius: float) -> Ellipsoid:
        """P = radius^2 I; ``radius = 0`` is the single point ``centre``."""
        if not 0.0 <= radius < np.inf:
            raise ValueError(f"radius must be a finite number >= 0, got {radius}")
        log_scale = 2.0 * np.log(radius) if radius > 0.0 else -np.inf
        return cls(centre, BallShape(np.size(centre), log_scale))

    @classmethod
    def from_matrix(cls, centre: ArrayLike, matrix: ArrayLike) -> Ellipsoid:
        """P given as a symmetric positive semidefinite matrix."""
        return cls(centre, DenseShape(matrix))

    @classmethod
    def from_factor(cls, centre: ArrayLike, factor: ArrayLike, log_scale: float = 0.0) -> Ellipsoid:
        """P = exp(log_scale) J J'."""
        return cls(centre, FactorShape(factor, log_scale))

    @classmethod
    def from_columns(cls, centre: ArrayLike, columns: ArrayLike, log_scale: float = 0.0) -> Ellipsoid:
        """P = exp(log_scale) (I - U U'), U being dim x m."""
        return cls(centre, ColumnShape(columns, log_scale))

    @classmethod
    def from_gram(cls, centre: ArrayLike, rows: Any, coefficients: ArrayLike, log_scale: float = 0.0) -> Ellipsoid:
        """P = exp(log_scale) (I - Z' S Z), Z being m x dim, dense or CSR, and S m x m semidefinite."""
        return cls(centre, GramShape(rows, coefficients, log_scale))

    @classmethod
    def from_product(
        cls, centre: ArrayLike, vectors: ArrayLike, weights: ArrayLike, log_scale: float = 0.0
    ) -> Ellipsoid:
        """P = exp(log_scale) J J', J = I - H T H'; a vector for T: J = prod_k (I - tau_k h_k h_k')."""
        if np.ndim(weights) == 1:
            return cls(centre, ProductShape.from_reflections(vectors, weights, log_scale))
        return cls(centre, ProductShape(vectors, weights, log_scale))

    @property
    def centre(self) -> FloatArray:
        """The centre, as it was given: a vector or a K x d matrix (read-only)."""
        return self._centre

    @property
    def shape(self) -> Shape:
        """P, in the form in which it is kept."""
        return self._shape

    @property
    def dim(self) -> int:
        """The number of coordinates, K d for a K x d centre."""
        return self._centre.size

    @property
    def log_volume(self) -> float:
        """log det P, minus infinity for a flat ellipsoid."""
        return self._shape.log_det

    def width(self, X: Any) -> FloatArray:
        """sqrt(x'Px) for every row x of X, rounded up: half the range of <x, q> over q in the ellipsoid."""
        return self._shape.widths(self._rows(X, "X"))

    def contains(self, points: Any, tol: float = 1e-9) -> Any:
        """True for every point q with sqrt((q - c)'P^{-1}(q - c)) <= 1 + tol.

        True also where rounding leaves it open, which happens more for a thin ellipsoid than for a round one. A point
        may be ``tol (1 + |c|)`` away from the plane of a flat ellipsoid, because a sum with c is rounded.
        """
        if not 0.0 <= tol < np.inf:
            raise ValueError(f"tol must be a finite number >= 0, got {tol}")
        rows = densify(self._rows(points, "points"))
        offsets = rows - self._centre.ravel()
        size = float(np.linalg.norm(self._centre))
        found = np.sqrt(self._shape.inverse_quadratic(offsets, tol * (1.0 + size)))
        limit = 1.0 + tol
        doubt = self._shape.allowance(offsets, size + np.linalg.norm(rows, axis=1))
        return found <= limit + (1.0 + limit) * doubt

    def project(self, axes: Sequence[int] | ArrayLike) -> Ellipsoid:
        """The shadow on some coordinates, or on the columns of a basis: { V'x : x in E }.

        ``axes`` is a sequence of coordinate numbers, such as ``(0, 3)``, or a dim x k matrix V.  The shadow
        has centre V'c and matrix V'PV; two axes make a picture (see `boundary`).

        >>> solid = Ellipsoid.from_matrix([1.0, 2.0, 3.0], [[4, 0, 1], [0, 1, 0], [1, 0, 9]])
        >>> solid.project((0, 2)).shape_matrix()
        array([[4., 1.],
               [1., 9.]])
        """
        directions = self._directions(axes)
        matrix = self._shape.apply(directions) @ directions.T
        return Ellipsoid.from_matrix(directions @ self._centre.ravel(), 0.5 * (matrix + matrix.T))

    def boundary(self, n: int = 200) -> FloatArray:
        """n points around the boundary of a 2-D ellipsoid, the last equal to the first: a curve to plot."""
        if self.dim != 2:
            raise ValueError(f"boundary needs a 2-D ellipsoid, this one has {self.dim} coordinates: project it first")
        if n < 2:
            raise ValueError(f"n must be at least 2, got {n}")
        angles = np.linspace(0.0, 2.0 * np.pi, n)
        angles[-1] = 0.0
        circle = np.column_stack([np.cos(angles), np.sin(angles)])
        return self._centre.ravel() + self._shape.stretch(circle)

    def sample(self, n: int, random_state: Any = None) -> FloatArray:
        """n points drawn uniformly from the inside, in the layout of ``centre``: (n, dim) or (n, K, d).

        From a flat ellipsoid they follow the limit of ever thinner ones.  ``random_state`` is None, a seed or
        a NumPy generator.
        """
        if n < 0:
            raise ValueError(f"n must not be negative, got {n}")
        generator = (
            random_state if isinstance(random_state, np.random.RandomState) else np.random.default_rng(random_state)
        )
        directions = generator.standard_normal((n, self.dim))
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        ball = directions * generator.uniform(size=(n, 1)) ** (1.0 / self.dim)
        return (self._centre.ravel() + self._shape.stretch(ball)).reshape(n, *self._centre.shape)

    def volume_ratio(self, other: Ellipsoid) -> float:
        """The volume of this ellipsoid divided by that of ``other``, of the same dimension."""
        if other.dim != self.dim:
            raise ValueError(
                f"volumes compare only in equal dimensions: this ellipsoid has {self.dim}, the other {other.dim}"
            )
        mine, its = self.log_volume, other.log_volume
        if mine == its == -np.inf:
            raise ValueError("both ellipsoids are flat, so their volumes are zero and have no ratio")
        with np.errstate(over="ignore"):
            return float(np.exp(0.5 * (mine - its)))

    def shape_matrix(self) -> FloatArray:
        """P, as a new dim x dim array."""
        return self._shape.dense()

    def __repr__(self) -> str:
        return f"Ellipsoid(dim={self.dim}, shape={type(self._shape).__name__}, log_volume={self.log_volume:.6g})"

    def _directions(self, axes: Sequence[int] | ArrayLike) -> FloatArray:
        if np.ndim(axes) == 2:
            basis = finite_matrix(axes, "axes")
            if basis.shape[0] != self.dim or basis.shape[1] == 0:
                raise ValueError(
                    f"axes as a basis must have {self.dim} rows and at least one column, got {basis.shape}"
                )
            return basis.T
        numbers = np.asarray(axes)
        if numbers.ndim != 1 or numbers.size == 0 or not np.issubdtype(numbers.dtype, np.integer):
            raise ValueError(f"axes must be coordinate numbers such as (0, 1), or a {self.dim} x k matrix")
        if numbers.min() < 0 or numbers.max() >= self.dim or np.unique(numbers).size < numbers.size:
            raise ValueError(f"axes must be different numbers from 0 to {self.dim - 1}, got {numbers.tolist()}")
        directions = np.zeros((numbers.size, self.dim))
        directions[np.arange(numbers.size), numbers] = 1.0
        return directions

    def _rows(self, values: Any, name: str) -> RowsLike:
        if sp.issparse(values):
            rows: Any = sp.csr_matrix(values, dtype=np.float64)
            finite = np.isfinite(rows.data)
            bad = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))[~finite]
        else:
            rows = np.asarray(values, dtype=np.float64)
            if rows.ndim == 3 and self._centre.ndim == 2 and rows.shape[1:] == self._centre.shape:
                rows = rows.reshape(len(rows), self.dim)
            if rows.ndim != 2:
                hint = "; write a single row as [row]" if rows.ndim == 1 else ""
                raise ValueError(f"{name} must have shape {self._layouts()}, got {rows.shape}{hint}")
            bad = np.flatnonzero(~np.isfinite(rows).all(axis=1))
        if rows.shape[1] != self.dim:
            raise ValueError(f"{name} must have shape {self._layouts()}, got {rows.shape}")
        if len(bad):
            raise ValueError(f"{name} must be finite, row {bad[0]} contains NaN or inf")
        return rows

    def _layouts(self) -> str:
        return " or ".join(f"(n, {', '.join(map(str, s))})" for s in dict.fromkeys([(self.dim,), self._centre.shape]))
