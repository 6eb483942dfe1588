"""Tables for rules whose downdates never end, and never freeze: the form is chosen once, and the scale is their own.

AROW and its kin shrink S with every update, for as long as there are any. So no form may count on a last downdate, none
is left because of what all directions together have lost (the digits are lost where a single one is narrow), and B is
never multiplied to keep it in the range of float64: these rules feel the size of S.

A sketch keeps at most 2 p columns of the product form (frequent directions). When they are used up, B^{-1} = I +
V diag(sigma^2) V' gives up delta, the (p + 1)-th largest sigma^2, along every direction it has: sigma^2 - delta for the
p largest, nothing for the others. What was dropped is at most the sum of all deltas, along any direction:

    B_sketch^{-1} <= B^{-1} <= B_sketch^{-1} + (sum of deltas) I

Luo, Agarwal, Cesa-Bianchi, Langford (NIPS 2016); Ghashami, Liberty, Phillips, Woodruff (SIAM J. Comput. 2016).
"""

from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ellipsoid.representation.tables import Floats, LinearTable

from .diagonal_table import DiagonalTable
from .forms.diagonal import DROP
from .snapshot import unshaped
from .state import COARSE, CUTS, GRAIN, LOG_KEPT, MISSING, STORED
from .table import EllipsoidTable


class EndlessTable(EllipsoidTable):
    """A table in the form ``full`` or ``sparse`` for good."""

    def __init__(self, linear: LinearTable, *, form: str, constant: bool) -> None:
        # "kept" guards forms that are left where they become inaccurate; these two are not.
        super().__init__(linear, columns=inf, kept=1.0, log_scale=0.0, constant=constant, form=form)
        self.numbers[GRAIN] = COARSE if form == "sparse" else 0.0

    def pulled(self) -> Floats:
        """B^{-1} w as the updates have made it: s times the sum of weight z."""
        return unshaped(self)

    def diagonal(self, kind: int) -> DiagonalTable:
        """The same with the diagonal alone of a full B, or the inverse of that of its inverse, as ``kind`` has it."""
        table = DiagonalTable(self.linear, kind=kind, constant=self.constant)
        table.reserve(self.scores, self.width)
        table.numbers[:] = self.numbers
        if self.form == "full":
            J = self.parts["J"].reshape(self.parts["J"].shape[0] * self.parts["J"].shape[1], -1)
            squares = (J**2).sum(axis=1)
            if kind != DROP and np.linalg.matrix_rank(J) == len(J):
                squares = 1.0 / (np.linalg.inv(J) ** 2).sum(axis=0)
            functions, columns = self.parts["J"].shape[:2]
            table.variances()[:functions, :columns] = np.minimum(squares, 1.0).reshape(functions, columns)
        return table


class SketchTable(EndlessTable):
    """A table in the form ``product`` with room for 2 ``size`` columns."""

    def __init__(self, linear: LinearTable, *, size: int, constant: bool) -> None:
        super().__init__(linear, form="product", constant=constant)
        self.size = size
        # What B^{-1} w has lost with what B^{-1} gave up.
        self.lost: Floats = np.zeros((1, 1))

    def prepare(self) -> None:
        """Make room for all columns there will ever be."""
        if self.form is None:
            self.adopt("product", max(8, 2 * self.size))
            self.watch_scale()

    def grow(self, rows: Any, t: int) -> None:
        """What the loop stopped for: the columns are used up, or more rounds are to be noted."""
        if self.numbers[CUTS] >= len(self.rounds):
            self.rounds = np.concatenate([self.rounds, np.zeros(len(self.rounds))])
        if self.numbers[STORED] >= len(self.parts["H"]):
            self._compress()
        self.bind()

    def _compress(self) -> None:
        stored, functions, columns = int(self.numbers[STORED]), self.scores, 1 + self.width
        H = self.parts["H"][:stored, :functions, :columns].reshape(stored, -1)
        basis, upper = np.linalg.qr(H.T)
        J = np.eye(len(upper)) - upper @ self.parts["T"][:stored, :stored] @ upper.T
        axes, roots, _ = np.linalg.svd(J)
        roots = np.clip(roots[::-1], 1e-100, 1.0)
        # Largest first; a root of 1 is a direction in which nothing was learned.
        vectors, sigma2 = (basis @ axes[:, ::-1]).T, (1.0 - roots) * (1.0 + roots) / roots**2
        delta = float(sigma2[self.size]) if len(sigma2) > self.size else 0.0
        w = self.linear.weights(functions, 0).ravel()
        self.lost = self._lost() + ((np.minimum(sigma2, delta) * (vectors @ w)) @ vectors).reshape(functions, columns)
        kept = np.maximum(sigma2[: self.size] - delta, 0.0)
        whole = np.sqrt(1.0 + kept)
        # The arrays that were stay as they are, for a mark.
        self.parts = {name: np.zeros_like(array) for name, array in self.parts.items()}
        self.parts["H"][: len(kept), :functions, :columns] = vectors[: len(kept)].reshape(-1, functions, columns)
        self.parts["T"][: len(kept), : len(kept)] = np.diag(kept / (whole * (1.0 + whole)))
        self.numbers[STORED] = len(kept)
        self.numbers[LOG_KEPT] = -float(np.log1p(kept).sum())
        self.numbers[MISSING] += delta

    def _lost(self) -> Floats:
        """What is lost, in the present number of functions and features."""
        lost = np.zeros((self.scores, 1 + self.width))
        lost[: self.lost.shape[0], : self.lost.shape[1]] = self.lost
        return lost

    def split(self, factor: float) -> None:
        """Turn a binary run into the same run with two opposite functions."""
        super().split(factor)
        # B^{-1} w is s times a sum over z, and s is halved.
        self.lost = 0.5 * np.concatenate([-self.lost, self.lost])

    def pulled(self) -> Floats:
        """B^{-1} w as it would be if nothing had been given up."""
        return unshaped(self) + self._lost()

    def state(self, scores: int) -> dict[str, NDArray[Any]]:
        """Arrays that hold everything."""
        return {**super().state(scores), "lost": self._lost()[:scores]}

    def restore(self, arrays: dict[str, NDArray[Any]], form: str | None = None) -> None:
        """Take back what ``state`` gave."""
        if arrays["lost"].shape != arrays["W"].shape:
            raise ValueError("its arrays have wrong shapes")
        super().restore(arrays, form)
        self.lost = arrays["lost"].copy()
