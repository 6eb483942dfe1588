"""How the scanners are compiled: kept on disk, never stale, and without Python's lock, so that a thread reads ahead.

numba's cache notices an edit only in the file of the outermost function; the key here holds a digest of this whole
package, because a scanner inlines its numerals and its hash.
"""

import hashlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numba.extending import register_jitable

from ellipsoid.engine.compile import compiled

inlined = register_jitable(inline="never")
# For short functions of many arguments on the way of every number, which the compiler would call instead.
forced = register_jitable(inline="never", forceinline=True)

# Indexing by a signed number tests whether it counts from the end, for every byte of a text.
at = np.uint64


@cache
def _digest() -> str:
    """A digest of all source that a scanner may inline: of this package."""
    files = sorted(Path(__file__).parent.glob("*.py"))
    return hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()


def scanner(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile at the first call, keep the machine code on disk, and let other threads run meanwhile."""
    # A scan makes no arrays; with `_nrt` each short function that looks at a text counts references to it, atomically.
    kept: Callable[..., Any] = compiled(function, digest=_digest, nogil=True, error_model="numpy", _nrt=False)
    return kept
