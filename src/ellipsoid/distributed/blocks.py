"""Blocks: parts of the data that any worker can read, as often as need be, without reading what comes before.

A block of text is ``(path, start, stop)``, the lines that *begin* in these bytes: who reads it drops what is left of
the line before, and finishes the last one. A compressed file is one block; of a Parquet file a block is some row
groups, and of a Dask collection a partition, with the graph that makes it.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ellipsoid.streams.opening import open_stream
from ellipsoid.streams.readers.errors import LineError, NoRows
from ellipsoid.streams.stream import Chunk, Stream

# How much of a file is looked at for the end of a line.
LOOK_BYTES = 1 << 16


@dataclass(frozen=True)
class BlockReading:
    """How blocks become rows: the options of `open_stream`, settled once for all blocks; a scaler that learns no more.

    ``label`` is the column of the labels of a data frame.
    """

    options: dict[str, Any] = field(default_factory=dict)
    scaler: Any = None
    label: Any = None


@dataclass(frozen=True)
class FileBlock:
    """The lines of a file that begin in ``start..stop``; all of it where ``stop`` is None.

    ``told`` is what the beginning of a table settles for all of its blocks: ``header`` and ``word_labels``.
    """

    path: str
    start: int = 0
    stop: int | None = None
    # That of the file when the run began.
    size: int | None = None
    told: dict[str, Any] = field(default_factory=dict, hash=False)

    def __str__(self) -> str:
        return self.path if self.stop is None else f"{self.path}, bytes {self.start:,} to {self.stop:,}"

    @property
    def begins_a_line(self) -> bool:
        """Does a line begin in these bytes?"""
        if self.stop is None:
            return True
        with LineRange(self.path, self.start, self.stop) as lines:
            return not lines.is_empty

    def chunks(self, reading: BlockReading) -> Iterator[Chunk]:
        """The rows, in chunks."""
        _check_size(self.path, self.size)
        options = {**reading.options, **self.told, "threads": 0}
        if self.stop is None:
            yield from unless_empty(open_stream(self.path, **options))
            return
        prefix = b""
        if self.start > 0 and options["format"] == "csv":
            # The first line of the file tells the names of its columns, and what stands between them.
            prefix = _first_line(self.path)
            options["skip"] = 0 if options.get("header") else 1
        file = LineRange(self.path, self.start, self.stop, prefix)
        if not prefix and file.is_empty:
            return
        try:
            yield from unless_empty(open_stream(file, **options))
        except LineError as error:
            before = file.lines_before() - prefix.count(b"\n")
            raise LineError(self.path, before + error.line, error.what) from error


@dataclass(frozen=True)
class RowGroups:
    """Some row groups of a Parquet file."""

    path: str
    first: int
    last: int
    size: int | None = None

    def __str__(self) -> str:
        return f"{self.path}, row groups {self.first} to {self.last - 1}"

    def chunks(self, reading: BlockReading) -> Iterator[Chunk]:
        """The rows, in chunks."""
        from ellipsoid.streams.options import Options
        from ellipsoid.streams.readers.arrow import BATCH_ROWS, PARQUET, ArrowTable
        from ellipsoid.streams.readers.blocks import Origin

        _check_size(self.path, self.size)
        first, last = self.first, self.last

        class Groups(ArrowTable):
            """The table of these row groups alone."""

            def _batches(self) -> Iterator[Any]:
                from pyarrow import parquet

                with parquet.ParquetFile(self.origin.path) as file:
                    groups = list(range(first, last))
                    yield from file.iter_batches(batch_size=BATCH_ROWS, row_groups=groups, use_threads=False)

        options = Options(**reading.options)
        yield from unless_empty(Stream(self.path, Groups(Origin(Path(self.path)), options, PARQUET), options))


@dataclass(frozen=True)
class Partition:
    """A part of a Dask collection: ``X`` and ``y`` delayed, or a delayed data frame with the labels in a column."""

    number: int
    X: Any
    y: Any = None

    def __str__(self) -> str:
        return f"partition {self.number}"

    def chunks(self, reading: BlockReading) -> Iterator[Chunk]:
        """The rows, in one chunk, computed where they are asked for."""
        import dask

        X, y = dask.compute(self.X, self.y, scheduler="synchronous")
        if y is None and reading.label is not None:
            y = X[reading.label].to_numpy()
            X = X.drop(columns=[reading.label])
        if (len(X) if hasattr(X, "columns") else X.shape[0]) > 0:
            yield Chunk(X, None if y is None else np.asarray(y), 0)


def rows_of_block(block: Any, reading: BlockReading) -> Iterator[Chunk]:
    """The rows of a block, scaled."""
    for chunk in block.chunks(reading):
        if reading.scaler is None:
            yield chunk
        else:
            scaled = Chunk(reading.scaler.scaled(chunk.X), chunk.y, chunk.offset)
            scaled.weights = chunk.weights
            yield scaled


def rows_that_count(block: Any, reading: BlockReading) -> Iterator[Chunk]:
    """The same without rows of weight 0, which were never there: neither their labels nor their features are known."""
    for chunk in rows_of_block(block, reading):
        counting = None if chunk.weights is None else np.asarray(chunk.weights) != 0.0
        if counting is None or counting.all():
            yield chunk
        elif counting.any():
            some = Chunk(chunk.X[counting], None if chunk.y is None else np.asarray(chunk.y)[counting], chunk.offset)
            some.weights = np.asarray(chunk.weights)[counting]
            yield some


def unless_empty(stream: Stream) -> Iterator[Chunk]:
    """The chunks of a stream; a block without rows, of comments only, is none to complain about."""
    with suppress(NoRows):
        yield from stream


class LineRange(io.RawIOBase):
    """The lines of a file that begin in ``start..stop``, as a file of their own; behind a ``prefix``.

    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile() as file:
    ...     _ = file.write(b"one\\ntwo\\nthree")
    ...     file.flush()
    ...     LineRange(file.name, 0, 1).read(), LineRange(file.name, 1, 5).read(), LineRange(file.name, 5, 13).read()
    (b'one\\n', b'two\\n', b'three')
    """

    def __init__(self, path: str, start: int, stop: int, prefix: bytes = b"") -> None:
        self.name = path
        self._file = open(path, "rb")  # noqa: SIM115 (closed with this file)
        self._first = _line_after(self._file, start)
        last = _line_after(self._file, stop)
        self._left, self._prefix = max(0, last - self._first), prefix
        self._file.seek(self._first)

    @property
    def is_empty(self) -> bool:
        """Does no line begin there?"""
        return self._left == 0

    def lines_before(self) -> int:
        """How many lines of the file lie before the first of these."""
        count, left = 0, self._first
        with open(self.name, "rb") as file:
            while left > 0:
                read = file.read(min(left, 1 << 20))
                count, left = count + read.count(b"\n"), left - len(read)
        return count

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if self._prefix:
            got = min(len(buffer), len(self._prefix))
            buffer[:got], self._prefix = self._prefix[:got], self._prefix[got:]
            return got
        got = self._file.readinto(memoryview(buffer)[: min(len(buffer), self._left)]) or 0
        self._left -= got
        return got

    def close(self) -> None:
        self._file.close()
        super().close()


def _check_size(path: str, size: int | None) -> None:
    """Refuse a file that is another one here, or has changed."""
    found = size if size is None else os.stat(path).st_size
    if found != size:
        raise OSError(
            f"{path} has {found:,} bytes here, and had {size:,} when the run began: it must be the same file for all "
            "workers, and stay as it is"
        )


def _first_line(path: str) -> bytes:
    """The first line of CSV text that is not empty."""
    with open(path, "rb") as file:
        return next((line.rstrip(b"\n") + b"\n" for line in file if line.strip()), b"")


def _line_after(file: Any, place: int) -> int:
    """Where the first line begins that does not begin before a place."""
    if place <= 0:
        return 0
    size = os.fstat(file.fileno()).st_size
    position = place - 1
    file.seek(position)
    while position < size:
        found = file.read(LOOK_BYTES)
        if not found:
            break
        end = found.find(b"\n")
        if end >= 0:
            return int(position + end + 1)
        position += len(found)
    return size
