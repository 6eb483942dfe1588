"""Weights with an ellipsoid around them: which form B is kept in, when it changes, and how it grows.

    sparse rows                               Gram over the examples, weights implicit; but dense forms, where they fit,
                                              if prod(1 - kappa) can fall below 1e-3
    column count beyond dim / 2               full, where a dim x dim matrix is reasonable
    prod(1 - kappa) can fall below 1e-3       product
    one function (binary)                     column
    several functions                         Gram

The choice is made at the first row and again where the loop stops because a form is full or has become inaccurate.
Features and classes may be added at any time: all earlier directions are zero there, so that B is the identity on them
and the ellipsoid is the one that a start in the larger space would have given.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from math import ceil, exp, inf, log
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ellipsoid.representation.table_protocol import Floats, Table
from ellipsoid.representation.tables import LinearTable, zeros

from . import absorb as _absorb  # noqa: F401  (the bodies that make these forms learn)
from . import conversion
from .ellipsoid import Ellipsoid
from .forms.column import Column, laid_across
from .forms.gram import PAD, PAIR, length
from .forms.names import ARRAYS, COMPACT, FORMS, LARGEST_FULL, LARGEST_PRODUCT, LATER
from .rescale import ahead, lift
from .snapshot import as_ellipsoid, folded, in_a_file, unshaped
from .state import (
    ASKED,
    CUTS,
    DIM,
    DONE,
    EMPTY,
    EMPTY_ROUND,
    HALT,
    LEAST_KEPT,
    LIFT_AT,
    LIFTED,
    LOG_KEPT,
    LOG_SCALE,
    SIZE,
    SLIM,
    SQUARES,
    STORED,
    USED,
    WEIGHT,
    padded,
)
from .transfer import adopted, measured


class EmptyVersionSpace(ValueError):
    """A proof that no classifier has the asked margin on the examples seen."""


class EllipsoidTable(Table):
    """Linear functions and the ellipsoid {q : (q - w)' P^{-1} (q - w) <= 1} around them, P = s B.

    ``columns`` is how many downdates will come (infinite: unknown), ``kept`` what they leave of a direction at the
    least, ``log_scale`` the start's log s, ``constant`` whether the constant feature counts. ``form`` forces a form;
    ``raises`` makes an empty intersection an error where the rule halts on it, instead of a restart. ``radius`` is that
    of the start ball where the ellipsoid must hold what it should, whatever rounding does; 0 where nothing is promised.
    """

    def __init__(  # noqa: PLR0913 (every property of a run once)
        self, linear: LinearTable, *, columns: float, kept: float, log_scale: float, constant: bool,
        form: str | None = None, raises: bool = False, radius: float = 0.0,
    ) -> None:  # fmt: skip
        self.linear = linear
        self.raises, self.radius = raises, radius
        self.columns, self.kept, self.start, self.constant = columns, kept, log_scale, constant
        self.forced = form
        self.form: str | None = None
        self.numbers: Floats = np.zeros(SIZE)
        self.numbers[LOG_SCALE], self.numbers[SLIM] = log_scale, inf
        if columns == 0:
            self.numbers[DONE] = 1.0
        self.rounds: Floats = np.zeros(64)
        self.parts: dict[str, Any] = {}
        self.compact = COMPACT
        self.scores = 1
        self.rep: Any = None

    def pieces(self) -> list[Any]:
        """The weights too."""
        return [self, self.linear]

    def small(self) -> list[Floats]:
        """The numbers."""
        return [self.numbers]

    # -- shape -------------------------------------------------------------------------------------------------

    @property
    def by_class(self) -> bool:  # type: ignore[override]
        """Are a function's weights together?"""
        return self.linear.by_class

    @property
    def width(self) -> int:  # type: ignore[override]
        """Number of features."""
        return self.linear.width

    @property
    def average(self) -> bool:
        """Are averages kept?"""
        return self.linear.average

    @property
    def dim(self) -> int:
        """Dimension of the space of hypotheses."""
        return self.scores * (self.width + int(self.constant))

    def reserve(self, scores: int, width: int) -> bool:
        """Make room for this many functions and features; True if arrays moved."""
        before = self.rep is not None and self._extent()
        moved = self.linear.reserve(scores, width)
        self.scores = max(self.scores, scores)
        self.numbers[DIM] = self.dim
        moved |= self.form is not None and before != self._extent()
        if moved and self.form is not None:
            self.relay()
        return moved

    def _extent(self) -> tuple[int, int]:
        """Functions and columns of the form's arrays.

        Only the Gram form of sparse rows has room to spare there: the others regroup their sums, which must not depend
        on how much of it there is.
        """
        return self.linear.oriented_shape() if self.form == "sparse" else (self.scores, 1 + self.width)

    def prepare(self) -> None:
        """Choose a form before the first row."""
        if self.form is None:
            # Room at once for all downdates where they are few; elsewhere a full form makes way for a better one.
            few = self.columns < inf and self.kept >= LEAST_KEPT
            self.adopt(self.forced or self._choose(), 32 if few else 8)
            self.watch_scale()

    def _choose(self) -> str:
        if not self.by_class:
            # Only dense factors keep their digits where little is kept of a direction.
            if self.kept >= LEAST_KEPT or self.columns * self.dim > LARGEST_PRODUCT:
                return "sparse"
            self.linear = self.linear.by_functions()
        if 2 * self.columns > self.dim and self.columns < inf and self.dim <= LARGEST_FULL:
            return "full"
        if self.kept < LEAST_KEPT:
            return "product"
        return "column" if self.scores == 1 else "gram"

    # -- arrays ------------------------------------------------------------------------------------------------

    def adopt(self, form: str, capacity: int, old: Mapping[str, NDArray[Any]] | None = None) -> None:
        """Start a form with B = I, or with the contents of its arrays of another size."""
        self.form = form
        functions, columns = self._extent()
        # One place more than there will be downdates: the rule says that it is done at the first update that has none.
        capacity = int(max(1, min(capacity, self.columns + 1)))
        if form == "sparse":
            capacity = PAD * ceil(capacity / PAD)
        make: dict[str, Callable[[], Floats]] = {
            "H": lambda: np.zeros((capacity, functions, columns)),
            "debt": lambda: np.zeros((2, capacity)),
            "T": lambda: np.zeros((capacity, capacity)),
            "S": lambda: np.zeros((capacity, capacity)),
            "pairs": lambda: np.zeros((capacity, PAIR)),
            "Z": lambda: zeros((capacity, columns) if form == "gram" else (self.compact, capacity)),
            "slot": lambda: np.zeros(columns, dtype=np.int32),
            "J": lambda: (
                ahead(self.numbers[LIFTED])
                * np.eye(functions * columns).reshape(functions, columns, functions, columns)
            ),
            "small": lambda: np.zeros((5, capacity)),
            "lengths": lambda: np.zeros(capacity),
        }
        self.parts = {name: make[name]() for name in ARRAYS[form]}
        for name, array in (old or {}).items():
            _copy_corner(array, self.parts[name])
        if form == "full" and old is None:
            measured(self)
        self.bind()

    def bind(self) -> None:
        functions, columns = self._extent()
        stored = {**self.parts, "base": self.linear.rep, "state": self.numbers, "rounds": self.rounds}
        capacity = max(1, *(len(self.parts.get(name, ())) for name in ("S", "T", "H")))
        scratch = {"x": (columns,), "f": (functions, columns), "Bz": (functions, columns), "small": (3, capacity)}
        kind = FORMS[self.form or "column"]
        if kind is Column:
            stored |= laid_across(self.parts["H"], self.numbers)
        self.rep = kind(**{k: stored[k] if k in stored else np.zeros(scratch[k]) for k in kind._fields})

    def relay(self) -> None:
        """Carry the arrays of the form over to the table's new shape."""
        old, form, stored = self.parts, self.form or "column", int(self.numbers[STORED])
        self.adopt(form, max(8, stored, *(len(a) for n, a in old.items() if n in ("S", "H", "T"))), old)
        if form == "full":
            self.numbers[SQUARES] += self.parts["J"].shape[0] * self.parts["J"].shape[1]

    def grow(self, rows: Any, t: int) -> None:
        """What the loop stopped for: an empty intersection, more room, or another form."""
        self.settle()
        stored = int(self.numbers[STORED])
        if self.numbers[CUTS] >= len(self.rounds):
            self.rounds = np.concatenate([self.rounds, np.zeros(len(self.rounds))])
        if stored >= self.columns:
            self.numbers[DONE] = 1.0
        if self.form == "sparse" and self.numbers[USED] + length(rows, t) >= self.compact:
            self.compact = 2 * (self.compact + length(rows, t))
            self._double(1)
        small = self.dim <= LARGEST_FULL
        inaccurate = self.form in ("column", "gram") and self.numbers[LOG_KEPT] <= log(LEAST_KEPT)
        full = self.form != "full" and stored >= self._capacity()
        if self.forced is None and small and (full or inaccurate) and 2 * stored >= self.dim:
            conversion.become_full(self)
        elif inaccurate:
            conversion.become_product(self)
        elif full and not self.numbers[DONE]:
            self._double()
        elif self.form == "full" and self.numbers[LOG_KEPT] <= self.numbers[LIFT_AT]:
            self._lift()
        self.bind()

    def watch_scale(self) -> None:
        """Say how far a full matrix may shrink before it is lifted: any distance where downdates come to an end."""
        endless = self.columns == inf and self.kept < LEAST_KEPT
        self.numbers[LIFT_AT] = self.numbers[LOG_KEPT] - (8.0 + self.dim if endless else inf)

    def _lift(self) -> None:
        first = 0 if self.constant else 1
        # The matrix that was stays as it is, for a mark.
        self.parts = {**self.parts, "J": self.parts["J"].copy()}
        factor = lift(self.parts["J"], slice(self.scores), slice(first, 1 + self.width))
        self.numbers[LIFTED] += factor
        self.numbers[WEIGHT] *= exp(-factor)
        self.watch_scale()

    def _capacity(self) -> int:
        return len(self.parts["H"]) if "H" in self.parts else len(self.parts.get("S", ()))

    def _double(self, factor: int = 2) -> None:
        self.columns = max(self.columns, self._capacity())
        self.adopt(self.form or "column", factor * self._capacity(), self.parts)

    def directions(self) -> tuple[Floats, Floats, float]:
        """Orthonormal vectors h_k and t_k with J = I - sum_k t_k h_k h_k' and B = J J', and how far J J' is off."""
        return conversion.directions(self)

    def examples(self, functions: int, columns: int, first: int = 0) -> sp.csr_matrix:
        """The stored examples as rows of the whole space, features from column ``first`` on."""
        return conversion.examples(self, functions, columns, first)

    def split(self, factor: float) -> None:
        """Turn a binary run into the same run with two opposite functions (z becomes (e_b - e_a) (x) x)."""
        conversion.split(self, factor)

    def settle(self) -> None:
        """Deal with an empty intersection that the rule halted on."""
        if self.numbers[HALT]:
            if self.raises:
                self.numbers[HALT] = 0.0
                raise EmptyVersionSpace(
                    f"no classifier has the margin on all examples seen: round {int(self.numbers[EMPTY_ROUND])} left "
                    "the version space empty; lower the margin, or choose on_infeasible='skip'"
                )
            self.restart()

    def finish(self) -> None:
        """The same, where another error is being raised already."""
        with suppress(EmptyVersionSpace):
            self.settle()

    def restart(self) -> None:
        """Back to the start ball, with the flags of empty intersections kept."""
        # The order to halt is the last to go: if this is broken off, it is done again from the start.
        fresh = np.zeros(SIZE)
        fresh[LOG_SCALE], fresh[SLIM] = self.start, inf
        for slot in (DIM, EMPTY, EMPTY_ROUND, ASKED, HALT):
            fresh[slot] = self.numbers[slot]
        self.numbers[:] = fresh
        self.linear.clear()
        self.form = None
        self.prepare()
        self.numbers[HALT] = 0.0

    # -- what was learned --------------------------------------------------------------------------------------

    def weights(self, scores: int, rounds: int) -> Floats:
        """Weights of the functions as rows, averaged over ``rounds`` where averages are kept."""
        return folded(self).weights(scores, rounds)

    def predictor(self, rounds: int) -> Any:
        """What predictions are scored with."""
        return folded(self).predictor(rounds) if self.average else self.rep

    def log_det(self) -> float:
        """log det P = dim log s + sum log(1 - kappa)."""
        return float(self.dim * self.numbers[LOG_SCALE] + self.numbers[LOG_KEPT])

    def unshaped(self) -> Floats:
        """B^{-1} w, without averages: the sum of the update examples with the weights that made w of them."""
        return unshaped(self)

    def ellipsoid(self) -> Ellipsoid:
        """The ellipsoid as an object of its own; coordinates without the constant feature where there is none."""
        return as_ellipsoid(self)

    # -- files -------------------------------------------------------------------------------------------------

    def state(self, scores: int) -> dict[str, NDArray[Any]]:
        """Arrays that hold everything."""
        cuts = int(self.numbers[CUTS])
        arrays = {**self.linear.state(scores), "numbers": self.numbers.copy(), "rounds": self.rounds[:cuts].copy()}
        parts = in_a_file(self.parts)
        return arrays | parts | {name: parts[name][: 1 + self.width] for name in parts if name == "form_slot"}

    def restore(self, arrays: dict[str, NDArray[Any]], form: str | None = None) -> None:
        """Take back what ``state`` gave."""
        self.linear.restore(arrays)
        self.numbers[:] = padded(arrays["numbers"])
        self.rounds = np.concatenate([arrays["rounds"], np.zeros(64)])
        if form is not None:
            if form not in FORMS:
                raise ValueError(f"its shape has the unknown form {form!r}")
            self.compact = max(COMPACT, len(arrays["form_Z"])) if form == "sparse" else COMPACT
            old = {n: arrays[f"form_{n}"] for n in ARRAYS[form] if f"form_{n}" in arrays or n not in LATER}
            self.adopt(form, max([8, *(len(old[n]) for n in old if n in ("H", "S", "T"))]), old)
        if len(arrays["numbers"]) < SIZE:
            if self.radius:
                adopted(self)
            # From here on the file is one of today.
            arrays["numbers"] = self.numbers.copy()
            arrays |= {f"form_{name}": self.parts[name].copy() for name in self.parts if name in LATER}

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in self.__dict__.items() if key != "rep"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.rep = None
        if self.form is not None:
            self.bind()


def _copy_corner(old: Floats, new: Floats) -> None:
    common = tuple(slice(0, min(a, b)) for a, b in zip(old.shape, new.shape, strict=True))
    new[common] = old[common]
