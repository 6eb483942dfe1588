"""The table of weights with an ellipsoid around them: which form stores its matrix B, when that changes, how it grows.

    sparse rows                               Gram over the examples, weights implicit; but a dense form, where one
                                              fits, if prod(1 - kappa) can fall below 1e-3
    column count beyond dim / 2               full, where a dim x dim matrix is reasonable
    prod(1 - kappa) can fall below 1e-3       product
    one function (binary)                     column
    several functions                         Gram

The form is chosen at the first row, and again when the loop stops because a form is full or has become inaccurate.
Features and classes may be added at any time: all earlier directions are zero there, so that B is the identity on them
and the same cuts in the larger space would have given this ellipsoid. Only a cut of least volume in one dimension has
no equal in a larger space, because it leaves an interval: see `from_an_interval`.
"""

from math import exp, inf, log
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ellipsoid.representation.table_protocol import Floats
from ellipsoid.representation.tables import LinearTable

from .. import absorb as _absorb  # noqa: F401  (the bodies that make these forms learn)
from .. import state as slots
from ..forms.form import SINCE_VERSION_2, Form, FormArrays, check_shape
from ..forms.gram import row_length
from ..forms.gram_forms import GramForm, SparseGramForm
from ..forms.rounding import U
from ..forms.sketch import SketchForm
from ..forms.vector_forms import ColumnForm, FullForm, ProductForm
from .around_weights import EmptyVersionSpace
from .conversion import ConvertibleTable

# Names that model files give to the forms.
FORMS: dict[str, type[Form]] = {
    form.name: form for form in (ColumnForm, ProductForm, GramForm, FullForm, SparseGramForm, SketchForm)
}
# Not chosen automatically: a full matrix of more rows (134 MB), a product of more numbers for sparse rows (32 MB).
LARGEST_FULL, LARGEST_PRODUCT = 4096, 1 << 22


class EllipsoidTable(ConvertibleTable):
    """Linear functions and the ellipsoid {q : (q - w)' P^{-1} (q - w) <= 1} around them, P = s B.

    ``columns`` is the number of downdates to come (infinite: unknown), ``kept`` what they leave at least of a
    direction, ``log_scale`` the start's log s, ``constant`` whether the constant feature counts. ``form`` forces a
    form; ``raises`` makes an empty intersection an error where the rule halts on it, instead of a restart. ``radius``
    is that of the start ball if the ellipsoid is a guaranteed version space, else 0. ``least_volume`` says that cuts
    have the least volume in the present dimension.
    """

    # Mixtures of shards with metrics of their own: by how much the sum of their update examples, each times its weight
    # in the margin certificate, exceeds P^{-1} w / D, for the functions and columns at the time of mixing.
    offset: Floats | None = None

    def __init__(  # noqa: PLR0913 (every property of a run once)
        self, linear: LinearTable, *, columns: float, kept: float, log_scale: float, constant: bool,
        form: str | None = None, raises: bool = False, radius: float = 0.0, least_volume: bool = False,
    ) -> None:  # fmt: skip
        self.linear = linear
        self.raises, self.radius, self.least_volume = raises, radius, least_volume
        self.columns, self.kept, self.start, self.constant = columns, kept, log_scale, constant
        self.forced = None if form is None else FORMS[form]
        self.form: Form | None = None
        self.numbers: Floats = np.zeros(slots.STATE_SIZE)
        self.numbers[slots.LOG_SCALE], self.numbers[slots.LEAST_SLICE] = log_scale, inf
        if columns == 0:
            self.numbers[slots.COMPLETE] = 1.0
        self.rounds: Floats = np.zeros(64)
        # Rounds after which it was started again.
        self.changes: Floats = np.zeros(0)
        self.scores = 1
        self.rep: Any = None

    # -- shape -------------------------------------------------------------------------------------------------

    @property
    def form_name(self) -> str | None:
        """The form's name in model files."""
        return None if self.form is None else self.form.name

    def reserve(self, scores: int, width: int) -> bool:
        moved = self.linear.reserve(scores, width)
        self.scores = max(self.scores, scores)
        if self.least_volume and self.numbers[slots.DIM] < self.dim and self.numbers[slots.CUTS]:
            self.numbers[slots.UNBOUNDED] = self.numbers[slots.UNBOUNDED] or slots.GREW_LATE
            if self.numbers[slots.DIM] == 1.0:
                self.from_an_interval()
        self.numbers[slots.DIM] = self.dim
        if self.form is not None:
            room = self._room(type(self.form), max(8, self.form.room.downdates))
            if moved or room[1:3] != self.form.room[1:3]:
                self.form = self.form.enlarged(room)
                self.bind()
                return True
        return moved

    def from_an_interval(self) -> None:
        """Extend an interval to new coordinates: 2 P contains its product with the start ball of those."""
        scale = max(self.numbers[slots.LOG_SCALE], self.start) + log(2.0)
        scale += 4.0 * U * (1.0 + abs(scale))
        self.numbers[slots.WIDENED] += scale - self.numbers[slots.LOG_SCALE]
        self.numbers[slots.LOG_SCALE], self.numbers[slots.EXHAUSTED] = scale, 0.0

    def prepare(self) -> None:
        if self.form is None:
            # A few downdates get their room at once; elsewhere a better form may replace one that is full.
            few = self.columns < inf and self.kept >= slots.LEAST_KEPT
            self.start_form(self.forced or self._choose(), 32 if few else 8)
            self.watch_scale()

    def _choose(self) -> type[Form]:
        if not self.by_class:
            # Where little is left of a direction only dense factors keep their digits.
            if self.kept >= slots.LEAST_KEPT or self.columns * self.dim > LARGEST_PRODUCT:
                return SparseGramForm
            self.linear = self.linear.by_functions()
        if 2 * self.columns > self.dim and self.columns < inf and self.dim <= LARGEST_FULL:
            return FullForm
        if self.kept < slots.LEAST_KEPT:
            return ProductForm
        return ColumnForm if self.scores == 1 else GramForm

    def grow(self, rows: Any, t: int) -> None:
        """Handle an empty intersection, make more room, or change the form: the loop has stopped for one of these."""
        self.settle()
        if self.numbers[slots.CUTS] >= len(self.rounds):
            self.rounds = np.concatenate([self.rounds, np.zeros(len(self.rounds))])
        assert self.form is not None
        form = self.form.with_room_for(row_length(rows, t))
        self.form = form
        if form.stored >= self.columns:
            self.numbers[slots.COMPLETE] = 1.0
        inaccurate = form.gives_way and self.numbers[slots.LOG_KEPT] <= slots.LOG_LEAST_KEPT
        dense = self.forced is None and self.dim <= LARGEST_FULL and 2 * form.stored >= self.dim
        if dense and (form.is_full or inaccurate):
            self.become_full()
        elif inaccurate:
            self.become_product()
        elif form.is_full and not self.numbers[slots.COMPLETE]:
            self.form = self.with_more_room(form)
        elif (rescaled := form.rescaled(self.first)) is not form:
            self.form = rescaled
            self.watch_scale()
        self.bind()

    def with_more_room(self, form: Form) -> Form:
        """A full form with room for more downdates."""
        return form.enlarged(self._room(type(form), 2 * form.room.downdates))

    def split(self, factor: float) -> None:
        """Turn a binary run into the same run with two opposite functions (z becomes (e_b - e_a) (x) x)."""
        form = self.form
        if self.numbers[slots.DEFERRED]:
            self.linear, self.numbers[slots.DEFERRED] = self.folded(), 0.0
        self.linear.split(factor)
        self.scores = 2
        self.numbers[slots.DIM] = self.dim
        # a_k = (goal - (1 - c_k) n_k) / (v_k D_k), and |z|^2 doubles.
        self.numbers[slots.MARGIN_WEIGHT] /= 2.0
        if self.offset is not None:
            self.offset = np.concatenate([-factor * self.offset, factor * self.offset])
        if form is not None:
            self.form = form.split(self._room(type(form), max(8, form.room.downdates)))
            self.bind()

    def settle(self) -> None:
        """Raise or start again, where the rule has halted on an empty intersection."""
        if self.numbers[slots.HALT]:
            if self.raises:
                self.numbers[slots.HALT] = 0.0
                raise EmptyVersionSpace(
                    "no classifier has the margin on all examples seen: "
                    f"round {int(self.numbers[slots.EMPTY_ROUND])} left the version space empty; lower the margin, or "
                    "choose on_infeasible='skip'"
                )
            self.restart()

    def restart(self) -> None:
        """Return to the start ball, and keep the record of empty intersections."""
        # HALT is cleared last: if this is interrupted, it is done again from the start.
        proof = self.numbers[slots.LAST_PROOF]
        if proof and proof not in self.changes[-1:]:
            self.changes = np.append(self.changes, proof)
        fresh = np.zeros(slots.STATE_SIZE)
        fresh[slots.LOG_SCALE], fresh[slots.LEAST_SLICE] = self.start, inf
        for slot in (slots.DIM, slots.EMPTY_COUNT, slots.EMPTY_ROUND, slots.ASKED, slots.HALT):
            fresh[slot] = self.numbers[slot]
        self.numbers[:] = fresh
        self.linear.clear()
        self.form = None
        self.prepare()
        self.numbers[slots.HALT] = 0.0

    # -- what was learned --------------------------------------------------------------------------------------

    def predictor(self, rounds: int) -> Any:
        return self.folded().predictor(rounds) if self.average else self.rep

    def log_det(self) -> float:
        """log det P = dim log s + sum log(1 - kappa)."""
        return float(self.dim * self.numbers[slots.LOG_SCALE] + self.numbers[slots.LOG_KEPT])

    def preimage(self) -> Floats:
        """B^{-1} w, without averages: the sum of the update examples with the weights that made w of them."""
        weights = self.weights(self.scores, 0)
        return weights if self.form is None else self.form.solve(weights)

    def whole_offset(self) -> Floats:
        """``offset`` for the present functions and columns."""
        found = np.zeros(self.extent)
        if self.offset is not None:
            found[: self.offset.shape[0], : self.offset.shape[1]] = self.offset
        return found

    def pull(self) -> Floats:
        """The sum of the update examples with their weights in the margin certificate, over exp(LIFTED)."""
        held = self.preimage()
        return held if self.offset is None else held + exp(-self.numbers[slots.LIFTED]) * self.whole_offset()

    def hold(self, W: Floats, U: Floats | None) -> None:
        """Replace the weights, and the sums for their averages; the ellipsoid stays."""
        self.prepare()
        assert self.form is not None
        self.form.forget_debts()
        for target, source in ((self.linear.W, W), (self.linear.U, U)):
            if source is not None:
                self.linear._oriented(target)[: source.shape[0], : source.shape[1]] = source
        self.bind()

    # -- files -------------------------------------------------------------------------------------------------

    def state(self, scores: int) -> dict[str, NDArray[Any]]:
        cuts = int(self.numbers[slots.CUTS])
        arrays = {**self.linear.state(scores), "numbers": self.numbers.copy(), "rounds": self.rounds[:cuts].copy()}
        if len(self.changes):
            arrays["changes"] = self.changes.copy()
        if self.offset is not None:
            arrays["offset"] = self.whole_offset()
        return arrays if self.form is None else arrays | self.form.save(1 + self.width)

    def check(self, arrays: FormArrays, name: Any) -> None:
        """Raise ``ValueError`` unless a file's arrays, of the form with this name, fit the functions and features."""
        numbers = slots.checked_numbers(arrays, len(arrays["rounds"]), self.columns)
        if numbers[slots.DIM] != self.dim:
            raise ValueError(f"its ellipsoid has dimension {numbers[slots.DIM]:g}, its weights have {self.dim}")
        slots.check_changes(arrays.get("changes", np.zeros(0)), numbers[slots.EMPTY_COUNT])
        if "offset" in arrays:
            check_shape("offset", arrays["offset"], self.extent)
        if name is None:
            return
        if name not in FORMS:
            raise ValueError(f"its shape has the unknown form {name!r}")
        kind, forced = FORMS[name], self.forced
        # A product replaces a form that loses digits, also one that was asked for.
        allowed = forced is None or forced is kind or (forced.gives_way and kind is ProductForm)
        if kind.by_class != self.by_class or not allowed:
            raise ValueError(f"its shape has the form {name!r}, which is not one for its weights and parameters")
        kind.check(numbers, arrays, *self.extent)

    def restore(self, arrays: dict[str, NDArray[Any]], form: str | None = None) -> None:
        self.linear.restore(arrays)
        self.numbers[:] = slots.complete_numbers(arrays["numbers"])
        self.rounds = np.concatenate([arrays["rounds"], np.zeros(64)])
        self.changes = np.array(arrays.get("changes", self.changes))
        self.offset = arrays.get("offset")
        if form is not None:
            kind = FORMS[form]
            old = kind.read(arrays)
            room = kind.room_in(old, *self.extent)
            self.form = kind(self.numbers, self._room(kind, max(8, room.downdates), room.features), old)
            self.bind()
        if len(arrays["numbers"]) < slots.STATE_SIZE:
            if self.radius:
                self.recover_bounds()
            # An older file has become one of the present version.
            arrays["numbers"] = self.numbers.copy()
            if self.form is not None:
                now = self.form.save(1 + self.width)
                arrays |= {name: now[name] for name in now if name.removeprefix("form_") in SINCE_VERSION_2}

    def _bind(self) -> None:
        # One array of which joblib makes two.
        if self.form is not None:
            self.form.numbers = self.numbers
        self.rep = None
        self.bind()
