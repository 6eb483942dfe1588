"""The reader that every format shares: rows are counted, skipped and cut here, and the next ones are read meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from queue import Full, Queue
from typing import Any, Protocol

from .chunks import Chunk
from .options import Options

Pairs = Iterator[tuple[Any, Any]]


class Format(Protocol):
    """How the bytes of an origin become rows and labels.

    What only some formats know of their features is looked for: ``columns``, ``zero_based``, ``bits``.
    """

    n_features: int | None

    @property
    def description(self) -> str:
        """The format in words."""

    def pairs(self) -> Pairs:
        """Rows and labels from the beginning, in pieces of bounded size."""


class Stream:
    """A `Reader` of one format.

    ``ahead`` lets a thread read the next piece while this one is learned, which pays where most of the work is done
    outside Python's lock.
    """

    def __init__(self, name: str, format: Format, options: Options, *, origin: Any = None, ahead: bool = False) -> None:
        self.name, self.options = name, options
        self._format, self._origin, self._ahead = format, origin, ahead

    @property
    def description(self) -> str:
        """The stream in words."""
        return f"{self.name}: {self._format.description}"

    @property
    def n_features(self) -> int | None:
        """The width of the chunks, None while it is unknown."""
        return self._format.n_features

    @property
    def columns(self) -> list[str] | None:
        """The names of a table's columns of numbers in the order of the features, None while they are unknown."""
        columns: list[str] | None = getattr(self._format, "columns", None)
        return columns

    @property
    def zero_based(self) -> bool | None:
        """Whether the features of svmlight text count from 0; None while that is unknown, and of other formats."""
        zero: bool | None = getattr(self._format, "zero_based", None)
        return zero

    @property
    def bits(self) -> int | None:
        """The bits that features are hashed to; None while that is unknown, and where they are not."""
        bits: int | None = getattr(self._format, "bits", None)
        return bits

    @property
    def bytes_total(self) -> int | None:
        """Bytes to be read, None if nobody knows."""
        return self._origin.bytes_total if self._origin else None

    @property
    def bytes_read(self) -> int:
        """Bytes read so far."""
        return self._origin.bytes_read if self._origin else 0

    def __iter__(self) -> Iterator[Chunk]:
        offset, skip, most = 0, self.options.skip, self.options.chunk_rows
        for X, y in read_ahead(self._format.pairs()) if self._ahead else self._format.pairs():
            n = X.shape[0]
            start = min(max(0, skip - offset), n)
            step = most or n
            while start < n:
                stop = min(n, start + step)
                whole = stop - start == n
                labels = None if y is None or not self.options.labelled else y if whole else y[start:stop]
                yield Chunk(X if whole else X[start:stop], labels, offset + start)
                start = stop
            offset += n
        if offset == 0:
            raise ValueError(f"{self.name} has no rows")


def read_ahead(pairs: Pairs, depth: int = 2) -> Pairs:
    """The same pairs, up to ``depth`` of them read before they are asked for, from the second one on.

    >>> list(read_ahead(iter([("a", 1), ("b", 2), ("c", 3)])))
    [('a', 1), ('b', 2), ('c', 3)]
    """
    first = next(pairs, None)
    if first is None:
        return
    yield first
    waiting: Queue[Any] = Queue(depth)
    left = threading.Event()

    def hand_over(item: Any) -> bool:
        while not left.is_set():
            try:
                waiting.put(item, timeout=0.1)
            except Full:
                continue
            return True
        return False

    def work() -> None:
        try:
            for pair in pairs:
                if not hand_over(pair):
                    return
            hand_over(None)
        except BaseException as error:
            hand_over(error)

    thread = threading.Thread(target=work, name="ellipsoid reader", daemon=True)
    thread.start()
    try:
        while (item := waiting.get()) is not None:
            if isinstance(item, BaseException):
                raise item
            yield item
    finally:
        left.set()
        # It may be waiting for a pipe that gives nothing any more.
        thread.join(timeout=1.0)
