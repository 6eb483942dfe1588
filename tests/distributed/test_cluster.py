"""Shards define the result: workers, their number and their deaths do not. With real processes, and real kills."""

import os
import signal
import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest

from ellipsoid import AROW, IELLIP, MIRA, distributed
from ellipsoid.distributed.engines import dask as dask_engine
from ellipsoid.distributed.engines import engine, parcel
from ellipsoid.distributed.engines.dask import Dask
from ellipsoid.distributed.engines.engine import NoWorkers
from ellipsoid.distributed.engines.parcel import is_large
from ellipsoid.distributed.progress import RunProgress

from .cluster import kill_after, local_client, shards_on_workers, worker_pids
from .conftest import digest

pytest.importorskip("distributed")

# Clusters open sockets and child processes, which are closed when Python pleases.
pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

LEARNER = MIRA(average=True)
SHARED = {"shards": 7, "rounds": 3, "block_bytes": 1 << 15}


@pytest.fixture(scope="module")
def expected(table):
    """The digest of a run in this process."""
    return digest(distributed.fit(LEARNER, table, client="here", **SHARED))


def compiles_apart():
    from ellipsoid.engine.native.compile_server import compile_server

    return compile_server.open


@pytest.fixture(scope="module")
def client():
    # Workers that start as a command does.
    with local_client(1, preload=["ellipsoid.cli.worker"]) as found:
        assert all(found.run(compiles_apart).values())
        yield found


def test_one_worker_and_two_and_one_that_is_killed_in_mid_round_give_one_digest(
    client, table, expected, digits, monkeypatch
):
    assert digest(distributed.fit(LEARNER, table, client=client, **SHARED)) == expected
    client.cluster.scale(2)
    client.wait_for_workers(2)
    assert digest(distributed.fit(LEARNER, table, client=client, **SHARED)) == expected
    killed = kill_after(monkeypatch, client, number=1, shards=3)
    assert digest(distributed.fit(LEARNER, table, client=client, **SHARED)) == expected
    assert killed
    assert killed[0] not in worker_pids(client)
    monkeypatch.undo()
    # Collections of Dask are blocks, too: the same rows in the same order.
    import dask.array

    X, y = (dask.array.from_array(part, chunks=(300, *part.shape[1:])) for part in digits)
    here = distributed.fit(LEARNER, (X, y), client="here", shards=4, rounds=2)
    model = distributed.fit(LEARNER, (X, y), client=client, shards=4, rounds=2)
    assert digest(model) == digest(here)
    assert np.array_equal(distributed.predict(model, X).compute(scheduler="synchronous"), model.predict(digits[0]))
    # Nothing of a run is left on the workers.
    assert not shards_on_workers(client)


def test_processes_of_this_machine_give_it_too(table, expected):
    assert digest(distributed.fit(LEARNER, table, workers=2, **SHARED)) == expected


@pytest.mark.parametrize("learner", [IELLIP(shape="dense", b=0.9, c=0.5), AROW(shape="dense")], ids=repr)
def test_a_metric_of_many_numbers_is_the_same_on_any_threads(learner, table):
    """BLAS adds up in other parts on more threads, and a process of its own may have fewer of them."""
    wishes = {"shards": 3, "rounds": 2, "block_bytes": 1 << 15}
    here = distributed.fit(learner, table, client="here", **wishes)
    assert digest(distributed.fit(learner, table, workers=2, **wishes)) == digest(here)


def test_a_driver_that_was_killed_is_resumed_by_another(table, expected, tmp_path):
    kept = tmp_path / "run.ckpt"
    program = f"""
        import os, signal
        from ellipsoid import MIRA, distributed
        from ellipsoid.distributed.progress import RunProgress

        def shard(self, counts):
            if self.round == 1 and counts.number == 3:
                os.kill(os.getpid(), signal.SIGKILL)

        RunProgress.shard = shard
        distributed.fit(MIRA(average=True), {table!r}, client="here", checkpoint={str(kept)!r}, **{SHARED!r})
    """
    ended = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], timeout=300, check=False)
    assert ended.returncode == -signal.SIGKILL
    model = distributed.fit(LEARNER, table, client="here", checkpoint=kept, resume=True, **SHARED)
    assert len(model.history_) == 3
    assert digest(model) == expected


def test_a_bad_line_comes_from_a_worker_with_its_place(client, tmp_path):
    path = tmp_path / "bad.csv"
    path.write_text("1,2,0\n" * 30 + "1,word,1\n" + "2,1,1\n" * 30)
    with pytest.raises(ValueError, match=r"bad.csv, line 31") as told:
        distributed.fit(MIRA(), str(path), client=client, shards=3, block_bytes=40, classes=[0, 1, 2])
    assert any("in shard" in note for note in told.value.__notes__)


@pytest.mark.slow
def test_three_workers_and_a_soak_of_kills_give_one_digest(table, monkeypatch):
    """A hundred rounds, and a worker killed every few seconds."""
    import random
    import time

    wishes = {**SHARED, "rounds": 100}
    expected = digest(distributed.fit(LEARNER, table, client="here", **wishes))
    draw, killed, tell = random.Random(0), [], RunProgress.shard
    with local_client(2) as client:
        due = [time.monotonic() + 2.0]

        def shard(self, counts):
            tell(self, counts)
            # One that is up is left alone while the other starts: else nobody would ever learn.
            if time.monotonic() > due[0] and len(client.scheduler_info(n_workers=-1)["workers"]) == 2:
                killed.append(draw.choice(worker_pids(client)))
                os.kill(killed[-1], signal.SIGKILL)
                due[0] = time.monotonic() + draw.uniform(2.0, 5.0)

        monkeypatch.setattr(RunProgress, "shard", shard)
        assert digest(distributed.fit(LEARNER, table, client=client, **wishes)) == expected
        monkeypatch.undo()
        assert len(killed) >= 3
        client.cluster.scale(3)
        client.wait_for_workers(3)
        assert digest(distributed.fit(LEARNER, table, client=client, **SHARED)) == digest(
            distributed.fit(LEARNER, table, client="here", **SHARED)
        )


def test_an_address_is_as_good_as_a_client(client, table, expected, monkeypatch):
    """Nobody else's client may be found: there is none in a process that was given an address."""
    from contextvars import ContextVar

    from distributed import client as clients

    monkeypatch.setattr(clients, "_global_clients", {})
    monkeypatch.setattr(clients, "_current_client", ContextVar("none", default=None))
    address = client.scheduler.address
    assert digest(distributed.fit(LEARNER, table, client=address, **SHARED)) == expected
    found = distributed.predict(distributed.fit(LEARNER, table, client="here", **SHARED), table[0], client=address)
    assert len(found) == 900


def in_threads(workers):
    from distributed import LocalCluster

    kind = {"threads_per_worker": 1, "processes": False, "dashboard_address": ":0"}
    return LocalCluster(n_workers=workers, silence_logs=50, **kind)


GONE = threading.Event()


def wait_on_the_first():
    from distributed import get_worker

    return get_worker().name != 0 or GONE.wait(20)


def test_a_worker_that_dies_while_all_are_asked_is_not_waited_for(monkeypatch):
    """Nobody else may run its task: for a worker that was killed while it compiled a run waited for ever."""
    from distributed import Client

    monkeypatch.setattr(dask_engine, "LOOK_SECONDS", 0.05)
    with in_threads(2) as cluster, Client(cluster, set_as_default=False) as found:
        engine, first = Dask(found), cluster.workers[0]
        death = threading.Timer(0.1, lambda: found.sync(first.close, executor_wait=False))
        death.start()
        assert list(engine.everywhere(wait_on_the_first)) == [cluster.workers[1].address]
        GONE.set()
        death.join()


def test_a_worker_that_is_paused_is_not_waited_for():
    """Dask pauses one whose memory is full, and what only it may run waits for ever."""
    from distributed import Client
    from distributed.core import Status

    with in_threads(2) as cluster, Client(cluster, set_as_default=False) as found:
        cluster.workers[0].status = Status.paused
        while list(Dask(found)._known) != [cluster.workers[1].address]:
            pass
        assert list(Dask(found).everywhere(os.getpid)) == [cluster.workers[1].address]


def test_a_cluster_without_workers_is_not_waited_for(monkeypatch):
    from distributed import Client

    for name in ("IDLE_SECONDS", "PATIENCE_SECONDS", "START_SECONDS"):
        monkeypatch.setattr(dask_engine, name, 0.05, raising=False)
    with in_threads(0) as cluster, Client(cluster, set_as_default=False) as found:
        engine = Dask(found)
        with pytest.raises(NoWorkers, match="start workers"):
            engine.everywhere(os.getpid)
        task = engine.submit(os.getpid, key="task-of-nobody")
        with pytest.raises(NoWorkers, match=r"no worker has taken a task .* resume from a checkpoint"):
            engine.result(task)
        engine.forget()


def test_a_client_is_an_engine(client):
    engine = Dask(client)
    value = engine.send([1, 2], key="value-of-a-test")
    total = engine.submit(sum, value, key="sum-of-a-test")
    assert [engine.result(done) for done in engine.as_done([total])] == [3]
    engine.forget()


def left_in(folder):
    return [path.name for path in folder.iterdir() if path.name.endswith(".parcel")]


def test_a_large_model_is_left_in_a_file_for_the_workers(client, table, expected, tmp_path, monkeypatch):
    monkeypatch.setattr(parcel, "LARGE_MODEL", 0)
    written, wrap = [], parcel.wrap
    monkeypatch.setattr(engine, "wrap", lambda *args: written.append(wrap(*args)) or written[-1])
    kept = tmp_path / "run.ckpt"
    assert digest(distributed.fit(LEARNER, table, client=client, checkpoint=kept, **SHARED)) == expected
    # The model that code is tried with, and that of each round.
    assert len(written) == 1 + SHARED["rounds"]
    assert left_in(tmp_path) == []
    short = {**SHARED, "shards": 2, "rounds": 1, "classes": range(10)}
    with pytest.warns(UserWarning, match="no checkpoint"):
        distributed.fit(LEARNER, table[:1], client=client, **short)
    monkeypatch.setattr(dask_engine, "can_read", lambda path: False)
    with pytest.warns(UserWarning, match="not every worker can read the folder"):
        distributed.fit(LEARNER, table[:1], client=client, checkpoint=kept, **short)


@pytest.mark.slow
def test_a_wide_model_travels_by_file(client, tmp_path):
    """Weights of 2^22 features and their averages, 67 MB."""
    width, rng = 1 << 22, np.random.default_rng(0)
    lines = (
        f"{label} " + " ".join(f"{place}:1" for place in np.sort(rng.choice(width, 12, replace=False))) + "\n"
        for label in rng.integers(0, 2, 120)
    )
    path = tmp_path / "wide.svm"
    path.write_text("".join(lines))
    told = {
        "shards": 3,
        "rounds": 2,
        "block_bytes": 1 << 12,
        "n_features": width,
        "zero_based": True,
        "classes": [0, 1],
    }
    expected = distributed.fit(LEARNER, str(path), client="here", **told)
    assert is_large(expected)
    kept = tmp_path / "run.ckpt"
    assert digest(distributed.fit(LEARNER, str(path), client=client, checkpoint=kept, **told)) == digest(expected)
    assert left_in(tmp_path) == []
