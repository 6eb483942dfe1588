"""Work on as many threads as BLAS would use.

A product that BLAS splits waits for its slowest part; here each thread has rows of its own and goes through all tiles
of the patterns alone, product, kernel and sums, so that threads wait for each other once a block, not once a product.
"""

import os
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from threading import Lock, get_ident, local
from typing import Any

from threadpoolctl import ThreadpoolController

# Multiplications below which a second thread is not worth its start.
WORTHWHILE = 4e6
_here = local()
# Threads within ``one_thread``, each as often as it is, and the libraries with their numbers of threads before.
_lock = Lock()
_holders: list[int] = []
_before: list[tuple[Any, int]] = []


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController().select(user_api="blas")


@cache
def _pool(process: int, threads: int) -> ThreadPoolExecutor:
    """A pool of threads; one for each process, since a forked one has none of its parent's threads."""
    return ThreadPoolExecutor(threads, initializer=setattr, initargs=(_here, "helps", True))


@contextmanager
def one_thread() -> Iterator[None]:
    """Hold BLAS to one thread: the last bits of a product depend on the number of parts in which it is summed.

    Most libraries have one number of threads for the process: the first thread to enter sets it, and the last to leave
    resets it. Those on OpenMP have a number for every thread, which sets and resets its own.
    """
    own = _held(per_thread=True)
    with _lock:
        if not _holders:
            _before.extend(_held(per_thread=False))
        _holders.append(get_ident())
    try:
        yield
    finally:
        _set_back(own)
        with _lock:
            _holders.remove(get_ident())
            if not _holders:
                _set_back(_before)


def _held(per_thread: bool) -> list[tuple[Any, int]]:
    """Hold the libraries of a kind to one thread; returns them and their numbers of threads before."""
    libraries = _controller().lib_controllers
    chosen = [each for each in libraries if (getattr(each, "threading_layer", "") == "openmp") == per_thread]
    found = [(library, library.num_threads) for library in chosen]
    for library in chosen:
        _set_threads(library, 1)
    return found


def _set_back(numbers: list[tuple[Any, int]]) -> None:
    while numbers:
        _set_threads(*numbers.pop())


def _set_threads(library: Any, threads: int) -> None:
    """Set the number, whichever thread did so last: threadpoolctl 3.8 silently ignores all other threads."""
    take_over = getattr(library, "clear_controlling_thread", lambda force: None)
    take_over(force=True)
    library.set_num_threads(threads)
    take_over(force=True)


def _after_fork() -> None:
    """Only the thread that forked lives on in the new process: no other is within ``one_thread`` any more."""
    _holders[:] = [holder for holder in _holders if holder == get_ident()]
    if not _holders:
        _set_back(_before)
    _lock.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_after_fork)


def threads_for(count: int, effort: float) -> int:
    """How many threads to use for ``count`` parts of a work of ``effort`` multiplications in all.

    A thread of the pool uses no others: it could wait for itself.
    """
    if effort < WORTHWHILE or getattr(_here, "helps", False):
        return 1
    return min(count, max([1, *(library.num_threads for library in _controller().lib_controllers)]))


def together(job: Callable[[], None], count: int, effort: float) -> None:
    """``job()`` on every thread; the calls share ``count`` parts of a work of ``effort`` multiplications.

    >>> parts = list(range(5))
    >>> squares = []
    >>> def job():
    ...     while parts:
    ...         squares.append(parts.pop() ** 2)
    >>> together(job, 5, 0.0)
    >>> squares
    [16, 9, 4, 1, 0]
    """
    _on(threads_for(count, effort), job)


def aside(job: Callable[[], None], threads: int) -> list[Future[None]]:
    """Start ``job()`` on this many threads, less this one."""
    return [_pool(os.getpid(), threads - 1).submit(job) for _ in range(threads - 1)]


def in_parts(job: Callable[[int, int], None], count: int, effort: float) -> None:
    """``job(start, stop)`` over parts of ``range(count)``, with BLAS held to one thread in each."""
    threads = threads_for(count, effort)
    if threads == 1:
        job(0, count)
        return
    left = iter(range(threads))

    def part() -> None:
        share = next(left)
        job(count * share // threads, count * (share + 1) // threads)

    with one_thread():
        _on(threads, part)


def _on(threads: int, job: Callable[[], None]) -> None:
    others = aside(job, threads)
    job()
    for other in others:
        other.result()
