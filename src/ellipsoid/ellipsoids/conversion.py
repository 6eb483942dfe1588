"""An ellipsoid in another form: its shape as products, as a full root, or over two functions in place of one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from ellipsoid.representation.tables import Floats

from .forms.low_rank import in_blocks, square_root
from .rounding import U
from .snapshot import folded
from .state import DEFERRED, DIM, MASS, STORED, WEIGHT
from .transfer import assembled, difference, measured, rounded, widen

if TYPE_CHECKING:
    from .table import EllipsoidTable


def directions(table: EllipsoidTable) -> tuple[Floats, Floats, float]:
    """Orthonormal vectors h_k and t_k with J = I - sum_k t_k h_k h_k' and B = J J', and how far J J' is off."""
    stored = int(table.numbers[STORED])
    functions, columns = table.scores, 1 + table.width
    if table.form == "column":
        vectors, middle = table.parts["H"][:stored, :functions, :columns], None
    else:
        vectors = examples(table, functions, columns).toarray()
        middle = table.parts["S"][:stored, :stored]
    vectors = vectors.reshape(stored, functions * columns)
    roots, weights = square_root(vectors, np.eye(stored) if middle is None else middle)
    return roots, weights, difference(vectors, middle, roots, weights) if table.radius else 0.0


def examples(table: EllipsoidTable, functions: int, columns: int, first: int = 0) -> sp.csr_matrix:
    """The stored examples as rows of the whole space, features from column ``first`` on."""
    stored = int(table.numbers[STORED])
    if table.form == "gram":
        rows = sp.csr_matrix(table.parts["Z"][:stored, first:columns])
    else:
        slot = table.parts["slot"][first:columns]
        used = np.flatnonzero(slot)
        values = sp.csr_matrix(table.parts["Z"][slot[used], :stored].T)
        rows = sp.csr_matrix((values.data, used[values.indices], values.indptr), (stored, columns - first))
    return in_blocks(table.parts["pairs"][:stored], rows, functions)


def become_product(table: EllipsoidTable) -> None:
    vectors, weights, off = directions(table)
    functions, columns = table.scores, 1 + table.width
    stored = len(weights)
    table.adopt("product", max(8, 2 * stored))
    if widen(table, off):
        table.parts["H"][:stored, :functions, :columns] = vectors.reshape(stored, functions, columns)
        table.parts["T"][:stored, :stored] = np.diag(weights)
        table.numbers[STORED] = stored
    else:
        rounded(table)
    measured(table)


def become_full(table: EllipsoidTable) -> None:
    functions, columns = table.scores, 1 + table.width
    off, centre = 0.0, 0.0
    if table.form == "product":
        stored = int(table.numbers[STORED])
        vectors = table.parts["H"][:stored, :functions, :columns].reshape(stored, functions * columns)
        middle = table.parts["T"][:stored, :stored]
    else:
        vectors, weights, off = directions(table)
        middle = np.diag(weights)
    if not table.by_class:
        table.linear = folded(table).by_functions()
        centre = U * (len(vectors) + 4) * table.numbers[MASS]
    table.adopt("full", 1)
    block, error = assembled(vectors, middle)
    if widen(table, off, error, centre):
        J = table.parts["J"]
        J[:functions, :columns, :functions, :columns] -= block.reshape(functions, columns, functions, columns)
    else:
        rounded(table, centre)
    measured(table)
    table.watch_scale()


def split(table: EllipsoidTable, factor: float) -> None:
    """Turn a binary run into the same run with two opposite functions (z becomes (e_b - e_a) (x) x)."""
    stored = int(table.numbers[STORED])
    if table.form == "column":
        table.linear, table.numbers[DEFERRED] = folded(table), 0.0
        table.parts["debt"][:] = 0.0
    before = {name: np.array(array) for name, array in table.parts.items()}
    table.linear.split(factor)
    table.scores = 2
    table.numbers[DIM] = table.dim
    # a_k = (goal - (1 - c_k) n_k) / (v_k D_k), and |z|^2 doubles.
    table.numbers[WEIGHT] /= 2.0
    if table.form is None:
        return
    table.relay()
    if "H" in table.parts:
        half = before["H"][:stored, 0] / np.sqrt(2.0)
        table.parts["H"][:stored, 0, : half.shape[1]] = -half
        table.parts["H"][:stored, 1, : half.shape[1]] = half
    if "pairs" in table.parts:
        positive = before["pairs"][:stored, 1] > 0.0
        pairs = table.parts["pairs"][:stored]
        pairs[:, 0], pairs[:, 1] = positive, 1.0
        pairs[:, 2], pairs[:, 3] = ~positive, -1.0
        table.parts["S"] /= 2.0
        if "small" in table.parts:
            table.parts["small"] /= 2.0
    if "J" in table.parts:
        columns = before["J"].shape[1]
        J, eye = before["J"][0, :, 0, :], np.eye(columns)
        for r in (0, 1):
            for s in (0, 1):
                table.parts["J"][r, :columns, s, :columns] = 0.5 * (eye + (J if r == s else -J))
    table.bind()
