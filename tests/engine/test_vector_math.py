"""Arithmetic of whole vectors: exp against twenty more digits, and compiled code against the interpreter."""

from decimal import Decimal, getcontext

import numba
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ellipsoid.engine.native.vector_math import WIDE, affine, exponential, times
from ellipsoid.engine.native.vector_sums import add_products, store_sums, zero_sums

# The least argument whose exp has all its digits.
LEAST = -708.0


@numba.njit
def exps(table, factor, out):
    store_sums(exponential(add_products(zero_sums(1, 8), table, 0, 0, 1.0), factor), out, 0)


@numba.njit
def mixed(table, out):
    one, other = add_products(zero_sums(2, 8), table, 0, 0, 1.0), add_products(zero_sums(2, 8), table, 1, 0, 1.0)
    store_sums(affine(times(one, other), 0.5, 3.0), out, 0)


def exp_of(x, factor=1.0):
    out = np.empty(WIDE)
    exps(np.full((1, WIDE), x), factor, out)
    assert (out == out[0]).all()
    return float(out[0])


@settings(deadline=None, max_examples=500)
@given(st.floats(LEAST, 0.0) | st.floats(-1.0, 0.0), st.floats(1e-3, 1.0) | st.just(1.0))
@example(LEAST, 1.0)
@example(-0.34657359027997264, 1.0)
@example(-0.3465735902799727, 1.0)
@example(-1.0397207708399179, 1.0)
def test_exp_is_as_exact_as_a_rounded_argument_lets_it_be(x, factor):
    """A relative error of half a unit in the argument, which no product escapes, and one more unit."""
    getcontext().prec = 40
    exponent = Decimal(x) * Decimal(factor)
    exact = exponent.exp()
    assert abs(Decimal(exp_of(x, factor)) / exact - 1) <= (1 - exponent) * Decimal(2) ** -52


@pytest.mark.parametrize(
    ("x", "value"), [(0.0, 1.0), (-0.0, 1.0), (1e-300, 1.0), (5.0, 1.0), (-1e-300, 1.0), (-708.1, 0.0), (-1e300, 0.0)]
)
def test_exp_at_its_ends(x, value):
    """A distance that rounding has made negative is none; what is too small for all its digits is nothing."""
    assert exp_of(x) == value
    assert exponential((np.full(WIDE, x),), 1.0)[0].tolist() == [value] * WIDE
    assert exp_of(-np.inf) == 0.0
    assert exp_of(-1e300, 0.0) == 1.0


def test_compiled_code_computes_what_the_interpreter_does():
    table = np.random.default_rng(0).normal(size=(2, 16))
    out, interpreted = np.empty(16), np.empty(16)
    mixed(table, out)
    mixed.py_func(table, interpreted)
    np.testing.assert_allclose(out, table[0] * table[1] * 0.5 + 3.0, rtol=1e-14, atol=1e-14)
    np.testing.assert_allclose(interpreted, out, rtol=1e-14, atol=1e-14)
    table = -50.0 * np.abs(table[:1, :8])
    exps(table, 0.7, out[:8])
    exps.py_func(table, 0.7, interpreted[:8])
    np.testing.assert_allclose(interpreted[:8], out[:8], rtol=3e-14)
