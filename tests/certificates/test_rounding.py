"""Spans hold the exact result of what was computed from numbers that they hold."""

from fractions import Fraction
from math import inf, isnan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ellipsoid.certificates.rounding import LINE, Span, length, product, relative_error, total

numbers = st.floats(-1e150, 1e150, allow_subnormal=True)
arrays = st.lists(st.tuples(numbers, numbers), min_size=1, max_size=30)


def holds(span, exact):
    return (span.low == -inf or Fraction(span.low) <= exact) and (span.high == inf or exact <= Fraction(span.high))


@given(numbers, numbers, numbers, numbers)
def test_operations_hold_what_is_exact(a, b, c, d):
    left, right = Span(min(a, b), max(a, b)), Span(min(c, d), max(c, d))
    for x in (a, b):
        for z in (c, d):
            x_, z_ = Fraction(x), Fraction(z)
            assert holds(left + right, x_ + z_)
            assert holds(left - right, x_ - z_)
            assert holds(left * right, x_ * z_)
            if right.low > 0.0 or right.high < 0.0:
                assert holds(left / right, x_ / z_)
            else:
                assert left / right == LINE
    for x in (a, b):
        assert holds(left.square(), Fraction(x) ** 2)
        if x >= 0.0:
            root = left.root()
            assert Fraction(root.low) ** 2 <= Fraction(x) <= Fraction(root.high) ** 2


@given(arrays)
def test_sums_and_products_of_arrays(pairs):
    u, v = np.array(pairs).T
    exact = sum(Fraction(a) * Fraction(b) for a, b in pairs)
    assert holds(product(u, v), exact)
    assert holds(total(u), sum(map(Fraction, u.tolist())))
    squares = sum(Fraction(a) ** 2 for a in u.tolist())
    size = length(u)
    assert Fraction(size.low) ** 2 <= squares <= Fraction(size.high) ** 2
    assert size.high <= 1.00001 * size.low + 1e-322


def test_undefined_results_are_the_whole_line():
    for span in (Span(inf, inf) - inf, Span(0.0, 1.0) * inf, Span.exactly(float("nan")), Span(1.0, 1.0) / 0.0):
        assert span == LINE
    huge = Span.exactly(1e300) * 1e300
    assert (huge.low, huge.high) == (pytest.approx(1.7976931348623157e308), inf)
    assert not isnan((huge - huge).high)
    assert relative_error(1e17) == inf


def test_sums_of_a_run_are_known_up_to_its_length():
    rng = np.random.default_rng(0)
    terms = rng.random(20_000)
    found = 0.0
    for term in terms.tolist():
        found += term
    assert holds(Span.about(found, len(terms)), sum(map(Fraction, terms.tolist())))
    assert Span.about(found, len(terms)).high <= found * (1.0 + 3e-12)
