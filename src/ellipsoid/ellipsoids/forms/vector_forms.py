"""The forms of an ellipsoid's matrix B that store vectors of the whole space: column, product and full.

    column   B = I - sum_k h_k h_k'
    product  B = J J' with J = I - H' T H
    full     B = J J' with a matrix J

A full J may shrink without end: with a constant kappa every direction that occurs shrinks geometrically. A factor of B
does not change steps, so B is multiplied to keep J within the range of float64. Directions that never occur grow
meanwhile beside the others, up to a limit beyond which it makes no difference.
"""

from math import ceil, exp, log
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ellipsoid.representation.tables import Floats, LinearTable, zeros

from ..shapes.factored import ColumnShape, ProductShape
from ..shapes.shape import FactorShape
from ..state import DEFERRED, LIFT_AT, LIFTED, LOG_KEPT, MARGIN_WEIGHT, ROOT_SQUARES, TERM_SUM
from .column import GROUP, ROWS_AHEAD, Column, is_final
from .form import Form, FormArrays, LowRankForm, Room
from .low_rank import square_root
from .vectors import Full, Product

# A matrix holds any number of downdates.
UNLIMITED = 1 << 53
# Roots beyond this multiple of the least one change no step visibly in float64.
LARGEST_ROOT = 1e7


class ColumnForm(LowRankForm):
    """``H[k, r]`` is the block of function r in column k; ``debt`` holds what the weights and their averages owe."""

    name, part = "column", Column
    gives_way = True

    @staticmethod
    def layout(room: Room) -> dict[str, tuple[int, ...]]:
        return {"H": (room.downdates, room.functions, room.columns), "debt": (2, room.downdates)}

    def bind(self, **others: Any) -> Any:
        capacity, functions, columns, _ = self.room
        padded = GROUP * ceil(capacity / GROUP)
        across = zeros((columns if is_final(self.numbers, functions, columns) else 0, padded))
        if across.size:
            across[:, :capacity] = self.arrays["H"][:, 0].T
        seen, ahead = zeros((ROWS_AHEAD, padded)), np.zeros(3, dtype=np.int64)
        return super().bind(across=across, seen=seen, ahead=ahead, **others)

    def fold(self, linear: LinearTable) -> LinearTable:
        """w = v - H' debt, column after column: a matrix product might round differently for other memory addresses."""
        if not self.numbers[DEFERRED]:
            return linear
        paid, H = linear.copy(), self.arrays["H"][:, 0]
        for target, debt in zip((paid.W, paid.U), self.arrays["debt"], strict=True):
            if target.size:
                for k in range(self.stored):
                    target[0, : H.shape[1]] -= debt[k] * H[k]
        return paid

    def forget_debts(self) -> None:
        self.arrays["debt"][:] = 0.0
        self.numbers[DEFERRED] = 0.0

    def difference(self, functions: int, columns: int) -> tuple[Floats, None]:
        return self.arrays["H"][: self.stored].reshape(self.stored, functions * columns), None

    def solve(self, w: Floats) -> Floats:
        vectors, weights = square_root(self.difference(*w.shape)[0], np.eye(self.stored))
        flat = w.ravel()
        return (flat + ((1.0 / (1.0 - weights) ** 2 - 1.0) * (vectors @ flat)) @ vectors).reshape(w.shape)

    def shape(self, functions: int, columns: int, first: int, log_scale: float) -> ColumnShape:
        H = self.arrays["H"][: self.stored, :, first:].reshape(self.stored, -1)
        return ColumnShape(H.T, log_scale)

    def split(self, room: Room) -> Self:
        new = self.enlarged(room)
        new.arrays["debt"][:] = 0.0
        split_vectors(self.arrays["H"], new.arrays["H"], self.stored)
        return new

    def measure(self) -> None:
        self.numbers[[TERM_SUM, ROOT_SQUARES]] = 1.001 * float((self.arrays["H"][: self.stored] ** 2).sum()), 0.0


class ProductForm(Form):
    """``H[k]`` are unit vectors, ``T`` is upper triangular."""

    name, part = "product", Product

    @staticmethod
    def layout(room: Room) -> dict[str, tuple[int, ...]]:
        return {"H": (room.downdates, room.functions, room.columns), "T": (room.downdates, room.downdates)}

    def root(self, functions: int, columns: int, bounded: bool = False) -> tuple[Floats, Floats, float]:
        """H and T, of which J is made exactly."""
        stored = self.stored
        H = self.arrays["H"][:stored].reshape(stored, functions * columns)
        return H, self.arrays["T"][:stored, :stored], 0.0

    def solve(self, w: Floats) -> Floats:
        flat, (H, T, _) = w.ravel(), self.root(*w.shape)
        one = np.eye(self.stored)
        flat = flat + H.T @ (T @ np.linalg.solve(one - H @ H.T @ T, H @ flat))
        flat = flat + H.T @ (T.T @ np.linalg.solve(one - H @ H.T @ T.T, H @ flat))
        return flat.reshape(w.shape)

    def shape(self, functions: int, columns: int, first: int, log_scale: float) -> ProductShape:
        stored = self.stored
        H = self.arrays["H"][:stored, :, first:].reshape(stored, -1)
        return ProductShape(H.T, self.arrays["T"][:stored, :stored], log_scale)

    def take(self, vectors: Floats, middle: Floats) -> None:
        """Become J = I - vectors' middle vectors."""
        stored = len(vectors)
        self.arrays["H"][:stored] = vectors.reshape(stored, *self.arrays["H"].shape[1:])
        self.arrays["T"][:stored, :stored] = middle

    def split(self, room: Room) -> Self:
        new = self.enlarged(room)
        split_vectors(self.arrays["H"], new.arrays["H"], self.stored)
        return new

    def measure(self) -> None:
        T = self.arrays["T"][: self.stored, : self.stored]
        self.numbers[[TERM_SUM, ROOT_SQUARES]] = 1.001 * float(np.abs(T).sum()), 0.0


class FullForm(Form):
    """``J[r, j, s, i]``: row (r, j), column (s, i)."""

    name, part = "full", Full

    def __init__(self, numbers: Floats, room: Room, old: FormArrays | None = None) -> None:
        super().__init__(numbers, room._replace(downdates=UNLIMITED), old)

    @staticmethod
    def layout(room: Room) -> dict[str, tuple[int, ...]]:
        return {"J": (room.functions, room.columns, room.functions, room.columns)}

    def allocate(self) -> dict[str, NDArray[Any]]:
        # The root of a direction that has never occurred.
        ahead = min(LARGEST_ROOT, exp(min(0.5 * self.numbers[LIFTED], 700.0)))
        one = np.eye(self.room.functions * self.room.columns)
        return {"J": ahead * one.reshape(self.layout(self.room)["J"])}

    @property
    def is_identity(self) -> bool:
        return False

    def enlarged(self, room: Room) -> Self:
        new = super().enlarged(room)
        self.numbers[ROOT_SQUARES] += room.functions * room.columns
        return new

    def rescaled(self, first: int) -> Form:
        if self.numbers[LOG_KEPT] > self.numbers[LIFT_AT]:
            return self
        new = type(self)(self.numbers, self.room, self.arrays)
        factor = rescale_root(new.arrays["J"], slice(first, None))
        self.numbers[LIFTED] += factor
        self.numbers[MARGIN_WEIGHT] *= exp(-factor)
        return new

    def solve(self, w: Floats) -> Floats:
        J = self.arrays["J"].reshape(w.size, w.size)
        return np.linalg.solve(J.T, np.linalg.solve(J, w.ravel())).reshape(w.shape)

    def shape(self, functions: int, columns: int, first: int, log_scale: float) -> FactorShape:
        size = functions * (columns - first)
        return FactorShape(self.arrays["J"][:, first:, :, first:].reshape(size, size), log_scale)

    def take(self, block: Floats) -> None:
        """Become J = I - block."""
        self.arrays["J"] -= block.reshape(self.arrays["J"].shape)

    def split(self, room: Room) -> Self:
        new = self.enlarged(room)
        columns = self.room.columns
        J, one = self.arrays["J"][0, :, 0, :], np.eye(columns)
        for r in (0, 1):
            for s in (0, 1):
                new.arrays["J"][r, :columns, s, :columns] = 0.5 * (one + (J if r == s else -J))
        return new

    def measure(self) -> None:
        self.numbers[[TERM_SUM, ROOT_SQUARES]] = 0.0, 1.001 * float((self.arrays["J"] ** 2).sum())

    @classmethod
    def room_in(cls, arrays: FormArrays, functions: int, columns: int) -> Room:
        return Room(UNLIMITED, functions, columns)


def rescale_root(J: Floats, columns: slice) -> float:
    """Multiply J (row (r, j), column (s, i)) so that its least root is about 1, in place; log of the factor of B.

    ``columns`` are the features in use; the rest of J is diagonal.

    >>> J = 2.0**-40 * np.eye(2).reshape(1, 2, 1, 2)
    >>> factor = rescale_root(J, slice(2))
    >>> float(factor / log(2.0)), float(J[0, 0, 0, 0])
    (80.0, 1.0)
    """
    active = J[:, columns, :, columns]
    size = active.shape[0] * active.shape[1]
    axes, roots, _ = np.linalg.svd(active.reshape(size, size))
    gain = 2.0 ** round(-np.log2(max(roots[-1], 1e-100 * roots[0])))
    lifted = (axes * np.minimum(gain * roots, LARGEST_ROOT)) @ axes.T
    np.clip(gain * J, -LARGEST_ROOT, LARGEST_ROOT, out=J)
    J[:, columns, :, columns] = lifted.reshape(active.shape)
    return 2.0 * log(gain)


def split_vectors(old: Floats, new: Floats, stored: int) -> None:
    """Vectors of one function become vectors of the same length over two opposite ones."""
    half = old[:stored, 0] / np.sqrt(2.0)
    new[:stored, 0, : half.shape[1]] = -half
    new[:stored, 1, : half.shape[1]] = half
