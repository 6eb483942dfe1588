"""A pass of dual coordinate ascent over the rows of one shard, while other shards make theirs.

Each row's multiplier moves to the maximum of the dual of the shard's own problem, in which the shard's changes count
``sigma`` times: with sigma the number of shards, the sum of all changes raises the dual over all rows.

Ma et al., "Adding vs. averaging in distributed primal-dual optimization", ICML 2015.
"""

import numpy as np

from ellipsoid.engine.compile import compiled

# Sums of a pass: |d alpha| |z|; |d alpha|; the number of moves; alpha |z| of the rows that moved, for the rounding; the
# losses of the weights that the pass began with, each times its cap; the mistakes of these; and the largest |z|^2.
PASS_PATH, PASS_SWAY, PASS_STEPS, PASS_HELD, PASS_LOSS, PASS_MISTAKES, PASS_RADIUS2, PASS_SIZE = range(8)


@compiled
def ascend_rows(data, indices, indptr, signs, constant, caps, alpha, begun, view, change, numbers, sums):  # noqa: PLR0913
    """Go over the rows of a CSR matrix once; ``numbers`` are the margin of the loss, and sigma.

    ``begun`` are the weights that all shards start from, ``view`` those that include sigma times this shard's changes,
    and ``change`` the sum of these changes; the first of each belongs to the constant feature.
    """
    goal, sigma = numbers[0], numbers[1]
    for t in range(len(signs)):
        first, last, sign = indptr[t], indptr[t + 1], signs[t]
        before, now, square = constant * begun[0], constant * view[0], constant * constant
        for k in range(first, last):
            j, x = 1 + indices[k], data[k]
            before += begun[j] * x
            now += view[j] * x
            square += x * x
        loss = goal - sign * before
        if loss > 0.0:
            sums[PASS_LOSS] += caps[t] * loss
        if sign * before <= 0.0:
            sums[PASS_MISTAKES] += 1.0
        if square > 0.0:
            new = alpha[t] + (goal - sign * now) / (sigma * square)
        else:
            # The loss of a zero row does not depend on the weights.
            new = caps[t]
        new = min(max(new, 0.0), caps[t])
        moved = new - alpha[t]
        if moved == 0.0:
            continue
        alpha[t] = new
        length = np.sqrt(square)
        sums[PASS_PATH] += abs(moved) * length
        sums[PASS_SWAY] += abs(moved)
        sums[PASS_STEPS] += 1.0
        sums[PASS_HELD] += new * length
        sums[PASS_RADIUS2] = max(sums[PASS_RADIUS2], square)
        step = sign * moved
        change[0] += step * constant
        view[0] += sigma * step * constant
        for k in range(first, last):
            j, x = 1 + indices[k], data[k]
            change[j] += step * x
            view[j] += sigma * step * x
    return np.int64(0)
