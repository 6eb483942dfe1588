"""Memory that is kept for a shard is given back behind it."""

import ctypes
import os
import resource

import numpy as np
import pytest

from ellipsoid.distributed.memory import SETTING, kept_memory

GLIBC = hasattr(ctypes.CDLL(None), "malloc_trim") if os.name == "posix" else False


def faults(times=40):
    """Pages that the system had to give for arrays that come and go."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(times):
        np.ones(1 << 18)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before


@pytest.mark.skipif(not GLIBC, reason="the thresholds are those of the GNU C library")
def test_arrays_of_a_shard_use_the_same_pages_again(monkeypatch):
    monkeypatch.setenv(SETTING, "65536")
    with kept_memory():
        faults(2)
        kept = faults()
    given_back = faults()
    assert kept < 0.5 * given_back


def test_nothing_is_changed_by_default(monkeypatch):
    monkeypatch.delenv(SETTING, raising=False)
    monkeypatch.setattr(ctypes, "CDLL", lambda name: pytest.fail("the C library was asked"))
    with kept_memory():
        pass
