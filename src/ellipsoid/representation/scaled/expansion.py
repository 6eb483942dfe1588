"""A kernel expansion that a rule multiplies as a whole: ``M <- c M + d phi(x)`` on a block that is scored ahead.

The look-ahead has a scale already. The loop does not have most of the coefficients. What needs them is left to Python:
the loop stops after the update (PENDING) when the norm has to be summed afresh, the scale or the unit changed, averages
flushed or everything forgotten. All of these are rare.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ellipsoid.engine.protocol import TAU, absorb
from ellipsoid.engine.tally import ROUNDS

from ..kernel.expansion import ExpansionTable, KernelSpec
from ..kernel.lookahead import NORM2, PENDING, SCALE, SCALE_SUM, Lookahead, ScaledAhead
from ..kernel.patterns import NO_COLUMNS, Block
from ..linear import add
from ..rollback import Mark
from .weights import (
    BEFORE,
    FLUSHED,
    FORGET,
    FUNCTIONS_USED,
    GOAL,
    LARGEST_NORM2,
    LARGEST_SCALE,
    LOSS,
    NORM2_SUMMED,
    SMALLER_UNIT,
    SMALLEST_SCALE,
    TRUSTED_GROWTH,
    blended,
    bring_up,
)

# Patterns that are scored together when the norm is summed.
NORM_PATTERNS = 512


@absorb.register(ScaledAhead)
def _(rep, rule, rows, t, moves, work, tally):
    state = rep.state
    c, d = blended(rep, rule, rows, t, moves, work, tally)
    if d == 0.0:
        return False
    bring_up(state, tally[ROUNDS])
    if c == 0.0:
        state[FORGET], state[BEFORE], state[SCALE_SUM], state[FLUSHED] = 1.0, state[SCALE_SUM], 0.0, tally[ROUNDS]
        for r in range(rep.scores.shape[0]):
            for s in range(rep.scores.shape[1]):
                rep.scores[r, s] = 0.0
        state[SCALE], state[NORM2_SUMMED] = 1.0, 0.0
    else:
        state[SCALE] *= c
    for k in range(moves):
        work[TAU, k] *= d / state[SCALE]
    add(rep, rows, t, moves, work, state[SCALE_SUM])
    rep.when[t] = tally[ROUNDS] + 1.0
    if state[NORM2_SUMMED] == 0.0:
        state[NORM2_SUMMED] = state[NORM2]
    growth = state[NORM2] / state[NORM2_SUMMED] if state[NORM2_SUMMED] > 0.0 else 0.0
    lost = rep.late.shape[0] > 0 and state[SCALE_SUM] > LOSS * state[SCALE] * (tally[ROUNDS] - state[FLUSHED] + 1.0)
    fine = 1.0 / TRUSTED_GROWTH < growth < TRUSTED_GROWTH and SMALLEST_SCALE < state[SCALE] < LARGEST_SCALE
    if lost or not fine or state[NORM2] > LARGEST_NORM2 or state[FORGET] != 0.0:
        state[PENDING] = 1.0
    return True


class ScaledExpansionTable(ExpansionTable):
    """Support patterns of a hypothesis that is ``SCALE`` times its coefficients."""

    moves_by_updates = False

    def __init__(self, kernel: KernelSpec, **options: Any) -> None:
        super().__init__(kernel, **options)
        self.numbers[GOAL] = 1.0

    @property
    def goal(self) -> float:
        """The unit in which the numbers are kept."""
        return float(self.numbers[GOAL])

    def reserve(self, scores: int, width: int) -> bool:
        self.numbers[FUNCTIONS_USED] = max(self.numbers[FUNCTIONS_USED], scores)
        return super().reserve(scores, width)

    def split(self, factor: float) -> None:
        super().split(factor)
        self.numbers[NORM2_SUMMED] *= 2.0 * factor * factor

    def restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        used = self.numbers[FUNCTIONS_USED]
        super().restore(arrays)
        if self.numbers[FUNCTIONS_USED] != used or self.numbers[PENDING] != 0.0:
            raise ValueError("its numbers are damaged")

    def settle_update(self, block: Block, ahead: Lookahead, t: int, rounds: int, mark: Mark) -> float:
        """Finish the update of row t, for which the loop stopped; returns the factor for scores that are kept."""
        numbers = self.numbers
        # All coefficients change: into new arrays, since a rollback may need the old ones.
        self.coef, self.late = self.coef.copy(), self.late.copy()
        if self.history is not None:
            self.history.moved = self.history.moved.copy()
        scores, when = ahead.moved.shape[1], ahead.when[t]
        if numbers[FORGET]:
            ahead.when[t] = 0.0
            self.commit(block, ahead, mark)
            self._forget(float(when))
            ahead.when[:] = 0.0
            ahead.when[t] = when
        self.commit(block, ahead, mark)
        for array in (ahead.moved, ahead.late, ahead.when):
            array[:] = 0.0
        self._flush(rounds)
        growth = numbers[NORM2] / numbers[NORM2_SUMMED] if numbers[NORM2_SUMMED] > 0.0 else 0.0
        if not 1.0 / TRUSTED_GROWTH < growth < TRUSTED_GROWTH and self.kernel[0] != "precomputed":
            if scores > 1:
                coef = self.coef[: self.used, :scores]
                coef -= coef.mean(axis=1, keepdims=True)
            numbers[NORM2] = numbers[NORM2_SUMMED] = self.squared_norm(scores)
        unit, factor = (SMALLER_UNIT if numbers[NORM2] > LARGEST_NORM2 else 1.0), 1.0
        if unit != 1.0 or not SMALLEST_SCALE < numbers[SCALE] < LARGEST_SCALE:
            factor = unit * float(numbers[SCALE])
            self.coef *= factor
            self.late *= unit
            if self.history is not None:
                self.history.moved *= factor
            numbers[SCALE] = 1.0
            numbers[GOAL] *= unit
            numbers[[NORM2, NORM2_SUMMED]] *= unit * unit
        self.delayed.rest(self.coef[: self.used])
        ahead.scores[:] = self.scores_ahead(block, scores).T
        numbers[PENDING] = 0.0
        return factor

    def _flush(self, rounds: int) -> None:
        """Move all that has been summed for averages into ``late``."""
        if self.average:
            self.late[: self.used] -= self.numbers[SCALE_SUM] * self.coef[: self.used]
        self.numbers[SCALE_SUM], self.numbers[FLUSHED] = 0.0, rounds

    def _forget(self, when: float) -> None:
        """Set all coefficients to zero, in round ``when``."""
        numbers, everyone = self.numbers, np.arange(self.used)
        if self.average:
            self.late[: self.used] -= numbers[BEFORE] * self.coef[: self.used]
        if self.history is not None and self.used:
            self.history.extend(everyone, np.full(self.used, when), 0.0 - self.coef[: self.used])
        self.coef[:] = 0.0
        numbers[FORGET] = numbers[BEFORE] = 0.0

    def squared_norm(self, scores: int) -> float:
        """``|M|^2 = sum_i sum_r coef[i, r] B_r(x_i)``, from the scores of the support patterns."""
        total, coef = 0.0, self.coef[: self.used, :scores]
        for begin in range(0, self.used, NORM_PATTERNS):
            picks = slice(begin, min(self.used, begin + NORM_PATTERNS))
            part = Block(self.patterns.rows(picks), self.patterns.norms[picks], NO_COLUMNS)
            part = self.patterns.lay_out(self.make_kernel(), part)
            total += float(np.vdot(coef[picks], self.scores(part, coef)))
        return float(self.numbers[SCALE]) ** 2 * total
