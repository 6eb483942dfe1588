"""Lines ``label index:value index:value … # comment`` as labels and compressed sparse rows.

The format is that of SVM-light (Joachims, "Making large-scale SVM learning practical", 1999), which LIBSVM shares:
indices increase along a line, ``qid:`` is for rankings, and what follows ``#`` is for people.

A scan stops before the first line that does not fit its arrays, or that is wrong; its caller goes on from there.
"""

from typing import Any, NamedTuple

import numpy as np

from ellipsoid.engine.native.text_words import non_digits, trailing_zeros, without_lowest

from .compiled import at, inlined, scanner
from .hashing import murmur3
from .numerals import HARD, READ, decimal, digits, numeral
from .reasons import (
    FULL,
    MANY_LABELS,
    NO_COLON,
    NO_FLAW,
    NO_INDEX,
    NO_LABEL,
    NO_VALUE,
    NOT_RISING,
    TOO_WIDE,
    ZERO_INDEX,
)

# Indices of at least this many digits are not computed.
_BEYOND = 1 << 58


# What marks the numeral of a weight.
IMPORTANCE = -(1 << 40)


class SparseRows(NamedTuple):
    """Where a scan writes: labels, CSR rows, and numerals left to Python, (place of the value, -1 - row for a label or
    IMPORTANCE - row, begin, end).

    The value of a numeral that is left is 1, or the scale by which it is to be multiplied. ``weights`` are those of the
    rows, for a format that has them.
    """

    labels: Any
    indptr: Any
    indices: Any
    values: Any
    hard: Any
    weights: Any


class SvmlightRules(NamedTuple):
    """``base`` is subtracted from every index; what is not below ``width`` is an error, or left out with ``drop``.
    With ``mask`` >= 0 the column is the hash of the index and the mask, and rows are neither sorted nor free of
    repetitions.
    """

    base: int
    width: int
    drop: bool
    mask: int


class SvmlightStop(NamedTuple):
    """Why a scan stopped, and where: the next byte to read, or that of the flaw; with the line feeds passed, the rows,
    values and hard numerals written, the smallest and the largest index kept.
    """

    reason: int
    position: int
    lines: int
    rows: int
    values: int
    hard: int
    smallest: int
    largest: int


@inlined
def sight(text, window, origin):
    """The place of the next byte that is no digit, which should be a colon, with the bits after it and after the one
    that follows; a minus sign right after the colon counts as a digit.
    """
    colon = origin + trailing_zeros(window)
    after = without_lowest(window)
    if text[at(colon + 1)] == 45:
        after = without_lowest(after)
    return colon, after, without_lowest(after)


@scanner
def scan_svmlight(text, start, stop, rules, out):
    """Read the lines of ``text[start:stop]``, which ends with a line feed."""
    p, lines, row, k, hard = start, 0, 0, 0, 0
    smallest, largest = np.int64(_BEYOND), np.int64(-1)
    out.indptr[0] = 0
    # One bit for each byte from ``origin`` on that is after p and no digit; 0 where they are not known yet.
    window, origin = np.uint64(0), start
    while p < stop:
        line, line_k, line_hard = p, k, hard
        c = text[at(p)]
        while c == 32 or c == 9 or c == 13:
            p += 1
            c = text[at(p)]
            window = np.uint64(0)
        if c == 10 or c == 35:
            window = np.uint64(0)
            while text[at(p)] != 10:
                p += 1
            p += 1
            lines += 1
            continue
        if row == out.labels.size:
            return SvmlightStop(FULL, line, lines, row, line_k, line_hard, smallest, largest)
        begin = p
        if window == 0:
            window, origin = non_digits(text, p), p
        end = origin + trailing_zeros(window)
        if 0 < end - p <= 8 and text[at(end)] <= 32:
            value, status, p, window = np.float64(digits(text, p, end - p)), READ, end, without_lowest(window)
        else:
            value, p, status = numeral(text, p)
            window = np.uint64(0)
        c = text[at(p)]
        if status > HARD or not (c <= 32 or c == 35):
            reason = MANY_LABELS if c == 44 and status <= HARD else NO_LABEL
            return SvmlightStop(reason, begin, lines, row, line_k, line_hard, smallest, largest)
        if status == HARD:
            if hard == out.hard.shape[0]:
                return SvmlightStop(FULL, line, lines, row, line_k, line_hard, smallest, largest)
            out.hard[hard, 0], out.hard[hard, 1], out.hard[hard, 2] = -1 - row, begin, p
            hard += 1
        out.labels[at(row)] = value
        reason = NO_FLAW
        previous = np.int64(-1)
        while True:
            c = text[at(p)]
            if c == 10:
                break
            # Most features are digits, a colon, digits with a sign or a point at most, and a blank: all of it in sight.
            plain = False
            if c == 32:
                p += 1
                colon, after, left = sight(text, window, origin)
                if left == 0:
                    window, origin = non_digits(text, p), p
                    colon, after, left = sight(text, window, origin)
                n = colon - p
                end = origin + trailing_zeros(after)
                first_digit = colon + 1 + (text[at(colon + 1)] == 45)
                whole = end - first_digit
                if left != 0 and text[at(colon)] == 58 and 0 < n <= 8 and 0 < whole <= 8:
                    short = digits(text, first_digit, whole)
                    if text[at(end)] == 46:
                        point = end
                        end = origin + trailing_zeros(left)
                        left = without_lowest(left)
                        value = decimal(text, point + 1, short, whole, end - point - 1)
                    else:
                        value = np.float64(short)
                    plain = value >= 0.0 and text[at(end)] <= 32
            if plain:
                begin, index, status = p, digits(text, p, n), READ
                value = -value if first_digit > colon + 1 else value
                p, window = end, left
            else:
                window = np.uint64(0)
                c = text[at(p)]
                index = np.int64(c) - 48
                if not 0 <= index <= 9:
                    if c == 32 or c == 9 or c == 13:
                        p += c != 32
                        continue
                    if c == 10:
                        break
                    if c == 35:
                        while text[at(p)] != 10:
                            p += 1
                        break
                    if c == 113 and text[at(p + 1)] == 105 and text[at(p + 2)] == 100 and text[at(p + 3)] == 58:
                        while text[at(p)] > 32 and text[at(p)] != 35:
                            p += 1
                        continue
                    reason = NO_INDEX
                    break
                begin = p
                p += 1
                digit = np.int64(text[at(p)]) - 48
                while 0 <= digit <= 9:
                    index = 10 * index + digit if index < _BEYOND else index
                    p += 1
                    digit = np.int64(text[at(p)]) - 48
                if digit != 10:
                    reason = NO_COLON
                    break
                colon = p
                value, p, status = numeral(text, p + 1)
            if status > HARD or (text[at(p)] > 32 and text[at(p)] != 35):
                reason = NO_VALUE
                break
            if index <= previous:
                reason = NOT_RISING
                break
            previous = index
            column = index - rules.base
            if rules.mask >= 0:
                while text[at(begin)] == 48 and begin + 1 < colon:
                    begin += 1
                column = murmur3(text, begin, colon, 0, False) & rules.mask
            if at(column) >= at(rules.width):
                if column >= 0 and rules.drop:
                    continue
                reason = TOO_WIDE if column >= 0 else ZERO_INDEX
                break
            if k == out.values.size:
                reason = FULL
                break
            if status == HARD:
                if hard == out.hard.shape[0]:
                    reason = FULL
                    break
                out.hard[hard, 0], out.hard[hard, 1], out.hard[hard, 2] = k, colon + 1, p
                hard += 1
                value = 1.0
            out.indices[at(k)] = column
            out.values[at(k)] = value
            k += 1
        if reason != NO_FLAW:
            return SvmlightStop(reason, line if reason == FULL else p, lines, row, line_k, line_hard, smallest, largest)
        if k > line_k:
            # Indices rise along a line: the first kept is the smallest, the last the largest.
            smallest = min(smallest, np.int64(out.indices[at(line_k)]) + rules.base)
            largest = max(largest, np.int64(out.indices[at(k - 1)]) + rules.base)
        p += 1
        lines += 1
        row += 1
        out.indptr[at(row)] = k
    return SvmlightStop(NO_FLAW, p, lines, row, k, hard, smallest, largest)


@scanner
def looks_zero_based(text, stop):
    """Whether ``0:`` follows a blank somewhere, maybe in a comment."""
    found = np.uint8(0)
    # Always to the end: a loop without an exit is compiled to one over many bytes at once.
    for p in range(2, stop):
        zero = (text[at(p)] == 58) & (text[at(p - 1)] == 48) & (text[at(p - 2)] <= 32)
        found |= np.uint8(zero)
    return found != 0
