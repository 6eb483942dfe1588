"""A compiler in a process of its own.

A compiler takes more than a hundred megabytes and never frees them. A command with a limit on memory lets another
process compile, and loads the machine code that this leaves on disk. What cannot be compiled there is compiled where it
is needed, and errors are reported there.

A command that knows what it is going to need can have it compiled by two such processes at once: they run ahead when
the first function is missing.
"""

import os
import pickle
import subprocess
import sys
import warnings
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import ExitStack, redirect_stdout, suppress
from functools import partial
from importlib import import_module
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any

# Seconds after which an idle process ends: requests come close together, when a stream begins.
REQUEST_WAIT = 5.0

DONE = b"."

# How the warning begins that machine code cannot be kept.
NOTHING_KEPT = "no folder for compiled code is writable"

CompileCall = Callable[[], object]


class CompileServer:
    """A process that compiles on request while it is open; started by a request, ended by a lack of them."""

    open = False
    # Called before each wait, to show that something is being compiled.
    on_wait: Callable[[], object] | None = None
    # Gives the calls that compile what will be needed. Other processes make them when the first function missing is in
    # a package whose name begins with ``ahead_of``; otherwise little is left to compile.
    ahead: Callable[[], Iterable[CompileCall]] | None = None
    ahead_of = ""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None

    def run_ahead(self, module: str) -> bool:
        """Have the calls of ``ahead`` made, if this module is one to do so for; False where nothing ran.

        One process takes calls from the front of the list and one from the back: neighbours share code, which is then
        compiled once.
        """
        ahead, self.ahead = self.ahead, None
        if ahead is None or not module.startswith(self.ahead_of):
            return False
        if self.on_wait is not None:
            self.on_wait()
        calls = deque(ahead())
        # The system may forbid processes or threads, or Python not know its executable.
        with suppress(OSError, TypeError, RuntimeError), ExitStack() as running:
            for thread in [_maker(take, running) for take in (calls.popleft, calls.pop)]:
                thread.join()
        return True

    def request(self, function: Callable[..., Any], kinds: Any, modules: Iterable[str]) -> None:
        """Have a compiled function of a module compiled for arguments of these types, after importing other modules."""
        if self.on_wait is not None:
            self.on_wait()
        call = partial(_compile, function.__module__, function.__name__, kinds, tuple(modules))
        if self._process is not None and _done(self._process, call):
            return
        self.close()
        with suppress(OSError, TypeError):
            self._process = _started()
            _done(self._process, call)

    def close(self) -> None:
        """End the process, if there is one."""
        process, self._process = self._process, None
        if process is not None:
            _end(process)


def _started() -> subprocess.Popen[bytes]:
    """A process that serves, with this one's module path, but without the current folder."""
    return subprocess.Popen(
        [sys.executable, "-P", "-c", "from ellipsoid.engine.native.compile_server import serve; serve()"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.communicate()


def _maker(take: Callable[[], CompileCall], running: ExitStack) -> Thread:
    """A thread that has a process make one call after the other, until none is left or the process has ended."""
    process = _started()
    running.callback(_end, process)

    def make_all() -> None:
        with suppress(IndexError):
            while _done(process, take()):
                pass

    thread = Thread(target=make_all, daemon=True)
    thread.start()
    return thread


def _compile(module: str, name: str, kinds: Any, modules: Iterable[str]) -> None:
    """Compile a function for arguments of these types, after importing other modules."""
    for other in modules:
        import_module(other)
    getattr(import_module(module), name).compile(kinds)


def _done(process: subprocess.Popen[bytes], call: CompileCall) -> bool:
    """Have a process make a call, and wait; False if it ends, or has ended, without an answer."""
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        process.stdin.write(pickle.dumps(call))
        process.stdin.flush()
        return process.stdout.read(1) == DONE
    except (OSError, ValueError):  # it has ended, or is being ended by another thread
        return False


def serve() -> None:
    """Run in the other process: make the calls that come from standard input, and answer each on standard output."""
    calls: SimpleQueue[CompileCall] = SimpleQueue()
    Thread(target=_take, args=(calls,), daemon=True).start()
    answers = sys.stdout.buffer
    # Where nothing can be kept on disk, what is compiled here is of no use to anybody.
    warnings.filterwarnings("error", NOTHING_KEPT)
    try:
        while True:
            call = calls.get(timeout=REQUEST_WAIT)
            with suppress(Exception), redirect_stdout(None):
                try:
                    call()
                except RuntimeWarning:
                    break
            answers.write(DONE)
            answers.flush()
    except Empty:
        pass
    finally:
        # A return or Ctrl-C would wait for the thread that reads.
        os._exit(0)


def _take(calls: SimpleQueue[Any]) -> None:
    """Take calls as they come; when the other side is gone, end, whatever is being compiled."""
    try:
        while True:
            calls.put(pickle.load(sys.stdin.buffer))
    finally:
        os._exit(0)


compile_server = CompileServer()
