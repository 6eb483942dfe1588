"""The engine of processes of this machine, by joblib's loky, which scikit-learn depends on."""

import os
import tempfile
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, as_completed
from contextlib import suppress
from queue import Empty
from threading import Thread
from time import sleep
from typing import Any, NamedTuple

from .engine import Engine, LostWorkers
from .parcel import is_large, with_parcels

# Idle pools by the process that started them and their number of workers; the next engine takes one over.
_idle: dict[tuple[int, int], list[Any]] = {}


def _exit_with(starter: int) -> None:
    """Run in each process of a pool: exit when the process that started the pool is gone."""

    def watch() -> None:
        while os.getppid() == starter:
            sleep(0.5)
        os._exit(1)

    Thread(target=watch, name="ellipsoid starter", daemon=True).start()


class DriverTask(NamedTuple):
    """A small task over results of other tasks, which are in this process already: it is run here, on demand."""

    function: Callable[..., Any]
    args: tuple[Any, ...]


class Loky(Engine):
    """An engine of ``workers`` processes; by default one for each processor that this process may use."""

    def __init__(self, workers: int | None = None) -> None:
        super().__init__()
        usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        self.workers = usable if workers is None else workers
        if self.workers < 1:
            raise ValueError(f"workers must be at least 1, got {workers}")
        self._pool: Any = None
        self._started: list[Any] = []

    def _start(self, function: Callable[..., Any], *args: Any) -> Any:
        """Submit a task to the present pool, or to a new one if some of its processes have died.

        ``joblib.Parallel`` has a pool of its own, which cannot be shared: it expects to have started it.
        """
        from joblib.externals.loky import ProcessPoolExecutor

        future, idle = None, _idle.get((os.getpid(), self.workers))
        self._pool = self._pool or (idle.pop() if idle else None)
        if self._pool is not None:
            with suppress(RuntimeError):  # broken, or shut down
                future = self._pool.submit(function, *args)
        if future is None:
            self._pool = ProcessPoolExecutor(
                self.workers, timeout=600, env={"OMP_NUM_THREADS": "1"}, initializer=_exit_with, initargs=(os.getpid(),)
            )
            future = self._pool.submit(function, *args)
        self._started.append(future)
        return future

    def submit(self, function: Callable[..., Any], *args: Any, key: str, turn: int | None = None) -> Any:
        """Submit a task to a process; one whose arguments are futures is run here, when its result is asked for."""
        if any(isinstance(arg, DriverTask | Future) for arg in args):
            return DriverTask(function, args)
        function, args = with_parcels(function, args)
        return self._start(function, *args)

    def send(self, value: Any, key: str) -> Any:
        """The value itself, which travels with every task, or a parcel if it is large."""
        return self._as_parcel(value, self.folder or tempfile.gettempdir(), key) if is_large(value) else value

    def result(self, future: Any) -> Any:
        from joblib.externals.loky.process_executor import BrokenProcessPool

        if isinstance(future, DriverTask):
            args = [self.result(arg) if isinstance(arg, DriverTask | Future) else arg for arg in future.args]
            return future.function(*args)
        try:
            return future.result()
        except BrokenProcessPool as error:
            raise LostWorkers(f"a process of this machine died: {error}") from error

    def as_done(self, futures: Iterable[Any]) -> Iterator[Any]:
        waiting = list(futures)
        below = {self._process_future(future): future for future in waiting}
        for done in as_completed(below):
            yield below[done]

    def _process_future(self, future: Any) -> Any:
        """The future of the pool that a task waits for."""
        return self._process_future(future.args[0]) if isinstance(future, DriverTask) else future

    def forget(self) -> None:
        """Remove the files of large models; results belong to the caller."""
        self._started = [future for future in self._started if not future.done()]
        super().forget()

    def everywhere(self, function: Callable[..., Any], *args: Any) -> dict[str, Any]:
        """Call the function in one process, since all are alike; nothing is returned if it dies."""
        function, args = with_parcels(function, args)
        with suppress(LostWorkers):
            return {"a process of this machine": self.result(self._start(function, *args))}
        return {}

    def close(self) -> None:
        """Leave idle processes to the next engine; they exit by themselves after a time.

        After an interrupted run the pool is killed with its unfinished tasks, for which Python would wait at exit.
        """
        pool, self._pool = self._pool, None
        if any(not future.done() for future in self._started):
            # While it is killed, the pool would look for tasks that are already gone if their numbers were still
            # queued.
            with suppress(AttributeError, Empty):
                while True:
                    pool._work_ids.get_nowait()
            pool.shutdown(kill_workers=True)
        elif pool is not None:
            _idle.setdefault((os.getpid(), self.workers), []).append(pool)
