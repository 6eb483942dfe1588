"""Ellipsoids and the forms in which their shape is kept."""

from .ellipsoid import Ellipsoid
from .factored_shapes import ColumnShape, GramShape, ProductShape
from .shapes import BallShape, DenseShape, FactorShape, Shape

__all__ = [
    "BallShape",
    "ColumnShape",
    "DenseShape",
    "Ellipsoid",
    "FactorShape",
    "GramShape",
    "ProductShape",
    "Shape",
]
