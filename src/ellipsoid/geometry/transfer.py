"""What rounding may do to an ellipsoid whose shape changes its form, and the bounds of one from an older file.

A form that takes over holds B only up to rounding. How far the two differ is computed from the arrays of both, and the
scale is raised until the new ellipsoid holds the old one: (1 + L |dB|) B >= B + dB where ``|B^{-1}| <= L``.
"""

from __future__ import annotations

from math import exp, inf, log, log1p, sqrt
from typing import TYPE_CHECKING

import numpy as np

from ellipsoid.representation.tables import Floats

from .gram import BETA, RIVAL_SIGN
from .rounding import U
from .state import DIM, LOG_KEPT, LOG_SCALE, MASS, SQUARES, STEEP, STORED, SUMMED, WIDENED

if TYPE_CHECKING:
    from .table import EllipsoidTable

# Beyond this dimension an older file's shape is not taken apart: its determinant bounds the inverse too.
LARGEST = 1024
# What older versions called a point was one to this depth.
POINT = 1e-9
# A change of form that moves a shape by more than this, in its own metric, has lost it.
LOST = 0.25


def difference(rows: Floats, middle: Floats, vectors: Floats, weights: Floats) -> float:
    """A bound on the norm of B - JJ', with B = I - rows' middle rows and J = I - sum_k weights_k v_k v_k'.

    >>> rows, middle = np.array([[0.6, 0.0]]), np.eye(1)
    >>> difference(rows, middle, np.array([[1.0, 0.0]]), np.array([0.2])) < 1e-13  # 1 - 0.36 = 0.8^2
    True
    >>> difference(rows, middle, np.array([[1.0, 0.0]]), np.array([0.3])) > 0.1
    True
    """
    size = np.linalg.norm
    inside = rows @ vectors.T
    outside = rows - inside @ vectors
    new = np.diag(2.0 * weights) - weights[:, None] * (vectors @ vectors.T) * weights
    across = middle @ inside
    found = size(inside.T @ across - new) * size(vectors) ** 2
    found += 2.0 * size(vectors) * size(across) * size(outside) + size(middle) * size(outside) ** 2
    # The sums above are rounded themselves.
    count, length = rows.shape
    terms = U * (2 * length + 4 * count + 32)
    span = (1.0 + size(vectors) ** 2) ** 2 * (1.0 + size(rows) ** 2 * size(middle) + size(weights) ** 2)
    return float(1.01 * found + terms * span)


def widen(table: EllipsoidTable, shape: float, factor: float = 0.0, centre: float = 0.0) -> bool:
    """Raise the scale of a table that makes promises: its B is off by ``shape``, its J by ``factor``, w by ``centre``.

    False, and nothing is changed, where no scale would do: the ball around the old ellipsoid must take its place.
    """
    if table.radius == 0.0:
        return True
    numbers = table.numbers
    steep = 1.0 + numbers[STEEP]
    off = 0.5 * steep * shape + sqrt(steep) * (factor + centre * exp(-0.5 * numbers[LOG_SCALE]))
    if not off < LOST:
        return False
    growth = -2.0 * log1p(-2.0 * off) + U * (64.0 + 8.0 * abs(numbers[LOG_SCALE]))
    numbers[LOG_SCALE] += growth
    numbers[WIDENED] += growth
    numbers[STEEP] = steep * exp(growth) - 1.0
    return True


def rounded(table: EllipsoidTable, centre: float = 0.0) -> None:
    """Take the ball around an ellipsoid whose shape is lost in rounding: B = I, because no axis of B is longer."""
    numbers = table.numbers
    reach = 1.01 + 2.0 * centre * exp(-0.5 * numbers[LOG_SCALE])
    numbers[LOG_SCALE] += 2.0 * log(reach)
    numbers[WIDENED] += 2.0 * log(reach)
    numbers[STEEP] = numbers[LOG_KEPT] = numbers[STORED] = 0.0


def measured(table: EllipsoidTable) -> None:
    """The norms on which the bounds of rounding rest, for a form that was made of another one, or came from a file."""
    numbers, stored = table.numbers, int(table.numbers[STORED])
    numbers[SUMMED] = numbers[SQUARES] = 0.0
    if table.form == "column":
        numbers[SUMMED] = 1.001 * float((table.parts["H"][:stored] ** 2).sum())
    elif table.form == "product":
        numbers[SUMMED] = 1.001 * float(np.abs(table.parts["T"][:stored, :stored]).sum())
    elif table.form == "full":
        numbers[SQUARES] = 1.001 * float((table.parts["J"] ** 2).sum())


def adopted(table: EllipsoidTable) -> None:
    """Give a table from an older file, which has no bounds, those of its arrays.

    What rounding had done to it before is not known, and not made good; only what comes is kept.
    """
    numbers = table.numbers
    if numbers[LOG_SCALE] == -inf:
        numbers[LOG_SCALE] = table.start + log(2.0 * POINT)
    inverse = exp(min(700.0, -numbers[LOG_KEPT]))
    if table.form is not None and numbers[DIM] <= LARGEST:
        matrix = table.ellipsoid().shape_matrix() * exp(-numbers[LOG_SCALE])
        least = float(np.linalg.eigvalsh(matrix)[0])
        inverse = min(inverse, 2.0 / least) if least > 0.0 else inverse
    numbers[STEEP] = max(0.0, inverse - 1.0)
    measured(table)
    if table.form == "sparse":
        stored = int(numbers[STORED])
        lengths = np.sqrt((table.parts["Z"][:, :stored] ** 2).sum(axis=0))
        lengths *= np.where(table.parts["pairs"][:stored, RIVAL_SIGN] != 0.0, sqrt(2.0), 1.0)
        apart = float(np.abs(table.parts["small"][BETA, :stored]) @ lengths)
        numbers[MASS] = 1.01 * (float(np.linalg.norm(table.linear.W)) + apart)
