"""What rounding may do to an ellipsoid whose shape changes its form, and the bounds of one from an older file.

A form that takes over holds B only up to rounding. How far the two differ is computed from the arrays of both, and the
scale is raised until the new ellipsoid holds the old one: (1 + L |dB|) B >= B + dB where ``|B^{-1}| <= L``.
"""

from __future__ import annotations

from math import exp, inf, log, log1p, sqrt
from typing import TYPE_CHECKING

import numpy as np

from ellipsoid.ellipsoids.forms.gram import BETA
from ellipsoid.ellipsoids.rounding import U
from ellipsoid.ellipsoids.state import (
    DIM,
    GAINED,
    LOG_KEPT,
    LOG_SCALE,
    MASS,
    SQUARES,
    STEEP,
    STORED,
    SUMMED,
    UNCUT,
    WIDENED,
)
from ellipsoid.representation.tables import Floats

if TYPE_CHECKING:
    from ellipsoid.ellipsoids.table import EllipsoidTable

# Beyond this dimension an older file's shape is not taken apart: its determinant bounds the inverse too.
LARGEST = 1024
# What older versions called a point was one to this depth.
POINT = 1e-9
# A change of form that moves a shape by more than this, in its own metric, has lost it.
LOST = 0.25


def difference(rows: Floats, middle: Floats | None, vectors: Floats, weights: Floats) -> float:
    """A bound on the norm of B - JJ', with B = I - rows' middle rows and J = I - sum_k weights_k v_k v_k'.

    A ``middle`` of None is the identity. The rows are split along the vectors, rows = inside vectors + outside; for
    floats a sum of n products is off by n u times the norms of its factors.

    >>> rows = np.array([[0.6, 0.0]])
    >>> difference(rows, None, np.array([[1.0, 0.0]]), np.array([0.2])) < 1e-14  # 1 - 0.36 = 0.8^2
    True
    >>> difference(rows, np.eye(1), np.array([[1.0, 0.0]]), np.array([0.3])) > 0.1
    True
    """
    size = np.linalg.norm
    count, length = len(weights) + len(rows) + 8, rows.shape[1] + 8
    inside = rows @ vectors.T
    outside = rows - inside @ vectors
    overlaps = vectors @ vectors.T
    new = np.diag(2.0 * weights) - weights[:, None] * overlaps * weights
    across = inside if middle is None else middle @ inside
    off = 0.0 if middle is None else U * count * size(middle) * size(inside)
    # The longest of the vectors' combinations: 1, if they were orthonormal.
    reach = sqrt(1.0 + size(overlaps - np.eye(len(weights))) + U * length * len(weights))
    left = size(outside) + U * count * (size(inside) * size(vectors) + size(rows))
    within = size(inside.T @ across - new) + U * count * size(inside) * size(across) + size(inside) * off
    within += U * length * size(weights) ** 2 + U * count * size(weights)
    large = sqrt(len(rows)) if middle is None else size(middle)
    return float(1.01 * (reach**2 * within + 2.0 * reach * (size(across) + off) * left + large * left**2))


def assembled(vectors: Floats, middle: Floats) -> tuple[Floats, float]:
    """vectors' middle vectors, and a bound on what rounding may have done to I less that."""
    size = np.linalg.norm
    half = vectors.T @ middle
    off = size(vectors) * size(middle) * size(vectors, 2) + size(half) * size(vectors)
    return half @ vectors, float(U * (len(vectors) + 8) * (off + sqrt(vectors.shape[1])))


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
    growth = -2.0 * log1p(-2.0 * off) + U * (8.0 + 8.0 * abs(numbers[LOG_SCALE]))
    numbers[LOG_SCALE] += growth
    numbers[WIDENED] += growth
    numbers[GAINED] += 1.01 * exp(numbers[LOG_SCALE]) * growth
    numbers[STEEP] = steep * exp(growth) - 1.0
    return True


def rounded(table: EllipsoidTable, centre: float = 0.0) -> None:
    """Take the ball around an ellipsoid whose shape is lost in rounding: B = I, because no axis of B is longer."""
    numbers = table.numbers
    reach = 1.01 + 2.0 * centre * exp(-0.5 * numbers[LOG_SCALE])
    numbers[LOG_SCALE] += 2.0 * log(reach)
    numbers[WIDENED] += 2.0 * log(reach)
    numbers[STEEP] = numbers[LOG_KEPT] = numbers[STORED] = 0.0
    numbers[UNCUT] = 1.0


def measured(table: EllipsoidTable) -> None:
    """The norms on which the bounds of rounding rest, for a form that was made of another one, or came from a file."""
    numbers, stored = table.numbers, int(table.numbers[STORED])
    numbers[SUMMED] = numbers[SQUARES] = 0.0
    if table.form == "column":
        numbers[SUMMED] = 1.001 * float((table.parts["H"][:stored] ** 2).sum())
    elif table.form == "product":
        numbers[SUMMED] = 1.001 * float(np.abs(table.parts["T"][:stored, :stored]).sum())
    elif table.form in ("gram", "sparse"):
        lengths = np.sqrt(np.maximum(np.diagonal(table.parts["S"])[:stored], 0.0)) @ table.parts["lengths"][:stored]
        numbers[SUMMED] = 1.001 * float(lengths) ** 2
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
        # A scale beyond what exp can tell leaves the bound by the volume.
        with np.errstate(over="ignore", invalid="ignore"):
            matrix = table.ellipsoid().shape_matrix() * np.exp(-numbers[LOG_SCALE])
        least = float(np.linalg.eigvalsh(matrix)[0]) if np.isfinite(matrix).all() else 0.0
        inverse = min(inverse, 2.0 / least) if least > 0.0 else inverse
    numbers[STEEP] = max(0.0, inverse - 1.0)
    stored = int(numbers[STORED])
    if table.form in ("gram", "sparse"):
        examples = table.examples(table.scores, 1 + table.width)
        table.parts["lengths"][:stored] = np.sqrt(np.asarray(examples.multiply(examples).sum(axis=1)).ravel())
    measured(table)
    if table.form == "sparse":
        apart = float(np.abs(table.parts["small"][BETA, :stored]) @ table.parts["lengths"][:stored])
        numbers[MASS] = 1.01 * (float(np.linalg.norm(table.linear.W)) + apart)
