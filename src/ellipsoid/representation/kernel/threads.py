"""Work in parts, on as many threads as BLAS would use.

A product that BLAS splits waits for its slowest part; here each thread has rows of its own and goes through all tiles
of the patterns alone, product, kernel and sums, so that threads meet once for a block and not once for a product.
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
# Threads that hold BLAS to one, each as often as it does so, and the libraries with their numbers of before.
_lock = Lock()
_holders: list[int] = []
_before: list[tuple[Any, int]] = []


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController().select(user_api="blas")


@cache
def _pool(process: int, threads: int) -> ThreadPoolExecutor:
    """Threads that wait for work; a forked process has none of its parent's and makes its own."""
    return ThreadPoolExecutor(threads, initializer=_become_helper)


def _become_helper() -> None:
    _here.helps = True


@contextmanager
def one_thread() -> Iterator[None]:
    """Hold BLAS to one thread: in how many parts it adds up a product changes the last bits of it.

    Most have one number for the whole process: the first thread to come sets it, and the last to leave sets it back.
    Those on OpenMP have one for every thread, which looks after its own.
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
    """Hold the libraries of a kind to one thread; returns them and their numbers of before."""
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
    """Set the number, whichever thread did so before: threadpoolctl 3.8 lets others do nothing, and does not say so."""
    take_over = getattr(library, "clear_controlling_thread", lambda force: None)
    take_over(force=True)
    library.set_num_threads(threads)
    take_over(force=True)


def _after_fork() -> None:
    """Of those who hold BLAS only the thread that forked, if it is one of them, lives on in the new process."""
    _holders[:] = [holder for holder in _holders if holder == get_ident()]
    if not _holders:
        _set_back(_before)
    _lock.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_after_fork)


def threads_for(count: int, effort: float) -> int:
    """How many threads do something in ``count`` parts that takes ``effort`` multiplications in all.

    One that helps already asks for no further help: it could wait for itself.
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
    """Start ``job()`` on all threads but this one."""
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
