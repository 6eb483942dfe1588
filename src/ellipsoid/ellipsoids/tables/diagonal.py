"""The table of weights with a variance for each: the diagonal form, with arrays that grow.

Features and classes may be added at any time. They start with the variance with which all weights started: a one in B,
over the common scale.
"""

from typing import Any

import numpy as np

from ellipsoid.representation.table_protocol import Floats, StoredArrays
from ellipsoid.representation.tables import LinearTable, zeros

from ..ellipsoid import Ellipsoid
from ..forms.diagonal import Diagonal
from ..forms.form import FormArrays, check_shape
from ..shapes.diagonal import DiagonalShape
from ..state import CUTS, DIM, LOG_SCALE, STATE_SIZE
from .around_weights import AroundWeights


class DiagonalTable(AroundWeights):
    """Linear functions with the Gaussian N(w, s diag(B)) around them; ``kind`` is one of the form's three."""

    form_name = "diagonal"
    predicts_in_loop = True
    # The numbers in a file that cannot be negative.
    counts: tuple[int, ...] = (CUTS,)

    def __init__(self, linear: LinearTable, *, kind: int, constant: bool) -> None:
        self.linear, self.kind, self.constant = linear, kind, constant
        self.scores = 1
        self.numbers: Floats = np.zeros(STATE_SIZE)
        self.B: Floats = np.ones((0, 0))
        self._fill()

    def _fill(self) -> None:
        """Bring B to the capacity of the weights."""
        old, self.B = self.B, zeros(self.linear.W.shape)
        self.B[:] = 1.0
        self.B[: old.shape[0], : old.shape[1]] = old
        self._bind()

    def _bind(self) -> None:
        self.rep: Any = Diagonal(self.linear.rep, self.B, self.kind, self.numbers)

    def reserve(self, scores: int, width: int) -> bool:
        moved = self.linear.reserve(scores, width)
        self.scores = max(self.scores, scores)
        self.numbers[DIM] = self.dim
        if moved:
            self._fill()
        return moved

    def split(self, factor: float) -> None:
        """Turn one function into two opposite ones with its variances."""
        self.linear.split(factor)
        self.scores = 2
        self.numbers[DIM] = self.dim
        self._fill()
        view = self._oriented(self.B)
        view[1] = view[0]

    def _oriented(self, array: Floats) -> Floats:
        return array if self.by_class else array.T

    def predictor(self, rounds: int) -> Any:
        return self.linear.predictor(rounds) if self.average else self.rep

    def variances(self) -> Floats:
        """B of the functions as rows, the constant feature in front."""
        return self._oriented(self.B)[: self.scores, : 1 + self.width]

    def log_det(self) -> float:
        """log det S = dim log s + sum log B."""
        with np.errstate(divide="ignore"):
            logs = np.log(self.variances()[:, self.first :])
        return float(self.dim * self.numbers[LOG_SCALE] + logs.sum())

    def ellipsoid(self) -> Ellipsoid:
        """The ellipsoid of one deviation; coordinates without the constant feature where there is none."""
        B = self.variances()[:, self.first :]
        return Ellipsoid(self.centre(), DiagonalShape(B.ravel(), float(self.numbers[LOG_SCALE])))

    def state(self, scores: int) -> StoredArrays:
        return {**self.linear.state(scores), "B": self.variances()[:scores].copy(), "numbers": self.numbers.copy()}

    def check(self, arrays: FormArrays, name: Any) -> None:
        """Raise ``ValueError`` unless a file's arrays, of the form with this name, can come from learning."""
        if name != self.form_name:
            raise ValueError(f"its shape has the form {name!r}, which is not one for its parameters")
        self.check_matrix(arrays["B"], arrays["W"])
        numbers = arrays["numbers"]
        check_shape("numbers", numbers, (STATE_SIZE,))
        counts = numbers[list(self.counts)]
        finite = np.isfinite(counts).all() and np.isfinite(numbers[LOG_SCALE])
        if numbers[DIM] != self.dim or not finite or (counts < 0.0).any():
            raise ValueError("its counts are not all whole and non-negative")

    def check_matrix(self, B: Floats, W: Floats) -> None:
        """Raise ``ValueError`` unless the B of a file can belong to these weights."""
        check_shape("B", B, W.shape)
        if not ((B >= 0.0) & (B <= 1.0)).all():
            raise ValueError("its variances are not all between 0 and 1")

    def restore(self, arrays: StoredArrays, form: str | None = None) -> None:
        self.linear.restore(arrays)
        self.numbers[:] = arrays["numbers"]
        self._fill()
        self.variances()[: len(arrays["B"])] = arrays["B"]
