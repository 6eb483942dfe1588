"""How the scanners are compiled: kept on disk, and without Python's lock, so that a thread reads ahead."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ellipsoid.engine.compile import compiled
from ellipsoid.engine.generic import helper

inlined = helper(inline=False)
# For short functions of many arguments on the way of every number, which the compiler would call instead.
forced = helper()

# Indexing by a signed number tests whether it counts from the end, for every byte of a text.
at = np.uint64


def scanner(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile at the first call, keep the machine code on disk, and let other threads run meanwhile."""
    # A scan makes no arrays; with `_nrt` each short function that looks at a text counts references to it, atomically.
    return compiled(function, nogil=True, error_model="numpy", _nrt=False)
