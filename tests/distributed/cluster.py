"""Real workers in real processes, and how to kill them."""

import gc
import os
import signal
import time
from contextlib import contextmanager

from ellipsoid.distributed.progress import RunProgress


@contextmanager
def local_client(workers, **options):
    """A client of a cluster of processes of this machine, each with one thread and a nanny that replaces it."""
    from dask import config
    from distributed import Client, LocalCluster

    settings = {"distributed.admin.log-length": 0, "distributed.scheduler.allowed-failures": 10}
    kind = {"threads_per_worker": 1, "processes": True, "dashboard_address": ":0", "memory_limit": 0, **options}
    with (
        config.set(settings),
        LocalCluster(n_workers=workers, silence_logs=50, **kind) as cluster,
        Client(cluster) as client,
    ):
        yield client


def worker_pids(client):
    """The processes of the workers, which their nannies, in this process, know: a dying worker is not to be asked."""
    return sorted(nanny.pid for nanny in client.cluster.workers.values() if nanny.pid)


def kill_after(monkeypatch, client, number, shards):
    """Kill a worker by SIGKILL once so many shards of a round are done; returns where its number will be."""
    killed, tell = [], RunProgress.shard

    def shard(self, counts):
        tell(self, counts)
        if self.round == number and self.done == shards and not killed:
            killed.append(worker_pids(client)[0])
            os.kill(killed[0], signal.SIGKILL)

    monkeypatch.setattr(RunProgress, "shard", shard)
    return killed


def shards_on_workers(client):
    """The results of shards that workers still hold after ten seconds; none as soon as there are none.

    Dask passes on a moment later what a driver releases. Python's collector is off meanwhile: what only it would free
    is held too long.
    """

    def held():
        return [key for keys in client.has_what().values() for key in keys if "shard" in str(key)]

    gc.disable()
    try:
        end = time.monotonic() + 10.0
        while held() and time.monotonic() < end:
            time.sleep(0.05)
        return held()
    finally:
        gc.enable()
