"""Decimal numerals to the nearest float64, exactly as Python's ``float`` rounds them.

A numeral is ``w 10^q`` with an integer w of at most 18 digits. Where w and ``10^|q|`` are floats themselves, one
product or quotient is correctly rounded (Clinger, "How to read floating point numbers accurately", PLDI 1990).
Otherwise w times a 128-bit approximation of ``5^q`` decides the rounding (Lemire, "Number parsing at a gigabyte per
second", SPE 2021, section 5; Mushtak and Lemire, "Fast number parsing without fallback", SPE 2023, show that it
always does for a full w). What is left is reported as HARD, for Python's ``float``: subnormals, overflow, and
numerals whose digits beyond the 18th could tip the rounding.

Every text ends with a line feed, which no loop here steps over.
"""

import numpy as np

from ellipsoid.engine.native.text_words import (
    WINDOW,
    eight_bytes,
    leading_zeros,
    non_digits,
    trailing_zeros,
    wide_product,
    without_lowest,
)

from .compiled import at, forced, inlined

READ, HARD, NO_NUMERAL = range(3)

_MOST_DIGITS = 18
_LEAST_POWER, _LARGEST_POWER = -342, 308
# An exponent of more digits would overflow; it decides nothing any more.
_EXPONENT_CAP = 100_000

_EXACT = np.array([float(10**k) for k in range(23)])
_TEN = np.array([10**k for k in range(9)])
_TWO = np.array([2.0**k for k in range(-1074, 972)])


def _five_to_the(q: int) -> int:
    """The 128 leading bits of 5^q: rounded up for -27 <= q < 0, where a tie is possible, else cut off."""
    power = 5 ** abs(q)
    if q >= 0:
        shift = 128 - power.bit_length()
        return power << shift if shift >= 0 else power >> -shift
    quotient = (1 << (power.bit_length() + 127)) // power
    return quotient + 1 if q >= -27 else quotient


_POWERS = [_five_to_the(q) for q in range(_LEAST_POWER, _LARGEST_POWER + 1)]
_FIVE_HIGH = np.array([power >> 64 for power in _POWERS], dtype=np.uint64)
_FIVE_LOW = np.array([power & (2**64 - 1) for power in _POWERS], dtype=np.uint64)

_HALF, _FOUR, _EIGHT = np.uint64(32), np.uint64(4), np.uint64(8)
_LOW = np.uint64(2**32 - 1)
_ALL = np.uint64(2**64 - 1)
_TOP = np.uint64(63)
_DOUBT = np.uint64(0x1FF)
_UPPER, _DIGITS = np.uint64(0xF0F0F0F0F0F0F0F0), np.uint64(0x3030303030303030)
_SIX = np.uint64(0x0606060606060606)
_LAST = np.uint64(0xFFFF)
_PAIRS, _FOURS = np.uint64(0x00FF00FF00FF00FF), np.uint64(0x0000FFFF0000FFFF)
_NINE, _ONE, _THREE = np.uint64(9), np.uint64(1), np.uint64(3)


@forced
def nearest(w, q):
    """``w 10^q`` rounded to nearest, ties to even, for 0 < w < 2^63; -1 where that is not decided here."""
    if q < _LEAST_POWER:
        # Even 10^18 of these units are nearer to zero than to the least float.
        return 0.0
    if q > _LARGEST_POWER:
        return -1.0
    mantissa = np.uint64(w)
    unused = leading_zeros(mantissa)
    mantissa <<= np.uint64(unused)
    five = q - _LEAST_POWER
    high, low = wide_product(mantissa, _FIVE_HIGH[at(five)])
    if high & _DOUBT == _DOUBT:
        more, _ = wide_product(mantissa, _FIVE_LOW[at(five)])
        if more > _ALL - low:
            low = more - (_ALL - low) - _ONE
            high += _ONE
        else:
            low += more
    upper = high >> _TOP
    shift = upper + _NINE
    bits = high >> shift
    # 217706 / 65536 is log2(10) to the precision that these q need: the binary exponent of the lowest of 53 bits.
    exponent = ((217706 * q) >> 16) + 63 + np.int64(upper) - unused - 52
    if exponent < -1074 or exponent > 970:
        return -1.0
    # Exactly half way, which only these q can be: to the even neighbour, that is down.
    if low <= _ONE and -4 <= q <= 23 and bits & _THREE == _ONE and bits << shift == high:
        bits -= _ONE
    return np.float64(np.int64((bits + (bits & _ONE)) >> _ONE)) * _TWO[at(exponent + 1074)]


@inlined
def scaled(w, q):
    """``w 10^q`` rounded to nearest for 0 <= w < 2^63; -1 where that is not decided here."""
    if w < 9007199254740992 and -22 <= q <= 22:
        return np.float64(w) / _EXACT[at(-q)] if q < 0 else np.float64(w) * _EXACT[at(q)]
    return nearest(w, q) if w > 0 else 0.0


@inlined
def eight_digits(text, p):
    """The number that the eight digits from p on write, -1 if they are not all digits."""
    v = eight_bytes(text, p)
    # A digit is 0x30 .. 0x39: its upper half is 3, and still 3 after adding 6.
    if v & _UPPER != _DIGITS:
        return np.int64(-1)
    v -= _DIGITS
    if (v + _SIX) & _UPPER != 0:
        return np.int64(-1)
    return written(v)


@inlined
def written(v):
    """The number of eight digits, the foremost in the lowest byte: two, four, eight at a time."""
    v = (v * np.uint64(10) + (v >> np.uint64(8))) & _PAIRS
    v = (v * np.uint64(100) + (v >> np.uint64(16))) & _FOURS
    return np.int64((v * np.uint64(10000) + (v >> np.uint64(32))) & _LOW)


@inlined
def digits(text, p, n):
    """The number that n digits from p on write; there are n of them, from none to eight."""
    if 0 < n <= 4:
        v = ((eight_bytes(text, p) ^ _DIGITS) & _LOW) << (_HALF - _EIGHT * np.uint64(n))
        v = (v * np.uint64(10) + (v >> np.uint64(8))) & _PAIRS
        return np.int64((v * np.uint64(100) + (v >> np.uint64(16))) & _LAST)
    # What follows them is shifted out, by halves: a word cannot be shifted by all its bits.
    half = _HALF - _FOUR * np.uint64(n)
    return written((eight_bytes(text, p) ^ _DIGITS) << half << half)


@forced
def decimal(text, p, w, whole, n):
    """The number of w (``whole`` digits), a point and n digits from p on, to nearest; -1 if too much for short cuts."""
    value = -1.0
    if n <= 8 and whole + n <= 15:
        value = np.float64(w * _TEN[at(n)] + digits(text, p, n)) / _EXACT[at(n)]
    elif n + (whole if w > 0 else 0) <= _MOST_DIGITS:
        q = -n
        while n > 8:
            w = 100_000_000 * w + digits(text, p, 8)
            p += 8
            n -= 8
        w = w * _TEN[at(n)] + digits(text, p, n)
        value = nearest(w, q) if w > 0 else 0.0
    return value


@forced
def common(text, p):
    """The same as `numeral` for ``[-] digits [. digits]`` with few digits; NO_NUMERAL for all others."""
    negative = text[at(p)] == 45
    p += negative
    window = non_digits(text, p)
    whole = trailing_zeros(window)
    end, value = p + whole, -1.0
    if 0 < whole <= 8:
        w = digits(text, p, whole)
        value = np.float64(w)
        if text[at(end)] == 46:
            end = p + trailing_zeros(without_lowest(window))
            value = decimal(text, p + whole + 1, w, whole, end - p - whole - 1) if end < p + WINDOW else -1.0
        if text[at(end)] | 32 == 101:
            value = -1.0
    status = READ if value >= 0.0 else NO_NUMERAL
    return -value if negative else value, end, status


@inlined
def numeral(text, p):
    """Value, end and status (READ, HARD, NO_NUMERAL) of the numeral ``[+-] digits [. digits] [e [+-] digits]`` at p."""
    negative = text[at(p)] == 45
    if negative or text[at(p)] == 43:
        p += 1
    w, kept, begin = np.int64(0), 0, p
    digit = np.int64(text[at(p)]) - 48
    while 0 <= digit <= 9 and kept < _MOST_DIGITS:
        w = 10 * w + digit
        kept += w > 0
        p += 1
        digit = np.int64(text[at(p)]) - 48
    value, end, status = after_digits(text, p, w, kept)
    if p == begin and (text[at(p)] != 46 or not 0 <= np.int64(text[at(p + 1)]) - 48 <= 9):
        return 0.0, p, NO_NUMERAL
    return -value if negative else value, end, status


@inlined
def after_digits(text, p, w, kept):
    """The same from p on, after digits that write w, ``kept`` of them from the first nonzero."""
    q, lost = np.int64(0), False
    digit = np.int64(text[at(p)]) - 48
    while 0 <= digit <= 9:
        q += 1
        lost = lost or digit > 0
        p += 1
        digit = np.int64(text[at(p)]) - 48
    if text[at(p)] == 46:
        p += 1
        while kept <= _MOST_DIGITS - 8:
            many = eight_digits(text, p)
            if many < 0:
                # Fewer than eight are left: there is room for all of them.
                begin = p
                digit = np.int64(text[at(p)]) - 48
                while 0 <= digit <= 9:
                    w = 10 * w + digit
                    p += 1
                    digit = np.int64(text[at(p)]) - 48
                q -= p - begin
                break
            w = 100_000_000 * w + many
            # Zeros before the first other digit are not worth a count of their own.
            kept += 8 if w > 0 else 0
            q -= 8
            p += 8
        digit = np.int64(text[at(p)]) - 48
        while 0 <= digit <= 9:
            if kept < _MOST_DIGITS:
                w = 10 * w + digit
                kept += w > 0
                q -= 1
            else:
                lost = lost or digit > 0
            p += 1
            digit = np.int64(text[at(p)]) - 48
    if text[at(p)] == 101 or text[at(p)] == 69:
        p += 1
        down = text[at(p)] == 45
        if down or text[at(p)] == 43:
            p += 1
        power, begin = np.int64(0), p
        digit = np.int64(text[at(p)]) - 48
        while 0 <= digit <= 9:
            power = min(10 * power + digit, _EXPONENT_CAP)
            p += 1
            digit = np.int64(text[at(p)]) - 48
        if p == begin:
            return 0.0, p, NO_NUMERAL
        q = q - power if down else q + power
    value = scaled(w, q)
    if lost and nearest(w, q) != nearest(w + 1, q):
        value = -1.0
    return (value, p, READ) if value >= 0.0 else (0.0, p, HARD)
