"""Machine words: what is compiled and what the interpreter runs say the same, and no window hides the next."""

import math
import random

import numpy as np
import pytest
from numba import njit

from ellipsoid.engine.native import text_words as bits

from .conftest import read
from .fuzzing import disagreement


@njit
def _compiled(text, p, word, other):
    return (
        bits.eight_bytes(text, p),
        bits.non_digits(text, p),
        bits.trailing_zeros(word),
        bits.without_lowest(word),
        bits.leading_zeros(word),
        bits.wide_product(word, other),
    )


def test_compiled_words_are_those_of_the_interpreter():
    rng = np.random.default_rng(0)
    text = rng.integers(0, 256, 4000, dtype=np.uint8)
    text[::3] = rng.integers(48, 58, len(text[::3]))
    words = [np.uint64(0), np.uint64(1), np.uint64(2**63), np.uint64(2**64 - 1)]
    words += [np.uint64(int(word) >> shift) for word, shift in zip(rng.integers(1, 2**63, 60), range(60), strict=True)]
    for p, word in enumerate(words):
        other = words[-1 - p]
        found = _compiled(text, 7 * p, word, other)
        right = (
            bits.eight_bytes(text, 7 * p),
            bits.non_digits(text, 7 * p),
            bits.trailing_zeros(word),
            bits.without_lowest(word),
        )
        assert tuple(map(int, found[:4])) == tuple(map(int, right))
        assert found[4] == bits.leading_zeros(word)
        assert tuple(map(int, found[5])) == tuple(map(int, bits.wide_product(word, other)))


def _numeral(rng):
    whole, behind = rng.choice([1, 1, 1, 2, 7, 8, 9, 15]), rng.choice([0, 1, 6, 7, 8, 9, 15, 16, 17, 18, 19, 30])
    digits = "".join(rng.choice("0123456789") for _ in range(whole + behind))
    zeros = "0" * rng.choice([0, 0, 1, 2, 8])
    text = f"{digits[:whole]}.{zeros}{digits[whole:]}" if rng.random() < 0.7 else digits[:whole]
    return rng.choice(["", "", "-", "+"]) + text + rng.choice([""] * 9 + ["e5", "E-7"])


@pytest.mark.parametrize("seed", range(4))
def test_long_lines_are_read_across_all_windows(seed):
    rng = random.Random(seed)
    lines = []
    for _ in range(150):
        indices = sorted(rng.sample(range(10 ** rng.choice([2, 3, 7])), rng.randrange(40)))
        features = [f"{j}:{_numeral(rng)}" for j in indices]
        lines.append(rng.choice(["1", "-1", "+1", "12345678", "123456789", "2.5"]) + rng.choice([" ", "  ", "\t"]))
        lines[-1] += rng.choice([" ", " ", " ", "  "]).join(features) + rng.choice(["", "", " ", "\r", "# so"])
    text = "\n".join(lines).encode()
    for size in (100, 1000, 1 << 20):
        assert disagreement("svmlight", text, size) is None


@pytest.mark.parametrize("places", range(19))
def test_decimals_of_every_length_are_rounded_as_python_rounds(places):
    rng = random.Random(places)
    texts = [f"{rng.randrange(10 ** rng.randrange(1, 9))}.{rng.randrange(10**places):0{places}d}" for _ in range(400)]
    texts = [text.rstrip(".") if places == 0 else text for text in texts]
    X, _, _ = read("".join(f"1 1:{text} 2:1\n" for text in texts).encode(), n_features=2)
    found = X.toarray()[:, 0]
    assert all(math.copysign(1, a) == 1 and a == float(text) for a, text in zip(found, texts, strict=True))


@pytest.mark.parametrize(
    "word", ["1-2:5", "-1:5", "1:--5", "1:5-", "1:-", "1:-.", "1:5.5.5", "1:5.-5", "1:.", ":5", "1:"]
)
def test_a_sign_or_a_point_out_of_place_is_no_number(word):
    for before in ("1", "1 0:1", "1 0:1.5", "1 0:-1"):
        text = f"2 0:7\n{before} {word} 7:1\n".encode()
        with pytest.raises(ValueError, match="line 2: "):
            read(text, zero_based=True)
        assert disagreement("svmlight", text, 1 << 20) is None
