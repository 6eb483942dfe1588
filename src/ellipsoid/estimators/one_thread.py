"""One thread at a time learns blocks of rows with a model; others wait for it.

Code that learns grows arrays and writes into them: two threads in the same arrays would leave a model of no stream, or
end the process. Calls for single examples do not wait, since that would cost a quarter of their time: they are for one
thread.
"""

import os
from collections.abc import Callable
from functools import wraps
from threading import Condition, get_ident
from typing import Any, TypeVar

from .interruption import without_interrupts

Method = TypeVar("Method", bound=Callable[..., Any])

# The threads that learn just now, by model: of the process rather than of the model, which may be copied meanwhile.
learning: dict[int, int] = {}
_changed = Condition()


def _forget_other_threads() -> None:
    """A process that was forked has one thread, and it may learn with any model."""
    global _changed  # noqa: PLW0603 (a lock that nobody will ever open)
    learning.clear()
    _changed = Condition()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_other_threads)


def _give_up(key: int, own: int) -> None:
    with _changed:
        if learning.get(key) == own:
            del learning[key]
            _changed.notify_all()


def one_thread_at_a_time(learn: Method) -> Method:
    """Let a method that learns wait until no other thread runs it, or another such method, for the same model."""

    @wraps(learn)
    def alone(model: Any, *args: Any, **named: Any) -> Any:
        key, own = id(model), get_ident()
        if learning.get(key) == own:
            return learn(model, *args, **named)  # called by itself
        try:
            with _changed:
                while key in learning:
                    _changed.wait()
                learning[key] = own
            return learn(model, *args, **named)
        finally:
            without_interrupts(lambda: _give_up(key, own))

    return alone  # type: ignore[return-value]
