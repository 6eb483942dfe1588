"""The matrix S of a Gram form B = I - Z' S Z in the memory of a device, where it is multiplied and grows.

With n stored examples S has n^2 numbers, and every update reads all of them: with some thousand examples that takes
most of the time on a CPU. Downdates are collected, and then added to S together by one product:

    S = matrix + sum_j factor_j v_j v_j',     v_j = (coef_j, 1, 0, ...)

Only ``extend`` and ``write`` change the value of S, and no interrupt breaks into these. Other methods leave everything
as it was until they are done.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from ellipsoid.representation.kernel.device import DeviceFull
from ellipsoid.representation.table_protocol import Floats

# The most downdates that are collected, and the rows of S that are written at once.
MOST_WAITING, STRIP = 64, 1024


class DeviceShape:
    """S over ``size`` examples, with room for more; ``arrays`` is the array module."""

    def __init__(self, arrays: Any, S: Floats) -> None:
        self.arrays, self.size, self.count = arrays, 0, 0
        self.matrix, self.waiting = arrays.zeros((0, 0)), arrays.zeros((MOST_WAITING, 0))
        self.factors = np.zeros(MOST_WAITING)
        self.reserve(len(S))
        self.matrix[: len(S), : len(S)] = arrays.asarray(S)
        self.size = len(S)

    def reserve(self, size: int) -> None:
        """Make room for so many examples, and for at least an eighth more than before where it grows."""
        if size <= len(self.matrix):
            return
        room = max(size, 9 * len(self.matrix) // 8)
        try:
            matrix, waiting = self.arrays.zeros((room, room)), self.arrays.zeros((MOST_WAITING, room))
        except MemoryError as error:
            raise DeviceFull(
                f"the device has no memory left for the matrix of {size:,} update examples, {8e-9 * room * room:.1f} "
                'GB in addition to the old one: use device="cpu"'
            ) from error
        matrix[: self.size, : self.size] = self.matrix[: self.size, : self.size]
        waiting[: self.count, : self.size] = self.waiting[: self.count, : self.size]
        self.matrix, self.waiting = matrix, waiting

    def times(self, rows: Any) -> Any:
        """Rows times S, or one row times S, over the whole capacity."""
        found = rows @ self.matrix
        if self.count:
            waiting, factors = self.waiting[: self.count], self.arrays.asarray(self.factors[: self.count])
            found += ((rows @ waiting.T) * factors) @ waiting
        return found

    def spread(self, row: Any) -> float:
        """Sum of sqrt(S_kk) times the sizes of a row's numbers, over the whole capacity."""
        diagonal = self.matrix.diagonal()
        if self.count:
            diagonal = diagonal + self.arrays.asarray(self.factors[: self.count]) @ self.waiting[: self.count] ** 2
        return float(self.arrays.sqrt(diagonal.clip(0.0)) @ abs(row))

    def padded(self, rows: Any) -> Any:
        """Rows over the examples, or one, padded to the capacity."""
        wide = self.arrays.zeros((*rows.shape[:-1], len(self.matrix)))
        wide[..., : rows.shape[-1]] = self.arrays.asarray(rows)
        return wide

    def extend(self, coef: Any, factor: float) -> None:
        """Downdate with one more example: S + factor vv' for v = (coef, 1); there must be room for it."""
        self.waiting[self.count] = coef
        self.waiting[self.count, self.size] = 1.0
        self.factors[self.count] = factor
        self.size, self.count = self.size + 1, self.count + 1

    def strips(self) -> Iterator[slice]:
        """Slices of rows of S: a product over all of them would need another matrix of its size."""
        return (slice(begin, min(self.size, begin + STRIP)) for begin in range(0, self.size, STRIP))

    def write(self) -> None:
        """Add the collected downdates to the matrix; an interrupt in between would add a part of them twice."""
        waiting = self.waiting[: self.count]
        # All memory is allocated before the first change.
        weighted = self.arrays.ascontiguousarray(waiting.T * self.arrays.asarray(self.factors[: self.count]))
        product = self.arrays.empty((min(STRIP, self.size), len(self.matrix)))
        for part in self.strips():
            rows = self.matrix[part]
            rows += self.arrays.matmul(weighted[part], waiting, out=product[: len(rows)])
        self.count = 0

    def whole(self) -> Floats:
        """S as a NumPy array."""
        host = np.empty((self.size, self.size))
        waiting, factors = self.waiting[: self.count, : self.size], self.arrays.asarray(self.factors[: self.count])
        for part in self.strips():
            found = self.matrix[part, : self.size] + (waiting[:, part].T * factors) @ waiting
            host[part] = found.get() if hasattr(found, "get") else found
        return host
