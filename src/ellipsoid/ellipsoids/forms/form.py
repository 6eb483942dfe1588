"""The base class of the forms in which an ellipsoid's matrix B is stored: all that happens outside the compiled loop.

The loop works on a compiled part (`Column`, `Product`, ...) that shares the arrays of its form. Classes and compiled
parts are in different files, so that an edit of a class recompiles nothing.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ellipsoid.representation.tables import Floats, LinearTable

from ..shapes.shape import Shape
from ..state import DEFERRED, STORED
from .column import is_final
from .low_rank import bound_difference, square_root

FormArrays = Mapping[str, NDArray[Any]]

# Arrays that files of the first version lack; they are zero there.
SINCE_VERSION_2 = frozenset({"debt", "lengths"})


class Room(NamedTuple):
    """The capacity of a form's arrays; the first of the ``columns`` is that of the constant feature.

    ``features`` counts the features of stored sparse examples.
    """

    downdates: int
    functions: int
    columns: int
    features: int = 0


class Form(ABC):
    """B in the arrays of one form; ``numbers`` are the scalars of the ellipsoid, see `state`.

    Only the loop writes into arrays; all else replaces them, so that an interrupted step can be undone.
    """

    name: ClassVar[str]  # in model files
    part: ClassVar[Any]  # what the loop works on
    by_class: ClassVar[bool] = True  # are the weights of one function contiguous?
    gives_way: ClassVar[bool] = False  # does a product form replace it when it loses digits?

    def __init__(self, numbers: Floats, room: Room, old: FormArrays | None = None) -> None:
        """Start with B = I, or with the content of arrays of another size."""
        self.numbers, self.room = numbers, room
        self.arrays = self.allocate()
        for name, array in (old or {}).items():
            new = self.arrays[name]
            common = tuple(slice(0, min(a, b)) for a, b in zip(array.shape, new.shape, strict=True))
            new[common] = array[common]

    @staticmethod
    @abstractmethod
    def layout(room: Room) -> dict[str, tuple[int, ...]]:
        """The shape of each array."""

    def allocate(self) -> dict[str, NDArray[Any]]:
        """The arrays of B = I."""
        return {name: np.zeros(shape) for name, shape in self.layout(self.room).items()}

    def bind(self, **others: Any) -> Any:
        """The compiled part of these arrays, of ``others``, and of scratch memory."""
        m, functions, columns, _ = self.room
        scratch = {"x": (columns,), "f": (functions, columns), "Bz": (functions, columns), "small": (3, m)}
        held = {**self.arrays, **others, "state": self.numbers}
        return self.part(**{k: held[k] if k in held else np.zeros(scratch[k]) for k in self.part._fields})

    @property
    def stored(self) -> int:
        """The number of downdates that it holds."""
        return int(self.numbers[STORED])

    @property
    def is_full(self) -> bool:
        """Has it no room for another downdate?"""
        return self.stored >= self.room.downdates

    @property
    def is_identity(self) -> bool:
        """Is B the identity?"""
        return self.stored == 0

    def with_room_for(self, entries: int) -> "Form":
        """A form that can store a row of so many entries; by default itself."""
        return self

    def enlarged(self, room: Room) -> Self:
        """The same B in arrays of another size."""
        return type(self)(self.numbers, room._replace(features=max(room.features, self.room.features)), self.arrays)

    def rescaled(self, first: int) -> "Form":
        """A form whose numbers are far from overflow and underflow; features begin at ``first``. By default itself."""
        return self

    def fold(self, linear: LinearTable) -> LinearTable:
        """The weights with all that the form keeps apart from them added in; a copy where there is anything."""
        return linear

    def forget_debts(self) -> None:
        """Discard what is kept apart from the weights, because other weights are about to replace them."""
        return

    @abstractmethod
    def solve(self, w: Floats) -> Floats:
        """B^{-1} w, for a row of weights for each function."""

    @abstractmethod
    def shape(self, functions: int, columns: int, first: int, log_scale: float) -> Shape:
        """exp(log_scale) B as a `Shape` over the columns from ``first`` on; B is not the identity."""

    @abstractmethod
    def split(self, room: Room) -> Self:
        """The form for two opposite functions in place of one: z becomes (e_b - e_a) (x) x."""

    @abstractmethod
    def measure(self) -> None:
        """Compute the norms for the bounds on rounding, after arrays were set from outside the loop."""

    def recover_bounds(self, linear: LinearTable, functions: int, columns: int) -> None:
        """The same for arrays of an older file, which holds no norms."""
        self.measure()

    def save(self, columns: int) -> dict[str, NDArray[Any]]:
        """The arrays as a file holds them, with so many columns in use."""
        # Files hold integers as int64.
        kinds = {"f": np.float64, "i": np.int64}
        return {f"form_{name}": array.astype(kinds[array.dtype.kind]) for name, array in self.arrays.items()}

    @classmethod
    def read(cls, arrays: FormArrays) -> dict[str, NDArray[Any]]:
        """This form's arrays among those of a file."""
        names = cls.layout(Room(0, 0, 0))
        return {n: arrays[f"form_{n}"] for n in names if n not in SINCE_VERSION_2 or f"form_{n}" in arrays}

    @classmethod
    def room_in(cls, own: FormArrays, functions: int, columns: int) -> Room:
        """The capacity of this form's arrays from a file."""
        return Room(len(own["H"]), functions, columns)

    @classmethod
    def check(cls, numbers: Floats, arrays: FormArrays, functions: int, columns: int) -> dict[str, NDArray[Any]]:
        """This form's arrays from a file, or a ``ValueError`` where compiled code must not trust them."""
        own = cls.read(arrays)
        room = cls.room_in(own, functions, columns)
        for name, array in own.items():
            check_shape(name, array, cls.layout(room)[name])
        if numbers[STORED] > room.downdates:
            raise ValueError(f"its ellipsoid has {numbers[STORED]:g} examples in arrays for {room.downdates}")
        if numbers[DEFERRED] and not ("debt" in own and is_final(numbers, functions, columns)):
            raise ValueError("its deferred updates are incomplete")
        return own


class LowRankForm(Form):
    """A form that stores B as the identity minus a matrix of low rank."""

    @abstractmethod
    def difference(self, functions: int, columns: int) -> tuple[Floats, Floats | None]:
        """V and M with B = I - V' M V; None for M = I."""

    def root(self, functions: int, columns: int, bounded: bool) -> tuple[Floats, Floats, float]:
        """V and M with J = I - V' M V and B = J J'; if ``bounded``, also a bound on the error of J J'."""
        vectors, middle = self.difference(functions, columns)
        axes, weights = square_root(vectors, np.eye(len(vectors)) if middle is None else middle)
        return axes, np.diag(weights), bound_difference(vectors, middle, axes, weights) if bounded else 0.0


def check_shape(name: str, array: NDArray[Any], expected: tuple[int, ...]) -> None:
    """Raise ``ValueError`` unless an array of a file has the expected shape."""
    if array.shape != expected:
        raise ValueError(f"its array {name!r} has the wrong shape {array.shape}")
