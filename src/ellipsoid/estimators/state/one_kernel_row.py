"""Fast learning and prediction of single dense rows with a kernel expansion."""

from typing import Any

import numpy as np

from ellipsoid.engine import Dense, call, inspect
from ellipsoid.engine.tasks import PLAIN
from ellipsoid.representation.kernel.functions import Function, Poly

from .kernel_values import check_powers
from .one_row import OfOneThread


class OneKernelRow(OfOneThread):
    """Learning and prediction of one dense float64 row, with few checks."""

    def __init__(self, learner: Any) -> None:
        super().__init__()
        self.learner = learner
        self.index, self.values = learner.labels.index, learner.labels.values
        row, self.ledger = np.zeros((1, learner.width)), np.zeros((1, 1), dtype=np.int64)
        self.row, self.code, self.rows = row[0], self.ledger[0], Dense(row, learner.constant)
        self.kernel = learner.table.make_kernel()
        # No row has the shape (-1,): then every row takes the slow path.
        self.shape = self.row.shape if learner.learns_single_rows and not isinstance(self.kernel, Function) else (-1,)
        self.learn_args = self.decide_args = ()

    def flaw(self) -> int:
        """The code of what is wrong with the row in the buffer, 0 for a good one."""
        if isinstance(self.kernel, Poly):
            check_powers(self.kernel, np.array([self.row @ self.row]), 0)
        return int(call(inspect, self.rows)[1])

    def learn(self) -> int:
        """Learn the row in the buffer; returns 1, or ``-1 - flaw`` for a bad row."""
        found = self.flaw()
        if not found:
            self.learner.run(self.rows, self.ledger, PLAIN, 0, 1)
        return -1 - found if found else 1

    def decide(self) -> int:
        """Index of the label predicted for the row in the buffer, or ``-1 - flaw``."""
        found, learner = self.flaw(), self.learner
        if found:
            return -1 - found
        if len(self.values) == 1:
            return 0
        table = learner.table.reading()
        coef = table.coefficients(learner.scores, learner.rounds)
        return learner.predicted_index(learner.block_scores(table, table.block(self.rows, slice(0, 1)), coef)[0])

    def predict_averaged(self, learner: Any) -> int:
        """The same as ``decide``, which reads averaged coefficients."""
        return self.decide()
