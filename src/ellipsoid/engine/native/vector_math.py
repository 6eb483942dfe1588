"""Arithmetic of whole vectors of numbers: what ``lanes`` gathered is multiplied, raised to powers, and put through exp.

``exponential`` is 2^k times a polynomial of degree 11 in what is left, at most a half, of the argument in units of
ln 2: the call of a library function for each number would cost several times the sixteen products of a row of Letter.
It is as exact as its argument, a product, can be: ``exp(f x)`` has a relative error of at most (1 + |f x|) 2^-52. Where
the result would have lost digits, below exp(-708), it is 0.
"""

import math
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils

from .intrinsics import machine_code
from .vector_sums import Sums, broadcast

# Numbers in one vector: a register of AVX-512, two of AVX2.
WIDE = 8

# 2^x on [-1/2, 1/2], interpolated at Chebyshev's points: 2e-17 of its value.
_SERIES = (
    1.0,
    0.6931471805599453,
    0.24022650695910158,
    0.055504108664821625,
    0.009618129107587256,
    0.001333355814640647,
    0.00015403530463724353,
    1.5252733841556773e-05,
    1.3215432535912375e-06,
    1.0178057087733941e-07,
    7.074194297288521e-09,
    4.4558179083360645e-10,
)
# Powers of two below this have lost digits, or would with a factor of 2^(-1/2).
_LEAST_POWER = -1021
# Adding it rounds to an integer, which then stands in the last bits.
_ROUNDING = 1.5 * 2.0**52
_PER_LN2 = 1.0 / math.log(2.0)
_NEARLY_PER_LN2 = math.nextafter(_PER_LN2, 2.0)
_FLAGS = ("contract",)


def times(sums: Sums, others: Sums) -> Sums:
    """Products, number by number."""
    return tuple(a * b for a, b in zip(sums, others, strict=True))


def affine(sums: Sums, factor: float, shift: float) -> Sums:
    """``factor * sum + shift``."""
    return tuple(own * factor + shift for own in sums)


def exponential(sums: Sums, factor: float) -> Sums:
    """exp of every number times a factor that is not negative, or of 0 where the number is greater."""
    least = (_LEAST_POWER - 0.5) / _PER_LN2
    with np.errstate(over="ignore"):
        exponents = [factor * np.minimum(own, 0.0) for own in sums]
    return tuple(np.array([math.exp(x) if x >= least else 0.0 for x in own]) for own in exponents)


@machine_code(times)
def _times(typingctx, sums, others):
    def codegen(context, builder, signature, args):
        pairs = ([builder.extract_value(arg, k) for arg in args] for k in range(sums.count))
        return cgutils.pack_array(builder, [builder.fmul(a, b, flags=_FLAGS) for a, b in pairs])

    return sums(sums, others), codegen


@machine_code(affine)
def _scaled(typingctx, sums, factor, shift):
    def codegen(context, builder, signature, args):
        a, b = (broadcast(builder, x, sums.dtype.lanes) for x in args[1:])
        own = (builder.extract_value(args[0], k) for k in range(sums.count))
        return cgutils.pack_array(builder, [_fused(builder, x, a, b) for x in own])

    return sums(sums, types.float64, types.float64), codegen


@machine_code(exponential)
def _exponential(typingctx, sums, factor):
    def codegen(context, builder, signature, args):
        units = (builder.fmul(args[1], ir.Constant(args[1].type, unit)) for unit in (_PER_LN2, _NEARLY_PER_LN2))
        factors = [broadcast(builder, unit, sums.dtype.lanes) for unit in units]
        own = [builder.extract_value(args[0], k) for k in range(sums.count)]
        return cgutils.pack_array(builder, _exps_of(builder, own, *factors))

    return sums(sums, types.float64), codegen


def _fused(builder: Any, a: Any, b: Any, c: Any) -> Any:
    return builder.fadd(builder.fmul(a, b, flags=_FLAGS), c, flags=_FLAGS)


def _exps_of(builder: Any, xs: list[Any], in_twos: Any, nearly: Any) -> list[Any]:
    """2^t = 2^k 2^f with t = x in_twos and k the integer next to it; k is added to the exponent in the bits of 2^f.

    Step by step for all vectors: each has to wait for its own last step, and the machine looks only so far ahead.
    """
    kind = xs[0].type
    bits = ir.VectorType(ir.IntType(64), kind.count)

    def all_lanes(number: float) -> Any:
        return ir.Constant(kind, [number] * kind.count)

    zero, rounding, least = all_lanes(0.0), all_lanes(_ROUNDING), all_lanes(_ROUNDING + _LEAST_POWER)
    xs = [builder.select(builder.fcmp_ordered("<", x, zero), x, zero) for x in xs]
    # Not the same factor twice: the compiler would make one product of it, and fuse neither with its sum.
    shifted = [_fused(builder, x, nearly, rounding) for x in xs]
    minus_k = [builder.fsub(rounding, s) for s in shifted]
    f = [_fused(builder, x, in_twos, k) for x, k in zip(xs, minus_k, strict=True)]
    series = [all_lanes(_SERIES[-1])] * len(xs)
    for coefficient in _SERIES[-2::-1]:
        series = [_fused(builder, own, x, all_lanes(coefficient)) for own, x in zip(series, f, strict=True)]
    powers = [builder.shl(builder.bitcast(s, bits), ir.Constant(bits, [52] * kind.count)) for s in shifted]
    found = [builder.add(builder.bitcast(own, bits), power) for own, power in zip(series, powers, strict=True)]
    return [
        builder.select(builder.fcmp_ordered(">=", s, least), builder.bitcast(own, kind), zero)
        for s, own in zip(shifted, found, strict=True)
    ]
