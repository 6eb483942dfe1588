"""Several threads at one stream: they take its blocks in turn, scan them side by side, and deliver them in order.

Scanning is compiled and needs no lock of Python's. Who scans which block, and when, changes nothing: a scan depends on
its block, and on what was found a fixed number of blocks before it.
"""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from queue import Full, Queue
from typing import Any, NamedTuple

# Blocks under way at once, each with a buffer of its own, and as many results waiting to be learned.
ABREAST = 4
# Seconds to wait for threads that are no longer needed: one may be reading a pipe that gives nothing any more.
_PATIENCE = 1.0


class Scanned(NamedTuple):
    """What is in a block: pieces of rows and labels, line feeds, the line and the sentence of the first flaw, counted
    from the block's first line as 1, the expected sizes of a block like this, and importances other than 1.
    """

    pieces: list[tuple[Any, ...]]
    lines: int
    flaw: tuple[int, str] | None
    density: Any
    important: int = 0


def default_threads(blocks: int | None = None) -> int:
    """One for each processor that this process may use, at most `ABREAST`; none of its own for a stream that is over
    within a block, and no more than there are blocks (None: nobody knows).
    """
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    most = min(usable, ABREAST)
    return most if blocks is None else 0 if blocks < 2 else min(most, blocks)


def side_by_side(
    jobs: Iterator[Any],
    work: Callable[[Any, Any], Any],
    threads: int,
    note: Callable[[Any], Any] = lambda result: result,
) -> Iterator[Any]:
    """``work(job, earlier)`` of each job, in order; ``earlier`` is the ``note`` of the result `ABREAST` jobs before,
    None if there is none. Without threads, who asks for a result works for it.

    A job is asked for only after the one `ABREAST` before it is done. A note should be small: results are forgotten
    once they are handed on, so that their memory can be used again.

    >>> list(side_by_side(iter(range(6)), lambda job, earlier: (job, earlier), threads=2, note=lambda done: done[0]))
    [(0, None), (1, None), (2, None), (3, None), (4, 0), (5, 1)]
    """
    if threads == 0:
        notes: deque[Any] = deque(maxlen=ABREAST)
        for job in jobs:
            result = work(job, notes[0] if len(notes) == ABREAST else None)
            notes.append(note(result))
            yield result
        return
    scan_threads = _Crew(jobs, work, note)
    scan_threads.start(threads)
    try:
        for future in iter(scan_threads.results.get, None):
            yield future.result()
    finally:
        scan_threads.leave()


class _Crew:
    def __init__(self, jobs: Iterator[Any], work: Callable[[Any, Any], Any], note: Callable[[Any], Any]) -> None:
        self.results: Queue[Future[Any] | None] = Queue(ABREAST)
        self._jobs, self._work, self._note = jobs, work, note
        self._recent: deque[Future[Any]] = deque(maxlen=ABREAST)
        self._turn, self._left = threading.Lock(), threading.Event()
        self._threads: list[threading.Thread] = []

    def start(self, threads: int) -> None:
        for _ in range(threads):
            thread = threading.Thread(target=self._run, name="ellipsoid reader", daemon=True)
            thread.start()
            self._threads.append(thread)

    def leave(self) -> None:
        self._left.set()
        until = time.monotonic() + _PATIENCE
        for thread in self._threads:
            thread.join(timeout=max(0.0, until - time.monotonic()))

    def _run(self) -> None:
        while self._one():
            pass

    def _one(self) -> bool:
        """Do a job, and hold nothing of it afterwards; False if there was none."""
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
        """The next job, what was noted before it, and where its own result and note go; None at the end."""
        with self._turn:
            if self._left.is_set():
                return None
            future: Future[Any] = Future()
            try:
                earlier = self._recent[0].result() if len(self._recent) == ABREAST else None
                job = next(self._jobs)
            except StopIteration:
                self._end(None)
                return None
            except BaseException as error:
                future.set_exception(error)
                self._end(future)
                return None
            noted: Future[Any] = Future()
            self._recent.append(noted)
            return (job, earlier, future, noted) if self._hand_over(future) else None

    def _end(self, last: Future[Any] | None) -> None:
        self._hand_over(last)
        self._left.set()

    def _hand_over(self, future: Future[Any] | None) -> bool:
        while not self._left.is_set():
            try:
                self.results.put(future, timeout=0.1)
            except Full:
                continue
            return True
        return False
