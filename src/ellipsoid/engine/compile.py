"""Compiled functions that are kept on disk, never stale, and called without type dispatch.

numba's cache notices an edit only in the file of the outermost function, so that a changed rule in another file would
go on running as it was. Here the key of every cached function also holds a digest of all source that it may inline:
the compiled rooms of this package and every module that has registered a body of a generic function.

A call through numba's dispatcher looks at the type of each argument anew (about 0.9 us a part); ``entry`` does so once
and returns the compiled function itself. Its caller must pass arguments of the very same types ever after.
"""

import hashlib
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
from numba.core import config
from numba.core.caching import FunctionCache

from .generic import BODIES

ROOMS = ("engine", "representation", "geometry", "rules")

_entries: dict[Any, Callable[..., Any]] = {}
_dispatchers: list[Any] = []


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile ``function`` at its first call for each combination of argument types, and keep the result on disk."""
    dispatcher = numba.njit(function)
    if not config.DISABLE_JIT:
        dispatcher._cache = _DigestCache(function)
        _dispatchers.append(dispatcher)
    return dispatcher


def entry(function: Callable[..., Any], *args: Any) -> Callable[..., Any]:
    """The machine code of a compiled function for arguments of these types, compiled or loaded if need be."""
    if config.DISABLE_JIT:
        return function
    kinds = tuple(numba.typeof(arg) for arg in args)
    key = (function, kinds)
    found = _entries.get(key)
    if found is None:
        function.compile(kinds)
        found = _entries[key] = function.overloads[kinds].entry_point
    return found


def clear_cache() -> int:
    """Delete the machine code kept on disk for this package; returns the number of files deleted.

    >>> from ellipsoid.engine import clear_cache
    >>> clear_cache()  # doctest: +SKIP
    12
    """
    count = 0
    for dispatcher in _dispatchers:
        cache = dispatcher._cache
        for path in Path(cache.cache_path).glob(f"{cache._impl.filename_base}*.nb[ci]"):
            path.unlink(missing_ok=True)
            count += 1
    return count


class _DigestCache(FunctionCache):
    """numba's function cache with the digest of all inlinable source in its key."""

    def _index_key(self, sig: Any, codegen: Any) -> tuple[Any, ...]:
        return (*super()._index_key(sig, codegen), source_digest())


_digests: dict[int, str] = {}


def source_digest() -> str:
    """A digest of all source that a compiled function may inline."""
    if len(BODIES) not in _digests:
        package = Path(__file__).parent.parent
        files = {path for room in ROOMS for path in (package / room).glob("*.py")}
        files |= {Path(inspect.getfile(body)) for body in BODIES}
        digest = hashlib.sha256()
        for path in sorted(files):
            digest.update(path.read_bytes() if path.exists() else repr(path).encode())
        _digests[len(BODIES)] = digest.hexdigest()
    return _digests[len(BODIES)]
