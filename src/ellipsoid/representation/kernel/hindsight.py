"""Predictions by averages and votes for each row of a block before it was learned, computed after the block.

A block's rows are scored ahead for the hypothesis that learns. Averages and votes change with every round, and are not
needed to learn: they are computed when the block is done. The hypothesis before each row follows from the coefficients
before the block and its updates in their order; the sums have the terms of ``scores`` and ``votes`` in the same order,
so that the results are those of a prediction between two rows, to the last bit.
"""

from typing import NamedTuple

import numpy as np

from ellipsoid.engine.compile import call, compiled
from ellipsoid.engine.generic import FUSE, helper

from .expansion import ExpansionTable
from .history import Floats
from .lookahead import Lookahead
from .patterns import Block

# Rows whose values with all patterns are held at once.
HINDSIGHT_ROWS = 64


class Hindsight(NamedTuple):
    """A table as it was before a block: ``rounds`` rounds and these coefficients."""

    table: ExpansionTable
    rounds: int
    coef: Floats
    late: Floats

    @classmethod
    def begin(cls, table: ExpansionTable, rounds: int, scores: int) -> "Hindsight":
        """Copy what the block is about to change."""
        used = table.used if table.average else 0
        return cls(table, rounds, table.coef[:used, :scores].copy(), table.late[:used, :scores].copy())

    def averages(self, block: Block, ahead: Lookahead) -> Floats:
        """Scores of the block's rows by the average before each, once its updates are stored."""
        rows = np.flatnonzero(ahead.when)
        updates = rows[np.argsort(ahead.when[rows], kind="stable")]
        slots = self.table.patterns.place(block, updates)
        used, scores = self.table.used, ahead.moved.shape[1]
        coef, late = np.zeros((used, scores)), np.zeros((used, scores))
        coef[: len(self.coef)], late[: len(self.late)] = self.coef, self.late
        log = (slots, ahead.when[updates], ahead.moved[updates], ahead.late[updates])
        out = np.zeros((len(ahead.when), scores))
        done = 0
        for begin in range(0, len(out), HINDSIGHT_ROWS):
            picks = slice(begin, min(len(out), begin + HINDSIGHT_ROWS))
            values = self.table.values_with_all(block.part(picks))
            done = call(_averaged, values, coef, late, *log, done, float(self.rounds + begin), out[picks])
        return out

    def votes(self, block: Block, labels: int, scores: int) -> Floats:
        """Votes on the block's rows by the hypotheses before each, once its updates are stored."""
        history = self.table.history
        assert history is not None
        out = np.zeros((len(block.norms), labels))
        for begin in range(0, len(out), HINDSIGHT_ROWS):
            picks = slice(begin, min(len(out), begin + HINDSIGHT_ROWS))
            rounds = self.rounds + np.arange(picks.start, picks.stop, dtype=np.float64)
            out[picks] = history.votes(self.table.values_with_all(block.part(picks)), labels, rounds, scores)
        return out


@compiled(nogil=True)
def _averaged(values, coef, late, slots, when, moved, lates, done, rounds, out):  # noqa: PLR0913
    """Scores by the averages after ``rounds``, one more for each row; returns how many updates were before the last."""
    for b in range(values.shape[0]):
        while done < slots.shape[0] and when[done] <= rounds:
            for r in range(coef.shape[1]):
                coef[slots[done], r] += moved[done, r]
                late[slots[done], r] += lates[done, r]
            done += 1
        if rounds > 0.0:
            for i in range(coef.shape[0]):
                _add_mean(out[b], coef[i], late[i], rounds, values[b, i])
        rounds += 1.0
    return done


@helper(FUSE)
def _add_mean(out, coef, late, rounds, value):
    for r in range(out.shape[0]):
        out[r] += (coef[r] - late[r] / rounds) * value
