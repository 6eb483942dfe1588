"""What can be read off a table with an ellipsoid: the ellipsoid itself, and the weights undone by its shape."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ellipsoid.representation.tables import Floats, LinearTable

from .ellipsoid import Ellipsoid
from .forms.gram import BETA, LATE
from .shapes import BallShape
from .state import DEFERRED, LIFTED, LOG_SCALE, STORED

if TYPE_CHECKING:
    from .table import EllipsoidTable


def folded(table: EllipsoidTable) -> LinearTable:
    """The weights with all that is kept apart from them added in (a copy where there is anything)."""
    if table.form == "column" and table.numbers[DEFERRED]:
        return _paid(table)
    if table.form != "sparse":
        return table.linear
    stored = int(table.numbers[STORED])
    pairs, small = table.parts["pairs"][:stored], table.parts["small"]
    linear = table.linear.copy()
    used = np.flatnonzero(table.parts["slot"])
    Z = table.parts["Z"][table.parts["slot"][used]]
    for target, beta in ((linear.W, small[BETA]), (linear.U, small[LATE])):
        if target.size:
            for k in range(stored):
                for block, sign in ((pairs[k, 0], pairs[k, 1]), (pairs[k, 2], pairs[k, 3])):
                    if sign != 0.0:
                        target[used, int(block)] += beta[k] * sign * Z[:, k]
    return linear


def in_a_file(parts: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """The arrays of a form as a file holds them."""
    # Integers outlive this format as int64.
    kinds = {"f": np.float64, "i": np.int64}
    arrays = {f"form_{name}": array.astype(kinds[array.dtype.kind]) for name, array in parts.items()}
    if "form_small" in arrays:
        # What the last score or step left in scratch memory is nobody's, and a prediction would change it.
        arrays["form_small"][:BETA] = 0.0
    return arrays


def _paid(table: EllipsoidTable) -> LinearTable:
    """w = v - H' debt, column after column: a product of matrices may round by where its arrays lie."""
    linear, H = table.linear.copy(), table.parts["H"][:, 0]
    for target, debt in zip((linear.W, linear.U), table.parts["debt"], strict=True):
        if target.size:
            for k in range(int(table.numbers[STORED])):
                target[0, : H.shape[1]] -= debt[k] * H[k]
    return linear


def unshaped(table: EllipsoidTable) -> Floats:
    """B^{-1} w, without averages: the sum of the update examples with the weights that made w of them."""
    functions, columns = table.scores, 1 + table.width
    stored = int(table.numbers[STORED])
    flat = table.weights(functions, 0).ravel()
    if table.form == "full":
        J = table.parts["J"][:functions, :columns, :functions, :columns].reshape(flat.size, flat.size)
        flat = np.linalg.solve(J.T, np.linalg.solve(J, flat))
    elif table.form == "product":
        H = table.parts["H"][:stored, :functions, :columns].reshape(stored, flat.size)
        T = table.parts["T"][:stored, :stored]
        J = np.eye(stored) - H @ H.T @ T
        flat = flat + H.T @ (T @ np.linalg.solve(J, H @ flat))
        flat = flat + H.T @ (T.T @ np.linalg.solve(np.eye(stored) - H @ H.T @ T.T, H @ flat))
    elif table.form == "column":
        vectors, weights, _ = table.directions()
        flat = flat + ((1.0 / (1.0 - weights) ** 2 - 1.0) * (vectors @ flat)) @ vectors
    elif stored:
        Z, S = table.examples(functions, columns), table.parts["S"][:stored, :stored]
        gram = (Z @ Z.T).toarray()
        flat = flat + Z.T @ (S @ np.linalg.solve(np.eye(stored) - gram @ S, Z @ flat))
    return flat.reshape(functions, columns)


def as_ellipsoid(table: EllipsoidTable) -> Ellipsoid:
    """The ellipsoid as an object of its own; coordinates without the constant feature where there is none."""
    stored, scale = int(table.numbers[STORED]), float(table.numbers[LOG_SCALE] - table.numbers[LIFTED])
    functions, columns = table.scores, 1 + table.width
    first = 0 if table.constant else 1
    centre = table.weights(functions, 0)[:, first:]
    if functions == 1:
        centre = centre[0]
    if scale == -inf or table.form is None or (stored == 0 and table.form != "full"):
        return Ellipsoid(centre, BallShape(centre.size, scale))
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
