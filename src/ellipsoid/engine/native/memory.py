"""What numba does not offer: arrays without reference counts, and prefetching.

numba counts a reference to an array each time a function takes it out of a part, with atomic operations that cost more
than scoring a short row. The caller of the loop keeps every array alive, so the loop may do without.

The weights of a sparse row lie scattered over a table larger than the near caches; prefetching those of the next
features while the present ones are summed saves a quarter of a pass over 20 Newsgroups.
"""

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.np.arrayobj import make_array

from .intrinsics import machine_code


def borrowed(part: Any) -> Any:
    """The same array, or tuple of arrays, for use while someone else keeps it alive."""
    return part


@machine_code(borrowed)
def _borrowed(typingctx, part):
    def codegen(context, builder, signature, args):
        return _without_counter(context, builder, signature.args[0], args[0])

    return part(part), codegen


def _without_counter(context, builder, kind, value):
    if isinstance(kind, types.Array):
        array = context.make_array(kind)(context, builder, value=value)
        array.meminfo = cgutils.get_null_value(array.meminfo.type)
        array.parent = cgutils.get_null_value(array.parent.type)
        return array._getvalue()
    if isinstance(kind, types.BaseTuple):
        for i, member in enumerate(kind.types):
            stripped = _without_counter(context, builder, member, builder.extract_value(value, i))
            value = builder.insert_value(value, stripped, i)
    return value


def prefetch(table: Any, i: int, j: int) -> None:
    """Ask for the cache line of ``table[i, j]`` (i, j >= 0), without waiting for it."""


@machine_code(prefetch)
def _prefetch(typingctx, table, i, j):
    def codegen(context, builder, signature, args):
        kind = signature.args[0]
        array = make_array(kind)(context, builder, value=args[0])
        place = cgutils.get_item_pointer(context, builder, kind, array, args[1:], wraparound=False)
        byte, word = ir.IntType(8).as_pointer(), ir.IntType(32)
        shape = ir.FunctionType(ir.VoidType(), [byte, word, word, word])
        function = cgutils.get_or_insert_function(builder.module, shape, "llvm.prefetch.p0")
        reading, keep_near, data = (ir.Constant(word, value) for value in (0, 3, 1))
        builder.call(function, [builder.bitcast(place, byte), reading, keep_near, data])
        return context.get_dummy_value()

    return types.void(table, types.int64, types.int64), codegen
