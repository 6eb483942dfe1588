"""Merging of EllipsoidClassifier models: the shapes of shards add up, and their weights are averaged.

The inverse of the full shape is a start plus the sum of x x' over the rows of steps; of the diagonal one the squares of
each column are kept. Both add up over shards, the start of a column counted once. (Weighting the weights of shards by
their shapes makes no difference: with blocks dealt in turn the shapes are much alike.) The sums of the certificate run
over single steps and mistakes, and add up too.
"""

from typing import Any

import numpy as np

from ellipsoid.certificates.mixed import INFORMATION
from ellipsoid.engine import tally as tallies
from ellipsoid.representation.speeds import copies as slots
from ellipsoid.representation.speeds.copies import weight_of_past
from ellipsoid.representation.speeds.metric import FEATURE_SIZE, SQUARES
from ellipsoid.representation.table_protocol import Floats

from .parts import Part
from .tables import Taken

SUMMED = [slots.ROWS, slots.LENGTH, slots.ENERGY, slots.SHAPED]
COPY_SUMS = [slots.COPY_MISTAKES, slots.UNANSWERED, slots.COPY_STEPS, slots.COPY_GAIN, slots.PRICE]
COPY_MEANS = [slots.BAD_LAST, slots.BAD_AVERAGE]


def take_copies(core: Any, start: Any) -> Taken:
    """The weighted sums, plain sums and maxima of the copies of a learner."""
    table = core.table
    own = _additive(table)
    if start is not None:
        before = _additive(start.table)
        own = {name: array - before[name] for name, array in own.items()}
    heads = _heads(table, core.scores)
    if start is not None and start.rounds:
        # The average of this pass alone, since that of all rounds would hardly change any more.
        far, near = weight_of_past(float(core.rounds)), weight_of_past(float(start.rounds))
        if far > near:
            heads[:, 1] = (far * heads[:, 1] - near * _heads(start.table, start.scores)[:, 1]) / (far - near)
    weighted = {"heads": heads, "error_means": table.own[:, COPY_MEANS].copy()}
    return weighted, own, {"sizes": _sizes(table)}


def put_copies(core: Any, part: Part, start: Any) -> None:
    """Give the learner the merged copies."""
    table, scores = core.table, core.scores
    total = dict(part.added)
    if start is not None:
        total.update({name: array + part.added[name] for name, array in _additive(start.table).items()})
    columns = 1 + table.width
    sizes = part.largest["sizes"]
    seen = sizes > 0.0
    squares = np.zeros(columns)
    squares[seen] = np.maximum(0.0, total["squares"][seen]) / sizes[seen] ** 2
    # Only the allocated arrays of the shard's table are used.
    table.W[:] = 0.0
    table.W[:columns, -FEATURE_SIZE], table.W[:columns, -SQUARES] = sizes, squares
    table.shared[SUMMED], table.shared[slots.COLUMNS_SEEN] = total["shared"], float(seen.sum())
    table.shared[slots.COPY_ROUNDS] = core.rounds
    table.own[:, COPY_SUMS], table.own[:, COPY_MEANS] = total["own"], part.mean("error_means")
    if table.full:
        table.P[:] = _shape(total, part, seen)
    last, average = np.moveaxis(part.mean("heads"), 1, 0)
    blocks = table._blocks(table.W, table.functions)[:columns, :, :, :scores]
    blocks[:, :, 0] = last.transpose(2, 0, 1)
    blocks[:, :, 1] = weight_of_past(float(core.rounds)) * (last - average).transpose(2, 0, 1)
    table._bind()
    core.mixed = core.mixed._replace(kind=INFORMATION, apart=np.zeros(tallies.SIZE))


def _shape(total: dict[str, Floats], part: Part, seen: Any) -> Floats:
    """The full shape of the rows of all steps; a column that is new in several shards has the mean of their starts."""
    new = np.maximum(1.0, part.added["seen"])
    inverse = total["inverse"] - np.diag(part.added["prior"] * (1.0 - 1.0 / new))
    P = np.zeros_like(inverse)
    P[np.ix_(seen, seen)] = np.linalg.inv(inverse[np.ix_(seen, seen)])
    return 0.5 * (P + P.T)


def _sizes(table: Any) -> Floats:
    return table.W[: 1 + table.width, -FEATURE_SIZE].copy()


def _additive(table: Any) -> dict[str, Floats]:
    """The sums of a run, in units that are the same for all."""
    sizes = _sizes(table)
    seen = sizes > 0.0
    squares = table.W[: 1 + table.width, -SQUARES] * sizes**2
    found = {"shared": table.shared[SUMMED].copy(), "own": table.own[:, COPY_SUMS].copy(), "squares": squares}
    if table.full:
        inverse = np.zeros_like(table.P)
        inverse[np.ix_(seen, seen)] = np.linalg.inv(table.P[np.ix_(seen, seen)])
        prior = np.where(seen, np.maximum(0.0, np.diag(inverse) - squares), 0.0)
        found |= {"inverse": inverse, "prior": prior, "seen": seen.astype(np.float64)}
    return found


def _heads(table: Any, scores: int) -> Floats:
    """The last weights and the average of every copy: (copy, head, function, column)."""
    return np.array(
        [[table.weights_of(copy, place, scores) for place in (0, 1)] for copy in range(table.copies)]
    )  # fmt: skip
