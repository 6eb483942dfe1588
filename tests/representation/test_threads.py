"""Work in parts: every part is done once, whatever BLAS is held to meanwhile."""

import os
import threading
from contextlib import nullcontext

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from ellipsoid.representation.kernel.threads import WORTHWHILE, in_parts, one_thread, threads_for, together


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("effort", [0.0, 2.0 * WORTHWHILE])
def test_all_parts_are_done_once(threads, effort):
    done, held = np.zeros(7, dtype=int), []

    def job(start, stop):
        done[start:stop] += 1
        held.extend(library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas")

    with threadpool_limits(threads, user_api="blas"):
        allowed = threads_for(7, effort)
        in_parts(job, 7, effort)
    assert (done == 1).all()
    assert allowed == (threads if effort else 1)
    if allowed > 1:
        assert set(held) == {1}


def test_a_failure_on_another_thread_is_not_lost():
    calls = []

    def job():
        calls.append(None)
        if len(calls) == 2:
            raise RuntimeError("the second call")

    with threadpool_limits(2, user_api="blas"), pytest.raises(RuntimeError, match="the second call"):
        together(job, 2, 2.0 * WORTHWHILE)


def test_a_helper_thread_starts_no_further_helpers():
    """With one helper it would wait for itself."""
    allowed = []

    def inner():
        allowed.append(threads_for(2, 2.0 * WORTHWHILE))

    def job():
        together(inner, 2, 2.0 * WORTHWHILE if threading.current_thread() is not threading.main_thread() else 0.0)

    with threadpool_limits(2, user_api="blas"):
        together(job, 2, 2.0 * WORTHWHILE)
    assert sorted(allowed) == [1, 2]


def blas_threads():
    """Of each library; where another thread has taken control of one, ``threadpool_limits`` changes nothing there."""
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


@pytest.fixture
def holder():
    """A thread that holds BLAS to one from when it meets ``came`` until ``go`` is set."""
    came, go = threading.Barrier(2), threading.Event()

    def hold():
        with one_thread():
            came.wait(60)
            go.wait(60)

    return threading.Thread(target=hold), came, go


def test_the_last_to_leave_gives_blas_its_threads_back(holder):
    other, came, go = holder
    with threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        with one_thread():
            other.start()
            came.wait(60)
            with one_thread():
                pass
        assert blas_threads() == {1}
        go.set()
        other.join()
        assert blas_threads() == before


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.parametrize("own", [False, True])
def test_a_forked_process_keeps_only_the_thread_limit_of_the_thread_that_forked(own, holder):
    other, came, go = holder
    with threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        wanted = {1} if own else before
        other.start()
        came.wait(60)
        with one_thread() if own else nullcontext():
            child = os.fork()
            if not child:
                right = blas_threads() == wanted
                with one_thread():
                    right &= blas_threads() == {1}
                os._exit(0 if right and blas_threads() == wanted else 1)
        go.set()
        other.join()
        assert os.waitpid(child, 0)[1] == 0
        assert blas_threads() == before
