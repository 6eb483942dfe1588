"""Recovery of a learner from a call that is broken off: by an interrupt, full memory or an error in a user's function.

Afterwards a learner is that of its first ``t_`` rows: every unfinished step is undone, see ``rollback`` of the
representation. An interrupt that comes while a step is undone waits until that is done.
"""

import signal
import threading
from collections.abc import Callable
from typing import Any

from ellipsoid.representation.rollback import Mark

from .one_thread import one_thread_at_a_time


class LearnerMark(Mark):
    """The state of a learner before a step that may be broken off."""

    def __init__(self, learner: Any, block: bool = False) -> None:
        table = learner.table
        pieces, arrays = [learner], [learner.tally]
        if table is not None:
            pieces += table.mutable_parts()
            arrays += table.block_arrays() if block else table.step_arrays()
        super().__init__(pieces, arrays)
        self.rounds, self.labels = learner.rounds, len(learner.labels)

    def bring_back(self, learner: Any) -> None:
        """Give the learner this state again; an interrupt waits until this is done."""
        without_interrupts(lambda: _bring_back_alone(learner, self))

    def _bring_back(self, learner: Any) -> None:
        self.restore()
        learner.labels.forget(self.labels)
        learner.fast = learner.named = learner._predictor = None
        if learner.table is not None:
            learner.table.after_rollback()


@one_thread_at_a_time
def _bring_back_alone(learner: Any, mark: LearnerMark) -> None:
    """Do it while no other thread prepares a call of this learner."""
    mark._bring_back(learner)


def without_interrupts(work: Callable[[], Any]) -> None:
    """Do the work; an interrupt is handled when it is done.

    Only the main thread is ever interrupted. A handler that is not one of Python's cannot be delayed.
    """
    pending: list[Any] = []
    main = threading.current_thread() is threading.main_thread()
    usual = signal.getsignal(signal.SIGINT) if main else None
    try:
        if callable(usual):
            signal.signal(signal.SIGINT, lambda *call: pending.append(call))
        work()
    finally:
        if callable(usual):
            signal.signal(signal.SIGINT, usual)
    if pending and callable(usual):
        usual(*pending[0])
