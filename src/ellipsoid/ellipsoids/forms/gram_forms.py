"""The Gram forms of an ellipsoid's matrix, B = I - Z' S Z over stored examples, for dense and for sparse rows."""

from math import ceil, sqrt
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from ellipsoid.representation.tables import Floats, LinearTable, zeros

from ..shapes.factored import FactoredGramShape, GramShape
from ..shapes.shape import squared_lengths
from ..state import FACTORED, FEATURES_USED, PARTS_BOUND, ROOT_SQUARES, STORED, TERM_SUM
from .form import FormArrays, LowRankForm, Room
from .gram import BETA, LATE, PAD, PAIR_BLOCK, PAIR_RIVAL, PAIR_RIVAL_SIGN, PAIR_SIGN, Gram, SparseGram
from .gram_matrix import PAIR_D, PAIR_SIZE
from .low_rank import in_blocks

# The initial capacity for features of stored examples.
FIRST_FEATURES = 1024


class GramForm(LowRankForm):
    """``Z[k]`` is the stored row x_k, ``pairs[k]`` its functions and their signs, ``lengths[k]`` |z_k|."""

    name = "gram"
    part: ClassVar[Any] = Gram
    gives_way = True

    @staticmethod
    def layout(room: Room) -> dict[str, tuple[int, ...]]:
        m = room.downdates
        return {"Z": (m, room.columns), "S": (m, m), "pairs": (m, PAIR_SIZE), "lengths": (m,)}

    def allocate(self) -> dict[str, NDArray[Any]]:
        return {**super().allocate(), "Z": zeros(self.layout(self.room)["Z"])}

    def rows(self, columns: int, first: int) -> sp.csr_matrix:
        """The stored rows, over the columns from ``first`` on."""
        return sp.csr_matrix(self.arrays["Z"][: self.stored, first:columns])

    def examples(self, functions: int, columns: int, first: int = 0) -> sp.csr_matrix:
        """The stored examples as rows of the whole space, over the columns from ``first`` on."""
        return in_blocks(self.arrays["pairs"][: self.stored], self.rows(columns, first), functions)

    @property
    def coefficients(self) -> Floats:
        """S of the stored examples."""
        return coefficients_of(self.arrays, self.numbers)

    def difference(self, functions: int, columns: int) -> tuple[Floats, Floats]:
        return self.examples(functions, columns).toarray(), self.coefficients

    def solve(self, w: Floats) -> Floats:
        if self.stored == 0:
            return w
        flat, Z = w.ravel(), self.examples(*w.shape)
        if self.numbers[FACTORED]:
            return (flat + Z.T @ over_D(Z @ flat, self.arrays["pairs"][: self.stored])).reshape(w.shape)
        S, gram = self.coefficients, (Z @ Z.T).toarray()
        return (flat + Z.T @ (S @ np.linalg.solve(np.eye(self.stored) - gram @ S, Z @ flat))).reshape(w.shape)

    def shape(self, functions: int, columns: int, first: int, log_scale: float) -> GramShape | FactoredGramShape:
        examples, square = self.examples(functions, columns, first), self.arrays["S"][: self.stored, : self.stored]
        return (FactoredGramShape if self.numbers[FACTORED] else GramShape)(examples, square, log_scale)

    def split(self, room: Room) -> Self:
        new = self.enlarged(room)
        split_pairs(new.arrays["pairs"][: self.stored])
        split_square(new.arrays, self.numbers)
        return new

    def measure(self) -> None:
        if self.numbers[FACTORED]:
            return  # its rules promise no version space
        roots = np.sqrt(np.maximum(np.diagonal(self.arrays["S"])[: self.stored], 0.0))
        self.numbers[[TERM_SUM, ROOT_SQUARES]] = 1.001 * float(roots @ self.arrays["lengths"][: self.stored]) ** 2, 0.0

    def save(self, columns: int) -> dict[str, NDArray[Any]]:
        arrays = super().save(columns)
        if self.numbers[FACTORED]:
            arrays["form_R"] = arrays.pop("form_S")
        return arrays

    @classmethod
    def read(cls, arrays: FormArrays) -> dict[str, NDArray[Any]]:
        return super().read({**arrays, "form_S": arrays["form_R"]} if "form_R" in arrays else arrays)

    @classmethod
    def room_in(cls, arrays: FormArrays, functions: int, columns: int) -> Room:
        return Room(len(arrays["S"]), functions, columns)

    @classmethod
    def check(cls, numbers: Floats, arrays: FormArrays, functions: int, columns: int) -> dict[str, NDArray[Any]]:
        check_factored(numbers, arrays, "form_R")
        own = super().check(numbers, arrays, functions, columns)
        check_pairs(own["pairs"][: int(numbers[STORED])], functions)
        return own

    def recover_bounds(self, linear: LinearTable, functions: int, columns: int) -> None:
        examples = self.examples(functions, columns)
        self.arrays["lengths"][: self.stored] = np.sqrt(squared_lengths(examples))
        self.measure()


class SparseGramForm(GramForm):
    """``Z[slot[j], k]`` is column j of the stored row x_k; ``small`` holds its coefficients in the weights."""

    name, part = "sparse", SparseGram
    by_class = False
    gives_way = False

    def __init__(self, numbers: Floats, room: Room, old: FormArrays | None = None) -> None:
        padded, features = PAD * ceil(room.downdates / PAD), max(FIRST_FEATURES, room.features)
        super().__init__(numbers, room._replace(downdates=padded, features=features), old)

    @staticmethod
    def layout(room: Room) -> dict[str, tuple[int, ...]]:
        m = room.downdates
        return {
            "Z": (room.features, m), "S": (m, m), "pairs": (m, PAIR_SIZE), "small": (5, m), "slot": (room.columns,),
            "lengths": (m,),
        }  # fmt: skip

    def allocate(self) -> dict[str, NDArray[Any]]:
        return {**super().allocate(), "slot": np.zeros(self.room.columns, dtype=np.int32)}

    def with_room_for(self, entries: int) -> "SparseGramForm":
        features = self.room.features
        fits = self.numbers[FEATURES_USED] + entries < features
        return self if fits else self.enlarged(self.room._replace(features=2 * (features + entries)))

    def fold(self, linear: LinearTable) -> LinearTable:
        pairs, small, slot = self.arrays["pairs"], self.arrays["small"], self.arrays["slot"]
        folded, used = linear.copy(), np.flatnonzero(slot)
        Z = self.arrays["Z"][slot[used]]
        for target, beta in ((folded.W, small[BETA]), (folded.U, small[LATE])):
            if target.size:
                for k, pair in enumerate(pairs[: self.stored]):
                    for block, sign in ((pair[PAIR_BLOCK], pair[PAIR_SIGN]), (pair[PAIR_RIVAL], pair[PAIR_RIVAL_SIGN])):
                        if sign != 0.0:
                            target[used, int(block)] += beta[k] * sign * Z[:, k]
        return folded

    def forget_debts(self) -> None:
        self.arrays["small"][:] = 0.0

    def rows(self, columns: int, first: int) -> sp.csr_matrix:
        slot = self.arrays["slot"][first:columns]
        used = np.flatnonzero(slot)
        values = sp.csr_matrix(self.arrays["Z"][slot[used], : self.stored].T)
        return sp.csr_matrix((values.data, used[values.indices], values.indptr), (self.stored, columns - first))

    def split(self, room: Room) -> Self:
        new = super().split(room)
        new.arrays["small"] /= 2.0
        return new

    def save(self, columns: int) -> dict[str, NDArray[Any]]:
        arrays = super().save(columns)
        # Scratch rows do not belong in a file: a prediction would change them.
        arrays["form_small"][:BETA] = 0.0
        arrays["form_slot"] = arrays["form_slot"][:columns]
        return arrays

    @classmethod
    def room_in(cls, arrays: FormArrays, functions: int, columns: int) -> Room:
        return super().room_in(arrays, functions, columns)._replace(features=len(arrays["Z"]))

    @classmethod
    def check(cls, numbers: Floats, arrays: FormArrays, functions: int, columns: int) -> dict[str, NDArray[Any]]:
        own = super().check(numbers, arrays, functions, columns)
        slot, used = own["slot"], numbers[FEATURES_USED]
        if slot.min() < 0 or slot.max() > used or used >= len(own["Z"]):
            raise ValueError("its table of stored examples names rows that are not there")
        return own

    def recover_bounds(self, linear: LinearTable, functions: int, columns: int) -> None:
        super().recover_bounds(linear, functions, columns)
        apart = np.abs(self.arrays["small"][BETA, : self.stored]) @ self.arrays["lengths"][: self.stored]
        self.numbers[PARTS_BOUND] = 1.01 * (float(np.linalg.norm(linear.W)) + float(apart))


def coefficients_of(arrays: FormArrays, numbers: Floats) -> Floats:
    """S of the stored examples: as it is, or from the factor of its inverse."""
    stored = int(numbers[STORED])
    square: Floats = arrays["S"][:stored, :stored]
    if not numbers[FACTORED]:
        return square
    root = solve_triangular(square, np.eye(stored), check_finite=False)
    return root @ root.T


def over_D(along: Floats, pairs: Floats) -> Floats:
    """D^{-1} times a vector over the stored examples."""
    D = pairs[:, PAIR_D]
    if not (D > 0.0).all():
        raise np.linalg.LinAlgError("a downdate has left nothing")
    return along / D


def check_factored(numbers: Floats, arrays: FormArrays, name: str) -> None:
    """Raise ``ValueError`` unless the numbers of a file agree with its arrays on whether R, of this name, is stored."""
    if (len(numbers) > FACTORED and numbers[FACTORED] != 0.0) != (name in arrays):
        raise ValueError("its numbers and its arrays do not agree on how its shape is kept")


def split_square(arrays: FormArrays, numbers: Floats) -> None:
    """Halve S, in place, because examples of one function have become those of two, and |z|^2 has doubled."""
    if numbers[FACTORED]:
        arrays["S"][...] *= sqrt(2.0)
        arrays["pairs"][:, PAIR_D] *= 2.0
    else:
        arrays["S"][...] /= 2.0


def split_pairs(pairs: Floats) -> None:
    """Turn examples of one function into those of two opposite ones, in place."""
    positive = pairs[:, PAIR_SIGN] > 0.0
    pairs[:, PAIR_BLOCK], pairs[:, PAIR_SIGN] = positive, 1.0
    pairs[:, PAIR_RIVAL], pairs[:, PAIR_RIVAL_SIGN] = ~positive, -1.0


def check_pairs(pairs: Floats, functions: int) -> None:
    """Raise ``ValueError`` unless every stored example belongs to a known function."""
    blocks = np.concatenate([pairs[:, PAIR_BLOCK], pairs[pairs[:, PAIR_RIVAL_SIGN] != 0.0, PAIR_RIVAL]])
    if not ((blocks >= 0) & (blocks < functions) & (blocks == np.floor(blocks))).all():
        raise ValueError("its stored examples belong to classes that are not there")
