"""Learners with a scale factor: the hypothesis is a multiple of stored weights, or of an expansion's coefficients."""

from typing import Any

import numpy as np

from ellipsoid.engine import Dense, call, learn
from ellipsoid.representation.kernel.lookahead import PENDING, Lookahead, ScaledAhead
from ellipsoid.representation.kernel.patterns import Block
from ellipsoid.representation.scaled.expansion import ScaledExpansionTable
from ellipsoid.representation.scaled.tables import PowerTable, ScaledTable
from ellipsoid.representation.table_protocol import Floats

from .expansion import ExpansionLearner
from .interruption import LearnerMark
from .learner import Learner


class ScaledLearner(Learner):
    """Linear weights with a factor in front; a rule with p > 2 keeps them in the dual of that norm."""

    table: ScaledTable

    def new_table(self, by_class: bool) -> ScaledTable:
        power = getattr(self.rule, "p", 2.0)
        if power > 2.0:
            return PowerTable(by_class=by_class, average=self.average, power=power)
        return ScaledTable(by_class=by_class, average=self.average)


class ScaledExpansionLearner(ExpansionLearner):
    """A kernel expansion with a factor in front."""

    table: ScaledExpansionTable
    table_class = ScaledExpansionTable

    def run_block(self, task: Any, block: Block, ahead: Lookahead, mark: LearnerMark, weights: Floats) -> None:
        """Run the loop over a block; it stops where an update changes the whole expansion."""
        reached, stop = 0, len(ahead.when)
        rows, rep = Dense(np.empty((stop, 0)), 0.0), ScaledAhead(*ahead)
        while reached < stop:
            reached = call(learn, self.rule, task, rep, rows, self.tally, self.work, reached, stop, weights)
            if self.table.numbers[PENDING]:
                factor = self.table.settle_update(block, ahead, reached - 1, self.rounds, mark)
                if self.cache is not None:
                    self.cache.scores *= factor
        self.table.commit(block, ahead, mark)
