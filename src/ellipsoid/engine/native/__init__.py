"""All that uses numba's internals: machine code written by hand, its cache on disk, and a server that compiles.

No other package imports numba's internals. Where one of them is missing, with a version of numba newer than those that
were tried, functions are compiled by its public interface: the same numbers, slower to compile, and nothing kept on
disk. ``ELLIPSOID_PUBLIC_NUMBA=1`` does that on purpose.
"""

import os
from typing import Any

PUBLIC_ONLY = bool(os.environ.get("ELLIPSOID_PUBLIC_NUMBA"))


def _insides() -> tuple[Any, dict[str, Any]]:
    """The cache of compiled functions, and options for functions that only compiled code calls."""
    if PUBLIC_ONLY:
        return None, {}
    try:
        from .cache import keep_on_disk
        from .inlining import InlinedCompiler
    except (ImportError, AttributeError):
        return None, {}
    return keep_on_disk, {"pipeline_class": InlinedCompiler}


KEEP_ON_DISK, INLINED = _insides()
