"""The shape of an ellipsoid whose axes are the coordinates: P = exp(log_scale) diag(B)."""

from functools import cached_property

import numpy as np

from .shape import EPSILON, FloatArray, Rounding, RowsLike, Shape, dense_product, densify


class DiagonalShape(Shape):
    """One number B_j >= 0 for each coordinate.

    >>> DiagonalShape(np.array([4.0, 1.0])).quadratic(np.array([[1.0, 3.0]]))
    array([13.])
    """

    def __init__(self, squares: FloatArray, log_scale: float = 0.0) -> None:
        self._squares = np.array(squares)
        super().__init__(self._squares.size, log_scale)

    @cached_property
    def rounding(self) -> Rounding:
        positive = self._squares[self._squares > 0.0]
        largest, least = float(positive.max(initial=0.0)), float(positive.min(initial=1.0))
        terms = (self.dim + 4) * EPSILON
        return Rounding(terms * largest, 0.0, terms, 1.0 / np.sqrt(least))

    def _log_det(self) -> float:
        with np.errstate(divide="ignore"):
            return float(np.log(self._squares).sum())

    def _apply(self, rows: RowsLike) -> FloatArray:
        return densify(rows) * self._squares

    def _quadratic(self, rows: RowsLike) -> FloatArray:
        return dense_product(rows.multiply(rows) if hasattr(rows, "multiply") else rows * rows, self._squares)

    def _inverse_quadratic(self, rows: RowsLike, zero: float) -> FloatArray:
        dense = densify(rows)
        flat = self._squares == 0.0
        values = np.asarray((dense[:, ~flat] ** 2 / self._squares[~flat]).sum(axis=1))
        values[(np.abs(dense[:, flat]) > zero).any(axis=1)] = np.inf
        return values

    def _stretch(self, rows: FloatArray) -> FloatArray:
        return rows * np.sqrt(self._squares)
