"""Lines of cells between delimiters as columns of numbers, of hashes, and a label.

Cells may stand between quotation marks, in which a doubled mark is a mark (RFC 4180), but a line ends at its line feed:
a quoted cell does not go on behind it. Blanks around a cell are not part of it. Blank lines are passed over.

A scan stops before the first line that does not fit its arrays, or that is wrong; its caller goes on from there.
"""

from typing import Any, NamedTuple

from .compiled import at, inlined, scanner
from .hashing import murmur3
from .numerals import HARD, NO_NUMERAL, READ, common, numeral
from .reasons import BAD_QUOTE, FULL, MISSING, NO_FLAW, NOT_A_NUMBER, TOO_FEW, TOO_MANY

# What a column is for.
IGNORED, NUMBER, TEXT, NUMBER_LABEL, TEXT_LABEL = range(5)
# The first cell of a column may also be this.
INFINITE = -1


# The hash of a missing word.
NO_HASH = -1


class TableColumns(NamedTuple):
    """The purpose of each column, its place among those of its purpose, and the seed of its hash."""

    purpose: Any
    place: Any
    seed: Any


class TableRules(NamedTuple):
    """The delimiter, the mask of hashes, and whether a missing cell counts as zero."""

    delimiter: int
    mask: int
    missing_zero: bool


class Cells(NamedTuple):
    """Where a scan writes: numbers and hashes (a row each), labels as numbers or as (begin, end), and numerals left to
    Python: (row, place or -1 for the label, begin, end).
    """

    numbers: Any
    hashes: Any
    labels: Any
    spans: Any
    hard: Any


class TableStop(NamedTuple):
    """Why a scan stopped; the next byte, or that of the flaw, its column; line feeds, rows, hard numerals so far."""

    reason: int
    position: int
    column: int
    lines: int
    rows: int
    hard: int


@inlined
def blank(c, delimiter):
    """Is a byte at the edge of a cell no part of it?"""
    return (c == 32 or c == 9 or c == 13) and c != delimiter


@inlined
def cell(text, p, delimiter):
    """Begin, end and quotes (0, or 1, or 2 with doubled marks inside; -1 if they do not close) of the cell at p, and
    the byte after it: a delimiter or a line feed.
    """
    while blank(text[at(p)], delimiter):
        p += 1
    begin = p
    if text[at(p)] != 34:
        while text[at(p)] != delimiter and text[at(p)] != 10:
            p += 1
        end = p
        while end > begin and blank(text[at(end - 1)], delimiter):
            end -= 1
        return begin, end, 0, p
    begin += 1
    p += 1
    quotes = 1
    while True:
        if text[at(p)] == 10:
            return begin, p, -1, p
        if text[at(p)] == 34:
            if text[at(p + 1)] != 34:
                break
            quotes = 2
            p += 1
        p += 1
    end = p
    p += 1
    while blank(text[at(p)], delimiter):
        p += 1
    return begin, end, quotes if text[at(p)] == delimiter or text[at(p)] == 10 else -1, p


@inlined
def is_missing(text, begin, end):
    """Is a cell empty, or ``?``, ``NA``, ``N/A``, ``nan``, ``null``, ``none`` in letters of any size?"""
    n = end - begin
    if n == 0:
        return True
    a = text[at(begin)]
    if n == 1:
        return a == 63
    if n > 4:
        return False
    a |= 32
    b, last = text[at(begin + 1)] | 32, text[at(end - 1)] | 32
    if a != 110:
        return False
    if n == 2:
        return b == 97
    if n == 3:
        return (b == 97 and last == 110) or (b == 47 and last == 97)
    c = text[at(begin + 2)] | 32
    return (b == 117 and c == 108 and last == 108) or (b == 111 and c == 110 and last == 101)


@inlined
def is_infinite(text, begin, end):
    """Is a cell ``inf`` or ``infinity``, with a sign or without, in letters of any size?"""
    if end - begin > 3 and (text[at(begin)] == 43 or text[at(begin)] == 45):
        begin += 1
    a, b, c = text[at(begin)] | 32, text[at(begin + 1)] | 32, text[at(begin + 2)] | 32
    if a != 105 or b != 110 or c != 102:
        return False
    d, e, last = text[at(begin + 3)] | 32, text[at(begin + 4)] | 32, text[at(end - 1)] | 32
    return end - begin == 3 or (end - begin == 8 and d == 105 and e == 110 and last == 121)


@inlined
def number_in(text, begin, end):
    """Value and status of the cell as a number."""
    value, p, status = numeral(text, begin)
    return value, status if p == end else NO_NUMERAL


@scanner
def classify(text, start, stop, delimiter, kinds):
    """Whether the first cell of each column that is not missing is NUMBER, INFINITE or TEXT; IGNORED without one."""
    p, unknown = start, kinds.size
    while p < stop and unknown > 0:
        j = 0
        while True:
            begin, end, _, p = cell(text, p, delimiter)
            if j < kinds.size and kinds[j] == IGNORED and not is_missing(text, begin, end):
                word = number_in(text, begin, end)[1] == NO_NUMERAL
                kinds[j] = NUMBER if not word else INFINITE if is_infinite(text, begin, end) else TEXT
                unknown -= 1
            j += 1
            if text[at(p)] == 10:
                break
            p += 1
        p += 1


@scanner
def scan_table(text, start, stop, columns, rules, out):
    """Read the lines of ``text[start:stop]``, which ends with a line feed."""
    p, lines, row, hard, delimiter = start, 0, 0, 0, rules.delimiter
    width = columns.purpose.size
    while p < stop:
        line, line_hard = p, hard
        while blank(text[at(p)], delimiter):
            p += 1
        if text[at(p)] == 10:
            p += 1
            lines += 1
            continue
        p = line
        if row == out.labels.size:
            return TableStop(FULL, line, 0, lines, row, line_hard)
        reason, j = NO_FLAW, 0
        while True:
            purpose, place = columns.purpose[at(j)], columns.place[at(j)]
            begin = p
            value, status = 0.0, NO_NUMERAL
            if purpose == NUMBER:
                # Most cells are a bare numeral up to the delimiter.
                value, p, status = common(text, begin)
                if status == NO_NUMERAL:
                    value, p, status = numeral(text, begin)
                end = p
            if status == NO_NUMERAL or (text[at(p)] != delimiter and text[at(p)] != 10):
                begin, end, quotes, p = cell(text, begin, delimiter)
                if quotes < 0:
                    reason = BAD_QUOTE
                    break
                value, status = 0.0, READ
                if purpose == TEXT_LABEL:
                    out.spans[at(row), 0], out.spans[at(row), 1] = begin, end
                if purpose != IGNORED and is_missing(text, begin, end):
                    if not rules.missing_zero or purpose >= NUMBER_LABEL:
                        reason = MISSING
                        break
                    if purpose == TEXT:
                        out.hashes[at(row), at(place)] = NO_HASH
                elif purpose == TEXT:
                    out.hashes[at(row), at(place)] = (
                        murmur3(text, begin, end, columns.seed[at(j)], quotes == 2) & rules.mask
                    )
                elif purpose in (NUMBER, NUMBER_LABEL):
                    value, status = number_in(text, begin, end)
                    if status == NO_NUMERAL:
                        p, reason = begin, NOT_A_NUMBER
                        break
            if status == HARD:
                if hard == out.hard.shape[0]:
                    reason = FULL
                    break
                out.hard[at(hard), 0], out.hard[at(hard), 1] = row, place if purpose == NUMBER else -1
                out.hard[at(hard), 2], out.hard[at(hard), 3] = begin, end
                hard += 1
            if purpose == NUMBER:
                out.numbers[at(row), at(place)] = value
            elif purpose == NUMBER_LABEL:
                out.labels[at(row)] = value
            j += 1
            if text[at(p)] == 10:
                break
            if j == width:
                reason = TOO_MANY
                break
            p += 1
        if reason == NO_FLAW and j < width:
            reason = TOO_FEW
        if reason != NO_FLAW:
            return TableStop(reason, line if reason == FULL else p, j, lines, row, line_hard)
        p += 1
        lines += 1
        row += 1
    return TableStop(NO_FLAW, p, 0, lines, row, hard)
