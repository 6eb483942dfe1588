"""A compiler in a process of its own.

A compiler takes more than a hundred megabytes and never gives them back. A command that keeps within a bound on memory
lets another process compile, which leaves its machine code on disk, and loads that. What cannot be compiled there is
compiled where it is needed, and what is wrong with it reported there.

A command that knows what it is going to need can have it compiled by several processes at once: programs that run ahead
when the first piece is missing, and leave theirs on disk too.
"""

import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from importlib import import_module
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any

# Seconds that the process waits for its next request: requests come close together, when a stream begins.
PATIENCE = 5.0

DONE = b"."


class CompileServer:
    """A process that compiles on request while it is open; started by a request, ended by a lack of them."""

    open = False
    # Told before each wait, so that whoever looks on knows what is happening.
    tell: Callable[[], object] | None = None
    # Programs, as text, for processes that compile what will be asked for, should a module of this package be missing
    # first; where it is there, little is left to be done side by side.
    ahead: tuple[str, ...] = ()
    ahead_of = ""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None

    def run_ahead(self, module: str) -> bool:
        """Run the programs that go ahead, if this is the module to do so for, side by side; False where nothing ran."""
        programs, self.ahead = self.ahead, ()
        if not programs or not module.startswith(self.ahead_of):
            return False
        if self.tell is not None:
            self.tell()
        processes: list[subprocess.Popen[bytes]] = []
        try:
            with suppress(OSError, TypeError):
                processes.extend(_python(program, stdout=subprocess.DEVNULL) for program in programs)
            for process in processes:
                process.wait()
        finally:
            for process in processes:
                process.kill()
        return True

    def request(self, function: Callable[..., Any], kinds: Any, modules: Iterable[str]) -> None:
        """Have a compiled function of a module compiled for arguments of these types, after importing other modules."""
        if self.tell is not None:
            self.tell()
        request = pickle.dumps((function.__module__, function.__name__, kinds, tuple(modules)))
        if self._process is not None and _done(self._process, request):
            return
        self.close()
        # Processes may be forbidden, or no executable be known.
        with suppress(OSError, TypeError):
            self._process = _started()
            _done(self._process, request)

    def close(self) -> None:
        """End the process, if there is one."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.communicate()


def _started() -> subprocess.Popen[bytes]:
    program = "from ellipsoid.engine.native.compile_server import serve; serve()"
    return _python(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def _python(program: str, **streams: Any) -> subprocess.Popen[bytes]:
    """A process that sees the modules that this one sees, and none that happen to lie in the current folder."""
    return subprocess.Popen(
        [sys.executable, "-P", "-c", program],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        stderr=subprocess.DEVNULL,
        **streams,
    )


def _done(process: subprocess.Popen[bytes], request: bytes) -> bool:
    """Hand a request in and wait; False if the process ends, or has ended, without having answered."""
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        process.stdin.write(request)
        process.stdin.flush()
    except OSError:
        return False
    return process.stdout.read(1) == DONE


def serve() -> None:
    """What the process does: requests from standard input, an answer to each on standard output."""
    requests: SimpleQueue[Any] = SimpleQueue()
    Thread(target=_take, args=(requests,), daemon=True).start()
    try:
        while True:
            module, name, kinds, modules = requests.get(timeout=PATIENCE)
            with suppress(Exception):
                for other in modules:
                    import_module(other)
                getattr(import_module(module), name).compile(kinds)
            sys.stdout.buffer.write(DONE)
            sys.stdout.buffer.flush()
    except Empty:
        pass
    finally:
        # Not by a return nor by Ctrl-C, which would wait for the thread that reads.
        os._exit(0)


def _take(requests: SimpleQueue[Any]) -> None:
    """Requests as they come; with whoever gives them goes what is being compiled for them."""
    try:
        while True:
            requests.put(pickle.load(sys.stdin.buffer))
    finally:
        os._exit(0)


compile_server = CompileServer()
