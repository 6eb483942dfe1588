"""The threshold of a conformal predictor: how badly a label or number may fit before its set leaves it out.

Every row has a nonconformity: of a label, by how much another scored higher; of a number, how far the prediction was
off. The threshold q is the k-th smallest of the last m of them, k = ceil((1 - a)(m + 1)); none (infinite) where k > m
or a <= 0, and lower than all where a >= 1. After each row

    a <- a + rate (miscoverage - miss),     miss = 1 where the row's nonconformity was above q,

or, of a number, where it was outside its interval, whose ends are rounded.

So a stays within rate of [0, 1], and since it is the sum of its moves, on every stream whatsoever

    | misses / T - miscoverage | <= (max(miscoverage, 1 - miscoverage) + rate) / (rate T).

Gibbs and Candès, "Adaptive conformal inference under distribution shift", NeurIPS 2021.
"""

from math import ceil, inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ellipsoid.engine import call, compiled
from ellipsoid.engine.generic import helper
from ellipsoid.representation.table_protocol import Floats, owning

from .calibration import LARGEST_SCORE

# The level a, misses, rows that were judged.
LEVEL, MISSES, JUDGED = range(3)
NO_NUMBERS = np.zeros(0)


@helper()
def quantile(ordered: Any, held: int, level: float) -> float:
    """The threshold for so many values in order, at a level."""
    if level >= 1.0:
        return -inf
    if level <= 0.0 or held == 0:
        return inf
    k = ceil((1.0 - level) * (held + 1))
    return float(ordered[max(k, 1) - 1]) if k <= held else inf


@compiled
def conform(
    values: Any, predicted: Any, truth: Any, miscoverage: float, rate: float, recent: Any, ordered: Any, numbers: Any,
    thresholds: Any,
) -> Any:  # fmt: skip
    """Judge the rows one after the other; ``thresholds`` takes what each was held against.

    ``values`` are their nonconformities. Of numbers there are also the ``predicted`` and the true ones.
    """
    size = recent.shape[0]
    for t in range(values.shape[0]):
        judged = int(numbers[JUDGED])
        held = min(judged, size)
        q = quantile(ordered, held, numbers[LEVEL])
        thresholds[t] = q
        miss = 1.0 if values[t] > q else 0.0
        if predicted.shape[0] > 0:
            miss = 0.0 if predicted[t] - q <= truth[t] and truth[t] <= predicted[t] + q else 1.0
        numbers[LEVEL] += rate * (miscoverage - miss)
        numbers[MISSES] += miss
        place = judged % size
        if held == size:
            # The oldest one goes: what is above it moves down.
            low = np.searchsorted(ordered[:held], recent[place])
            for i in range(low, held - 1):
                ordered[i] = ordered[i + 1]
            held -= 1
        recent[place] = values[t]
        at = np.searchsorted(ordered[:held], values[t])
        for i in range(held, at, -1):
            ordered[i] = ordered[i - 1]
        ordered[at] = values[t]
        numbers[JUDGED] += 1.0
    return np.int64(0)


class Conformity:
    """The last nonconformities of a stream, and the level that its misses have led to."""

    def __init__(self, miscoverage: float, rate: float, window: int) -> None:
        self.miscoverage, self.rate = float(miscoverage), float(rate)
        self.recent: Floats = np.zeros(window)
        self.ordered: Floats = np.zeros(window)
        self.numbers: Floats = np.array([self.miscoverage, 0.0, 0.0])

    def learn(self, values: Floats, predicted: Floats = NO_NUMBERS, truth: Floats = NO_NUMBERS) -> Floats:
        """Judge rows of these nonconformities; returns the thresholds that they were held against."""
        thresholds = np.empty(len(values))
        args = (values, predicted, truth, self.miscoverage, self.rate, self.recent, self.ordered, self.numbers,
                thresholds)  # fmt: skip
        call(conform, *args)
        return thresholds

    def learn_numbers(self, predicted: Floats, truth: Floats) -> Floats:
        """Judge rows by the intervals around the predicted numbers; returns half their widths."""
        values = np.abs(truth - predicted)
        # Where a rounded distance does not reach the number, the number is farther off than that.
        short = (truth < predicted - values) | (truth > predicted + values)
        values[short] += np.spacing(np.maximum(values, np.maximum(np.abs(predicted), np.abs(truth))))[short]
        return self.learn(values, predicted, truth)

    @property
    def threshold(self) -> float:
        """What the next row is held against."""
        held = min(int(self.numbers[JUDGED]), len(self.recent))
        return float(quantile(self.ordered, held, float(self.numbers[LEVEL])))

    def bound(self) -> tuple[float, float]:
        """The distance of the share of misses from the miscoverage, and what it cannot exceed."""
        rows, alpha = float(self.numbers[JUDGED]), self.miscoverage
        if rows == 0.0:
            return 0.0, inf
        observed = abs(float(self.numbers[MISSES]) / rows - alpha)
        most = (max(alpha, 1.0 - alpha) / self.rate + 1.0) / rows
        # The level is a sum of as many terms, each rounded.
        return max(0.0, observed - 1e-14 * rows), most * (1.0 + 1e-12)

    def state(self) -> dict[str, NDArray[Any]]:
        """Arrays that hold everything."""
        return {"recent": self.recent, "counts": self.numbers}

    def restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Restore what a file holds, or raise ``ValueError``."""
        recent, numbers = arrays["recent"], arrays["counts"]
        if recent.shape != self.recent.shape or numbers.shape != self.numbers.shape:
            raise ValueError("what its sets have learned has the wrong shape")
        level, misses, judged = numbers.tolist()
        far = 2.0 * self.rate + 1e-9
        if not (0 <= misses <= judged < 2**53 and judged == int(judged) and -far <= level <= 1.0 + far):
            raise ValueError("what its sets have learned is not that of a stream")
        held = min(int(judged), len(recent))
        self.recent[:], self.numbers[:] = recent, numbers
        self.ordered[:held] = np.sort(recent[:held])

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(owning(state))


def nonconformities(scores: Floats, known: int) -> Floats:
    """By how much another label scored higher than each, for rows of scores.

    >>> nonconformities(np.array([[3.0, 1.0, 2.0]]), 3)
    array([[-1.,  2.,  1.]])
    >>> nonconformities(np.array([[0.5], [-2.0]]), 2)
    array([[ 0.5, -0.5],
           [-2. ,  2. ]])
    """
    if known < 2:
        return np.full((len(scores), known), -inf)
    scores = np.clip(scores, -LARGEST_SCORE, LARGEST_SCORE)
    if known == 2:
        lead = scores.reshape(-1, 1)
        return np.hstack([lead, -lead])
    order = np.partition(scores, known - 2, axis=1)
    first, second = order[:, -1:], order[:, -2:-1]
    highest = scores == first
    # Where two share the highest score, each is a rival of the other.
    alone = highest & (highest.sum(axis=1, keepdims=True) == 1)
    return np.where(alone, second, first) - scores
