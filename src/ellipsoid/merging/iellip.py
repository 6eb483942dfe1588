"""Merging of IELLIP models: weights are averaged, and learning goes on in the metric that all shards started from.

Let M = B^{-1} be the metric of a run and h the sum of its update examples, each times its weight a in the margin
certificate; A is the sum of these weights. On one stream h = M w. A shard that started in the metric M_0 has changed it
to M_i >= M_0, so that h_i = M_0 w_i + e_i. The mixture has h = M_0 w + e, and e = sum mu_i e_i is kept as its *offset*:
later updates add the same to h and to M w. While M does not change, every e_i is that of the start.

The bounds hold for the mixture for two reasons. h and A are sums over the updates of all shards, weighted as the models
are. And w'Mw <= goal A, if only mistakes are learned from: it is convex in w, w'M_0w <= sum mu_i w_i'M_iw_i.
"""

from typing import Any

import numpy as np

from ellipsoid.ellipsoids import state as slots
from ellipsoid.representation.table_protocol import Floats

from .parts import Part
from .tables import Taken, rows_and_sums

# Numbers of a run that add up. How far the shape still shrinks depends on the updates of all shards.
METRIC_COUNTS = [slots.CUTS, slots.ASKED]


def take_metric(core: Any, start: Any) -> Taken:
    """The weighted sums, plain sums and maxima of a learner; ``start`` is the learner it began as, or None."""
    table = core.table
    numbers, before = table.numbers, np.zeros(slots.STATE_SIZE) if start is None else start.table.numbers
    with np.errstate(over="ignore", invalid="ignore"):
        weight = np.exp(numbers[slots.LIFTED]) * numbers[[slots.MARGIN_WEIGHT]]
        weighted = {"W": np.array(table.weights(core.scores, 0)), "offset": _offset(core, start), "weight": weight}
    if not all(np.isfinite(array).all() for array in weighted.values()):
        raise ValueError("the shape of this IELLIP has shrunk beyond what can be merged: learn with a smaller b or c")
    added = {**rows_and_sums(core, start), "numbers": numbers[METRIC_COUNTS] - before[METRIC_COUNTS]}
    return weighted, added, {"uncut": numbers[[slots.UNBOUNDED]]}


def _offset(core: Any, start: Any) -> Floats:
    """e = h - M_0 w."""
    table = core.table
    before = core.new_table(table.by_class) if start is None else start.table
    offset: Floats = table.whole_offset()
    if table.numbers[slots.LOG_SCALE] == before.numbers[slots.LOG_SCALE]:
        return offset  # the metric has not changed since
    weights = np.array(table.weights(core.scores, 0))
    began = weights if before.form is None else before.form.solve(weights)
    return (
        offset + np.exp(table.numbers[slots.LIFTED]) * table.preimage() - np.exp(before.numbers[slots.LIFTED]) * began
    )


def put_metric(core: Any, part: Part, start: Any) -> None:
    """Give the learner, whose tally is already the merged one, the mixture."""
    W, scores, width, rounds = part.mean("W"), core.scores, core.width, core.rounds
    if start is None:
        core.table = core.new_table(core.table.by_class)
        core.table.reserve(scores, width)
    table = core.table
    numbers, made = table.numbers, int(table.numbers[slots.CUTS])
    numbers[METRIC_COUNTS] += part.added["numbers"]
    numbers[slots.LAST_CUTS] = numbers[slots.CUTS]
    numbers[slots.UNBOUNDED] = part.largest["uncut"][0]
    numbers[slots.MARGIN_WEIGHT] = np.exp(-numbers[slots.LIFTED]) * part.mean("weight")[0]
    # The numbers of rounds are unknown for updates of other shards.
    table.rounds = np.concatenate([table.rounds[:made], np.zeros(int(numbers[slots.CUTS]) - made + 64)])
    offset = part.mean("offset")
    table.offset = offset if offset.any() else None
    rows = float(part.added["rows"][0])
    mean = part.added["sums"] / rows if core.average and rows > 0.0 else W
    table.hold(W, rounds * (W - mean) if core.average else None)
