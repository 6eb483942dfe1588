"""A lock for learning: one thread at a time learns blocks of rows with a model, and others wait for it.

Learning grows arrays and writes into them: two threads in the same arrays would leave an inconsistent model, or crash
the process. Single rows of kernel learners, and those that bring new names, take the lock too. Other single rows, also
as blocks of one row, do not, because that would cost an eighth to a quarter of their time. They are meant for one
thread; if several threads learn them all the same, the process does not crash: each row is learned by one call that
holds Python's lock and grows no array. Such calls are prepared while no other thread gives their learner room.
"""

import os
from collections.abc import Callable
from functools import wraps
from threading import get_ident
from time import sleep
from typing import Any, TypeVar

Method = TypeVar("Method", bound=Callable[..., Any])

# The learning threads by the id of their model; not an attribute of the model, which may be copied meanwhile.
learning: dict[int, int] = {}
if hasattr(os, "register_at_fork"):
    # A forked process has one thread, which may learn with any model.
    os.register_at_fork(after_in_child=learning.clear)

# Seconds that a thread sleeps before it tries again.
RETRY_PAUSE = 0.001


def one_thread_at_a_time(learn: Method) -> Method:
    """Decorate a method that learns: it waits until no other thread runs such a method of the same model."""

    @wraps(learn)
    def alone(model: Any, *args: Any, **named: Any) -> Any:
        key, own = id(model), get_ident()
        if learning.get(key) == own:
            return learn(model, *args, **named)  # called by itself
        try:
            # An atomic operation.
            while learning.setdefault(key, own) != own:
                sleep(RETRY_PAUSE)
            return learn(model, *args, **named)
        finally:
            # Interrupts come at calls, and there is none here: the lock is always released.
            try:
                if learning[key] == own:
                    del learning[key]
            except KeyError:
                pass

    return alone  # type: ignore[return-value]


@one_thread_at_a_time
def learn_row_alone(model: Any, x: Any, y: Any) -> bool:
    """Learn a single row, which may make arrays grow, while no other thread learns with the model."""
    return model._learn_row(x, y, alone=True)
