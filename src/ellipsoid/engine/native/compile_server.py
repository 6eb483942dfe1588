"""A compiler in a process of its own.

A compiler takes more than a hundred megabytes and never frees them. A command with a limit on memory lets another
process compile, and loads the machine code that this leaves on disk. What cannot be compiled there is compiled where it
is needed, and errors are reported there.

A command that knows what it is going to need can have it compiled by several processes at once: they run ahead when the
first function is missing, and leave their machine code on disk too.
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

# Seconds after which an idle process ends: requests come close together, when a stream begins.
REQUEST_WAIT = 5.0

DONE = b"."


class CompileServer:
    """A process that compiles on request while it is open; started by a request, ended by a lack of them."""

    open = False
    # Called before each wait, to show that something is being compiled.
    on_wait: Callable[[], object] | None = None
    # Programs, as text, that run ahead when the first function missing is in a package whose name begins with
    # ``ahead_of``; otherwise little is left to compile in parallel.
    ahead: tuple[str, ...] = ()
    ahead_of = ""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None

    def run_ahead(self, module: str) -> bool:
        """Run the programs of ``ahead`` in parallel, if this module is one to do so for; False where nothing ran."""
        programs, self.ahead = self.ahead, ()
        if not programs or not module.startswith(self.ahead_of):
            return False
        if self.on_wait is not None:
            self.on_wait()
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
        if self.on_wait is not None:
            self.on_wait()
        request = pickle.dumps((function.__module__, function.__name__, kinds, tuple(modules)))
        if self._process is not None and _done(self._process, request):
            return
        self.close()
        # The system may forbid processes, or Python not know its executable.
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
    """A process with this one's module path, but without the current folder."""
    return subprocess.Popen(
        [sys.executable, "-P", "-c", program],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        stderr=subprocess.DEVNULL,
        **streams,
    )


def _done(process: subprocess.Popen[bytes], request: bytes) -> bool:
    """Send a request and wait; False if the process ends, or has ended, without an answer."""
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        process.stdin.write(request)
        process.stdin.flush()
    except OSError:
        return False
    return process.stdout.read(1) == DONE


def serve() -> None:
    """Run in the other process: take requests from standard input, and answer each on standard output."""
    requests: SimpleQueue[Any] = SimpleQueue()
    Thread(target=_take, args=(requests,), daemon=True).start()
    try:
        while True:
            module, name, kinds, modules = requests.get(timeout=REQUEST_WAIT)
            with suppress(Exception):
                for other in modules:
                    import_module(other)
                getattr(import_module(module), name).compile(kinds)
            sys.stdout.buffer.write(DONE)
            sys.stdout.buffer.flush()
    except Empty:
        pass
    finally:
        # A return or Ctrl-C would wait for the thread that reads.
        os._exit(0)


def _take(requests: SimpleQueue[Any]) -> None:
    """Take requests as they come; when the other side is gone, end, whatever is being compiled."""
    try:
        while True:
            requests.put(pickle.load(sys.stdin.buffer))
    finally:
        os._exit(0)


compile_server = CompileServer()
