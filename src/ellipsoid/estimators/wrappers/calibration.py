"""From scores to probabilities: the softmax of ``a s_k / m + b_k``, with slope and biases learned row by row.

m is the running mean of the spread of a row's scores, (highest - lowest) / 2: scores of any scale will do. There is one
slope a > 0 for all labels, and a bias for each. A row is taken with the scores that it had before it was learned.
The step on its log loss is Newton's: with z = s / m, probabilities p and the right label y, the gradient is

    g_a = sum_k p_k z_k - z_y,        g_k = p_k - [k = y],

and the sum of the Hessians over the rows is taken for an arrow: along a ``sum_k p_k (z_k - mean)^2``, across
``h_k = p_k (z_k - mean)``, and on the diagonal p_k. That is the Hessian plus ``(sum_k p_k b_k)^2``, which makes no
difference to probabilities, as all biases may be shifted together; and an arrow is solved in as many operations as it
has entries. Sums and means are forgotten at the rate ``forget`` a row, and at first faster: after t rows at the rate
``1 - 3 / (t + 4)``, because the scores of a learner that knew little say little of those that it gives now. One score
for two labels is taken for -s and s.

Platt, "Probabilistic outputs for support vector machines", Advances in Large Margin Classifiers (2000); Guo, Pleiss,
Sun and Weinberger, "On calibration of modern neural networks", ICML 2017.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ellipsoid.engine import call, compiled
from ellipsoid.representation.table_protocol import Floats
from ellipsoid.representation.tables import widened

# Rows of the table, of which column 0 is the slope's and the others the labels'.
PARAMETERS, CURVATURE, ACROSS = range(3)
# What is kept of the spread.
MEAN_SPREAD, SPREAD_WEIGHT, ROWS_SEEN = range(3)

# Curvature before the first row: of the weight of one row that is sure of nothing, about.
PRIOR = 1.0
# The larger, the less the first rows count: row t has the weight of this power of t while nothing else is forgotten.
EARLY_POWER = 3.0
# Spreads beyond so many means teach no more than this many: one row must not undo what all others have taught.
WIDEST = 10.0
# And those below this nothing at all: one over them is not a number that can be multiplied with.
NARROWEST = 1e-300
# A step changes the slope by no more than this factor, and all of them together leave it within these bounds.
BOLDEST, FLATTEST, STEEPEST = 2.0, 1e-6, 1e6
# No probability is below exp(-700), the smallest power that rounds to an ordinary number.
LEAST_LOGARITHM = -700.0
# Larger scores are taken for this one: a file holds no infinite number.
LARGEST_SCORE = 1e300


@compiled
def bounded_score(score: Any) -> Any:
    """The score as a finite number."""
    if score != score:
        return 0.0
    return min(max(score, -LARGEST_SCORE), LARGEST_SCORE)


@compiled
def calibrate(scores: Any, codes: Any, half: Any, forget: Any, table: Any, spread: Any, logits: Any) -> None:
    """Write the logits of every row, and learn it thereafter if there are codes of labels.

    Logits are the logarithms of probabilities but for a number that all labels share; the highest score's is its bias.
    """
    labels, single = table.shape[1] - 1, scores.shape[1] == 1
    chances = np.empty(labels)
    for t in range(scores.shape[0]):
        out = logits[t]
        for k in range(labels):
            score = scores[t, 0 if single else k]
            out[k] = bounded_score(score if not single else half * score if k == 1 else -half * score)
        top, low = out[0], out[0]
        for k in range(labels):
            top, low = max(top, out[k]), min(low, out[k])
        for k in range(labels):
            out[k] -= top
        if codes.shape[0] > 0:
            learn_label(out, codes[t], 0.5 * top - 0.5 * low, forget, table, spread, chances)
        else:
            add_biases(out, table, spread[MEAN_SPREAD])


@compiled
def add_biases(out: Any, table: Any, mean: Any) -> None:
    """Turn scores, the highest of them 0, into logits."""
    for k in range(out.shape[0]):
        steep = table[PARAMETERS, 0] * (out[k] / mean) if mean > 0.0 else 0.0
        out[k] = max(steep, -LARGEST_SCORE) + table[PARAMETERS, 1 + k]


@compiled
def learn_label(out: Any, y: Any, width: Any, forget: Any, table: Any, spread: Any, chances: Any) -> None:
    """Learn from one row's scores, the highest of them 0, which become its logits as they were before."""
    labels = out.shape[0]
    before = spread[MEAN_SPREAD]
    spread[ROWS_SEEN] += 1.0
    forget = min(forget, spread[ROWS_SEEN] / (spread[ROWS_SEEN] + EARLY_POWER))
    spread[SPREAD_WEIGHT] = forget * spread[SPREAD_WEIGHT] + 1.0
    spread[MEAN_SPREAD] += (width - spread[MEAN_SPREAD]) / spread[SPREAD_WEIGHT]
    mean = spread[MEAN_SPREAD]
    # z_k is out[k] * by.
    by = min(1.0 / mean, WIDEST / width) if min(mean, width) > NARROWEST else 0.0
    slope, biases, flat, across = table[PARAMETERS, 0], table[PARAMETERS, 1:], table[CURVATURE], table[ACROSS, 1:]
    highest = -np.inf
    for k in range(labels):
        highest = max(highest, slope * (out[k] * by) + biases[k])
    total, centre = 0.0, 0.0
    for k in range(labels):
        chances[k] = np.exp(slope * (out[k] * by) + biases[k] - highest)
        total += chances[k]
        centre += chances[k] * (out[k] * by)
    centre /= total
    schur, push, swing = PRIOR, centre - out[y] * by, 0.0
    for k in range(labels):
        off = out[k] * by - centre
        p = chances[k] = chances[k] / total
        swing += p * off * off
        flat[1 + k] = forget * flat[1 + k] + p
        across[k] = forget * across[k] + p * off
        lean = across[k] / (PRIOR + flat[1 + k])
        schur -= lean * across[k]
        push -= lean * (p - (1.0 if k == y else 0.0))
    flat[0] = forget * flat[0] + swing
    schur = max(schur + flat[0], PRIOR)
    steeper = min(max(slope - push / schur, slope / BOLDEST, FLATTEST), slope * BOLDEST, STEEPEST)
    shift = 0.0
    for k in range(labels):
        out[k] = (max(slope * (out[k] / before), -LARGEST_SCORE) if before > 0.0 else 0.0) + biases[k]
        wrong = chances[k] - (1.0 if k == y else 0.0)
        biases[k] -= (wrong + across[k] * (steeper - slope)) / (PRIOR + flat[1 + k])
        shift += biases[k] / labels
    table[PARAMETERS, 0] = steeper
    for k in range(labels):
        biases[k] -= shift


class Calibration:
    """A slope and a bias for each known label, learned from scores."""

    def __init__(self, forget: float) -> None:
        self.forget = float(forget)
        self.table = np.zeros((3, 1))
        self.table[PARAMETERS, 0] = 1.0
        self.spread = np.zeros(3)
        self.expected: tuple[Any, int, int, Floats, NDArray[np.int64]] | None = None

    def reserve(self, labels: int) -> None:
        """Know so many labels; new ones have no bias yet."""
        if labels >= self.table.shape[1]:
            self.table = widened(self.table, 1 + labels)

    def arguments(self, scores: Floats, codes: NDArray[np.int64], half: float) -> tuple[Any, ...]:
        """What ``calibrate`` takes; the logits come last. ``half`` times a single score is the second label's."""
        if not self.table.flags.writeable:  # of a file that is only mapped
            self.table, self.spread = self.table.copy(), self.spread.copy()
        logits = np.empty((len(scores), self.table.shape[1] - 1))
        return scores, codes, float(half), self.forget, self.table, self.spread, logits

    def learn(self, scores: Floats, codes: NDArray[np.int64], half: float) -> Floats:
        """Learn the rows one after the other; returns the logits that each had before."""
        args = self.arguments(scores, codes, half)
        call(calibrate, *args)
        return args[-1]

    def expect(self, learner: Any, scores: Floats, codes: NDArray[np.int64]) -> None:
        """Rows are about to be learned by a learner: their scores will stand in the columns, their labels' codes do."""
        self.expected = learner, learner.rounds, int(self.spread[ROWS_SEEN]), scores, codes

    def settle(self) -> Floats:
        """Learn what the learner has learned of the expected rows, unless it is known already; returns their logits.

        Both count their rows while they learn them. So a call that is broken off between the two leaves nothing half
        done: whoever looks next settles first.
        """
        if self.expected is None:
            return np.empty((0, self.table.shape[1] - 1))
        learner, rounds, seen, scores, codes = self.expected
        some = slice(int(self.spread[ROWS_SEEN]) - seen, learner.rounds - rounds)
        logits = self.learn(np.ascontiguousarray(scores[:, some].T), codes[some].copy(), learner.half)
        self.expected = None
        return logits

    def logits(self, scores: Floats, half: float) -> Floats:
        """The logits of rows, by what was learned so far."""
        return self.learn(scores, np.zeros(0, dtype=np.int64), half)

    def rescale(self, scores: Floats, half: float) -> None:
        """Take the scale of these scores for that of all to come."""
        with np.errstate(over="ignore", invalid="ignore"):
            widths = np.abs(scores[:, 0]) * half if scores.shape[1] == 1 else np.ptp(scores / 2.0, axis=1)
            mean = np.minimum(widths, LARGEST_SCORE / len(widths)).mean()
        if mean > 0.0:
            self.spread[MEAN_SPREAD] = mean

    def restore(self, table: Floats, spread: Floats, labels: int) -> None:
        """Restore what a file holds."""
        if table.shape != (3, 1 + labels) or spread.shape != self.spread.shape or (spread < 0.0).any():
            raise ValueError("its calibration has the wrong shape")
        if not FLATTEST <= table[PARAMETERS, 0] <= STEEPEST or (table[CURVATURE] < 0.0).any():
            raise ValueError("its calibration is not that of a stream")
        self.table, self.spread = np.array(table), np.array(spread)


def log_probabilities(logits: Floats) -> Floats:
    """Logarithms of the probabilities, none of them infinite.

    >>> log_probabilities(np.array([[0.0, 0.0], [0.0, -1e300]])).round(1).tolist()
    [[-0.7, -0.7], [0.0, -700.0]]
    """
    rest = logits - logits.max(axis=1, keepdims=True)
    return np.maximum(rest - np.log(np.exp(rest).sum(axis=1, keepdims=True)), LEAST_LOGARITHM)
