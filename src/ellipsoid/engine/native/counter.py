"""A counter shared by threads: each takes the next number, and no number is taken twice."""

from threading import Lock
from typing import Any

from llvmlite import ir
from numba import types
from numba.np.arrayobj import make_array

from .intrinsics import machine_code

_LOCK = Lock()


def take_number(counter: Any) -> int:
    """The number in ``counter[0]``, which becomes one more.

    >>> import numpy as np
    >>> counter = np.zeros(1, dtype=np.int64)
    >>> take_number(counter), take_number(counter)
    (0, 1)
    """
    with _LOCK:
        number = int(counter[0])
        counter[0] = number + 1
        return number


@machine_code(take_number)
def _take_number(typingctx, counter):
    def codegen(context, builder, signature, args):
        array = make_array(signature.args[0])(context, builder, value=args[0])
        return builder.atomic_rmw("add", array.data, ir.Constant(ir.IntType(64), 1), "monotonic")

    return types.int64(counter), codegen
