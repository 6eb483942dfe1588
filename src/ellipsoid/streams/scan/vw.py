"""Lines of Vowpal Wabbit's text format as labels and hashed sparse rows.

``label [importance [base]] ['tag] |namespace[:scale] feature[:value] … |namespace …``. A feature without a value has
the value 1; the scale of a namespace multiplies the values behind it. The column of a feature is the hash of its
name, seeded with the hash of its namespace. An importance is the weight of its line, 1 by default. Base and tag are
ignored.

A scan stops before the first line that does not fit its arrays, or that is wrong; its caller goes on from there.
"""

from typing import NamedTuple

import numpy as np

from .compiled import at, inlined, scanner
from .hashing import murmur3
from .numerals import HARD, NO_NUMERAL, READ, common, numeral
from .reasons import FULL, NO_BAR, NO_FLAW, NO_LABEL, NO_NAME, NO_VALUE, NO_WEIGHT, OVERFLOW
from .svmlight import IMPORTANCE

_LARGEST = np.finfo(np.float64).max


class VwRules(NamedTuple):
    """The mask of hashes, and whether a line without a label is an error."""

    mask: int
    labelled: bool


class VwStop(NamedTuple):
    """Why a scan stopped; the next byte, or that of the flaw; line feeds, rows, values, hard numerals so far."""

    reason: int
    position: int
    lines: int
    rows: int
    values: int
    hard: int


@inlined
def word_end(text, p):
    """The end of a name: a blank, a colon, a bar or a line feed."""
    c = text[at(p)]
    while c != 32 and c != 58 and c != 124 and c != 10 and c != 9 and c != 13:
        p += 1
        c = text[at(p)]
    return p


@inlined
def is_blank(text, p, c):
    """Is the byte c at p a blank, or a carriage return before the end of its line?"""
    return c == 32 or c == 9 or (c == 13 and (text[at(p + 1)] == 10 or text[at(p + 1)] == 13))


@inlined
def ends_word(c):
    """May a number end before this byte?"""
    return c == 32 or c == 9 or c == 13 or c == 10 or c == 124


@scanner
def scan_vw(text, start, stop, rules, out):
    """Read the lines of ``text[start:stop]``, which ends with a line feed, into the arrays of an svmlight scan."""
    p, lines, row, k, hard = start, 0, 0, 0, 0
    out.indptr[0] = 0
    while p < stop:
        line, line_k, line_hard = p, k, hard
        c = text[at(p)]
        while is_blank(text, p, c):
            p += 1
            c = text[at(p)]
        if c == 10:
            p += 1
            lines += 1
            continue
        reason = FULL if row == out.labels.size else NO_FLAW
        out_label, weight, numbers = 0.0, 1.0, 0
        # Before the first bar: up to three numbers, then a tag, which begins with an apostrophe or touches the bar.
        while reason == NO_FLAW and c != 124:
            begin = p
            if numbers > 3:
                reason = NO_BAR
                break
            value, p, status = numeral(text, p)
            if status == NO_NUMERAL or not ends_word(text[at(p)]) or (text[at(p)] == 124 and numbers > 0):
                p = word_end(text, begin)
                tag = numbers > 0 and (text[at(begin)] == 39 or text[at(p)] == 124) and ends_word(text[at(p)])
                if not tag:
                    p, reason = begin, NO_LABEL if numbers == 0 else NO_BAR
                    break
                numbers = 3
            elif numbers == 3:
                p, reason = begin, NO_BAR
                break
            elif numbers == 1 and text[at(begin)] == 45:
                p, reason = begin, NO_WEIGHT
                break
            else:
                if numbers == 0:
                    out_label = value
                elif numbers == 1:
                    weight = value if status != HARD else 0.0
                if status == HARD and numbers < 2:
                    if hard == out.hard.shape[0]:
                        reason = FULL
                        break
                    out.hard[at(hard), 0] = (-1 if numbers == 0 else IMPORTANCE) - row
                    out.hard[at(hard), 1], out.hard[at(hard), 2] = begin, p
                    hard += 1
            numbers += 1
            c = text[at(p)]
            while is_blank(text, p, c):
                p += 1
                c = text[at(p)]
            if c == 10:
                reason = NO_BAR
        if reason == NO_FLAW and rules.labelled and numbers == 0:
            reason = NO_LABEL
        while reason == NO_FLAW and text[at(p)] == 124:
            p += 1
            begin = p
            p = word_end(text, p)
            seed = murmur3(text, begin, p, 0, False)
            scale = 1.0
            if text[at(p)] == 58:
                scale, p, status = numeral(text, p + 1)
                if status != READ or not ends_word(text[at(p)]):
                    reason = OVERFLOW if status == HARD else NO_VALUE
                    break
            while True:
                c = text[at(p)]
                while is_blank(text, p, c):
                    p += 1
                    c = text[at(p)]
                if c == 10 or c == 124:
                    break
                begin = p
                p = word_end(text, p)
                if p == begin:
                    reason = NO_NAME
                    break
                column = murmur3(text, begin, p, seed, False) & rules.mask
                value = scale
                if text[at(p)] == 58:
                    begin = p + 1
                    value, p, status = common(text, begin)
                    if status == NO_NUMERAL:
                        value, p, status = numeral(text, begin)
                    if status == NO_NUMERAL or not ends_word(text[at(p)]):
                        reason = NO_VALUE
                        break
                    value = scale if status == HARD else value * scale
                    if not -_LARGEST <= value <= _LARGEST:
                        p, reason = begin, OVERFLOW
                        break
                    if status == HARD:
                        if hard == out.hard.shape[0]:
                            reason = FULL
                            break
                        out.hard[at(hard), 0], out.hard[at(hard), 1], out.hard[at(hard), 2] = k, begin, p
                        hard += 1
                if k == out.values.size:
                    reason = FULL
                    break
                out.indices[at(k)] = column
                out.values[at(k)] = value
                k += 1
        if reason != NO_FLAW:
            return VwStop(reason, line if reason == FULL else p, lines, row, line_k, line_hard)
        out.labels[at(row)], out.weights[at(row)] = out_label, weight
        p += 1
        lines += 1
        row += 1
        out.indptr[at(row)] = k
    return VwStop(NO_FLAW, p, lines, row, k, hard)
