"""Machine code called without Python's lock: the same numbers, and other threads run meanwhile."""

import time
from threading import Thread
from typing import NamedTuple

import numba
import numpy as np
import pytest

from ellipsoid.engine.native.nogil import without_gil


class Part(NamedTuple):
    rows: np.ndarray
    factor: float
    inner: tuple


@numba.njit
def work(part, out, start, stop):
    """Some of everything that a loop is given."""
    total = 0.0
    for _ in range(part.inner[1]):
        for i in range(start, stop):
            for j in range(part.rows.shape[1]):
                total += part.factor * part.rows[i, j] / part.inner[0][j]
    out[0] = total
    return stop - start


def prepared(function, *args):
    kinds = tuple(numba.typeof(arg) for arg in args)
    function.compile(kinds)
    return without_gil(function.overloads[kinds], kinds)


def arguments(times=1, divisor=2.0):
    rows = np.random.default_rng(0).normal(size=(50, 3))
    return Part(rows, np.float64(0.5), (np.array([1.0, divisor, 3.0]), times)), np.zeros(1), 3, np.int64(40)


def test_it_is_the_same_machine_code():
    args, again = arguments(), arguments()
    call = prepared(work, *args)
    assert call(*args) == work(*again) == 37
    assert args[1][0] == again[1][0] != 0.0


def test_other_threads_run_meanwhile():
    args, ticks = arguments(times=1_000_000), []
    call = prepared(work, *args)
    began = time.perf_counter()
    worker = Thread(target=call, args=args)
    worker.start()
    while worker.is_alive():
        ticks.append(time.perf_counter())
        time.sleep(0.001)
    ended = time.perf_counter()
    assert ended - began > 0.02
    assert sum(began < tick < ended for tick in ticks) > 3


def test_what_the_code_raises_is_not_lost():
    args = arguments(divisor=0.0)
    with pytest.raises(RuntimeError, match="failed"):
        prepared(work, *args)(*args)
    with pytest.raises(TypeError, match="numbers and addresses"):
        prepared(work, *args)(*args[:3])


def test_kinds_that_it_does_not_know_are_left_to_numba():
    @numba.njit
    def flag(given):
        return np.int64(given)

    @numba.njit
    def half(given):
        return 0.5 * given

    assert prepared(flag, True) is None
    assert prepared(half, 3) is None
