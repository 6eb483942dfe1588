"""Merging of kernel models: the mixture holds the support patterns of all, each coefficient weighted as its model is.

First the models are given the same patterns in the same order (``same_patterns``), with zero coefficients for patterns
that a model does not have; then coefficients are mixed as weights are.
"""

from copy import copy, deepcopy
from typing import Any

import numpy as np

from ellipsoid.representation.kernel.expansion import ExpansionTable
from ellipsoid.representation.kernel.lookahead import NORM2, elapsed
from ellipsoid.representation.kernel.patterns import NO_COLUMNS, Block
from ellipsoid.representation.table_protocol import Floats

from .parts import Part
from .tables import Taken, rows_and_sums

# How many patterns are scored at once for the norm of the mixture.
SCORED_AT_ONCE = 1024


def same_patterns(models: list[Any]) -> list[Any]:
    """Copies of the models over the support patterns of all of them: those of the first one, then new ones."""
    tables = [model._core.table for model in models]
    union = deepcopy(tables[0].patterns)
    places = [np.arange(union.used)]
    for table in tables[1:]:
        places.append(union.place(_block(table, slice(0, table.used)), np.arange(table.used)))
    alike = []
    for model, slots in zip(models, places, strict=True):
        other, core = copy(model), copy(model._core)
        table = copy(core.table)
        for name in ("coef", "late") if table.average else ("coef",):
            known = getattr(table, name)
            wider = np.zeros((union.used, known.shape[1]))
            wider[slots] = known[: len(slots)]
            setattr(table, name, wider)
        table.patterns = union
        core.table, other._core = table, core
        alike.append(other)
    return alike


def _block(table: Any, picks: slice) -> Block:
    return Block(table.patterns.rows(picks), table.patterns.norms[picks], NO_COLUMNS)


def take_expansions(core: Any, start: Any) -> Taken:
    """The weighted and plain sums of the coefficients."""
    table, scores = core.table, core.scores
    added = rows_and_sums(core, start, lambda each: each.rounds * each.table.coefficients(scores, each.rounds))
    return {"coef": table.coef[: table.used, :scores].copy()}, added, {}


def put_expansions(core: Any, part: Part, start: Any) -> None:
    """Give the learner, whose tally is already the merged one, the mixture."""
    scores, width, like = core.scores, core.width, core.table
    core.table = table = core.new_table(not like.patterns.sparse)
    table.reserve(scores, width)
    table.patterns = like.patterns
    mean = part.mean("coef")
    table.coef = np.zeros((len(mean), table.coef.shape[1]))
    table.coef[:, :scores] = mean
    table.numbers[NORM2] = _square(table, mean)
    rows = float(part.added["rows"][0])
    if core.average:
        average = part.added["sums"] / rows if rows > 0.0 else mean
        table.late = np.zeros_like(table.coef)
        table.late[:, :scores] = elapsed(table.numbers, float(core.rounds)) * mean - core.rounds * average
    table.delayed.rest(table.coef)
    core.cache = None
    core.place(core.device, core.precision)


def _square(table: ExpansionTable, coef: Floats) -> float:
    """The squared norm of a hypothesis: its coefficients times its scores on its own patterns."""
    total = 0.0
    for begin in range(0, len(coef), SCORED_AT_ONCE):
        picks = slice(begin, min(len(coef), begin + SCORED_AT_ONCE))
        total += float((coef[picks] * table.scores(_block(table, picks), coef)).sum())
    return max(0.0, total)
