"""Tables whose ellipsoid may change the form of its matrix B: to products, to a full root, or from an older file.

The new form equals B only up to rounding. How far the two differ is computed from the arrays of both, and the scale is
raised until the new ellipsoid contains the old one: (1 + L |dB|) B >= B + dB where ``|B^{-1}| <= L``.
"""

from math import exp, inf, log, log1p, sqrt
from typing import Any, TypeVar

import numpy as np

from ellipsoid.representation.table_protocol import Floats
from ellipsoid.representation.tables import LinearTable

from .. import state as slots
from ..ellipsoid import Ellipsoid
from ..forms.form import Form, LowRankForm, Room
from ..forms.low_rank import assemble
from ..forms.rounding import U
from ..forms.vector_forms import FullForm, ProductForm
from ..shapes.shape import BallShape
from .around_weights import AroundWeights

# Beyond this dimension the bounds of an older file use the determinant and no eigenvalues.
LARGEST_SPECTRUM = 1024
# Older versions took an ellipsoid for a point up to this depth of a cut.
POINT = 1e-9
# A change of form that changes B by more than this, relatively, has lost it.
LOST = 0.25

AnyForm = TypeVar("AnyForm", bound=Form)


class ConvertibleTable(AroundWeights):
    """Weights with an ellipsoid around them, whose matrix B may change its form.

    The attributes are those of `EllipsoidTable`, which says what they are.
    """

    form: Form | None
    columns: float
    kept: float
    start: float
    radius: float
    rounds: Floats
    rep: Any

    @property
    def extent(self) -> tuple[int, int]:
        """Functions and columns, the constant feature's included."""
        return self.scores, 1 + self.width

    def _room(self, kind: type[Form], capacity: int, features: int = 0) -> Room:
        # Only the Gram form of sparse rows has columns to spare: sums of the others must not depend on their number.
        functions, columns = self.extent if kind.by_class else self.linear.oriented_shape()
        # One place to spare: the rule says only at the next update that no downdates will follow.
        return Room(int(max(1, min(capacity, self.columns + 1))), functions, columns, features)

    def start_form(self, kind: type[AnyForm], capacity: int) -> AnyForm:
        """Begin another form, with B = I."""
        form = kind(self.numbers, self._room(kind, capacity))
        form.measure()
        self.form = form
        self.bind()
        return form

    def bind(self) -> None:
        """Make the compiled part of the present arrays."""
        if self.form is not None:
            self.rep = self.form.bind(base=self.linear.rep, rounds=self.rounds)

    def watch_scale(self) -> None:
        """Set how far a full matrix may shrink before it is rescaled: without limit where downdates end."""
        endless = self.columns == inf and self.kept < slots.LEAST_KEPT
        self.numbers[slots.LIFT_AT] = self.numbers[slots.LOG_KEPT] - (8.0 + self.dim if endless else inf)

    # -- conversion --------------------------------------------------------------------------------------------

    def become_product(self) -> None:
        """Change to the product form, B = J J'."""
        assert isinstance(self.form, LowRankForm)
        vectors, middle, off = self.form.root(*self.extent, self.radius > 0.0)
        form = self.start_form(ProductForm, max(8, 2 * len(vectors)))
        if self._widen(off):
            form.take(vectors, middle)
            self.numbers[slots.STORED] = len(vectors)
        else:
            self._become_ball()
        form.measure()

    def become_full(self) -> None:
        """Change to the full form, B = J J' with a matrix J."""
        assert isinstance(self.form, LowRankForm | ProductForm)
        vectors, middle, off = self.form.root(*self.extent, self.radius > 0.0)
        centre = 0.0
        if not self.by_class:
            self.linear = self.form.fold(self.linear).by_functions()
            centre = U * (len(vectors) + 4) * self.numbers[slots.PARTS_BOUND]
        form = self.start_form(FullForm, 1)
        block, error = assemble(vectors, middle)
        if self._widen(off, error, centre):
            form.take(block)
        else:
            self._become_ball(centre)
        form.measure()
        self.watch_scale()

    def _widen(self, shape: float, factor: float = 0.0, centre: float = 0.0) -> bool:
        """Raise the scale of a guaranteed version space: B is off by ``shape``, its J by ``factor``, w by ``centre``.

        False, without a change, where no scale suffices: the ball around the old ellipsoid must replace it.
        """
        if self.radius == 0.0:
            return True
        numbers = self.numbers
        inverse_norm = 1.0 + numbers[slots.INVERSE_NORM]
        off = 0.5 * inverse_norm * shape + sqrt(inverse_norm) * (factor + centre * exp(-0.5 * numbers[slots.LOG_SCALE]))
        if not off < LOST:
            return False
        growth = -2.0 * log1p(-2.0 * off) + U * (8.0 + 8.0 * abs(numbers[slots.LOG_SCALE]))
        numbers[slots.LOG_SCALE] += growth
        numbers[slots.WIDENED] += growth
        numbers[slots.TOTAL_EXCESS] += 1.01 * exp(numbers[slots.LOG_SCALE]) * growth
        numbers[slots.INVERSE_NORM] = inverse_norm * exp(growth) - 1.0
        return True

    def _become_ball(self, centre: float = 0.0) -> None:
        """Change to the ball around an ellipsoid whose shape is lost in rounding: B = I, as no axis of B is longer."""
        numbers = self.numbers
        reach = 1.01 + 2.0 * centre * exp(-0.5 * numbers[slots.LOG_SCALE])
        numbers[slots.LOG_SCALE] += 2.0 * log(reach)
        numbers[slots.WIDENED] += 2.0 * log(reach)
        numbers[slots.INVERSE_NORM] = numbers[slots.LOG_KEPT] = numbers[slots.STORED] = 0.0
        numbers[slots.UNBOUNDED] = 1.0

    def recover_bounds(self) -> None:
        """Compute from the arrays the bounds that an older file lacks; earlier rounding remains unknown."""
        numbers = self.numbers
        if numbers[slots.LOG_SCALE] == -inf:
            numbers[slots.LOG_SCALE] = self.start + log(2.0 * POINT)
        inverse = exp(min(700.0, -numbers[slots.LOG_KEPT]))
        if self.form is not None and numbers[slots.DIM] <= LARGEST_SPECTRUM:
            # Where exp overflows, the bound by the volume remains.
            with np.errstate(over="ignore", invalid="ignore"):
                matrix = self.ellipsoid().shape_matrix() * np.exp(-numbers[slots.LOG_SCALE])
            least = float(np.linalg.eigvalsh(matrix)[0]) if np.isfinite(matrix).all() else 0.0
            inverse = min(inverse, 2.0 / least) if least > 0.0 else inverse
        numbers[slots.INVERSE_NORM] = max(0.0, inverse - 1.0)
        if self.form is not None:
            # Learning makes no arrays whose squares overflow; their bounds are infinite.
            with np.errstate(over="ignore"):
                self.form.recover_bounds(self.linear, *self.extent)

    # -- what was learned --------------------------------------------------------------------------------------

    def folded(self) -> LinearTable:
        """The weights, including what the form keeps apart from them."""
        return self.linear if self.form is None else self.form.fold(self.linear)

    def weights(self, scores: int, rounds: int) -> Floats:
        return self.folded().weights(scores, rounds)

    def ellipsoid(self) -> Ellipsoid:
        """The ellipsoid as an object of its own; coordinates without the constant feature where there is none."""
        scale, centre = float(self.numbers[slots.LOG_SCALE] - self.numbers[slots.LIFTED]), self.centre()
        if scale == -inf or self.form is None or self.form.is_identity:
            return Ellipsoid(centre, BallShape(centre.size, scale))
        return Ellipsoid(centre, self.form.shape(*self.extent, self.first, scale))
