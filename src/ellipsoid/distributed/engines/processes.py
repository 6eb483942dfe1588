"""Processes of this machine, by joblib's loky, which scikit-learn has brought along."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from queue import Empty
from threading import Thread
from time import sleep
from typing import Any, NamedTuple

from .engine import LostWorkers
from .parcel import Parcel, is_large, with_parcels, wrap

# Processes that nobody uses now, by who started them and how many there are: the next engine goes on with them.
_idle: dict[tuple[int, int], list[Any]] = {}


def _end_with(starter: int) -> None:
    """In a process of the pool: end when who started it has been killed, whatever is being learned for nobody then."""

    def watch() -> None:
        while os.getppid() == starter:
            sleep(0.5)
        os._exit(1)

    Thread(target=watch, name="ellipsoid starter", daemon=True).start()


class Joined(NamedTuple):
    """A small task over results that lie here already: it is done by who asks for it."""

    function: Callable[..., Any]
    args: tuple[Any, ...]


class Loky:
    """An engine of ``workers`` processes; by default as many as this process may use processors."""

    folder: Any = None

    def __init__(self, workers: int | None = None) -> None:
        usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        self.workers = usable if workers is None else workers
        if self.workers < 1:
            raise ValueError(f"there must be a worker at least, got {workers}")
        self._parcels: list[Parcel] = []
        self._pool: Any = None
        self._begun: list[Any] = []

    def _start(self, function: Callable[..., Any], *args: Any) -> Any:
        """Hand a task to the processes that there are, or to new ones where some of those have died.

        They are not the ones that ``joblib.Parallel`` keeps for itself, which expects to have started them.
        """
        from joblib.externals.loky import ProcessPoolExecutor

        future, idle = None, _idle.get((os.getpid(), self.workers))
        self._pool = self._pool or (idle.pop() if idle else None)
        if self._pool is not None:
            with suppress(RuntimeError):  # broken, or shut down
                future = self._pool.submit(function, *args)
        if future is None:
            self._pool = ProcessPoolExecutor(
                self.workers, timeout=600, env={"OMP_NUM_THREADS": "1"}, initializer=_end_with, initargs=(os.getpid(),)
            )
            future = self._pool.submit(function, *args)
        self._begun.append(future)
        return future

    def submit(self, function: Callable[..., Any], *args: Any, key: str, turn: int | None = None) -> Any:
        """Hand a task to a process, unless it waits for others."""
        if any(self._stands_for(arg) for arg in args):
            return Joined(function, args)
        function, args = with_parcels(function, args)
        return self._start(function, *args)

    def send(self, value: Any, key: str) -> Any:
        """It travels with every task, a large one as a file."""
        if not is_large(value):
            return value
        parcel = wrap(value, self.folder or tempfile.gettempdir(), key)
        self._parcels.append(parcel)
        return parcel

    @staticmethod
    def _stands_for(arg: Any) -> bool:
        return isinstance(arg, Joined) or (hasattr(arg, "add_done_callback") and hasattr(arg, "result"))

    def result(self, future: Any) -> Any:
        """Wait for a result."""
        from joblib.externals.loky.process_executor import BrokenProcessPool

        if isinstance(future, Joined):
            return future.function(*(self.result(arg) if self._stands_for(arg) else arg for arg in future.args))
        try:
            return future.result()
        except BrokenProcessPool as error:
            raise LostWorkers(f"a process of this machine died: {error}") from error

    def as_done(self, futures: Iterable[Any]) -> Iterator[Any]:
        """Futures as they are done, well or badly."""
        from concurrent.futures import as_completed

        waiting = list(futures)
        below = {self._below(future): future for future in waiting}
        for done in as_completed(below):
            yield below[done]

    def _below(self, future: Any) -> Any:
        """The process's own future that a task waits for."""
        return self._below(future.args[0]) if isinstance(future, Joined) else future

    def forget(self) -> None:
        """Results lie here, and go with who asked for them; files do not."""
        self._begun = [future for future in self._begun if not future.done()]
        parcels, self._parcels = self._parcels, []
        for parcel in parcels:
            parcel.discard()

    def everywhere(self, function: Callable[..., Any], *args: Any) -> dict[str, Any]:
        """All processes are like one another; one that dies on it is not asked again."""
        function, args = with_parcels(function, args)
        with suppress(LostWorkers):
            return {"a process of this machine": self.result(self._start(function, *args))}
        return {}

    def close(self) -> None:
        """Idle processes wait for the next engine, and end by themselves where none comes.

        A run that was broken off has left tasks behind, for which Python would wait before it exits: they are ended.
        """
        pool, self._pool = self._pool, None
        if any(not future.done() for future in self._begun):
            # A pool that is ended looks for tasks that it has just given up, where it still has their numbers.
            with suppress(AttributeError, Empty):
                while True:
                    pool._work_ids.get_nowait()
            pool.shutdown(kill_workers=True)
        elif pool is not None:
            _idle.setdefault((os.getpid(), self.workers), []).append(pool)
