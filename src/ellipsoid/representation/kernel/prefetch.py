"""Scoring a block on other threads while the loop still learns the block before.

The other threads compute the scores of the block by the coefficients of a while ago, and its own Gram matrix. The
updates since then are added at the end, which is their place in the sum in any case (``delayed``). The thread that
learns prepares the next block before it helps with this one, so that the others go on as soon as this one is done.
"""

from typing import Any

import numpy as np

from ..table_protocol import Floats
from .device import DevicePrefetch
from .expansion import ExpansionTable
from .lookahead import Lookahead
from .packing import PatternSums, picked_once
from .patterns import Block, with_diagonal
from .threads import aside, threads_for
from .tiles import Picked


def prefetch_of(
    table: ExpansionTable, block: Block, scores: int, upto: int, before: Any = None, gram: Floats | None = None
) -> "BlockPrefetch | DevicePrefetch | None":
    """The work on a block that can be done while the one before is learned; None where it cannot be divided."""
    if table.device is not None:
        return DevicePrefetch(table, block, scores)
    return None if block.tiles is None else BlockPrefetch(table, block, scores, upto, before, gram)


def prefetch_pays(table: ExpansionTable, block: Block) -> bool:
    """Is there a device or a second thread for such work, and enough of it?"""
    if not table.moves_by_updates or not table.used:
        return False
    if table.device is not None:
        return True
    return block.tiles is not None and threads_for(2, float(len(block.norms)) * table.used * table.width) > 1


class BlockPrefetch:
    """A block to be scored by the coefficients of round ``upto``.

    ``before`` is the work on the block before, or None: only the coefficients that have changed since its ``upto`` are
    looked at again. ``gram`` is a matrix that is not needed any more, and is overwritten: to allocate another would
    take longer than to fill it.
    """

    def __init__(
        self,
        table: ExpansionTable,
        block: Block,
        scores: int,
        upto: int,
        before: "BlockPrefetch | None",
        gram: Floats | None,
    ) -> None:
        assert block.tiles is not None
        self.table, self.block = table, block
        kernel, patterns = table.make_kernel(), table.patterns
        coef, changed = table.delayed.at(upto)
        since = None if before is None else (before.picked, changed)
        self.picked: Picked = table.picker.pick(coef[:, :scores], since)
        self.values = patterns.own_values(kernel, block, table.constant2, half=True, spare=gram)
        everyone = np.arange(len(coef))
        self.sums = PatternSums(kernel, patterns.stored(), everyone, self.picked, block.tiles, table.constant2)

    def begin(self) -> None:
        """Start the other threads."""
        self.others = aside(self._work, threads_for(self.sums.parts, self.sums.effort))

    def _work(self) -> None:
        self.sums.work()
        self.values.work()

    def join(self) -> None:
        """Help until all is done."""
        self._work()
        for other in self.others:
            other.result()

    def finish(self, following: "BlockPrefetch | None") -> Lookahead:
        """What the loop runs on; the other threads go on with the following block."""
        if following is not None:
            following.begin()
        table, kernel, constant2, sums = self.table, self.table.make_kernel(), self.table.constant2, self.sums.sums
        assert self.block.tiles is not None
        slots, moved = table.delayed.updates(len(sums))
        if len(slots):
            PatternSums(
                kernel, table.patterns.stored(), slots, picked_once(moved), self.block.tiles, constant2, sums
            ).work()
        gram = with_diagonal(kernel, self.values.out, constant2)
        return table.ahead(sums[:, : len(self.block.norms)].T, gram)
