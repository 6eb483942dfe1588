"""Errors of text files: the file, the line, and the word that is wrong."""

from math import isfinite
from typing import Any

from .blocks import TextBlock

_LONGEST = 40


class LineError(ValueError):
    """A line that cannot be read.

    >>> print(LineError("train.svm", 7, "a line must begin with its label"))
    train.svm, line 7: a line must begin with its label
    """

    def __init__(self, name: str, line: int, what: str) -> None:
        super().__init__(f"{name}, line {line}: {what}")
        self.name, self.line, self.what = name, line, what

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.name, self.line, self.what), self.__dict__


class WrongRow(ValueError):
    """A row that cannot be read: its place among the rows that are read together, and, in a block of text, its line."""

    def __init__(self, row: int, what: str, line: int = 0) -> None:
        super().__init__(what)
        self.row, self.what, self.line = row, what, line


class NoRows(ValueError):
    """A stream without an example, which is no error where there are others beside it."""


def token(block: TextBlock, position: int, blanks: bytes = b" \t\r\n") -> str:
    """The word around a position, quoted and not too long."""
    text = block.raw
    begin = end = min(position, block.stop - 1)
    while begin > 0 and text[begin - 1] not in blanks and end - begin < _LONGEST:
        begin -= 1
    while end < block.stop and text[end] not in blanks and end - begin < _LONGEST:
        end += 1
    return repr(bytes(text[begin:end]).decode("utf-8", "backslashreplace"))


def after_return(block: TextBlock, position: int) -> str:
    """The sentence for a carriage return in the middle of a line."""
    begins = position == 0 or block.raw[position - 1] == 10
    word = token(block, position if begins else position - 1, b"\r\n")
    return f"a carriage return follows {word}: end the lines with line feeds, as tr '\\r' '\\n' does"


def finite_number(block: TextBlock, numeral: tuple[int, int], scale: float = 1.0) -> float:
    """``scale`` times the numeral between two positions, as Python rounds it; `LineError` where it is too large."""
    begin, end = numeral
    word = bytes(block.raw[begin:end]).decode("ascii")
    value = scale * float(word)
    if not isfinite(value):
        line = 1 + block.raw.count(b"\n", 0, begin)
        raise LineError("the block", line, f"{word[:_LONGEST]!r} is too large for a float64")
    return value
