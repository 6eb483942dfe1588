"""A block scored while the loop runs over the one before: other threads do not wait for the one that learns.

The scores of the block by the patterns as they stood, and its own kernel values, are made aside. What the loop moves
meanwhile is added afterwards, behind all others, where patterns that it brings would stand in any case.
"""

import numpy as np
from numpy.typing import NDArray

from .expansion import ExpansionTable
from .history import summed
from .lookahead import Lookahead
from .packed import Sums
from .patterns import Block, with_diagonal
from .threads import aside, threads_for

Floats = NDArray[np.float64]


class Forerun:
    """The work on a block that has begun."""

    def __init__(self, table: ExpansionTable, block: Block, scores: int) -> None:
        assert block.tiles is not None
        self.table, self.block = table, block
        kernel, patterns, everyone = table.make_kernel(), table.patterns, np.arange(table.used)
        picked = table.picker.pick(table.coef[: table.used, :scores])
        self.values = patterns.own_values(kernel, block, half=True)
        self.sums = Sums(kernel, patterns.stored(), everyone, picked, block.tiles, table.constant2)
        self.others = aside(self.work, threads_for(self.sums.parts, self.sums.effort))

    @staticmethod
    def worthwhile(table: ExpansionTable, block: Block) -> bool:
        """Can this be done, and are there threads for it?"""
        if type(table) is not ExpansionTable or block.tiles is None or not table.used:
            return False
        return threads_for(2, float(len(block.norms)) * table.used * table.width) > 1

    def work(self) -> None:
        """Do what nobody has claimed yet."""
        self.values.work()
        self.sums.work()

    def note(self, slots: NDArray[np.int64], moved: Floats) -> None:
        """What the loop has moved since."""
        self.changed = summed(slots, moved)

    def finish(self) -> Lookahead:
        """What the loop runs on."""
        self.work()
        for other in self.others:
            other.result()
        scores = np.ascontiguousarray(self.sums.sums[:, : len(self.block.norms)])
        slots, change = self.changed
        self.table.add_scores(self.block, change, scores, slots)
        return self.table.ahead(scores.T, with_diagonal(self.table.make_kernel(), self.values.out))
