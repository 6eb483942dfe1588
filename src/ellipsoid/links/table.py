"""The table of weights behind a link: dual vectors that grow with features and classes.

A new coordinate has theta = 0 and adds the part of a zero to the sums. The entropies start uniform over the known
coordinates, so that all weights shrink a little when one is added.
"""

from typing import Any

import numpy as np

from ellipsoid.engine import call, compiled
from ellipsoid.representation.table_protocol import Floats, StoredArrays, Table

from . import steps as _steps  # noqa: F401  (the bodies that make links learn)
from .functions import NORM, SIMPLEX, Link
from .weights import DIVISOR, GROUP_NUMBERS, HIGH, LOW, REACH, SHIFT, SINCE_ROUND, Linked, add_to_sum, divisor_of, renew


@compiled
def renew_all(rep, groups):
    """Sum every group anew."""
    for g in range(groups):
        renew(rep, g)
    return np.int64(0)


class LinkTable(Table):
    """theta and V of ``scores`` functions over ``width`` features and, if ``constant``, the constant one.

    >>> table = LinkTable(Link(SIMPLEX), average=False, constant=False)
    >>> _ = table.reserve(1, 4)
    >>> table.weights(1, rounds=0)
    array([[0.  , 0.25, 0.25, 0.25, 0.25]])
    """

    by_class = False

    def __init__(self, link: Link, *, average: bool, constant: bool) -> None:
        self.link = link
        self.average = average
        self.first = 0 if constant else 1
        self.width = 0
        self.functions = 0
        self._allocate(1, 1)

    def _allocate(self, functions: int, columns: int) -> None:
        shape = (columns, functions)
        self.dual: Floats = np.zeros(shape)
        self.V: Floats = np.zeros(shape)
        self.U: Floats = np.zeros(shape if self.average else (0, 0))
        self.numbers: Floats = np.zeros((1 if self.link.joint else functions, GROUP_NUMBERS))
        self.numbers[:, DIVISOR] = 1.0
        if self.link.quadratic:
            self.numbers[:, SHIFT] = 1.0
        self._bind()

    def _bind(self) -> None:
        self.rep = Linked(
            self.dual, self.V, self.U, self.numbers, float(self.link.p), self.link.kind, int(self.link.joint),
            1 + self.width, self.functions, self.first,
        )  # fmt: skip

    def reserve(self, scores: int, width: int) -> bool:
        if scores <= self.functions and width <= self.width and self.functions > 0:
            return False
        known = (1 + self.width if self.functions else 0, self.functions)
        self.width, self.functions = max(self.width, width), max(self.functions, scores)
        columns, functions = self.dual.shape
        if self.functions > functions or 1 + self.width > columns:
            fresh = columns == 1
            old = self.dual, self.V, self.U, self.numbers
            self._allocate(
                max(self.functions, functions if self.functions <= functions or fresh else 2 * functions),
                max(1 + self.width, columns if 1 + self.width <= columns or fresh else 2 * columns),
            )
            for before, after in zip(old, (self.dual, self.V, self.U, self.numbers), strict=True):
                after[: before.shape[0], : before.shape[1]] = before
        self._bind()
        self._enrol(*known)
        return True

    def _enrol(self, columns: int, functions: int) -> None:
        """Add the coordinates beyond these to the sums."""
        rep = self.rep
        for g in range(1 if self.link.joint else self.functions):
            if self.link.kind == SIMPLEX and -self.numbers[g, SHIFT] > REACH:
                # The new zeros are far above all other theta: choose another shift, and compute V anew in a copy.
                self.V = self.V.copy()
                self._bind()
                rep = self.rep
                renew(rep, g)
            elif self.link.kind == SIMPLEX:
                own = slice(0, self.functions) if self.link.joint else slice(g, g + 1)
                before = max(0, columns - self.first) * (functions if self.link.joint else int(g < functions))
                count = (rep.columns - self.first) * (self.functions if self.link.joint else 1)
                unit = np.exp(-self.numbers[g, SHIFT])
                self.V[max(columns, self.first) : rep.columns, own] = unit
                self.V[self.first : rep.columns, own][:, max(0, functions - own.start) :] = unit
                add_to_sum(self.numbers, g, (count - before) * unit)
            E = self.numbers[g, HIGH] + self.numbers[g, LOW]
            self.numbers[g, DIVISOR] = divisor_of(rep, E, self.numbers[g, SHIFT])

    def renew(self) -> None:
        """Make V and all sums from theta."""
        groups = 1 if self.link.joint else self.functions
        call(renew_all, self.rep, groups)

    def theta(self, scores: int) -> Floats:
        """The dual vectors of the first ``scores`` functions as rows (constant first)."""
        return self.dual.T[:scores, : 1 + self.width]

    def _present(self) -> Floats:
        """The weights of all functions, a column each."""
        return self.V / self.numbers[:, DIVISOR]

    def _mean(self, rounds: int) -> Floats:
        since = self.numbers[:, SINCE_ROUND]
        return (self.U + self._present() * (rounds - since)) / rounds

    def weights(self, scores: int, rounds: int) -> Floats:
        table = self._mean(rounds) if self.average and rounds > 0 else self._present()
        return table.T[:scores, : 1 + self.width]

    def predictor(self, rounds: int) -> Any:
        if not self.average or rounds == 0:
            return self.rep
        return self.rep._replace(V=self._mean(rounds), numbers=np.ones_like(self.numbers))

    def split(self, factor: float) -> None:
        """Turn one binary function into two opposite ones, of dual vectors ``-factor theta`` and ``factor theta``."""
        self.reserve(2, self.width)
        # The averages hold weights: two rows under one norm are shorter than one of them under its own.
        shorter = factor * self.link.pair / 2.0 if self.link.joint else 1.0
        for table, by in ((self.dual, factor), (self.U, shorter)):
            if table.size:
                table[:, 1] = by * table[:, 0]
                table[:, 0] = 0.0 - table[:, 1]  # never -0.0
        self.numbers[:, SINCE_ROUND] = self.numbers[0, SINCE_ROUND]
        self.renew()

    def state(self, scores: int) -> StoredArrays:
        arrays: StoredArrays = {"W": self.theta(scores).copy(), "V": self.V.T[:scores, : 1 + self.width].copy()}
        arrays["sums"] = self.numbers[: 1 if self.link.joint else scores].copy()
        if self.average:
            arrays["U"] = self.U.T[:scores, : 1 + self.width].copy()
        return arrays

    def restore(self, arrays: StoredArrays) -> None:
        scores, columns = arrays["W"].shape
        self.reserve(max(scores, 1), columns - 1)
        if arrays["V"].shape != (scores, columns) or arrays["sums"].shape != self.numbers[:scores].shape:
            raise ValueError("its arrays have wrong shapes")
        sums = arrays["sums"]
        if self.link.kind == NORM:
            sums = np.delete(sums, DIVISOR, axis=1)  # infinite where the dual vector is too short to have weights
        if not (np.isfinite(arrays["V"]).all() and np.isfinite(sums).all()):
            raise ValueError("it holds NaN or inf")
        if not (arrays["sums"][:, DIVISOR] > 0.0).all():
            raise ValueError("its weights have no positive divisor")
        for name, table in (("W", self.dual), ("V", self.V), ("U", self.U)):
            if table.size and name in arrays:
                table[:columns, :scores] = arrays[name].T
        self.numbers[: len(arrays["sums"])] = arrays["sums"]
