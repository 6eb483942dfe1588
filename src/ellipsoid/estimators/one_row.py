"""Learning and prediction of one dense row by a call whose arguments are prepared once."""

from typing import Any

import numpy as np

from ellipsoid.engine import Dense, decide, entry
from ellipsoid.engine.tasks import PLAIN


class NoOneRow:
    """Stands where every row must take the long way: no row has this shape."""

    shape = (-1,)


class OneRow:
    """Learning and prediction of one dense float64 row with every argument prepared: about a microsecond a call."""

    def __init__(self, learner: Any) -> None:
        self.index = learner.labels.index
        self.values = learner.labels.values
        row = np.zeros((1, learner.width))
        ledger = np.zeros((1, 1), dtype=np.int64)
        self.row, self.code = row[0], ledger[0]
        self.shape = self.row.shape
        rows = Dense(row, learner.constant)
        task = learner.task(ledger, PLAIN, np.zeros((1, len(self.values)), dtype=np.uint8))
        table, work = learner.table, learner.work
        self.learn_args = (learner.rule, task, table.rep, rows, learner.tally, work, 0, 1)
        self.learn = entry(learner.loop, *self.learn_args)
        # Averaged weights may come in another representation than the one that learns.
        self.decide_args = (task, learner.predictor(), rows, work)
        self.decide = entry(decide, *self.decide_args)

    def predict_averaged(self, learner: Any) -> int:
        """Index of the label that the averaged hypothesis gives to the row in the buffer."""
        task, _, rows, work = self.decide_args
        return int(self.decide(task, learner.predictor(), rows, work))
