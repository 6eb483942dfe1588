"""Faster allocation in Dask workers: while one learns a shard, the C library keeps freed memory.

Dask's nanny starts workers with ``MALLOC_TRIM_THRESHOLD_=65536``, so that memory goes back to the system early. It also
ends the C library's habit of keeping large blocks: each array is then asked of the system anew, page by page, and a
shard takes a third more processor time. So the thresholds are raised for a shard, and lowered again behind it.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager

SETTING = "MALLOC_TRIM_THRESHOLD_"
# Names of the C library for its thresholds, what they are for a shard, and what the smaller one is by default.
TRIM, MMAP = -1, -3
KEPT_BYTES, LARGE_BYTES, USUAL = 128 << 20, 32 << 20, 128 << 10


@contextmanager
def kept_memory() -> Iterator[None]:
    """Keep blocks of memory for the next array, where the process was told to give them back at once."""
    setting = os.environ.get(SETTING, "")
    library = ctypes.CDLL(None) if setting.isdigit() and os.name == "posix" else None
    if library is None or not (hasattr(library, "mallopt") and hasattr(library, "malloc_trim")):
        yield
        return
    library.mallopt(TRIM, max(KEPT_BYTES, int(setting)))
    library.mallopt(MMAP, LARGE_BYTES)
    try:
        yield
    finally:
        library.mallopt(TRIM, int(setting))
        library.mallopt(MMAP, USUAL)
        library.malloc_trim(0)
