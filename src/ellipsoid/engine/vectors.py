"""Arithmetic of whole vectors of numbers: what ``lanes`` gathered is multiplied, raised to powers, and put through exp.

``exponential`` is a polynomial of degree 11 after reduction to |r| <= ln(2) / 2, for arguments of at most 0: the call
of a library function for each number would cost several times the sixteen products of a row of Letter. It
is within one unit in the last place; below ``LEAST``, where the result would have lost digits, it is 0.
"""

import math
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils
from numba.extending import intrinsic, overload

from .lanes import Sums, everywhere

# Numbers in one vector: a register of AVX-512, two of AVX2.
WIDE = 8

# exp on [-ln(2)/2, ln(2)/2], interpolated at Chebyshev's points: 5e-18 of its value.
_SERIES = (
    1.0,
    1.0,
    0.5000000000000019,
    0.1666666666666668,
    0.04166666666648795,
    0.008333333333319589,
    0.0013888888952352863,
    0.00019841269890076403,
    2.4801485441561313e-05,
    2.755724088722987e-06,
    2.763265472252779e-07,
    2.5110049204818658e-08,
)
LEAST = -708.0
# Adding it rounds to an integer, which then stands in the last bits.
_ROUNDING = 1.5 * 2.0**52
_LN2_HIGH, _LN2_LOW = 6.93145751953125e-1, 1.42860682030941723212e-6
_FLAGS = ("contract",)


def times(sums: Sums, others: Sums) -> Sums:
    """Products, number by number."""
    return tuple(a * b for a, b in zip(sums, others, strict=True))


def scaled(sums: Sums, factor: float, shift: float) -> Sums:
    """``factor * sum + shift``."""
    return tuple(own * factor + shift for own in sums)


def exponential(sums: Sums) -> Sums:
    """exp of every number, or of 0 where it is greater."""
    return tuple(np.array([math.exp(x) if x >= LEAST else 0.0 for x in np.minimum(own, 0.0)]) for own in sums)


@overload(times)
def _times(sums, others):
    return lambda sums, others: _product(sums, others)  # noqa: PLW0108 (numba wants a plain function here)


@intrinsic
def _product(typingctx, sums, others):
    def codegen(context, builder, signature, args):
        pairs = ([builder.extract_value(arg, k) for arg in args] for k in range(sums.count))
        return cgutils.pack_array(builder, [builder.fmul(a, b, flags=_FLAGS) for a, b in pairs])

    return sums(sums, others), codegen


@overload(scaled)
def _scaled(sums, factor, shift):
    return lambda sums, factor, shift: _affine(sums, np.float64(factor), np.float64(shift))


@intrinsic
def _affine(typingctx, sums, factor, shift):
    def codegen(context, builder, signature, args):
        a, b = (everywhere(builder, x, sums.dtype.lanes) for x in args[1:])
        own = (builder.extract_value(args[0], k) for k in range(sums.count))
        return cgutils.pack_array(builder, [_fused(builder, x, a, b) for x in own])

    return sums(sums, factor, shift), codegen


@overload(exponential)
def _exponential(sums):
    return lambda sums: _exp(sums)  # noqa: PLW0108 (numba wants a plain function here)


@intrinsic
def _exp(typingctx, sums):
    def codegen(context, builder, signature, args):
        own = (builder.extract_value(args[0], k) for k in range(sums.count))
        return cgutils.pack_array(builder, [_exp_of(builder, x, sums.dtype.lanes) for x in own])

    return sums(sums), codegen


def _fused(builder: Any, a: Any, b: Any, c: Any) -> Any:
    return builder.fadd(builder.fmul(a, b, flags=_FLAGS), c, flags=_FLAGS)


def _exp_of(builder: Any, x: Any, lanes: int) -> Any:
    """exp x = 2^k exp r with k the integer next to x / ln 2; 2^k is added to the exponent in the bits of exp r."""

    def all_lanes(number: float) -> Any:
        return ir.Constant(x.type, [number] * lanes)

    zero = all_lanes(0.0)
    x = builder.select(builder.fcmp_ordered("<", x, zero), x, zero)
    shifted = _fused(builder, x, all_lanes(1.0 / math.log(2.0)), all_lanes(_ROUNDING))
    k = builder.fsub(shifted, all_lanes(_ROUNDING))
    r = _fused(builder, k, all_lanes(-_LN2_LOW), _fused(builder, k, all_lanes(-_LN2_HIGH), x))
    series = all_lanes(_SERIES[-1])
    for coefficient in _SERIES[-2::-1]:
        series = _fused(builder, series, r, all_lanes(coefficient))
    bits = ir.VectorType(ir.IntType(64), lanes)
    power = builder.shl(builder.bitcast(shifted, bits), ir.Constant(bits, [52] * lanes))
    found = builder.bitcast(builder.add(builder.bitcast(series, bits), power), x.type)
    return builder.select(builder.fcmp_ordered(">=", x, all_lanes(LEAST)), found, zero)
