"""What can be read off a table with an ellipsoid: the ellipsoid itself, and the weights undone by its shape."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

import numpy as np

from ellipsoid.representation.tables import Floats

from .ellipsoid import Ellipsoid
from .state import LIFTED, LOG_SCALE, STORED

if TYPE_CHECKING:
    from .table import EllipsoidTable


def unshaped(table: EllipsoidTable) -> Floats:
    """B^{-1} w, without averages: the sum of the update examples with the weights that made w of them."""
    functions, columns = table.linear.oriented_shape()
    stored = int(table.numbers[STORED])
    w = np.zeros((functions, columns))
    w[:, : 1 + table.width] = table.weights(functions, 0)
    flat = w.ravel()
    if table.form == "full":
        J = table.parts["J"].reshape(flat.size, flat.size)
        flat = np.linalg.solve(J.T, np.linalg.solve(J, flat))
    elif table.form == "product":
        H, T = table.parts["H"][:stored].reshape(stored, flat.size), table.parts["T"][:stored, :stored]
        J = np.eye(stored) - H @ H.T @ T
        flat = flat + H.T @ (T @ np.linalg.solve(J, H @ flat))
        flat = flat + H.T @ (T.T @ np.linalg.solve(np.eye(stored) - H @ H.T @ T.T, H @ flat))
    elif table.form == "column":
        vectors, weights = table.directions()
        flat = flat + ((1.0 / (1.0 - weights) ** 2 - 1.0) * (vectors @ flat)) @ vectors
    elif stored:
        Z, S = table.examples(functions, columns), table.parts["S"][:stored, :stored]
        gram = (Z @ Z.T).toarray()
        flat = flat + Z.T @ (S @ np.linalg.solve(np.eye(stored) - gram @ S, Z @ flat))
    return flat.reshape(functions, columns)[: table.scores, : 1 + table.width]


def as_ellipsoid(table: EllipsoidTable) -> Ellipsoid:
    """The ellipsoid as an object of its own; coordinates without the constant feature where there is none."""
    stored, scale = int(table.numbers[STORED]), float(table.numbers[LOG_SCALE] - table.numbers[LIFTED])
    functions, columns = table.scores, 1 + table.width
    first = 0 if table.constant else 1
    centre = table.weights(functions, 0)[:, first:]
    if functions == 1:
        centre = centre[0]
    if scale == -inf or table.form is None or (stored == 0 and table.form != "full"):
        return Ellipsoid.ball(centre, np.exp(0.5 * scale))
    if table.form == "full":
        J = table.parts["J"][:functions, first:columns, :functions, first:columns]
        size = functions * (columns - first)
        return Ellipsoid.from_factor(centre, J.reshape(size, size), scale)
    if table.form in ("column", "product"):
        H = table.parts["H"][:stored, :functions, first:columns].reshape(stored, -1)
        if table.form == "column":
            return Ellipsoid.from_columns(centre, H.T, scale)
        return Ellipsoid.from_product(centre, H.T, table.parts["T"][:stored, :stored], scale)
    rows = table.examples(functions, columns, first)
    return Ellipsoid.from_gram(centre, rows, table.parts["S"][:stored, :stored], scale)
