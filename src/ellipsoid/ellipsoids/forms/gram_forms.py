"""Forms of an ellipsoid's shape over stored examples, B = I - Z' S Z, for dense rows and for sparse ones."""

from math import ceil
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ellipsoid.representation.tables import Floats, LinearTable, zeros

from ..shapes.factored import GramShape
from ..state import FEATURES_USED, MASS, ROOT_SQUARES, STORED, TERM_SUM
from .form import FormArrays, LowRankForm, Room
from .gram import BETA, LATE, PAD, PAIR_BLOCK, PAIR_RIVAL, PAIR_RIVAL_SIGN, PAIR_SIGN, PAIR_SIZE, Gram, SparseGram
from .low_rank import in_blocks

# Features of stored examples that there is room for at first.
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
        S: Floats = self.arrays["S"][: self.stored, : self.stored]
        return S

    def difference(self, functions: int, columns: int) -> tuple[Floats, Floats]:
        return self.examples(functions, columns).toarray(), self.coefficients

    def solve(self, w: Floats) -> Floats:
        if self.stored == 0:
            return w
        flat, Z, S = w.ravel(), self.examples(*w.shape), self.coefficients
        gram = (Z @ Z.T).toarray()
        solved: Floats = flat + Z.T @ (S @ np.linalg.solve(np.eye(self.stored) - gram @ S, Z @ flat))
        return solved.reshape(w.shape)

    def shape(self, functions: int, columns: int, first: int, log_scale: float) -> GramShape:
        return GramShape(self.examples(functions, columns, first), self.coefficients, log_scale)

    def split(self, room: Room) -> Self:
        new = self.enlarged(room)
        split_pairs(new.arrays["pairs"][: self.stored])
        new.arrays["S"] /= 2.0
        return new

    def measure(self) -> None:
        roots = np.sqrt(np.maximum(np.diagonal(self.arrays["S"])[: self.stored], 0.0))
        self.numbers[[TERM_SUM, ROOT_SQUARES]] = 1.001 * float(roots @ self.arrays["lengths"][: self.stored]) ** 2, 0.0

    @classmethod
    def room_in(cls, arrays: FormArrays, functions: int, columns: int) -> Room:
        return Room(len(arrays["S"]), functions, columns)

    @classmethod
    def check(cls, numbers: Floats, arrays: FormArrays, functions: int, columns: int) -> dict[str, NDArray[Any]]:
        own = super().check(numbers, arrays, functions, columns)
        check_pairs(own["pairs"][: int(numbers[STORED])], functions)
        return own

    def recover_bounds(self, linear: LinearTable, functions: int, columns: int) -> None:
        examples = self.examples(functions, columns)
        squares = np.asarray(examples.multiply(examples).sum(axis=1)).ravel()
        self.arrays["lengths"][: self.stored] = np.sqrt(squares)
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
        # What the last score or step left in scratch memory is nobody's, and a prediction would change it.
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
        self.numbers[MASS] = 1.01 * (float(np.linalg.norm(linear.W)) + float(apart))


def split_pairs(pairs: Floats) -> None:
    """Let examples of one function be those of two opposite ones, in place."""
    positive = pairs[:, PAIR_SIGN] > 0.0
    pairs[:, PAIR_BLOCK], pairs[:, PAIR_SIGN] = positive, 1.0
    pairs[:, PAIR_RIVAL], pairs[:, PAIR_RIVAL_SIGN] = ~positive, -1.0


def check_pairs(pairs: Floats, functions: int) -> None:
    """Every stored example must belong to functions that are there."""
    blocks = np.concatenate([pairs[:, PAIR_BLOCK], pairs[pairs[:, PAIR_RIVAL_SIGN] != 0.0, PAIR_RIVAL]])
    if not ((blocks >= 0) & (blocks < functions) & (blocks == np.floor(blocks))).all():
        raise ValueError("its stored examples belong to classes that are not there")
