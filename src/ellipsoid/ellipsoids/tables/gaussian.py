"""Tables of weights with a Gaussian N(w, S) around them, S = s B, in a form that never changes.

AROW and similar rules shrink S with every update, without end. So no form may count on a last downdate. Forms are not
replaced where the volume has become small, because digits are lost only where a single direction is narrow. And B is
never multiplied to keep it in the range of float64, because the size of S matters to these rules.
"""

from math import inf

import numpy as np

from ellipsoid.representation.table_protocol import Floats
from ellipsoid.representation.tables import LinearTable

from ..forms.diagonal import DROP
from ..forms.form import Form
from ..forms.sketch import SketchForm
from ..forms.vector_forms import FullForm
from ..state import COARSE_RESOLUTION, FACTORED, RESOLUTION
from .diagonal import DiagonalTable
from .table import EllipsoidTable


class GaussianTable(EllipsoidTable):
    """A table in the form ``full``, ``sparse`` or ``sketch``."""

    def __init__(self, linear: LinearTable, *, form: str, constant: bool) -> None:
        # ``kept`` = 1 because the form never changes.
        super().__init__(linear, columns=inf, kept=1.0, log_scale=0.0, constant=constant, form=form)
        if form == "sparse":
            self.numbers[RESOLUTION], self.numbers[FACTORED] = COARSE_RESOLUTION, 1.0

    def lost_preimage(self) -> Floats:
        """What B^{-1} w has lost with what a sketch dropped of B^{-1}."""
        return np.zeros(self.extent)

    def diagonal(self, kind: int) -> DiagonalTable:
        """A diagonal table with the diagonal of a full B, or the inverse of that of its inverse, by ``kind``."""
        table = DiagonalTable(self.linear, kind=kind, constant=self.constant)
        table.reserve(self.scores, self.width)
        table.numbers[:] = self.numbers
        if isinstance(self.form, FullForm):
            functions, columns = self.form.room.functions, self.form.room.columns
            J = self.form.arrays["J"].reshape(functions * columns, -1)
            squares = (J**2).sum(axis=1)
            if kind != DROP and np.linalg.matrix_rank(J) == len(J):
                squares = 1.0 / (np.linalg.inv(J) ** 2).sum(axis=0)
            table.variances()[:functions, :columns] = np.minimum(squares, 1.0).reshape(functions, columns)
        return table


class SketchTable(GaussianTable):
    """A table in the form ``sketch``, of ``size`` directions."""

    def __init__(self, linear: LinearTable, *, size: int, constant: bool) -> None:
        super().__init__(linear, form="sketch", constant=constant)
        self.size = size

    def prepare(self) -> None:
        if self.form is None:
            self.start_form(SketchForm, max(8, 2 * self.size))
            self.watch_scale()

    def with_more_room(self, form: Form) -> SketchForm:
        """The sketch with its largest directions alone."""
        assert isinstance(form, SketchForm)
        return form.compressed(self.size, self.linear.weights(self.scores, 0))

    def lost_preimage(self) -> Floats:
        return super().lost_preimage() if self.form is None else self.form.arrays["lost"].copy()

    def preimage(self) -> Floats:
        """B^{-1} w as if nothing had been dropped: the sum of the update examples."""
        return super().preimage() + self.lost_preimage()
