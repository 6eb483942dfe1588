"""Ctrl-C at a given place: a signal is raised where the library is about to run its n-th line of Python.

The interpreter handles a signal between two of its own instructions, never inside compiled code; so these are the
places where one can be felt, and each can be tried again.
"""

import os
import signal
import sys

import ellipsoid

HOME = os.path.dirname(ellipsoid.__file__)


def _traced(call, at_line):
    """Run ``call`` with ``at_line(n)`` called before each line of the library."""
    count = 0

    def line(frame, event, _):
        nonlocal count
        if event == "line":
            count += 1
            at_line(count)
        return line

    def enter(frame, event, _):
        return line if frame.f_code.co_filename.startswith(HOME) else None

    before = sys.gettrace()
    sys.settrace(enter)
    try:
        call()
    finally:
        sys.settrace(before)
    return count


def lines_of(call):
    """How many lines of the library a call runs."""
    return _traced(call, lambda _: None)


def interrupted(call, line):
    """Run ``call`` with Ctrl-C before this line; True if it felt it."""

    def at_line(n):
        if n == line:
            signal.raise_signal(signal.SIGINT)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        _traced(call, at_line)
    except KeyboardInterrupt:
        return True
    finally:
        signal.signal(signal.SIGINT, before)
    return False
