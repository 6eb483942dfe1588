"""Work in parts, on as many threads as BLAS would use.

A product that BLAS splits waits for its slowest part; here each thread has rows of its own and goes through all tiles
of the patterns alone, product, kernel and sums, so that threads meet once for a block and not once for a product.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache

from threadpoolctl import ThreadpoolController

# Multiplications below which a second thread is not worth its start.
WORTHWHILE = 2e7


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


def in_parts(job: Callable[[int, int], None], count: int, effort: float) -> None:
    """``job(start, stop)`` over parts of ``range(count)``; ``effort`` counts the multiplications of the whole.

    >>> import numpy as np
    >>> squares = np.zeros(5)
    >>> def job(start, stop):
    ...     squares[start:stop] = np.arange(start, stop) ** 2
    >>> in_parts(job, 5, 1e9)
    >>> squares
    array([ 0.,  1.,  4.,  9., 16.])
    """
    if effort < WORTHWHILE:
        job(0, count)
        return
    libraries = _controller().select(user_api="blas").info()
    threads = min(count, max([1, *(library["num_threads"] for library in libraries)]))
    if threads == 1:
        job(0, count)
        return
    ends = [count * i // threads for i in range(threads + 1)]
    with _controller().limit(limits=1, user_api="blas"), ThreadPoolExecutor(threads) as pool:
        for part in [pool.submit(job, *ends[i : i + 2]) for i in range(threads)]:
            part.result()
