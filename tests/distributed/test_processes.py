"""Processes of this machine: one that is killed costs its tasks once more, and a run that is broken off leaves none."""

import os
import select
import signal
import subprocess
import sys
import threading
import time

import pytest

from ellipsoid.distributed.engines.processes import Loky
from ellipsoid.distributed.rounds import run_tasks


def test_tasks_whose_process_was_killed_are_run_again(tmp_path):
    """Those of a survey, of predictions, of errors on other rows: as those of shards are."""

    def die_once(mark, number):
        # A function that travels whole: a process that imports this module takes seconds to start.
        if not os.path.exists(mark):
            os.mkdir(mark)
            os.kill(os.getpid(), signal.SIGKILL)
        return number

    engine = Loky(1)
    tasks = [(str(tmp_path / "killed"), number) for number in range(5)]
    assert run_tasks(engine, die_once, tasks, "tasks") == list(range(5))
    assert engine.everywhere(die_once, str(tmp_path / "asked"), 0) == {}
    engine.forget()
    engine.close()


def test_interrupted_tasks_are_not_waited_for():
    """Python waits for the tasks of a pool before it exits: for hours, after Ctrl-C in the middle of a round."""
    engine, other = Loky(2), Loky(2)
    assert other.result(other.submit(pow, 2, 3, key="power")) == 8
    for number in range(9):
        engine.submit(time.sleep, 60, key=f"sleep-{number}")
    pool = engine._pool
    began = time.monotonic()
    engine.forget()
    engine.close()
    assert time.monotonic() - began < 30
    assert not pool._processes
    # Nobody else's processes were.
    assert other.result(other.submit(pow, 2, 4, key="power")) == 16
    mine = other._pool
    other.close()
    again = Loky(2)
    assert again.result(again.submit(threading.active_count, key="count"))
    assert again._pool is mine
    again.close()


@pytest.mark.parametrize("pause", [0.0, 0.3, 0.6, 0.9])
def test_a_pool_is_ended_whatever_its_processes_have_taken(pause):
    """Where they had begun to take tasks a thread of the pool died, which pytest notices, and the pool hung about."""
    engine = Loky(2)
    for number in range(9):
        engine.submit(time.sleep, 60, key=f"sleep-{number}")
    time.sleep(pause)
    pool = engine._pool
    engine.forget()
    engine.close()
    assert not pool._processes


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this system kills otherwise")
def test_worker_processes_end_with_their_parent(tmp_path):
    """Killed, it cannot end them; they would hold their memory for ten minutes, and learn a shard for nobody."""
    program = """
import os
from time import sleep
from ellipsoid.distributed.engines.processes import Loky

engine = Loky(1)
print(engine.result(engine.submit(os.getpid, key="who")), flush=True)
engine.submit(sleep, 600, key="long")
sleep(600)
"""
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as starter:
        assert int(starter.stdout.readline()) != starter.pid
        starter.kill()
        # They write where it wrote: that is closed when the last of them has gone.
        assert select.select([starter.stdout], [], [], 20)[0]
