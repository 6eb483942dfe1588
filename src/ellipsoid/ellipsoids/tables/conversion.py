"""Conversion of an ellipsoid's matrix: to products, to a full root, or from a file that has no bounds on rounding.

A form that takes over holds B only up to rounding. How far the two differ is computed from the arrays of both, and the
scale is raised until the new ellipsoid holds the old one: (1 + L |dB|) B >= B + dB where ``|B^{-1}| <= L``.
"""

from __future__ import annotations

from math import exp, inf, log, log1p, sqrt
from typing import TYPE_CHECKING

import numpy as np

from ..forms.form import LowRankForm
from ..forms.low_rank import assemble
from ..forms.rounding import U
from ..forms.vector_forms import FullForm, ProductForm
from ..state import DIM, GAINED, LOG_KEPT, LOG_SCALE, MASS, STEEP, STORED, UNCUT, WIDENED

if TYPE_CHECKING:
    from .table import EllipsoidTable

# Beyond this dimension an older file's shape is not taken apart: its determinant bounds the inverse too.
LARGEST_SPECTRUM = 1024
# What older versions called a point was one to this depth.
POINT = 1e-9
# A change of form that moves a shape by more than this, in its own metric, has lost it.
LOST = 0.25


def become_product(table: EllipsoidTable) -> None:
    """Keep B = J J' as products from now on."""
    assert isinstance(table.form, LowRankForm)
    vectors, middle, off = table.form.root(*table.extent, table.radius > 0.0)
    form = table.start_form(ProductForm, max(8, 2 * len(vectors)))
    if widen(table, off):
        form.take(vectors, middle)
        table.numbers[STORED] = len(vectors)
    else:
        become_ball(table)
    form.measure()


def become_full(table: EllipsoidTable) -> None:
    """Keep B = J J' with a matrix J from now on."""
    assert isinstance(table.form, LowRankForm | ProductForm)
    vectors, middle, off = table.form.root(*table.extent, table.radius > 0.0)
    centre = 0.0
    if not table.by_class:
        table.linear = table.form.fold(table.linear).by_functions()
        centre = U * (len(vectors) + 4) * table.numbers[MASS]
    form = table.start_form(FullForm, 1)
    block, error = assemble(vectors, middle)
    if widen(table, off, error, centre):
        form.take(block)
    else:
        become_ball(table, centre)
    form.measure()
    table.watch_scale()


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


def become_ball(table: EllipsoidTable, centre: float = 0.0) -> None:
    """Take the ball around an ellipsoid whose shape is lost in rounding: B = I, because no axis of B is longer."""
    numbers = table.numbers
    reach = 1.01 + 2.0 * centre * exp(-0.5 * numbers[LOG_SCALE])
    numbers[LOG_SCALE] += 2.0 * log(reach)
    numbers[WIDENED] += 2.0 * log(reach)
    numbers[STEEP] = numbers[LOG_KEPT] = numbers[STORED] = 0.0
    numbers[UNCUT] = 1.0


def recover_bounds(table: EllipsoidTable) -> None:
    """Give a table from an older file, which has no bounds, those of its arrays.

    What rounding had done to it before is not known, and not made good; only what comes is kept.
    """
    numbers = table.numbers
    if numbers[LOG_SCALE] == -inf:
        numbers[LOG_SCALE] = table.start + log(2.0 * POINT)
    inverse = exp(min(700.0, -numbers[LOG_KEPT]))
    if table.form is not None and numbers[DIM] <= LARGEST_SPECTRUM:
        # A scale beyond what exp can tell leaves the bound by the volume.
        with np.errstate(over="ignore", invalid="ignore"):
            matrix = table.ellipsoid().shape_matrix() * np.exp(-numbers[LOG_SCALE])
        least = float(np.linalg.eigvalsh(matrix)[0]) if np.isfinite(matrix).all() else 0.0
        inverse = min(inverse, 2.0 / least) if least > 0.0 else inverse
    numbers[STEEP] = max(0.0, inverse - 1.0)
    if table.form is not None:
        # Arrays whose squares overflow, which no learning makes, have infinite bounds.
        with np.errstate(over="ignore"):
            table.form.recover_bounds(table.linear, *table.extent)
