"""Tables of weights that walk at random, with the Gaussian around them: the drifting forms, with arrays that grow.

Features and classes may be added at any time, with the variance that they would have if they had always been there.
"""

from typing import Any, Self

import numpy as np

from ellipsoid.representation.table_protocol import Floats, StoredArrays
from ellipsoid.representation.tables import LinearTable, zeros

from ..ellipsoid import Ellipsoid
from ..forms.diagonal import DROP
from ..forms.drifting import Drifting, DriftingDiagonal
from ..forms.form import FormArrays, check_shape
from ..shapes.shape import DenseShape
from ..state import CAPPED, CUTS, DIM, DRIFTED, LOG_SCALE
from .diagonal import DiagonalTable


class DriftDiagonalTable(DiagonalTable):
    """A variance for each weight, which grows by ``drift`` a round up to ``ceiling``."""

    def __init__(self, linear: LinearTable, *, kind: int, constant: bool, drift: float, ceiling: float) -> None:
        self.drift, self.ceiling = drift, ceiling
        self.touched: Floats = np.zeros((0, 0))
        super().__init__(linear, kind=kind, constant=constant)

    def _fill(self) -> None:
        old, self.touched = self.touched, zeros(self.linear.W.shape)
        self.touched[: old.shape[0], : old.shape[1]] = old
        super()._fill()

    def _bind(self) -> None:
        self.rep = DriftingDiagonal(
            self.linear.rep, self.B, self.touched, self.kind, self.drift, self.ceiling, self.numbers
        )

    def split(self, factor: float) -> None:
        super().split(factor)
        view = self._oriented(self.touched)
        view[1] = view[0]

    def at(self, rounds: int) -> Self:
        """A table of its own as it is after so many rounds."""
        other = self.twin()
        grown = np.minimum(self.ceiling, other.B + (rounds - other.touched) * self.drift)
        other.B[:], other.touched[:] = np.maximum(other.B, grown), float(rounds)
        return other

    def _oldest(self) -> Floats:
        return self._oriented(self.touched)[: self.scores, : 1 + self.width]

    def state(self, scores: int) -> StoredArrays:
        return {**super().state(scores), "touched": self._oldest()[:scores].copy()}

    def check(self, arrays: FormArrays, name: Any) -> None:
        super().check(arrays, name)
        check_shape("touched", arrays["touched"], arrays["W"].shape)

    def check_matrix(self, B: Floats, W: Floats) -> None:
        check_shape("B", B, W.shape)
        if not ((B >= 0.0) & (max(1.0, self.ceiling) >= B)).all():
            raise ValueError("its variances are not all between 0 and their ceiling")

    def restore(self, arrays: StoredArrays, form: str | None = None) -> None:
        super().restore(arrays)
        self._oldest()[: len(arrays["touched"])] = arrays["touched"]


class DriftTable(DiagonalTable):
    """The whole covariance, whose diagonal grows by ``drift`` a round up to ``ceiling``."""

    form_name = "drifting"
    counts = (CUTS, DRIFTED, CAPPED)

    def __init__(self, linear: LinearTable, *, constant: bool, drift: float, ceiling: float) -> None:
        self.drift, self.ceiling = drift, ceiling
        super().__init__(linear, kind=DROP, constant=constant)

    def _fill(self) -> None:
        """Fit B to the functions and features exactly, because sums must not depend on spare capacity."""
        functions, columns = self.scores, 1 + self.width
        many, few = getattr(self, "extent", (0, 0))
        self.extent = functions, columns
        factor, variance = self.newcomers(many * few, functions * columns - many * few)
        grown = np.zeros((functions, columns, functions, columns))
        fresh = np.ones((functions, columns), dtype=np.bool_)
        if self.B.size:
            grown[:many, :few, :many, :few] = factor * self.B.reshape(many, few, many, few)
            fresh[:many, :few] = False
        self.B = grown.reshape(functions * columns, functions * columns)
        self.B[fresh.ravel(), fresh.ravel()] = variance
        self.x, self.Bz = np.zeros(columns), np.zeros(functions * columns)
        self._bind()

    def newcomers(self, known: int, new: int) -> tuple[float, float]:
        """The factor of B when new coordinates join those known, and the variance of each new one."""
        return 1.0, min(1.0 + float(self.numbers[DRIFTED]) * self.drift, max(1.0, self.ceiling))

    def _bind(self) -> None:
        self.rep = Drifting(self.linear.rep, self.B, self.drift, self.ceiling, self.numbers, self.x, self.Bz)

    def reserve(self, scores: int, width: int) -> bool:
        moved = self.linear.reserve(scores, width)
        self.scores = max(self.scores, scores)
        self.numbers[DIM] = self.dim
        if self.extent != (self.scores, 1 + self.width):
            self._fill()
            return True
        if moved:
            self._bind()
        return moved

    def split(self, factor: float) -> None:
        """Turn one function into two opposite ones; nothing has been learned along their sum."""
        self.linear.split(factor)
        own, size = self.B, len(self.B)
        apart = np.eye(size) * self.newcomers(size, size)[1]
        self.scores = 2
        self.numbers[DIM] = self.dim
        self._fill()
        same, other = (own + apart) / 2.0, (apart - own) / 2.0
        self.B[:] = np.block([[same, other], [other, same]])

    def at(self, rounds: int) -> Self:
        other = self.twin()
        grown = other.B.diagonal() + (rounds - self.numbers[DRIFTED]) * self.drift
        np.fill_diagonal(other.B, np.maximum(other.B.diagonal(), np.minimum(self.ceiling, grown)))
        other.numbers[DRIFTED] = rounds
        return other

    def diagonal(self, kind: int) -> DriftDiagonalTable:
        """A diagonal table with the diagonal of the matrix, or the inverse of that of its inverse."""
        table = DriftDiagonalTable(
            self.linear, kind=kind, constant=self.constant, drift=self.drift, ceiling=self.ceiling
        )
        table.reserve(self.scores, self.width)
        table.numbers[:] = self.numbers
        squares = self.B.diagonal().copy() if kind == DROP else 1.0 / np.linalg.inv(self.B).diagonal()
        table.variances()[:] = squares.reshape(self.extent)
        table._oldest()[:] = self.numbers[DRIFTED]
        table.numbers[DRIFTED] = 0.0
        return table

    def covariance(self) -> Floats:
        """B over the coordinates that count."""
        functions, columns = self.extent
        kept = self.B.reshape(functions, columns, functions, columns)[:, self.first :, :, self.first :]
        return kept.reshape(functions * (columns - self.first), -1).copy()

    def log_det(self) -> float:
        """log det S."""
        return float(self.dim * self.numbers[LOG_SCALE] + np.linalg.slogdet(self.covariance())[1])

    def ellipsoid(self) -> Ellipsoid:
        return Ellipsoid(self.centre(), DenseShape(self.covariance(), float(self.numbers[LOG_SCALE])))

    def state(self, scores: int) -> StoredArrays:
        return {**self.linear.state(scores), "B": self.B.copy(), "numbers": self.numbers.copy()}

    def check_matrix(self, B: Floats, W: Floats) -> None:
        check_shape("B", B, (W.size, W.size))
        if not (B == B.T).all() or not (B.diagonal() >= 0.0).all():
            raise ValueError("its covariance is not that of a Gaussian")

    def restore(self, arrays: StoredArrays, form: str | None = None) -> None:
        self.linear.restore(arrays)
        self.numbers[:] = arrays["numbers"]
        self.B[:] = arrays["B"]
        self._bind()
