"""One thread at a time learns blocks of rows with a model; others wait for it.

Code that learns grows arrays and writes into them: two threads in the same arrays would leave a model of no stream, or
end the process. Single rows of kernel learners wait too. Single rows of other learners, also as blocks of one row, do
not: to wait would take an eighth to a quarter of their time. They are meant for one thread. Where several learn them
all the same, no process ends: each is learned by one call that holds Python's lock and grows nothing.
"""

import os
from collections.abc import Callable
from functools import wraps
from threading import get_ident
from time import sleep
from typing import Any, TypeVar

Method = TypeVar("Method", bound=Callable[..., Any])

# The threads that learn just now, by model: of the process rather than of the model, which may be copied meanwhile.
learning: dict[int, int] = {}
if hasattr(os, "register_at_fork"):
    # A process that was forked has one thread, and it may learn with any model.
    os.register_at_fork(after_in_child=learning.clear)

# How long a thread sleeps before it looks again.
LOOK_AGAIN = 0.001


def one_thread_at_a_time(learn: Method) -> Method:
    """Let a method that learns wait until no other thread runs it, or another such method, for the same model."""

    @wraps(learn)
    def alone(model: Any, *args: Any, **named: Any) -> Any:
        key, own = id(model), get_ident()
        if learning.get(key) == own:
            return learn(model, *args, **named)  # called by itself
        try:
            # One operation, which no other thread can come between.
            while learning.setdefault(key, own) != own:
                sleep(LOOK_AGAIN)
            return learn(model, *args, **named)
        finally:
            # Python is interrupted at calls, and there is none: the model cannot be held for ever.
            try:
                if learning[key] == own:
                    del learning[key]
            except KeyError:
                pass

    return alone  # type: ignore[return-value]


@one_thread_at_a_time
def learn_row_alone(model: Any, x: Any, y: Any) -> bool:
    """Learn a single row, which may make arrays grow, while no other thread learns with the model."""
    learned: bool = model._learn_row(x, y, alone=True)
    return learned
