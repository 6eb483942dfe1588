"""Numbers in text are read as Python's float reads them, to the last bit."""

import random
import struct
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from .conftest import read

digits = st.text("0123456789", max_size=30)
exponent = st.one_of(st.just(""), st.builds("{}{}{}".format, st.sampled_from("eE"), st.sampled_from(["", "+", "-"]),
                                            st.integers(0, 400)))  # fmt: skip


def numerals(before, after, tail, sign):
    return f"{sign}{before}.{after}{tail}" if after else f"{sign}{before}{tail}"


written = st.builds(numerals, digits, digits, exponent, st.sampled_from(["", "+", "-"])).filter(
    lambda text: any(c.isdigit() for c in text.lower().split("e")[0])
)
floats = st.floats(allow_nan=False, allow_infinity=False)
finite = st.one_of(
    written.filter(lambda text: np.isfinite(float(text))),
    floats.map(repr),
    floats.map("{:.17g}".format),
    floats.map("{:.18e}".format),
)


def values(texts):
    X, _, _ = read(b"".join(b"0 1:%s\n" % text.encode() for text in texts), n_features=1)
    dense = np.zeros(len(texts))
    dense[np.flatnonzero(np.diff(X.indptr))] = X.data
    return dense


@settings(max_examples=300)
@given(st.lists(finite, min_size=1, max_size=30))
def test_values_are_rounded_as_python_rounds(texts):
    expected = np.array([float(text) for text in texts])
    found = values(texts)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(np.signbit(found), np.signbit(expected))


def half_way(mantissa, power):
    """The decimal numeral that lies exactly between two floats."""
    value = Fraction(2 * mantissa + 1) * Fraction(2) ** power
    shift = 0
    while value.denominator > 1:
        value *= 10
        shift += 1
    return f"{value.numerator}e-{shift}"


def test_every_bit_pattern_and_half_way_case_of_a_long_draw():
    rng = random.Random(0)
    patterns = (struct.unpack("d", struct.pack("Q", rng.getrandbits(64)))[0] for _ in range(20_000))
    texts = [repr(x) for x in patterns if np.isfinite(x)]
    texts += [half_way(rng.getrandbits(53) | 1 << 52, rng.randrange(-60, 11)) for _ in range(5_000)]
    texts += [f"{rng.getrandbits(rng.randrange(1, 64))}e{rng.randrange(-342, 289)}" for _ in range(20_000)]
    np.testing.assert_array_equal(values(texts), np.array([float(text) for text in texts]))


@pytest.mark.parametrize(
    "text",
    ["", "+", "-", ".", "e5", ".e5", "1e", "1e+", "--1", "+-1", "1_0", "0x1", "nan", "inf", "1,0", "1.2.3", "½", "٣"],
)
def test_words_that_are_not_numerals_are_refused(text):
    with pytest.raises(ValueError, match="line 2: the value of a feature must be a number"):
        read(b"1 1:1\n0 1:" + text.encode() + b"\n")


@pytest.mark.parametrize("text", ["1e309", "2e308", "-1e400", "9" * 400])
def test_what_is_beyond_every_float_is_refused_with_its_line(text):
    with pytest.raises(ValueError, match=r"line 3: .* is too large for a float64"):
        read(b"1 1:1\n# comment\n0 1:" + text.encode() + b"\n")
