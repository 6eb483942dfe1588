"""Compiled functions that are kept on disk and called without numba's type dispatch.

numba's dispatcher looks at the type of each argument at every call (about 0.9 us an argument); ``entry`` does so once
and returns the compiled function itself. Its caller must always pass arguments of the very same types.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from threading import RLock, local
from typing import Any

import numba
import numpy as np
from numba.core import config

from .generic import NoBody
from .native import KEEP_ON_DISK
from .native.digest import SOURCES, Source
from .native.nogil import without_gil

_entries: dict[Any, Callable[..., Any]] = {}
_compiling = RLock()
_here = local()


def compiled(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """Compile ``function`` at its first call for each combination of argument types, and keep the result on disk.

    ``@compiled(nogil=True)`` lets other threads run meanwhile: for what touches only the arrays it is given.
    """
    if function is None:
        return partial(compiled, **options)
    SOURCES.append(Source(function))
    dispatcher = numba.njit(function, **options)
    if not config.DISABLE_JIT and KEEP_ON_DISK is not None:
        KEEP_ON_DISK(dispatcher)
    return dispatcher


def entry(function: Callable[..., Any], *args: Any, unlocked: bool = False) -> Callable[..., Any]:
    """The machine code of a compiled function for arguments of these types, compiled or loaded if need be.

    With ``unlocked`` other threads run during a call; the function must return an integer.
    """
    if config.DISABLE_JIT:
        return function
    key = (function, unlocked, *map(_likeness, args))
    found = _entries.get(key)
    if found is None:
        machine_code, kinds = _compiled_for(function, args)
        found = without_gil(machine_code, kinds) if unlocked else None
        found = _entries[key] = found or machine_code.entry_point
    return found


def call(function: Callable[..., Any], *args: Any, unlocked: bool = False) -> Any:
    """Call a compiled function by its ``entry``."""
    found = _entries.get((function, unlocked, *map(_likeness, args)))
    return (found or entry(function, *args, unlocked=unlocked))(*args)


def lock_is_released() -> bool:
    """Is this thread within ``without_lock``?"""
    return getattr(_here, "unlocked", False)


@contextmanager
def without_lock() -> Iterator[None]:
    """This thread releases Python's lock while it learns blocks of rows: no other may use their models meanwhile.

    Where ``native.nogil`` cannot release it, the lock is held.
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
