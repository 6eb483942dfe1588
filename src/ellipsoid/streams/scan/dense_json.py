"""Lines ``{"x": [1, 2.5e-3], "y": 1}`` of JSON, a row of numbers and a label each.

The scan is strict: members x and y in this order, every row as long as the first, labels that are whole numbers or
plain text (ASCII without escapes), numbers as JSON writes them. Anything else makes it give up, and another reader
judge.
"""

from .compiled import at, inlined, scanner
from .numerals import HARD, NO_NUMERAL, common, numeral

GAVE_UP = -1

_MOST_DIGITS = 15
_LONGEST_TEXT = 1000


@inlined
def behind_blanks(text, p):
    """The first byte from p on that is no blank."""
    while text[at(p)] == 32 or text[at(p)] == 9:
        p += 1
    return p


@inlined
def behind_member(text, p, letter):
    """The first byte of the value of the member that has this letter for a name; -1 if that is not there."""
    if text[at(p)] != 34 or text[at(p + 1)] != letter or text[at(p + 2)] != 34:
        return -1
    p = behind_blanks(text, p + 3)
    return behind_blanks(text, p + 1) if text[at(p)] == 58 else -1


@inlined
def is_json_numeral(text, p):
    """Does a numeral begin at p as one of JSON does: a digit, and no zero before another digit? Nor may it be -0, which
    others take for a whole number without a sign.
    """
    negative = text[at(p)] == 45
    p += negative
    c, after = text[at(p)], text[at(p + 1)]
    zero = c == 48 and (48 <= after <= 57 or (negative and after != 46 and after | 32 != 101))
    return 48 <= c <= 57 and not zero


@scanner
def scan_dense_lines(text, stop, x, y, spans, hard):
    """Read the lines of ``text[:stop]`` into rows of x, whole labels into y, places of text labels into spans, and
    those of numerals that are left to Python into hard: (row, column, begin, end). Returns how many of these there are,
    or GAVE_UP, also where there are other than ``len(x)`` rows.
    """
    p, row, left = 0, 0, 0
    while p < stop:
        if row == x.shape[0] or text[at(p)] != 123:
            return GAVE_UP
        p = behind_member(text, behind_blanks(text, p + 1), 120)
        if p < 0 or text[at(p)] != 91:
            return GAVE_UP
        for j in range(x.shape[1]):
            p = behind_blanks(text, p + 1)
            if not is_json_numeral(text, p):
                return GAVE_UP
            value, end, status = common(text, p)
            if status == NO_NUMERAL:
                value, end, status = numeral(text, p)
                for q in range(p, end):
                    # Python takes a point without digits behind it, JSON does not.
                    if text[at(q)] == 46 and not 48 <= text[at(q + 1)] <= 57:
                        return GAVE_UP
            if status == NO_NUMERAL or not 48 <= text[at(end - 1)] <= 57:
                return GAVE_UP
            if status == HARD:
                if left == hard.shape[0]:
                    return GAVE_UP
                hard[at(left), 0], hard[at(left), 1], hard[at(left), 2], hard[at(left), 3] = row, j, p, end
                left += 1
            x[at(row), at(j)] = value
            p = behind_blanks(text, end)
            if text[at(p)] != (44 if j + 1 < x.shape[1] else 93):
                return GAVE_UP
        p = behind_blanks(text, p + 1)
        if text[at(p)] != 44:
            return GAVE_UP
        p = behind_member(text, behind_blanks(text, p + 1), 121)
        if p < 0:
            return GAVE_UP
        if text[at(p)] == 34:
            begin = p + 1
            p = begin
            while text[at(p)] != 34:
                if text[at(p)] < 32 or text[at(p)] == 92 or text[at(p)] > 126 or p - begin >= _LONGEST_TEXT:
                    return GAVE_UP
                p += 1
            spans[at(row), 0], spans[at(row), 1] = begin, p
            p += 1
        else:
            if not is_json_numeral(text, p):
                return GAVE_UP
            negative = text[at(p)] == 45
            p += negative
            begin, label = p, 0
            while 48 <= text[at(p)] <= 57 and p - begin <= _MOST_DIGITS:
                label = 10 * label + (text[at(p)] - 48)
                p += 1
            if p - begin > _MOST_DIGITS:
                return GAVE_UP
            y[at(row)] = -label if negative else label
        p = behind_blanks(text, p)
        if text[at(p)] != 125:
            return GAVE_UP
        p = behind_blanks(text, p + 1)
        if text[at(p)] == 13:
            p += 1
        if text[at(p)] != 10:
            return GAVE_UP
        p += 1
        row += 1
    return left if row == x.shape[0] else GAVE_UP
