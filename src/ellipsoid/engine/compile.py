"""Compiled functions that are kept on disk and called without type dispatch.

A call through numba's dispatcher looks at the type of each argument anew (about 0.9 us a part); ``entry`` does so once
and returns the compiled function itself. Its caller must pass arguments of the very same types ever after.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from threading import RLock, local
from typing import Any

import numba
import numpy as np
from numba.core import config

from .generic import NoBody
from .native import KEEP_ON_DISK
from .native.digest import SOURCES, Source
from .native.nogil import unlocked

_entries: dict[Any, Callable[..., Any]] = {}
_unlocked_entries: dict[Any, Callable[..., Any]] = {}
_compiling = RLock()
_here = local()
_dispatchers: list[Any] = []


def compiled(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """Compile ``function`` at its first call for each combination of argument types, and keep the result on disk.

    ``@compiled(nogil=True)`` lets other threads run meanwhile: for what touches only the arrays it is given.
    """
    if function is None:
        return partial(compiled, **options)
    SOURCES.append(Source(function))
    dispatcher = numba.njit(function, **options)
    if not config.DISABLE_JIT and KEEP_ON_DISK is not None and KEEP_ON_DISK(dispatcher):
        _dispatchers.append(dispatcher)
    return dispatcher


def entry(function: Callable[..., Any], *args: Any) -> Callable[..., Any]:
    """The machine code of a compiled function for arguments of these types, compiled or loaded if need be."""
    if config.DISABLE_JIT:
        return function
    key = (function, *map(_likeness, args))
    found = _entries.get(key)
    if found is None:
        found = _entries[key] = _compiled_for(function, args)[0].entry_point
    return found


def gives_lock() -> bool:
    """Is this within ``without_lock``?"""
    return getattr(_here, "unlocked", False)


def unlocked_entry(function: Callable[..., Any], *args: Any) -> Callable[..., Any]:
    """The same for a call over many rows that returns an integer, during which other threads run."""
    if config.DISABLE_JIT:
        return function
    key = (function, *map(_likeness, args))
    found = _unlocked_entries.get(key)
    if found is None:
        machine_code, kinds = _compiled_for(function, args)
        found = _unlocked_entries[key] = unlocked(machine_code, kinds) or machine_code.entry_point
    return found


@contextmanager
def without_lock() -> Iterator[None]:
    """Within it blocks are learned without Python's lock, by this thread: nobody else may use their models meanwhile.

    Where ``native.nogil`` knows no way, the lock is held.
    """
    _here.unlocked = True
    try:
        yield
    finally:
        _here.unlocked = False


def _compiled_for(function: Any, args: tuple[Any, ...]) -> tuple[Any, tuple[Any, ...]]:
    """What numba has compiled for arguments of these types, and the types; one thread compiles at a time."""
    kinds = tuple(numba.typeof(arg) for arg in args)
    with _compiling:
        try:
            function.compile(kinds)
        except NoBody as error:
            raise NoBody(str(error)) from None  # without the compiler's way to it, a page long
        return function.overloads[kinds], kinds


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
