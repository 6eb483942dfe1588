"""A compiler in a process of its own: the same machine code, without the compiler's memory here."""

import os
import pickle
import signal
import subprocess
import sys
import time
import warnings
from functools import partial
from pathlib import Path

import numba
import pytest

from ellipsoid.engine import compiled
from ellipsoid.engine.native import cache as caching
from ellipsoid.engine.native import compile_server

from ..nursery import Nursery

pytestmark = pytest.mark.skipif(numba.config.DISABLE_JIT, reason="nothing is compiled with NUMBA_DISABLE_JIT")

LEARN = """
import sys
from ellipsoid.cli import main
try:
    main()
except SystemExit as end:
    assert not end.code
# numba imports its dictionaries when it makes the compiler ready.
print("numba.typed.typeddict" in sys.modules)
"""


def test_a_command_has_its_loops_compiled_and_only_loads_them(tmp_path):
    rows, cache, model = tmp_path / "rows.csv", tmp_path / "cache", tmp_path / "m"
    rows.write_text("a,b,y\n1,2,0\n2,1,1\n1,3,0\n", "utf-8")

    def learned():
        done = nursery.run(LEARN, "learn", rows, "--model", "Perceptron", "--save", model, NUMBA_CACHE_DIR=cache)
        assert done.returncode == 0, done.stderr
        assert done.stdout.splitlines()[-1] == "False", "this process made no compiler ready"
        return model.read_bytes(), sorted(path.name for path in cache.rglob("*.nbc"))

    with Nursery(tmp_path, "import numba, scipy.sparse") as nursery:
        first, kept = learned()
        assert {name.split("-")[0].split(".")[-1] for name in kept} >= {"learn", "inspect"}
        assert learned() == (first, kept), "what the other process left is what this one looks for"


@compiled
def squared(x):
    """x^2."""
    return x * x


@pytest.fixture
def serving(monkeypatch):
    """Open for a test, with a count of the processes it started."""
    started = []
    server = compile_server.CompileServer()
    server.open = True

    def program(code):
        def start():
            started.append(
                subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            )
            return started[-1]

        monkeypatch.setattr(compile_server, "_started", start)

    yield server, started, program
    server.close()


SERVE = "import ellipsoid.engine.native.compile_server as it; it.REQUEST_WAIT = {patience}; it.serve()"


def test_a_process_that_has_left_is_followed_by_one_that_takes_all_requests_that_come_close_together(serving):
    server, started, program = serving
    program(SERVE.format(patience=0.05))
    # The other process has no such function, says that it is done, and serves on.
    server.request(squared.py_func, (numba.float64,), ())
    assert started[0].wait(timeout=60) == 0, "it leaves when nobody orders"
    program(SERVE.format(patience=60))
    for _ in range(3):
        server.request(squared.py_func, (numba.float64,), ())
    assert len(started) == 2
    assert started[1].poll() is None
    server.close()
    assert started[1].poll() is not None


@pytest.mark.parametrize("code", ["", "import os; os.kill(os.getpid(), 9)", "import sys; sys.stdin.buffer.read(4)"])
def test_a_process_that_fails_is_waited_for_and_no_more(serving, code):
    server, started, program = serving
    program(code)
    for count in (1, 2):
        server.request(squared.py_func, (numba.float64,), ())
        assert len(started) == count


def test_where_no_process_can_be_started_this_one_compiles(monkeypatch, tmp_path, serving):
    server, _, _ = serving
    ordered = []
    request = server.request
    monkeypatch.setattr(sys, "executable", None)
    monkeypatch.setattr(caching, "compile_server", server)
    monkeypatch.setattr(server, "request", lambda *args: ordered.append(request(*args)))
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    assert compiled(squared.py_func)(3) == 9
    assert ordered == [None]
    assert list(tmp_path.rglob("*.nbc"))


def test_where_what_is_compiled_apart_is_not_found_nothing_more_is_requested(monkeypatch, tmp_path, serving):
    """The disk may be full: each function would be compiled twice."""
    server, started, program = serving
    program("")
    monkeypatch.setattr(caching, "compile_server", server)
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    function = compiled(squared.py_func)
    assert (function(3), function(3.0)) == (9, 9.0)
    assert len(started) == 1


def test_the_compile_server_ends_with_its_parent_even_while_it_compiles(serving):
    """A command that is killed leaves nothing behind that runs on."""
    _, _, program = serving
    program(SERVE.format(patience=60))
    process = compile_server._started()
    process.stdin.write(pickle.dumps(partial(time.sleep, 600)))
    process.stdin.close()
    assert process.wait(timeout=60) == 0
    process.stdout.close()


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such signal")
def test_an_interrupt_ends_a_process_without_a_crash(serving):
    """Ctrl-C reaches it too; a thread that reads must not make an abort of that."""
    server, started, program = serving
    program(SERVE.format(patience=60))
    server.request(squared.py_func, (numba.float64,), ())
    started[0].send_signal(signal.SIGINT)
    assert started[0].wait(timeout=60) == 0


def test_what_is_needed_is_compiled_by_two_processes_from_both_ends_of_the_list(serving, tmp_path):
    server, started, program = serving
    program(SERVE.format(patience=60))
    made = tmp_path / "made"
    note = "echo $PPID {} >> {}; sleep 0.2"
    calls = [partial(subprocess.run, ["sh", "-c", note.format(i, made)], check=True) for i in range(9)]
    server.ahead, server.ahead_of = lambda: calls, "ellipsoid.streams."
    assert not server.run_ahead("ellipsoid.engine.loop")
    assert not server.run_ahead("ellipsoid.streams.scan"), "once"
    assert not started
    server.ahead = lambda: calls
    assert server.run_ahead("ellipsoid.streams.scan")
    front, back = ([int(i) for pid, i in map(str.split, made.read_text().splitlines()) if int(pid) == process.pid]
                   for process in started)  # fmt: skip
    assert front == list(range(len(front)))
    assert back == list(range(8, len(front) - 1, -1))
    assert [process.returncode for process in started] == [-signal.SIGKILL] * 2, "none is left behind"


def test_one_of_two_processes_that_compile_ahead_may_end_early_and_a_call_may_fail(serving, tmp_path):
    server, started, program = serving
    program(SERVE.format(patience=60))
    files = [tmp_path / str(i) for i in range(3)]
    server.ahead = lambda: [
        partial(os._exit, 1),
        *(partial(Path.write_text, file, "compiled") for file in files),
        partial(print, "not an answer"),
        partial(int, "no number"),
    ]
    assert server.run_ahead("ellipsoid.streams.scan")
    assert all(file.exists() for file in files)
    assert len(started) == 2


@pytest.mark.parametrize("forbidden", ["processes", "threads"])
def test_where_no_process_or_thread_can_be_started_nothing_is_compiled_ahead(serving, monkeypatch, tmp_path, forbidden):
    server, started, program = serving
    if forbidden == "processes":
        monkeypatch.setattr(sys, "executable", None)
    else:
        program(SERVE.format(patience=60))
        monkeypatch.setattr(compile_server.Thread, "start", lambda _: (_ for _ in ()).throw(RuntimeError("no thread")))
    server.ahead = lambda: [partial(Path.write_text, tmp_path / "a", "compiled")]
    assert server.run_ahead("ellipsoid.streams.scan")
    assert not (tmp_path / "a").exists()
    assert all(process.returncode is not None for process in started)


def test_a_process_that_can_keep_nothing_ends(serving, tmp_path):
    server, _, program = serving
    program(SERVE.format(patience=60))
    files = [tmp_path / str(i) for i in range(4)]
    full = partial(warnings.warn, f"{compile_server.NOTHING_KEPT}: the disk is full", RuntimeWarning)
    other = partial(warnings.warn, "overflow encountered in multiply", RuntimeWarning)
    server.ahead = lambda: [full, other, *(partial(Path.write_text, file, "compiled") for file in files), full]
    assert server.run_ahead("ellipsoid.streams.scan")
    assert not any(file.exists() for file in files)
