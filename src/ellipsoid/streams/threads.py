"""Background threads: several blocks of text are scanned at once, or rows are read ahead of whoever learns them.

Scanning is compiled and runs without Python's lock. Results come in the order of the jobs and do not depend on the
number of threads: a scan depends on its block, and on what was found a fixed number of blocks before it.
"""

import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from itertools import islice
from queue import Full, Queue
from typing import Any

# Blocks in work at once, each with a buffer of its own, and as many results waiting to be learned.
IN_FLIGHT = 4
# Seconds to wait for threads that are no longer needed: one may be reading a pipe that gives nothing any more.
_JOIN_SECONDS = 1.0


def default_threads(blocks: int | None = None) -> int:
    """One thread for each processor that this process may use, at most `IN_FLIGHT` and one a block (None: unknown).

    A stream of a single block gets none: it is over before a thread pays.
    """
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    most = min(usable, IN_FLIGHT)
    return most if blocks is None else 0 if blocks < 2 else min(most, blocks)


def map_in_threads(
    jobs: Iterator[Any],
    work: Callable[[Any, Any], Any],
    threads: int,
    note: Callable[[Any], Any] = lambda result: result,
    waiting: int = IN_FLIGHT,
) -> Iterator[Any]:
    """``work(job, earlier)`` of each job, in order; ``earlier`` is the ``note`` of the result `IN_FLIGHT` jobs before,
    None if there is none. Up to ``waiting`` results are computed ahead; without threads each one when it is asked for.

    A job is asked for only after the one `IN_FLIGHT` before it is done. A note should be small: results are forgotten
    once they are handed on, so that their memory can be used again.

    >>> list(map_in_threads(iter(range(6)), lambda job, earlier: (job, earlier), threads=2, note=lambda done: done[0]))
    [(0, None), (1, None), (2, None), (3, None), (4, 0), (5, 1)]
    """
    if threads == 0:
        notes: deque[Any] = deque(maxlen=IN_FLIGHT)
        for job in jobs:
            result = work(job, notes[0] if len(notes) == IN_FLIGHT else None)
            notes.append(note(result))
            yield result
        return
    workers = _Workers(jobs, work, note, waiting)
    workers.start(threads)
    try:
        for future in iter(workers.results.get, None):
            yield future.result()
    finally:
        workers.stop()


def read_ahead(items: Iterator[Any]) -> Iterator[Any]:
    """The same items, up to two of them read by a thread before they are asked for, from the second one on.

    >>> list(read_ahead(iter([("a", 1), ("b", 2), ("c", 3)])))
    [('a', 1), ('b', 2), ('c', 3)]
    """
    yield from islice(items, 1)
    yield from map_in_threads(items, lambda item, earlier: item, 1, note=lambda item: None, waiting=2)


class _Workers:
    def __init__(
        self, jobs: Iterator[Any], work: Callable[[Any, Any], Any], note: Callable[[Any], Any], waiting: int
    ) -> None:
        self.results: Queue[Future[Any] | None] = Queue(waiting)
        self._jobs, self._work, self._note = jobs, work, note
        self._recent: deque[Future[Any]] = deque(maxlen=IN_FLIGHT)
        self._turn, self._stopped = threading.Lock(), threading.Event()
        self._threads: list[threading.Thread] = []

    def start(self, threads: int) -> None:
        for _ in range(threads):
            thread = threading.Thread(target=self._run, name="ellipsoid reader", daemon=True)
            thread.start()
            self._threads.append(thread)

    def stop(self) -> None:
        self._stopped.set()
        until = time.monotonic() + _JOIN_SECONDS
        for thread in self._threads:
            thread.join(timeout=max(0.0, until - time.monotonic()))

    def _run(self) -> None:
        while self._do_one():
            pass

    def _do_one(self) -> bool:
        """Do a job, and keep nothing of it afterwards; False if there was none."""
        taken = self._take()
        if taken is None:
            return False
        job, earlier, future, noted = taken
        try:
            result = self._work(job, earlier)
            noted.set_result(self._note(result))
            future.set_result(result)
        except BaseException as error:
            noted.set_exception(error)
            future.set_exception(error)
        return True

    def _take(self) -> tuple[Any, Any, Future[Any], Future[Any]] | None:
        """The next job, the earlier note it depends on, and where its own result and note go; None at the end."""
        with self._turn:
            if self._stopped.is_set():
                return None
            future: Future[Any] = Future()
            try:
                earlier = self._recent[0].result() if len(self._recent) == IN_FLIGHT else None
                job = next(self._jobs)
            except BaseException as error:
                ended = isinstance(error, StopIteration)
                if not ended:
                    future.set_exception(error)
                self._put(None if ended else future)
                self._stopped.set()
                return None
            noted: Future[Any] = Future()
            self._recent.append(noted)
            return (job, earlier, future, noted) if self._put(future) else None

    def _put(self, future: Future[Any] | None) -> bool:
        while not self._stopped.is_set():
            try:
                self.results.put(future, timeout=0.1)
            except Full:
                continue
            return True
        return False
