"""Mixes the hypotheses of shards in the dual space of the learner: theta for a link, the weights elsewhere.

``take_tables`` extracts what a learner contributes; ``put_tables`` makes a table of the mixture that can learn on.
Where hypotheses are averaged, ``sums`` below is the sum of the hypotheses of all rounds, and ``rows`` the number of
rounds.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from ellipsoid.links.table import LinkTable
from ellipsoid.links.weights import SINCE_ROUND
from ellipsoid.representation.kernel.lookahead import NORM2, SCALE_SUM, SINCE
from ellipsoid.representation.scaled.powers import fold_powers, rescale
from ellipsoid.representation.scaled.tables import PowerTable, ScaledTable
from ellipsoid.representation.scaled.weights import FLUSHED, GOAL, NORM2_SUMMED, ROW_WEIGHT, SKIPPED
from ellipsoid.representation.table_protocol import Floats
from ellipsoid.representation.tables import LinearTable
from ellipsoid.representation.window.linear import SQUARE
from ellipsoid.representation.window.table import WindowTable

from .parts import Part

Taken = tuple[dict[str, Floats], dict[str, Floats], dict[str, Floats]]


def sum_of_hypotheses(core: Any) -> Floats:
    """The sum of the hypotheses of all rounds, in units in which a margin of 1 is one."""
    total: Floats = core.rounds * core.table.weights(core.scores, core.rounds)
    return total / core.table.goal if isinstance(core.table, ScaledTable) else total


def rows_and_sums(core: Any, start: Any, sum_of: Callable[[Any], Floats] = sum_of_hypotheses) -> dict[str, Floats]:
    """The number of rows learned since ``start`` and, if they are averaged, the sum of the hypotheses since then."""
    found = {"rows": np.array([float(core.rounds - (0 if start is None else start.rounds))])}
    if core.average:
        found["sums"] = sum_of(core)
        if start is not None and start.rounds:
            found["sums"] = found["sums"] - sum_of(start)
    return found


def take_tables(core: Any, start: Any) -> Taken:
    """The weighted sums, plain sums and maxima of a learner's table; ``start`` is the learner it began as, or None."""
    table, scores = core.table, core.scores
    if isinstance(table, LinkTable):
        weighted = {"W": table.theta(scores).copy()}
    elif isinstance(table, PowerTable):
        weighted = {"W": table.dual(scores).copy(), "numbers": table.numbers[[ROW_WEIGHT]]}
    elif isinstance(table, ScaledTable):
        # In units in which a margin of 1 is one.
        weighted = {"W": table.weights(scores, 0) / table.goal, "numbers": table.numbers[[ROW_WEIGHT]]}
    elif isinstance(table, LinearTable | WindowTable):
        weighted = {"W": np.array(table.weights(scores, 0))}
    else:
        raise ValueError(f"models that keep a {type(table).__name__} cannot be merged")
    added = rows_and_sums(core, start)
    if isinstance(table, ScaledTable):
        before = 0.0 if start is None else start.table.numbers[SKIPPED]
        added["skipped"] = np.array([table.numbers[SKIPPED] - before])
    return weighted, added, {}


def put_tables(core: Any, part: Part, start: Any) -> None:
    """Give the learner, whose tally is already the merged one, the merged table."""
    W, scores, rounds = part.mean("W"), core.scores, core.rounds
    by_class, width = core.table.by_class, core.width
    core.table = table = core.new_table(by_class)
    table.reserve(scores, width)
    rows = float(part.added["rows"][0])
    # Without rows there is no average, and the mixture takes its place.
    mean = part.added["sums"] / rows if core.average and rows > 0.0 else None
    if isinstance(table, LinkTable):
        table.dual[: 1 + width, :scores] = W.T
        table.renew()
        if core.average:
            mean = table._present().T[:scores, : 1 + width] if mean is None else mean
            table.U[: 1 + width, :scores] = rounds * mean.T
            table.numbers[:, SINCE_ROUND] = rounds
        return
    linear = table.linear if isinstance(table, WindowTable) else table
    mean = W if mean is None else mean
    if isinstance(table, PowerTable):
        table._oriented(table.V)[:scores, : 1 + width] = W
        fold_powers(table.rep, float(rounds))
        rescale(table.rep)
    else:
        linear._oriented(linear.W)[:scores, : 1 + width] = W
    if core.average:
        # In a table with a scale U alone is the sum of hypotheses, with the opposite sign.
        U = -rounds * mean if isinstance(table, ScaledTable) else rounds * (W - mean)
        linear._oriented(linear.U)[:scores, : 1 + width] = U
    if isinstance(table, ScaledTable):
        norm2 = float((W * W).sum())
        table.numbers[[NORM2, NORM2_SUMMED]] = (
            (1.0 if norm2 > 1.0 else norm2) if isinstance(table, PowerTable) else norm2
        )
        table.numbers[[SCALE_SUM, SINCE, FLUSHED]] = 0.0, rounds, rounds
        table.numbers[GOAL] = 1.0
        table.numbers[ROW_WEIGHT] = part.mean("numbers")[0]
        before = 0.0 if start is None else start.table.numbers[SKIPPED]
        table.numbers[SKIPPED] = before + part.added["skipped"][0]
    if isinstance(table, WindowTable):
        table.slots.numbers[SQUARE] = float((W * W).sum())
