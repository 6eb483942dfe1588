"""Calls that are broken off: by an interrupt, a full memory, an error in a user's own function.

After any of them a learner is that of its first ``t_`` rows: every step that was not finished is taken back, see
``rollback`` of the representation. To take back takes some time itself; an interrupt that comes meanwhile waits for it.
"""

import signal
import threading
from collections.abc import Callable
from typing import Any

from ellipsoid.representation.kernel.functions import BadKernel
from ellipsoid.representation.rollback import Mark


class LearnerMark(Mark):
    """A learner as it is now, for a step that may be broken off."""

    def __init__(self, learner: Any, block: bool = False) -> None:
        table = learner.table
        pieces, arrays = [learner], [learner.tally]
        if table is not None:
            pieces += table.mutable_parts()
            arrays += table.block_arrays() if block else table.step_arrays()
        super().__init__(pieces, arrays)
        self.rounds, self.labels = learner.rounds, len(learner.labels)

    def bring_back(self, learner: Any) -> None:
        """Make the learner that again; an interrupt waits until this is done."""
        without_interrupts(lambda: self._bring_back(learner))

    def _bring_back(self, learner: Any) -> None:
        self.restore()
        learner.labels.forget(self.labels)
        learner.fast = learner.named = learner._predictor = None
        if learner.table is not None:
            learner.table.after_rollback()


def without_interrupts(work: Callable[[], Any]) -> None:
    """Do the work; Ctrl-C is answered when it is done.

    Only the main thread is ever interrupted. Where the handler is not one of Python's there is nothing to put off.
    """
    came: list[Any] = []
    main = threading.current_thread() is threading.main_thread()
    usual = signal.getsignal(signal.SIGINT) if main else None
    try:
        if callable(usual):
            signal.signal(signal.SIGINT, lambda *call: came.append(call))
        work()
    finally:
        if callable(usual):
            signal.signal(signal.SIGINT, usual)
    if came and callable(usual):
        usual(*came[0])


def add_progress_note(error: BaseException, learned: int, rows: int, total: int) -> None:
    """Let an exception say how far the call had come."""
    if learned:
        told = (
            f"{learned} of the {rows} rows of this call were learned: the model is that of {total} rows and can go on"
        )
    else:
        told = "no row of this call was learned: the model is as it was before"
    if isinstance(error, BadKernel):
        error.args = (f"{error}; {told}",)
    else:
        put_note(error, told)


def put_note(error: BaseException, told: str) -> None:
    """Let an exception say how things stand, in place of what was true of a learner inside this one."""
    notes, inner = getattr(error, "__notes__", []), vars(error).get("_standing")
    if inner in notes:
        notes.remove(inner)
    error.add_note(told)
    vars(error)["_standing"] = told
