"""Faster allocation in Dask workers: while a shard is learned, the C library keeps freed memory for the next array.

Dask's nanny starts workers with ``MALLOC_TRIM_THRESHOLD_=65536``, so that memory is returned to the system early. The C
library then keeps no large blocks either: every array is allocated page by page, and a shard takes a third more
processor time. So the thresholds are raised while a shard is learned, and lowered again afterwards.
"""

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager

SETTING = "MALLOC_TRIM_THRESHOLD_"
# The C library's numbers of the two thresholds, their values during a shard, and the default of the smaller one.
TRIM, MMAP = -1, -3
KEPT_BYTES, LARGE_BYTES, USUAL = 128 << 20, 32 << 20, 128 << 10


@contextmanager
def kept_memory() -> Iterator[None]:
    """Keep freed memory for the next array, in a process that was started to return it at once."""
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
