"""Ellipsoids around weights, and the forms in which their matrix is kept."""

from .ellipsoid import Ellipsoid
from .shapes.factored import ColumnShape, GramShape, ProductShape
from .shapes.shape import BallShape, DenseShape, FactorShape, Shape

__all__ = ["BallShape", "ColumnShape", "DenseShape", "Ellipsoid", "FactorShape", "GramShape", "ProductShape", "Shape"]
