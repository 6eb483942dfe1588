"""The Python side of scaled weights: tables of which a multiple is the hypothesis."""

from typing import Any

import numpy as np

from ..averages import mean
from ..kernel.lookahead import EXPANSION_NUMBERS, NORM2, SCALE, SCALE_SUM, SINCE
from ..table_protocol import Floats, StoredArrays
from ..tables import LinearTable
from .weights import FUNCTIONS_USED, GOAL, NORM2_SUMMED, STRETCH, Powers, ScaledWeights


class ScaledTable(LinearTable):
    """Linear functions ``SCALE V``, with the squared norm of all of them together.

    >>> table = ScaledTable(by_class=True, average=False)
    >>> _ = table.reserve(1, 2)
    >>> table.W[:], table.numbers[SCALE] = [[0.0, 3.0, 4.0]], 2.0
    >>> table.weights(1, rounds=0)
    array([[0., 6., 8.]])
    """

    def __init__(self, *, by_class: bool, average: bool) -> None:
        self.numbers: Floats = np.zeros(EXPANSION_NUMBERS)
        self.numbers[[SCALE, GOAL, STRETCH]] = 1.0
        super().__init__(by_class=by_class, average=average)

    def _bind(self) -> None:
        super()._bind()
        self.rep = ScaledWeights(self.rep, self.numbers)

    def reserve(self, scores: int, width: int) -> bool:
        self.numbers[FUNCTIONS_USED] = max(self.numbers[FUNCTIONS_USED], scores)
        return super().reserve(scores, width)

    @property
    def goal(self) -> float:
        """The unit in which the numbers are kept."""
        return float(self.numbers[GOAL])

    def weights(self, scores: int, rounds: int) -> Floats:
        table = self._mean(rounds) if self.average and rounds else float(self.numbers[SCALE]) * self.W
        return self._oriented(table)[:scores, : 1 + self.width]

    def _mean(self, rounds: int) -> Floats:
        past = self.numbers[SCALE_SUM] + self.numbers[SCALE] * (rounds - self.numbers[SINCE])
        return mean(self.W, self.U, rounds, past)

    def predictor(self, rounds: int) -> Any:
        if not self.average or rounds == 0:
            return self.rep
        return self.rep.table._replace(W=self._mean(rounds))

    def split(self, factor: float) -> None:
        super().split(factor)
        self.numbers[[NORM2, NORM2_SUMMED]] *= 2.0 * factor * factor

    def state(self, scores: int) -> StoredArrays:
        return {**super().state(scores), "numbers": self.numbers.copy()}

    def restore(self, arrays: StoredArrays) -> None:
        numbers = arrays["numbers"]
        if numbers.shape != self.numbers.shape or not np.isfinite(numbers).all():
            raise ValueError("its numbers have a wrong shape, or are not finite")
        if not (numbers[[SCALE, STRETCH]] > 0.0).all() or not numbers[NORM2] >= 0.0:
            raise ValueError("its numbers are damaged")
        if numbers[FUNCTIONS_USED] != self.numbers[FUNCTIONS_USED]:
            raise ValueError(
                f"it holds {self.numbers[FUNCTIONS_USED]:g} functions and says {numbers[FUNCTIONS_USED]:g}"
            )
        super().restore(arrays)
        self.numbers[:] = numbers


class PowerTable(ScaledTable):
    """Linear functions in the dual of a p-norm, p > 2: ``V`` holds a multiple of theta, ``W`` its powers."""

    def __init__(self, *, by_class: bool, average: bool, power: float) -> None:
        self.power = power
        super().__init__(by_class=by_class, average=average)

    def _allocate(self, scores: int, columns: int) -> None:
        self.V: Floats = np.zeros(self._shape(scores, columns))
        super()._allocate(scores, columns)

    def _bind(self) -> None:
        super()._bind()
        self.rep = Powers(self.rep.table, self.V, self.numbers, self.power)

    def reserve(self, scores: int, width: int) -> bool:
        V = self.V
        moved = super().reserve(scores, width)
        if moved:
            self.V[: V.shape[0], : V.shape[1]] = V
        return moved

    def dual(self, scores: int) -> Floats:
        """theta = f(w), one row per function."""
        return float(self.numbers[STRETCH]) * self._oriented(self.V)[:scores, : 1 + self.width]

    def split(self, factor: float) -> None:
        super().split(factor)
        view = self._oriented(self.V)
        view[1] = factor ** (1.0 / (self.power - 1.0)) * view[0]
        view[0] = 0.0 - view[1]

    def clear(self) -> None:
        super().clear()
        self.V[:] = 0.0

    def state(self, scores: int) -> StoredArrays:
        return {**super().state(scores), "V": self._oriented(self.V)[:scores, : 1 + self.width].copy()}

    def restore(self, arrays: StoredArrays) -> None:
        V = arrays["V"]
        if V.shape != arrays["W"].shape or not np.isfinite(V).all():
            raise ValueError("its dual weights have a wrong shape, or are not finite")
        super().restore(arrays)
        self._oriented(self.V)[: V.shape[0], : V.shape[1]] = V
