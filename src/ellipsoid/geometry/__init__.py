"""Ellipsoids and the forms in which their shape is kept."""

from ellipsoid.geometry.ellipsoid import Ellipsoid
from ellipsoid.geometry.ellipsoid_factored import ColumnShape, GramShape, ProductShape
from ellipsoid.geometry.ellipsoid_shapes import BallShape, DenseShape, FactorShape, Shape

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
