"""Calling machine code without Python's global lock (GIL), so that several threads run it in parallel.

With numba a function releases the lock at every call or at none: one that learns a single row would have to wait for
the lock again, up to 5 ms where another thread is busy. The machine code itself needs no lock, only the conversion of
its arguments does. Here that is done in Python, and the same code is called through ctypes, which releases the lock:
for calls that take long.
"""

import ctypes
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numba import types

from . import PUBLIC_ONLY

try:
    from numba.core.registry import cpu_target
except ImportError:
    cpu_target = None  # type: ignore[assignment]

_POINTER, _WHOLE, _REAL = ctypes.c_void_p, ctypes.c_int64, ctypes.c_double
_BY_NAME: dict[str, Any] = {"double": _REAL, "i64": _WHOLE}


def without_gil(compiled: Any, kinds: tuple[Any, ...]) -> Callable[..., int] | None:
    """A function that calls ``compiled`` without the lock; None where it does not return an integer, or cannot.

    ``compiled`` is what a dispatcher's ``overloads`` hold for arguments of these types. They must stay alive, and no
    other thread may write to them, until it returns.
    """
    if PUBLIC_ONLY or cpu_target is None or compiled.fndesc.restype != types.int64:
        return None
    try:
        spelled = [str(kind) for kind in cpu_target.target_context.get_arg_packer(kinds).argument_types]
        address = compiled.library.get_pointer_to_function(compiled.fndesc.llvm_func_name)
    except AttributeError:
        return None  # another numba
    needed = [_POINTER if kind.endswith("*") else _BY_NAME.get(kind) for kind in spelled]
    if None in needed or needed != list(_layout(kinds)):
        return None
    # numba's calling convention: pointers to the result and to the exception come first, the status is returned.
    code = ctypes.CFUNCTYPE(ctypes.c_int32, _POINTER, _POINTER, *needed)(address)

    def call(*args: Any) -> int:
        given = list(_pieces(args))
        if len(given) != len(needed):
            raise TypeError(f"the compiled code takes {len(needed)} numbers and addresses, got {len(given)}")
        result, raised = _WHOLE(), _POINTER()
        if code(ctypes.byref(result), ctypes.byref(raised), *given):
            raise RuntimeError("compiled code has failed")
        return result.value

    return call


def _layout(kinds: Any) -> Iterator[Any]:
    """What ``_pieces`` makes of arguments of these types; None for what it does not know."""
    for kind in kinds:
        if isinstance(kind, types.Array):
            yield from (_POINTER, _POINTER, _WHOLE, _WHOLE, _POINTER, *[_WHOLE] * (2 * kind.ndim))
        elif isinstance(kind, types.BaseTuple):
            yield from _layout(kind.types)
        else:
            yield {types.int64: _WHOLE, types.float64: _REAL}.get(kind)


def _pieces(args: Any) -> Iterator[Any]:
    """The numbers and addresses that numba passes for arguments: an array is seven of them and more."""
    for arg in args:
        if isinstance(arg, np.ndarray):
            # The first two are the owners of the memory, for reference counts, which are not needed here.
            yield from (None, None, arg.size, arg.itemsize, arg.ctypes.data, *arg.shape, *arg.strides)
        elif isinstance(arg, tuple):
            yield from _pieces(arg)
        else:
            yield arg.item() if isinstance(arg, np.generic) else arg
