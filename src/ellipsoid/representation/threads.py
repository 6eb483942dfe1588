"""Work in parts, on as many threads as BLAS would use.

A product that BLAS splits waits for its slowest part; here each thread has rows of its own and goes through all tiles
of the patterns alone, product, kernel and sums, so that threads meet once for a block and not once for a product.
"""

import os
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache

from threadpoolctl import ThreadpoolController

# Multiplications below which a second thread is not worth its start.
WORTHWHILE = 4e6


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController().select(user_api="blas")


@cache
def _pool(process: int, threads: int) -> ThreadPoolExecutor:
    """Threads that wait for work; a forked process has none of its parent's and makes its own."""
    return ThreadPoolExecutor(threads)


def threads_for(count: int, effort: float) -> int:
    """How many threads do something in ``count`` parts that takes ``effort`` multiplications in all."""
    if effort < WORTHWHILE:
        return 1
    return min(count, max([1, *(library.num_threads for library in _controller().lib_controllers)]))


def in_shares(job: Callable[[int, int], None], count: int, effort: float) -> None:
    """``job(share, shares)`` for every share, at most ``count``; ``effort`` counts the multiplications of the whole.

    >>> import numpy as np
    >>> squares = np.zeros(5)
    >>> def job(share, shares):
    ...     squares[share::shares] = np.arange(share, 5, shares) ** 2
    >>> in_shares(job, 5, 1e9)
    >>> squares
    array([ 0.,  1.,  4.,  9., 16.])
    """
    _run(job, threads_for(count, effort))


def in_parts(job: Callable[[int, int], None], count: int, effort: float) -> None:
    """``job(start, stop)`` over parts of ``range(count)``, with BLAS held to one thread in each."""

    def part(share: int, shares: int) -> None:
        job(count * share // shares, count * (share + 1) // shares)

    shares = threads_for(count, effort)
    if shares == 1:
        job(0, count)
        return
    with _controller().limit(limits=1):
        _run(part, shares)


def _run(job: Callable[[int, int], None], shares: int) -> None:
    others: list[Future[None]] = []
    if shares > 1:
        pool = _pool(os.getpid(), shares - 1)
        others = [pool.submit(job, share, shares) for share in range(1, shares)]
    job(0, shares)
    for other in others:
        other.result()
