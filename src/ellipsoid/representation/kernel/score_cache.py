"""Scores of all rows of a training set, kept from one pass to the next.

A later pass needs kernel values only with the patterns that have changed since a row was last scored, not with all of
them: ``S[t] += sum over changed patterns i of (coef_now - coef_then)[i] K(x_i, x_t)``. Patterns that change in
a second pass are few, so that it costs a fraction of the first. The kernel values themselves are not kept.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..table_protocol import Floats
from .expansion import ExpansionTable
from .patterns import Block, Picks

# Rows brought up to date at once.
CACHED_ROWS = 512
NEVER = -1


class ScoreCache:
    """``scores[t]`` is what row t scored after the first ``at[t]`` updates of the table's history."""

    def __init__(self, rows: Any, count: int, scores: int) -> None:
        self.rows = rows
        self.scores: Floats = np.zeros((count, scores))
        self.at: NDArray[np.int64] = np.full(count, NEVER)

    def scores_of(self, table: ExpansionTable, block: Block, picks: Picks) -> Floats:
        """The present scores of some rows, which are a block."""
        at = self.at[picks]
        if (at != at[0]).any():
            # A new order: bring all rows up to date in the blocks in which they were last scored.
            for then in np.unique(self.at):
                group = np.flatnonzero(self.at == then)
                for start in range(0, len(group), CACHED_ROWS):
                    few = group[start : start + CACHED_ROWS]
                    self.scores[few] = self._current(table, table.block(self.rows, few), few, int(then))
            self._stamp(table, slice(0, len(self.at)))
            at = self.at[picks]
        return self._current(table, block, picks, int(at[0]))

    def keep(self, table: ExpansionTable, picks: Picks, scores: Floats) -> None:
        """Note the scores of rows by the table as it is now."""
        self.scores[picks] = scores
        self._stamp(table, picks)

    def _stamp(self, table: ExpansionTable, picks: Picks) -> None:
        assert table.history is not None
        self.at[picks] = table.history.count

    def _current(self, table: ExpansionTable, block: Block, picks: Picks, then: int) -> Floats:
        assert table.history is not None
        width = self.scores.shape[1]
        if then != NEVER:
            slots, change = table.history.since(then, width)
            if len(slots) < table.used:
                scores = self.scores[picks].T.copy()
                table.add_scores(block, change, scores, slots)
                return scores.T
        return table.scores(block, table.coef[:, :width])
