"""Bytes of a text in machine words: what the processor does in one instruction and numba has no word for.

A number is found by its length and read eight digits at a time (Lemire, "Number parsing at a gigabyte per second", SPE
2021, section 4; Langdale and Lemire, "Parsing gigabytes of JSON per second", VLDB Journal 2019, section 3.1.1, for the
mask of a window). Each of these is an instruction or three in compiled code, and a plain function to the interpreter.

A text must go on for `WINDOW` bytes behind the last one that is looked at.
"""

import sys
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.np.arrayobj import make_array

from .intrinsics import machine_code

WINDOW = 64

_WORD = ir.IntType(64)
_BYTES = ir.VectorType(ir.IntType(8), WINDOW)


def eight_bytes(text: Any, p: int) -> Any:
    """The eight bytes from p on, the first one lowest."""
    return np.uint64(int.from_bytes(bytes([text[p + k] for k in range(8)]), "little"))


def non_digits(text: Any, p: int) -> Any:
    """A bit for each of the `WINDOW` bytes from p on that is no digit, the first one lowest."""
    return np.uint64(sum(1 << k for k in range(WINDOW) if not 48 <= text[p + k] <= 57))


def trailing_zeros(bits: Any) -> int:
    """The place of the lowest bit, 64 if there is none."""
    return (int(bits) & -int(bits)).bit_length() - 1 if bits else 64


def without_lowest(bits: Any) -> Any:
    """The bits less the lowest."""
    return np.uint64(int(bits) & (int(bits) - 1)) if bits else bits


def leading_zeros(word: Any) -> int:
    """How many bits above the highest one are zero, 64 if all are."""
    return 64 - int(word).bit_length()


def wide_product(a: Any, b: Any) -> tuple[Any, Any]:
    """The high and the low 64 bits of a product of 64-bit numbers."""
    whole = int(a) * int(b)
    return np.uint64(whole >> 64), np.uint64(whole & (2**64 - 1))


@machine_code(eight_bytes)
def _eight_bytes(typingctx, text, p):
    def codegen(context, builder, signature, args):
        place = _place(context, builder, signature.args[0], args)
        word = builder.load(builder.bitcast(place, _WORD.as_pointer()), align=1)
        return word if sys.byteorder == "little" else builder.bswap(word)

    return types.uint64(text, types.uint64), codegen


@machine_code(non_digits)
def _non_digits(typingctx, text, p):
    def codegen(context, builder, signature, args):
        place = _place(context, builder, signature.args[0], args)
        found = builder.load(builder.bitcast(place, _BYTES.as_pointer()), align=1)
        above = builder.sub(found, ir.Constant(_BYTES, [48] * WINDOW))
        mask = builder.bitcast(builder.icmp_unsigned(">", above, ir.Constant(_BYTES, [9] * WINDOW)), _WORD)
        return mask if sys.byteorder == "little" else builder.bitreverse(mask)

    return types.uint64(text, types.uint64), codegen


@machine_code(trailing_zeros)
def _trailing_zeros(typingctx, bits):
    def codegen(context, builder, signature, args):
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 0))

    return types.int64(types.uint64), codegen


@machine_code(without_lowest)
def _without_lowest(typingctx, bits):
    def codegen(context, builder, signature, args):
        return builder.and_(args[0], builder.sub(args[0], ir.Constant(_WORD, 1)))

    return types.uint64(types.uint64), codegen


@machine_code(leading_zeros)
def _leading_zeros(typingctx, word):
    def codegen(context, builder, signature, args):
        return builder.ctlz(args[0], ir.Constant(ir.IntType(1), 0))

    return types.int64(types.uint64), codegen


@machine_code(wide_product)
def _wide_product(typingctx, a, b):
    def codegen(context, builder, signature, args):
        double = ir.IntType(128)
        whole = builder.mul(builder.zext(args[0], double), builder.zext(args[1], double))
        high = builder.trunc(builder.lshr(whole, ir.Constant(double, 64)), _WORD)
        return context.make_tuple(builder, signature.return_type, [high, builder.trunc(whole, _WORD)])

    return types.UniTuple(types.uint64, 2)(types.uint64, types.uint64), codegen


def _place(context, builder, kind, args):
    array = make_array(kind)(context, builder, value=args[0])
    return cgutils.get_item_pointer(context, builder, kind, array, [args[1]], wraparound=False)
