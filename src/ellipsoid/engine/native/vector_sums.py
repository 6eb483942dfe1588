"""Sums of neighbouring numbers that stay in the machine's vector registers while a row is read.

``scores[r] += W[j, r] * x``, feature after feature, would load and store every score once a feature; a compiler cannot
keep them in registers, because it does not know how many there are. Here ``SUMS`` vectors of ``LANES`` neighbouring
scores are one value, as wide as its type says:

    sums = zero_sums(3)                               # 3 x LANES zeros
    sums = add_products(sums, W, j, first, x)         # += W[j, first : first + 3 * LANES] * x
    sums = subtract_squares(sums, W, j, first, x)     # -= (W[j, first : first + 3 * LANES] - x)^2
    store_sums(sums, scores, first)

Every lane does the same operations in the same order, so that equal columns of weights get equal sums. To the
interpreter a value of sums is a tuple of arrays.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.datamodel import PrimitiveModel
from numba.extending import register_model
from numba.np.arrayobj import make_array

from .intrinsics import machine_code

LANES = 4

Sums = tuple[Any, ...]

_WORD = ir.IntType(32)
# Fused where the machine can, as plain loops are; never regrouped.
_FLAGS = ("contract",)


class VectorType(types.Type):
    """So many neighbouring numbers in one register, or in several where the machine's are shorter."""

    def __init__(self, lanes: int) -> None:
        self.lanes = lanes
        self.bits = ir.VectorType(ir.DoubleType(), lanes)
        super().__init__(name=f"{lanes} float64")


_vector = VectorType(LANES)


@register_model(VectorType)
class _VectorModel(PrimitiveModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, kind.bits)


def zero_sums(count: int, lanes: int = LANES) -> Sums:
    """``count`` x ``lanes`` zeros; in compiled code both must be written as numbers."""
    return (np.zeros(lanes),) * count


def add_products(sums: Sums, table: Any, i: int, first: int, x: float) -> Sums:
    """The sums, with as many numbers of row i of the table, times x, added."""
    n = len(sums[0])
    return tuple(own + table[i, first + n * k : first + n * (k + 1)] * x for k, own in enumerate(sums))


def subtract_squares(sums: Sums, table: Any, i: int, first: int, x: float) -> Sums:
    """The sums, less the squares of the differences of as many numbers of row i of the table from x."""
    n = len(sums[0])
    return tuple(own - (table[i, first + n * k : first + n * (k + 1)] - x) ** 2 for k, own in enumerate(sums))


def store_sums(sums: Sums, out: Any, first: int) -> None:
    """Write the sums to ``out[first:]``."""
    n = len(sums[0])
    for k, own in enumerate(sums):
        out[first + n * k : first + n * (k + 1)] = own


def highest_but(scores: Any, n: int, but: int) -> tuple[int, float]:
    """Index and value of the highest of the first n scores, leaving out ``but``; ties go to the smallest index.

    Nothing left: index 0 and -inf.
    """
    place, highest = 0, -np.inf
    for r in range(n):
        if r != but and scores[r] > highest:
            place, highest = r, scores[r]
    return place, highest


@machine_code(zero_sums, literal=True)
def _zero_sums(typingctx, count, lanes=LANES):
    if isinstance(lanes, int):
        lanes = types.Omitted(lanes)
    if not isinstance(count, types.IntegerLiteral) or not isinstance(lanes, types.IntegerLiteral | types.Omitted):
        return None
    vector = VectorType(lanes.value if isinstance(lanes, types.Omitted) else lanes.literal_value)
    kind = types.UniTuple(vector, count.literal_value)

    def codegen(context, builder, signature, args):
        return cgutils.pack_array(builder, [ir.Constant(vector.bits, [0.0] * vector.lanes)] * kind.count)

    return kind(count, lanes), codegen


@machine_code(add_products)
def _add_products(typingctx, sums, table, i, first, x):
    def step(builder, own, numbers, x):
        return builder.fadd(own, builder.fmul(numbers, x, flags=_FLAGS), flags=_FLAGS)

    return sums(sums, table, types.int64, types.int64, types.float64), _with_numbers(step)


@machine_code(subtract_squares)
def _subtract_squares(typingctx, sums, table, i, first, x):
    def step(builder, own, numbers, x):
        apart = builder.fsub(numbers, x)
        return builder.fsub(own, builder.fmul(apart, apart, flags=_FLAGS), flags=_FLAGS)

    return sums(sums, table, types.int64, types.int64, types.float64), _with_numbers(step)


def _with_numbers(step):
    """Machine code that takes a step with each vector of sums, the numbers of the table beside it, and x."""

    def codegen(context, builder, signature, args):
        own, rows, row, column, x = args
        vector = signature.args[0].dtype
        place = _place(context, builder, signature.args[1], rows, [row, column], signature.args[0])
        same = broadcast(builder, x, vector.lanes)
        stepped = []
        for k in range(signature.args[0].count):
            numbers = builder.load(builder.gep(place, [ir.Constant(_WORD, k)]), align=8)
            stepped.append(step(builder, builder.extract_value(own, k), numbers, same))
        return cgutils.pack_array(builder, stepped)

    return codegen


@machine_code(store_sums)
def _store_sums(typingctx, sums, out, first):
    def codegen(context, builder, signature, args):
        kind = signature.args[1]
        place = _place(context, builder, kind, args[1], [args[2]], signature.args[0])
        for k in range(signature.args[0].count):
            builder.store(builder.extract_value(args[0], k), builder.gep(place, [ir.Constant(_WORD, k)]), align=8)
        return context.get_dummy_value()

    return types.void(sums, out, types.int64), codegen


@machine_code(highest_but)
def _highest_but(typingctx, scores, n, but):
    kind = types.Tuple((types.int64, types.float64))
    index, value = ir.IntType(64), ir.DoubleType()
    indices = ir.VectorType(index, LANES)
    steps = ir.Constant(indices, list(range(LANES)))

    def codegen(context, builder, signature, args):
        scores, n, but = args
        array = make_array(signature.args[0])(context, builder, value=scores)
        if context.enable_boundscheck:
            length = builder.extract_value(array.shape, 0)
            cgutils.do_boundscheck(context, builder, n, builder.add(length, ir.Constant(index, 1)))
        lowest = ir.Constant(_vector.bits, [float("-inf")] * LANES)
        top, who = cgutils.alloca_once_value(builder, lowest), cgutils.alloca_once_value(builder, steps)
        skip = broadcast(builder, but, LANES)
        whole = builder.and_(n, ir.Constant(index, -LANES))
        with cgutils.for_range_slice(builder, ir.Constant(index, 0), whole, ir.Constant(index, LANES), index) as (r, _):
            place = builder.bitcast(builder.gep(array.data, [r]), _vector.bits.as_pointer())
            names = builder.add(broadcast(builder, r, LANES), steps)
            found = builder.select(builder.icmp_signed("==", names, skip), lowest, builder.load(place, align=8))
            best = builder.load(top)
            higher = builder.fcmp_ordered(">", found, best)
            builder.store(builder.select(higher, found, best), top)
            builder.store(builder.select(higher, names, builder.load(who)), who)
        ends, names = builder.load(top), builder.load(who)
        height, name = cgutils.alloca_once(builder, value), cgutils.alloca_once(builder, index)
        builder.store(builder.extract_element(ends, ir.Constant(_WORD, 0)), height)
        builder.store(builder.extract_element(names, ir.Constant(_WORD, 0)), name)

        def prefer(candidate, place, wins):
            builder.store(builder.select(wins, candidate, builder.load(height)), height)
            builder.store(builder.select(wins, place, builder.load(name)), name)

        for k in range(1, LANES):
            candidate = builder.extract_element(ends, ir.Constant(_WORD, k))
            place = builder.extract_element(names, ir.Constant(_WORD, k))
            level = builder.fcmp_ordered("==", candidate, builder.load(height))
            earlier = builder.and_(level, builder.icmp_signed("<", place, builder.load(name)))
            prefer(candidate, place, builder.or_(builder.fcmp_ordered(">", candidate, builder.load(height)), earlier))
        with cgutils.for_range_slice(builder, whole, n, ir.Constant(index, 1), index) as (r, _):
            candidate = builder.load(builder.gep(array.data, [r]))
            higher = builder.fcmp_ordered(">", candidate, builder.load(height))
            prefer(candidate, r, builder.and_(higher, builder.icmp_signed("!=", r, but)))
        return context.make_tuple(builder, signature.return_type, [builder.load(name), builder.load(height)])

    return kind(scores, types.int64, types.int64), codegen


def _place(context, builder, kind, array, where, sums):
    """Pointer to the first of so many vectors, which begin at this place of an array and lie one after another."""
    array = make_array(kind)(context, builder, value=array)
    checked = context.enable_boundscheck
    if checked:
        # The end of the last vector; where the first one begins is looked at below.
        *before, column = where
        end = builder.add(column, column.type(sums.count * sums.dtype.lanes - 1))
        cgutils.get_item_pointer(context, builder, kind, array, [*before, end], boundscheck=True)
    place = cgutils.get_item_pointer(context, builder, kind, array, where, wraparound=False, boundscheck=checked)
    return builder.bitcast(place, sums.dtype.bits.as_pointer())


def broadcast(builder: Any, x: Any, lanes: int) -> Any:
    """A vector of one number."""
    undefined = ir.Constant(ir.VectorType(x.type, lanes), ir.Undefined)
    one = builder.insert_element(undefined, x, ir.Constant(_WORD, 0))
    return builder.shuffle_vector(one, undefined, ir.Constant(ir.VectorType(_WORD, lanes), [0] * lanes))
