"""A kernel expansion within a budget: beyond it the pattern of least loss is projected onto the others.

Take the pattern p with coefficients a_p out of M and put its projection on the remaining patterns in its place. With Q
the inverse of the patterns' Gram matrix,

    phi_p  ~  - sum_{j != p} (Q_jp / Q_pp) phi_j,        |M - M'|^2 = |a_p|^2 / Q_pp ,

so the least loss is found in O(budget), the coefficients change by one outer product, and Q follows in O(budget^2): the
new example is bordered onto it and p is cut out, in one pass. The new example is a candidate like any other; where it
lies in the span of the patterns already (its residual is TINY_RESIDUAL of its length squared) it is projected at once.

Csato & Opper (Neural Computation 2002) for the loss and the recursion of Q; Wang, Crammer & Vucetic (JMLR 2012) for
removal with projection in kernel learning on a budget; Orabona, Keshet & Caputo (JMLR 2009) for projecting the new one.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ellipsoid.engine.compile import call, compiled
from ellipsoid.engine.generic import SUM, helper

from ..rollback import Mark
from ..table_protocol import Floats
from ..tables import doubled
from .expansion import ExpansionTable
from .lookahead import NORM2, PAUSE, PENDING, SCALE, SINCE_INVERTED, Lookahead, add_times
from .pattern_index import END
from .patterns import Block

# Of the squared length of an example: with less of it outside the span of the patterns Q would lose its digits.
TINY_RESIDUAL = 1e-10


class BudgetTable(ExpansionTable):
    """An expansion over at most ``budget`` support patterns."""

    moves_by_updates = False

    def __init__(self, *args: Any, budget: int, **options: Any) -> None:
        super().__init__(*args, **options)
        self.budget = budget
        self.gram: Floats = np.zeros((0, 0))
        self.inverse: Floats = np.zeros((0, 0))
        # The next inverse is computed here, beside the last one, to which a rollback may return.
        self.spare: Floats = np.zeros((0, 0))
        self.numbers[PAUSE] = 1.0

    def values(self, block: Block) -> Floats:
        """Kernel values of a block with all patterns, with room for the patterns that it may add."""
        count = min(self.budget, self.used + len(block.norms))
        values = np.zeros((len(block.norms), count))
        if self.used:
            kernel, everybody = self.make_kernel(), slice(0, self.used)
            values[:, : self.used] = self.patterns.values(kernel, block, everybody)
            values[:, : self.used] += self.constant2
        return values

    def rescore(self, ahead: Lookahead, values: Floats, begin: int, end: int) -> None:
        """Make the scores of some rows those of the present hypothesis."""
        call(_score, values, self.coef, self.used, ahead.scores, begin, end)

    def settle_update(self, block: Block, ahead: Lookahead, t: int, values: Floats, mark: Mark) -> None:
        """Store the last update, of row t, within the budget."""
        self.numbers[PENDING] = 0.0
        self.coef, self.late = self.coef.copy(), self.late.copy()
        moved, late = ahead.moved[t], ahead.late[t] if self.average else None
        slot = self.patterns.find_one(block, t)
        if slot != END:
            self._add_coefficients(slot, moved, late)
            return
        used, own, scores = self.used, float(ahead.gram[t, t]), len(moved)
        z = np.zeros(used)
        call(_times, self.inverse, np.ascontiguousarray(values[t, :used]), z)
        residual = own - float(values[t, :used] @ z)
        losses = self._losses(z, residual, scores) if used == self.budget and residual > 0.0 else np.zeros(0)
        if residual <= TINY_RESIDUAL * own or (len(losses) and moved @ moved * residual <= losses.min()):
            self._distribute(z, moved, late)
            self._reduce_norm2(max(0.0, residual) * float(moved @ moved))
        elif used < self.budget:
            slot = int(self.patterns.place(block, np.array([t]))[0])
            self._add_coefficients(slot, moved, late)
            self._extend_inverse(z, residual)
            self._store_gram(slot, values[t], own, mark)
            values[:, slot] = ahead.gram[t]
        else:
            self._replace(int(losses.argmin()), block, ahead, t, (z, residual), values, mark)

    def commit(self, block: Block, ahead: Lookahead, mark: Mark) -> None:
        """Do nothing: every update was stored when it happened."""

    def _reduce_norm2(self, norm2: float) -> None:
        """Subtract the part that was given up, which is orthogonal to the rest."""
        self.numbers[NORM2] -= self.numbers[SCALE] * self.numbers[SCALE] * norm2

    # -- coefficients ------------------------------------------------------------------------------------------

    def _add_coefficients(self, slot: int, moved: Floats, late: Floats | None) -> None:
        self.coef = doubled(self.coef, slot + 1)
        self.coef[slot, : len(moved)] += moved
        if late is not None:
            self.late = doubled(self.late, slot + 1)
            self.late[slot, : len(moved)] += late

    def _distribute(self, shares: Floats, moved: Floats, late: Floats | None) -> None:
        """Give every pattern its share of a row of coefficients."""
        self.coef[: len(shares), : len(moved)] += np.outer(shares, moved)
        if late is not None:
            self.late[: len(shares), : len(moved)] += np.outer(shares, late)

    def _losses(self, z: Floats, residual: float, scores: int) -> Floats:
        """The loss of removing each pattern, where the new example is one of them."""
        coef = self.coef[: self.used, :scores]
        return np.einsum("ir,ir->i", coef, coef) / (np.diag(self.inverse)[: self.used] + z * z / residual)

    def _replace(
        self, p: int, block: Block, ahead: Lookahead, t: int, bordered: tuple[Floats, float], values: Floats, mark: Mark
    ) -> None:
        """Replace pattern p, whose projection stays, by the new example."""
        z, residual = bordered
        column = np.concatenate([self.inverse[p, :p], self.inverse[p : self.used, p]]) + z * (z[p] / residual)
        kept, new = float(column[p]), -float(z[p]) / residual
        scores = ahead.moved.shape[1]
        gone, gone_late = self.coef[p, :scores].copy(), self.late[p, :scores].copy() if self.average else None
        shares = -column / kept
        shares[p] = 0.0
        self._distribute(shares, gone, gone_late)
        self._reduce_norm2(float(gone @ gone) / kept)
        self.coef[p, :scores] = ahead.moved[t] - (new / kept) * gone
        if gone_late is not None:
            self.late[p, :scores] = ahead.late[t] - (new / kept) * gone_late
        self._update_inverse(z, 1.0 / residual, column, 1.0 / kept)
        row = -z / residual - (new / kept) * column
        row[p] = 1.0 / residual - new * new / kept
        self.inverse[p, : p + 1], self.inverse[p:, p] = row[: p + 1], row[p:]
        self.patterns.replace(p, block, t, mark)
        self._store_gram(p, values[t], float(ahead.gram[t, t]), mark)
        values[:, p] = ahead.gram[t]
        self.numbers[SINCE_INVERTED] += 1.0
        if self.numbers[SINCE_INVERTED] >= self.budget:
            self._invert()

    # -- the inverse of the Gram matrix, its lower triangle ----------------------------------------------------

    def _extend_inverse(self, z: Floats, residual: float) -> None:
        """Add a row for the pattern just stored."""
        n = len(z)
        if n >= len(self.inverse):
            more = min(self.budget, max(16, 2 * n)) - n
            self.gram, self.inverse = (np.pad(old[:n, :n], (0, more)) for old in (self.gram, self.inverse))
        self._update_inverse(z, 1.0 / residual, z, 0.0)
        self.inverse[n, :n] = -z / residual
        self.inverse[n, n] = 1.0 / residual

    def _update_inverse(self, z: Floats, up: float, g: Floats, down: float) -> None:
        """``Q + up z z' - down g g'``; the old Q becomes the spare one."""
        new = self.spare if self.spare.shape == self.inverse.shape else np.zeros(self.inverse.shape)
        call(_exchange, self.inverse, z, up, g, down, new)
        self.inverse, self.spare = new, self.inverse

    def _store_gram(self, slot: int, values: Floats, own: float, mark: Mark) -> None:
        """Store the kernel values of a pattern with the others."""
        n = self.used
        mark.save(self.gram, slot)
        mark.save(self.gram, (slice(None), slot))
        self.gram[slot, :n] = self.gram[:n, slot] = values[:n]
        self.gram[slot, slot] = own

    def _invert(self) -> None:
        """Compute the inverse from the Gram matrix, before rounding has added up."""
        n = self.used
        self.inverse[:n, :n] = np.tril(np.linalg.inv(self.gram[:n, :n]))
        self.numbers[SINCE_INVERTED] = 0.0

    # -- files -------------------------------------------------------------------------------------------------

    def state(self, scores: int) -> dict[str, NDArray[Any]]:
        n = self.used
        return {**super().state(scores), **{name: getattr(self, name)[:n, :n].copy() for name in ("gram", "inverse")}}

    def restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        super().restore(arrays)
        if self.used > self.budget:
            raise ValueError(f"it has {self.used} support patterns and a budget of {self.budget}")
        for name in ("gram", "inverse"):
            if arrays[name].shape != (self.used, self.used):
                raise ValueError(f"its array {name!r} has the wrong shape {arrays[name].shape}")
            setattr(self, name, np.ascontiguousarray(arrays[name], dtype=np.float64))


@helper(SUM)
def _half_row(Q, i, x):
    total = 0.0
    for j in range(i):
        total += Q[i, j] * x[j]
    return total


@compiled
def _score(values, coef, used, scores, begin, end):
    total = np.empty(scores.shape[0])
    for t in range(begin, end):
        total[:] = 0.0
        for i in range(used):
            add_times(total, values[t, i], coef[i])
        scores[:, t] = total


@compiled
def _times(Q, x, out):
    for i in range(x.shape[0]):
        out[i] += _half_row(Q, i, x) + Q[i, i] * x[i]
        for j in range(i):
            out[j] += Q[i, j] * x[i]


@compiled
def _exchange(Q, z, up, g, down, out):
    for i in range(z.shape[0]):
        a, b = up * z[i], down * g[i]
        for j in range(i + 1):
            out[i, j] = Q[i, j] + (a * z[j] - b * g[j])
