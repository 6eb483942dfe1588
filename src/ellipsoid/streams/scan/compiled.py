"""How the scanners are compiled: kept on disk, never stale, and without Python's lock, so that a thread reads ahead.

numba's cache notices an edit only in the file of the outermost function; the key here holds a digest of this whole
package, because a scanner inlines its numerals and its hash.
"""

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numba import njit
from numba.core import config
from numba.core.caching import FunctionCache
from numba.extending import register_jitable

inlined = register_jitable(inline="never")
# For short functions of many arguments on the way of every number, which the compiler would call instead.
forced = register_jitable(inline="never", forceinline=True)

# Indexing by a signed number tests whether it counts from the end, for every byte of a text.
at = np.uint64

_DIGEST = hashlib.sha256(b"".join(path.read_bytes() for path in sorted(Path(__file__).parent.glob("*.py")))).hexdigest()


class _Cache(FunctionCache):
    """numba's function cache with the digest of this package in its key."""

    def _index_key(self, sig: Any, codegen: Any) -> Any:
        return (*super()._index_key(sig, codegen), _DIGEST)


def scanner(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile at the first call, keep the machine code on disk, and let other threads run meanwhile."""
    # A scan makes no arrays; with `_nrt` each short function that looks at a text counts references to it, atomically.
    uncounted: dict[str, Any] = {"_nrt": False}
    dispatcher: Any = njit(nogil=True, error_model="numpy", **uncounted)(function)
    if not config.DISABLE_JIT:
        dispatcher._cache = _Cache(function)
    return dispatcher
