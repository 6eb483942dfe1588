"""Compiled functions that are kept on disk, never stale, and called without type dispatch.

numba's cache notices an edit only in the file of the outermost function, so that a changed rule in another file would
go on running as it was. Here the key of every cached function also holds a digest of all source that it may inline.

numba's cache also keeps one index for each function, which two processes may rewrite at the same time, and which cannot
be read where one entry names a module that only some other program has. Here each specialisation has a file of its own.

numba makes its whole compiler ready before it loads anything: all it knows of Python and NumPy is imported and entered
in tables, a third of a second in which nothing is compiled. Machine code needs none of that, only the addresses of the
functions it calls, and whoever compiles makes the compiler ready anyway.

A call through numba's dispatcher looks at the type of each argument anew (about 0.9 us a part); ``entry`` does so once
and returns the compiled function itself. Its caller must pass arguments of the very same types ever after.
"""

import hashlib
import os
import pickle
import uuid
import warnings
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

import llvmlite
import numba
import numpy as np
from numba import types
from numba.core import config
from numba.core.caching import FunctionCache, IndexDataCacheFile
from numba.core.runtime import rtsys
from numba.core.serialize import dumps

from .generic import NoBody
from .native.compile_server import compile_server
from .native.digest import SOURCES, source_digest

_entries: dict[Any, Callable[..., Any]] = {}
_dispatchers: list[Any] = []


def compiled(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """Compile ``function`` at its first call for each combination of argument types, and keep the result on disk.

    ``@compiled(nogil=True)`` lets other threads run meanwhile: for what touches only the arrays it is given.
    """
    if function is None:
        return partial(compiled, **options)
    SOURCES.append((function, None))
    dispatcher = numba.njit(function, **options)
    if not config.DISABLE_JIT:
        try:
            dispatcher._cache = _DigestCache(function)
            _dispatchers.append(dispatcher)
        except RuntimeError:
            _say_that_nothing_is_kept()
    return dispatcher


@cache
def _say_that_nothing_is_kept() -> None:
    """Once: a read-only installation and a user without a home, or a full disk."""
    warnings.warn(
        "every process compiles anew, as no folder for compiled code can be written to; set NUMBA_CACHE_DIR to one",
        RuntimeWarning,
        stacklevel=3,
    )


def entry(function: Callable[..., Any], *args: Any) -> Callable[..., Any]:
    """The machine code of a compiled function for arguments of these types, compiled or loaded if need be."""
    if config.DISABLE_JIT:
        return function
    key = (function, *map(_likeness, args))
    found = _entries.get(key)
    if found is None:
        kinds = tuple(numba.typeof(arg) for arg in args)
        try:
            function.compile(kinds)
        except NoBody as error:
            raise NoBody(str(error)) from None  # without the compiler's way to it, a page long
        found = _entries[key] = function.overloads[kinds].entry_point
    return found


def _likeness(arg: Any) -> Any:
    """Equal for arguments of one numba type, and much cheaper to find."""
    kind = type(arg)
    if kind is np.ndarray:
        return arg.dtype, arg.ndim, arg.flags.num
    return (kind, *map(_likeness, arg)) if issubclass(kind, tuple) else kind


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
    """numba's function cache with the digest of all inlinable source in its key, and a file for each key."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        self._cache_file = _Files(Path(self.cache_path) / self._impl.filename_base)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """What is kept for the signature, or None."""
        # Instead of refresh(), which makes the compiler ready and does this on the way.
        rtsys.initialize(target_context)
        with self._guard_against_spurious_io_errors():
            found = self._load_overload(sig, target_context)
            if found is None and compile_server.open:
                compile_server.request(self._py_func, sig, dict.fromkeys(source.__module__ for source, _ in SOURCES))
                found = self._load_overload(sig, target_context)
                # Where nothing can be kept, the next would be compiled for nothing there.
                compile_server.open = found is not None
            return found

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep what was compiled, where there is room."""
        try:
            super().save_overload(sig, data)
        except OSError:
            _say_that_nothing_is_kept()

    def _index_key(self, sig: Any, codegen: Any) -> str:
        _, *rest = super()._index_key(sig, codegen)
        made_by = numba.__version__, llvmlite.__version__, config.OPT, config.BOUNDSCHECK
        return repr((_spelling(sig), rest, made_by, source_digest(self._py_func, sig)))


class _Files(IndexDataCacheFile):
    """Machine code by key, a file each, written whole or not at all."""

    def __init__(self, base: Path) -> None:
        self._base = base

    def _path(self, key: str) -> str:
        return f"{self._base}.{hashlib.sha256(key.encode()).hexdigest()[:32]}.nbc"

    def load(self, key: str) -> Any:
        """What was saved under the key, or None: also for a file that lost its content in a crash of the machine, or is
        somebody else's.
        """
        try:
            with open(self._path(key), "rb") as file:
                saved, data = pickle.load(file)
        except (OSError, EOFError, pickle.UnpicklingError):
            return None
        return data if saved == key else None

    def save(self, key: str, data: Any) -> None:
        """Keep data under the key."""
        path = self._path(key)
        temporary = f"{path}.{uuid.uuid4().hex[:16]}"
        try:
            with open(temporary, "wb") as file:
                file.write(dumps((key, data)))
            os.replace(temporary, path)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise

    def flush(self) -> None:
        """Nothing waits to be written."""


def _spelling(kind: Any) -> str:
    """A type in full: numba's own name of a part leaves out the module, and another may have a part of that name."""
    if isinstance(kind, tuple):
        return f"({', '.join(map(_spelling, kind))})"
    if isinstance(kind, types.BaseTuple):
        part = getattr(kind, "instance_class", tuple)
        return f"{part.__module__}.{part.__qualname__}{_spelling(tuple(kind.types))}"
    return str(kind)
