"""Python in a fresh process: its time, and the most memory it held of its own."""

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

# An array of 64 kB or more gets pages of its own, and gives them back: memory freed before the job must not hide what
# the job takes.
GIVEN_BACK = {"MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_TRIM_THRESHOLD_": "65536"}
PATIENCE = 300
ROOT = Path(__file__).resolve().parent.parent


class Seconds(NamedTuple):
    """Time of a process on the wall and of the processor."""

    wall: float
    cpu: float


def seconds(code: str, **environment: str) -> Seconds:
    """The time of ``python -c code``, start of the interpreter included; modules are translated to bytecode once, as
    in every installation.
    """
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"} | environment
    before, began = os.times(), time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT, env=env)
    wall, after = time.perf_counter() - began, os.times()
    used = after.children_user + after.children_system - before.children_user - before.children_system
    return Seconds(wall, used)


def answer(code: str, **environment: str) -> float:
    """The number that ``python -c code`` prints."""
    command = [sys.executable, "-c", code]
    env = {**os.environ, **environment}
    return float(subprocess.run(command, check=True, cwd=ROOT, env=env, capture_output=True, text=True).stdout)


def memory_counted() -> bool:
    """Does this system say how much of a process's memory is its own? Mapped files must not count."""
    return Path("/proc/self/status").is_file() and "RssAnon" in Path("/proc/self/status").read_text()


def memory_of(code: str) -> dict[str, Any]:
    """Megabytes of anonymous memory that the last part of ``code`` added at its peak.

    The program prints a line when it is ready, waits for one, does its job, and prints the seconds it took. Its memory
    is looked at from outside each half millisecond: a compiled loop would not let a thread of its own look.
    """
    command = [sys.executable, "-c", code]
    env = {**os.environ, **GIVEN_BACK}
    child = subprocess.Popen(command, cwd=ROOT, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert child.stdin is not None
    assert child.stdout is not None
    if child.stdout.readline().strip() != "ready":
        raise RuntimeError("a memory benchmark ended before its job began; its error is above")
    before = peak = _anonymous(child.pid)
    os.set_blocking(child.stdout.fileno(), False)
    child.stdin.write("go\n")
    child.stdin.flush()
    deadline = time.monotonic() + PATIENCE
    while not (line := child.stdout.readline()) and child.poll() is None:
        peak = max(peak, _anonymous(child.pid))
        time.sleep(0.0005)
        if time.monotonic() > deadline:
            child.kill()
            raise TimeoutError(f"a memory benchmark did not end within {PATIENCE} s")
    child.stdin.close()
    if child.wait() != 0 or not line:
        raise RuntimeError("a memory benchmark failed; its error is above")
    return {"added": (peak - before) / 1024, "before": before / 1024, "seconds": float(line)}


def _anonymous(pid: int) -> int:
    """Kilobytes of memory of its own, not of mapped files; 0 once the process has gone."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0
    found = [line.split()[1] for line in status.splitlines() if line.startswith("RssAnon")]
    return int(found[0]) if found else 0
