"""What every reader yields: chunks of rows in the order of the stream, and how far it has come.

A stream may be longer than memory, so that nobody asks for all of it: a `Reader` is iterated, and each `Chunk` may be
forgotten before the next is read. How a stream is cut into chunks is the reader's business and changes no result.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol, runtime_checkable


class Chunk(NamedTuple):
    """Consecutive rows of a stream.

    ``X`` is a 2-D array of numbers or a CSR matrix whose indices increase within a row; ``y`` the labels, one per row
    (or a 0/1 matrix, one column per label), None where the stream has none; ``offset`` the number of rows before the
    first of these.

    A sparse stream does not know its width before its end: ``X.shape[1]`` never falls from one chunk to the next, but
    may rise, unless the reader was told ``n_features`` or hashes to ``2**bits`` columns.
    """

    X: Any
    y: Any
    offset: int


@runtime_checkable
class Reader(Protocol):
    """A stream that is being read.

    Iterating starts at the beginning; what can be read only once (a pipe, an iterator) says so when it is asked a
    second time. Bad input raises ``ValueError`` that names the file and the line or row, and every chunk before it has
    been yielded by then.
    """

    @property
    def description(self) -> str:
        """The stream in words, with what was detected: ``train.svm.gz: svmlight text, features count from 1``."""

    @property
    def n_features(self) -> int | None:
        """The width of the chunks, None while it is unknown."""

    @property
    def columns(self) -> list[str] | None:
        """The names of a table's columns of numbers in the order of the features; None where they have none."""

    @property
    def bytes_total(self) -> int | None:
        """Bytes to be read, of the file as it lies on disk; None for a pipe or an iterator."""

    @property
    def bytes_read(self) -> int:
        """Bytes read so far, of the same count; 0 where nothing is read from a file."""

    def __iter__(self) -> Iterator[Chunk]: ...
