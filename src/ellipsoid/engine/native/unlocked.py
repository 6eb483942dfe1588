"""Machine code called without Python's lock, so that several threads run it side by side.

numba settles when it compiles whether a function gives the lock away, and then does so at every call: one that learns a
single row would have to wait for the lock again, up to 5 ms where another thread is busy. The machine code needs no
lock; only what makes its arguments out of Python's objects does. Here that is done in Python, and the very same code is
called through ctypes, which lets other threads run until it returns: for calls that take long.
"""

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import types

from . import PUBLIC_ONLY

try:
    from numba.core.registry import cpu_target
except ImportError:
    cpu_target = None  # type: ignore[assignment]

_KINDS: dict[str, Any] = {"double": ctypes.c_double, "i64": ctypes.c_int64}


def unlocked(compiled: Any, kinds: tuple[Any, ...]) -> Callable[..., int] | None:
    """A call of what numba compiled for arguments of these types, which returns an integer; None where that is not so.

    ``compiled`` is what a dispatcher's ``overloads`` hold. The arguments must stay alive, and nobody else may write to
    them, until it returns.
    """
    if PUBLIC_ONLY or cpu_target is None or compiled.fndesc.restype != types.int64:
        return None
    spelled = [str(kind) for kind in cpu_target.target_context.get_arg_packer(kinds).argument_types]
    if not all(kind in _KINDS or kind.endswith("*") for kind in spelled):
        return None
    needed = [_KINDS.get(kind, ctypes.c_void_p) for kind in spelled]
    # numba's own convention: places for the result and for what was raised come first, the status comes back.
    shape = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, *needed)
    code = shape(compiled.library.get_pointer_to_function(compiled.fndesc.llvm_func_name))

    def call(*args: Any) -> int:
        given = list(_pieces(args))
        if len(given) != len(needed):
            raise TypeError(f"the compiled code takes {len(needed)} numbers and addresses, got {len(given)}")
        result, raised = ctypes.c_int64(), ctypes.c_void_p()
        if code(ctypes.byref(result), ctypes.byref(raised), *given):
            raise RuntimeError("compiled code has failed")
        return result.value

    return call


def _pieces(args: Any) -> Any:
    """The numbers and addresses that numba passes for arguments: an array is seven of them and more."""
    for arg in args:
        if isinstance(arg, np.ndarray):
            # The first two are who owns the memory, which is nobody that the code should care for.
            yield from (None, None, arg.size, arg.itemsize, arg.ctypes.data, *arg.shape, *arg.strides)
        elif isinstance(arg, tuple):
            yield from _pieces(arg)
        else:
            yield arg.item() if isinstance(arg, np.generic) else arg
