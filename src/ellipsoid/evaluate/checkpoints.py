"""The rows at which the counts of a run are recorded: few, and the same however the stream is cut into chunks.

Row t is a checkpoint if it is a power of two (so that a logarithmic axis shows the beginning) or a multiple
of ``step``. The step is the smallest power of two that leaves at most `MOST` multiples, so that it follows
from the number of rows alone; of a stream whose end is unknown it doubles on the way, and the odd multiples
are forgotten. Either way the same rows remain.

Predictions are known for every row; what the learner counts, and the time, only where it is stopped. Stopping costs
about as much as learning a hundred rows, so it happens only at multiples of ``step`` and of `SHORTEST_STRIDE`.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

MOST = 128
SHORTEST_STRIDE = 256


def running_sum(total: float, values: Any) -> NDArray[np.float64]:
    """``total`` and each value added in turn: the same bits however the values are cut.

    >>> running_sum(1.0, [2.0, 3.0])
    array([1., 3., 6.])
    """
    return np.cumsum(np.concatenate([[total], values]))


class Checkpoints:
    """The rows to record, and the rows to stop at.

    >>> marks = Checkpoints(n_rows=1000)
    >>> marks.step, list(marks.between(0, 40)), marks.stop_after(0), marks.stop_after(256)
    (8, [1, 2, 4, 8, 16, 24, 32, 40], 256, 512)
    """

    def __init__(self, n_rows: int | None = None) -> None:
        self.step = 1
        if n_rows is not None:
            self.reach(n_rows)

    def between(self, start: int, stop: int) -> list[int]:
        """The checkpoints in start + 1, ..., stop."""
        multiples = range((start // self.step + 1) * self.step, stop + 1, self.step)
        powers = [1 << k for k in range(start.bit_length(), stop.bit_length())]
        return sorted({*multiples, *powers})

    def stop_after(self, row: int) -> int:
        """The first row after ``row`` to stop at."""
        stride = max(self.step, SHORTEST_STRIDE)
        return (row // stride + 1) * stride

    def reach(self, row: int) -> bool:
        """Widen the step for a stream that goes on to ``row``; True if that forgets checkpoints."""
        before = self.step
        while row > MOST * self.step:
            self.step *= 2
        return self.step > before

    def keeps(self, row: int) -> bool:
        """Whether ``row`` is a checkpoint at the step reached so far."""
        return row % self.step == 0 or row & (row - 1) == 0
