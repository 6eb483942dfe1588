"""Fast learning of one example that brings new features, where these need a column each and nothing else."""

from collections.abc import Callable
from typing import Any

from ..inputs.rows import check_memory
from .interruption import without_interrupts
from .one_thread import one_thread_at_a_time


@one_thread_at_a_time
def learn_with_new_names(model: Any, example: Any, learn: Callable[[], bool], scaler: Any = None) -> bool:
    """Give the new names of a dict their columns, then ``learn`` it by a prepared call; if False, nothing has changed.

    A ``scaler`` in front of the model gets room for the columns before other threads can find their names.
    There is no column for an example that is to be looked at more closely: the long way does it.
    """
    learner = model._core
    row = learner.named_row() if type(example) is dict else None
    fresh = {} if row is None else row.new_columns(example)
    if not fresh:
        return False
    width = len(learner.features) + len(fresh)
    check_memory(3 * max(1, learner.scores) * (1 + width), f"the weights of {width} features")
    before, mark = model.__dict__.copy(), learner.mark()
    scale = None if scaler is None else scaler.remember(None, [])

    def keep_or_undo() -> None:
        model._keep_learned(learner, before, mark, fresh)
        if scaler is not None and learner.rounds == mark.rounds:
            scaler.recall(scale)

    try:
        learner.open(width, by_class=learner.table.by_class)
        if scaler is not None:
            scaler.reserve(width)
        learner.name(fresh)
        learned = learn()
        keep_or_undo()
    except BaseException:
        without_interrupts(keep_or_undo)
        raise
    return learned
