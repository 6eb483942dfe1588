"""Blocks: parts of the data that any worker can read by itself, without reading what comes before.

A block of text is ``(path, start, stop)``, the lines that *begin* in these bytes: its reader skips the rest of the line
before, and reads the last line to its end. A compressed file is one block; a block of a Parquet file is some of its row
groups, and a block of a Dask collection is a partition with the graph that computes it.
"""

import io
import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ellipsoid.streams.opening import open_stream
from ellipsoid.streams.readers.blocks import BYTE_ORDER_MARK
from ellipsoid.streams.readers.errors import LineError, NoRows
from ellipsoid.streams.stream import Chunk, Stream

# How many bytes are read at a time in search of the end of a line.
LOOK_BYTES = 1 << 16


@dataclass(frozen=True)
class BlockReading:
    """How blocks become rows: the same options of `open_stream` for all blocks, and a fitted scaler.

    ``label`` is the column of the labels of a data frame.
    """

    options: dict[str, Any] = field(default_factory=dict)
    scaler: Any = None
    label: Any = None


@dataclass(frozen=True)
class FileBlock:
    """The lines of a file that begin in ``start..stop``; all of it where ``stop`` is None.

    ``table_options`` are known from the beginning of a table and hold for all of its blocks: ``header`` and
    ``word_labels``. ``size`` is that of the file when the run began.
    """

    path: str
    start: int = 0
    stop: int | None = None
    size: int | None = None
    table_options: dict[str, Any] = field(default_factory=dict, hash=False)

    def __str__(self) -> str:
        return self.path if self.stop is None else f"{self.path}, bytes {self.start:,} to {self.stop:,}"

    @property
    def begins_a_line(self) -> bool:
        """Whether a line begins in these bytes."""
        if self.stop is None:
            return True
        with LineRange(self.path, self.start, self.stop) as lines:
            return not lines.is_empty

    def chunks(self, reading: BlockReading) -> Iterator[Chunk]:
        """The rows, in chunks."""
        _check_size(self.path, self.size)
        options = {**reading.options, **self.table_options, "threads": 0}
        if self.stop is None:
            yield from unless_empty(open_stream(self.path, **options))
            return
        prefix = b""
        if self.start > 0 and options["format"] == "csv":
            # The names of the columns and the delimiter are read from the first line of the file.
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
        """The rows in one chunk, computed by the process that asks for them."""
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
            yield Chunk(reading.scaler.scaled(chunk.X), chunk.y, chunk.offset, chunk.weights)


def rows_that_count(block: Any, reading: BlockReading) -> Iterator[Chunk]:
    """The same without rows of weight 0: their labels and features must have no effect."""
    for chunk in rows_of_block(block, reading):
        if chunk.weights is None:
            yield chunk
            continue
        weights = np.asarray(chunk.weights)
        counting = weights != 0.0
        if counting.all():
            yield chunk
        elif counting.any():
            y = None if chunk.y is None else np.asarray(chunk.y)[counting]
            yield Chunk(chunk.X[counting], y, chunk.offset, weights[counting])


def unless_empty(stream: Stream) -> Iterator[Chunk]:
    """The chunks of a stream; a block without rows, of comments for example, is no error."""
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
        """Whether no line begins there."""
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
    """Refuse a file that is a different one on this machine, or has changed."""
    found = size if size is None else os.stat(path).st_size
    if found != size:
        raise OSError(
            f"{path} has {found:,} bytes here, and had {size:,} when the run began: it must be the same file for all "
            "workers, and stay as it is"
        )


def _first_line(path: str) -> bytes:
    """The first line of CSV text that is not empty; a byte order mark may stand before empty ones."""
    with open(path, "rb") as file:
        if file.read(len(BYTE_ORDER_MARK)) != BYTE_ORDER_MARK:
            file.seek(0)
        return next((line.rstrip(b"\n") + b"\n" for line in file if line.strip(b"\r\n ")), b"")


def _line_after(file: Any, place: int) -> int:
    """The position of the first line that begins at ``place`` or later."""
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
