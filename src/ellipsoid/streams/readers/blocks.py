"""Text in blocks of whole lines, from a file, a pipe or an open file, compressed or not, in constant memory.

A line that crosses the end of a block is carried over to the next, so that no scanner sees half of one. Blocks are
filled also from a pipe that delivers less at a time: what the first block shows does not depend on who writes the pipe.
"""

import io
import os
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np

from ellipsoid.engine.native.text_words import WINDOW

from .compression import COMPRESSED, DAMAGE, MAGIC_BYTES, Reader, decompressed

# Smaller ones cost more in handing over than they save (docs/decisions/0021).
BLOCK_BYTES = 1 << 21
# Bytes read to find out the format.
PEEK = 1 << 18
LONGEST_LINE = 1 << 28
# Scanners read windows of bytes, also after the last line.
SLACK = 2 * WINDOW

# What binary tables begin with, Arrow's as a file and as a stream.
BINARY = (b"ARROW1", b"\xff\xff\xff\xff", b"PAR1")
# What some editors put before text.
BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class TextBlock(NamedTuple):
    """Whole lines: ``raw[:stop]`` ends with a line feed. It is overwritten by a later block."""

    raw: bytearray
    stop: int

    @property
    def text(self) -> Any:
        """The bytes as an array."""
        return np.frombuffer(self.raw, dtype=np.uint8)


class Origin:
    """Where bytes come from: a path, ``"-"`` for standard input, or an open binary file.

    >>> origin = Origin(io.BytesIO(b"one\\ntwo"))
    >>> [bytes(block.raw[: block.stop]) for block in origin.blocks()]
    [b'one\\ntwo\\n']
    """

    def __init__(self, source: str | os.PathLike[str] | IO[bytes]) -> None:
        self.path = None if source == "-" or not isinstance(source, str | os.PathLike) else Path(source)
        self._file: IO[bytes] | None = None
        if self.path is not None:
            self.name, self.bytes_total = str(self.path), self._size(self.path)
        else:
            self._file = _standard_input() if isinstance(source, str | os.PathLike) else source
            self.name, self.bytes_total = "standard input" if source == "-" else _name(self._file), None
        self._begun = self._packed = False
        self._raw: _Counted | None = None
        self._opened: Any = None
        self._filled = 0

    @staticmethod
    def _size(path: Path) -> int | None:
        if not path.exists():
            raise FileNotFoundError(f"no file {str(path)!r}")
        if path.is_dir():
            raise IsADirectoryError(f"{path} is a folder; name a file in it")
        return path.stat().st_size if path.is_file() else None

    @property
    def bytes_read(self) -> int:
        """Bytes taken from the file or the pipe in this pass, compressed ones where it is compressed."""
        return self._raw.count if self._raw else 0

    @property
    def blocks_left(self) -> int | None:
        """How many more blocks this pass will need; None where the size of the text is unknown."""
        left = self._left(self._filled)
        return None if left is None else -(-left // BLOCK_BYTES)

    def peek(self) -> bytes:
        """The first bytes, decompressed; `open` begins with them again."""
        self._opened = self.open()
        try:
            return bytes(self._opened.peek(PEEK)[:PEEK])
        except DAMAGE as error:
            raise ValueError(f"{self.name}: the bytes cannot be read: {error}") from error

    def close(self) -> None:
        """Close what `peek` has opened, where nobody goes on to read it: the file itself, which gzip leaves open."""
        if self._raw is not None:
            self._raw.close()

    def open(self) -> Any:
        """A new reader of the bytes, decompressed, from the beginning."""
        if self._opened is not None:
            opened, self._opened = self._opened, None
            return opened
        if self.path is None:
            if self._begun:
                raise ValueError(f"{self.name} can be read only once; write it to a file to read it several times")
            self._begun = True
        file: Any = open(self.path, "rb", buffering=0) if self.path is not None else self._file  # noqa: SIM115
        self._raw = _Counted(file, close=self.path is not None)
        plain = io.BufferedReader(_WholeHead(self._raw), buffer_size=PEEK)
        bytes_ = decompressed(plain, self.name)
        self._packed = bytes_ is not plain
        return plain if bytes_ is plain else io.BufferedReader(_WholeHead(bytes_), buffer_size=PEEK)

    def blocks(self, at_once: int = 1) -> Iterator[TextBlock]:
        """The bytes as blocks of whole lines; the last line need not end with a line feed.

        A block is overwritten by the one that comes ``at_once`` after it.
        """
        buffers = [bytearray()] * at_once
        turn, have, past = 0, 0, 0
        with closing(self.open()) as file:
            buffer = buffers[0] = bytearray(self._room(0) + SLACK)
            while True:
                room = len(buffer) - SLACK
                have, ended = self._fill(file, buffer, have, room)
                self._filled = past + have
                if ended:
                    if have and buffer[have - 1] != 10:
                        buffer[have : have + 1] = b"\n"
                        have += 1
                    if have:
                        yield TextBlock(buffer, have)
                    return
                stop = buffer.rfind(b"\n", 0, have) + 1
                if stop:
                    yield TextBlock(buffer, stop)
                    past += stop
                    rest = buffer[stop:have]
                    turn, have = (turn + 1) % at_once, len(rest)
                    size = max(self._room(past), 2 * have) + SLACK
                    # Memory that a long line has taken is given back after it.
                    if not size <= len(buffers[turn]) <= 2 * size:
                        buffers[turn] = bytearray(size)
                    buffer = buffers[turn]
                    buffer[:have] = rest
                elif room >= LONGEST_LINE:
                    raise ValueError(f"{self.name}: the line after byte {past} is longer than {LONGEST_LINE >> 20} MiB")
                else:
                    # A new one: an array may still look at the old one, which then cannot change its size.
                    buffer = buffers[turn] = buffer[:have] + bytearray(2 * room + SLACK - have)

    def _room(self, past: int) -> int:
        """Bytes for a block that begins after ``past``: no more than are left, and one more that finds the end."""
        left = self._left(past)
        return min(BLOCK_BYTES, left + 1) if left else BLOCK_BYTES

    def _left(self, past: int) -> int | None:
        """Bytes of the file after ``past``; None if its size is unknown, as where the system makes it meanwhile."""
        return max(0, self.bytes_total - past) if self.bytes_total and not self._packed else None

    def _fill(self, file: Any, buffer: bytearray, have: int, room: int) -> tuple[int, bool]:
        with memoryview(buffer) as view:
            while have < room:
                try:
                    got = file.readinto(view[have:room])
                except (ValueError, *DAMAGE) as error:
                    raise ValueError(f"{self.name}: the bytes cannot be read: {error}") from error
                if not got:
                    return have, True
                have += got
        return have, False


class _Counted(Reader):
    """Counts the bytes read from a file."""

    count = 0

    def readinto(self, buffer: Any) -> int:
        if hasattr(self._file, "readinto"):
            got = self._file.readinto(buffer) or 0
        else:
            data = self._file.read(len(buffer))
            got = len(data)
            buffer[:got] = data
        self.count += got
        return int(got)


class _WholeHead(Reader):
    """Gives as many of the first bytes together as it takes to know the format, however few a pipe gives at a time;
    leaves out a byte order mark.
    """

    _begun = False

    def readinto(self, buffer: Any) -> int:
        got: int = self._file.readinto(buffer)
        if self._begun:
            return got
        self._begun, more, view = True, got, memoryview(buffer)
        while more and got < len(view):
            seen = got - more
            if got >= MAGIC_BYTES and (seen < MAGIC_BYTES or 10 in view[seen:got]) and _shows_format(bytes(view[:got])):
                break
            more = self._file.readinto(view[got:])
            got += more
        if view[: len(BYTE_ORDER_MARK)] == BYTE_ORDER_MARK:
            got -= len(BYTE_ORDER_MARK)
            view[:got] = bytes(view[len(BYTE_ORDER_MARK) : len(BYTE_ORDER_MARK) + got])
        return got


def _shows_format(head: bytes) -> bool:
    """Is there a whole line that is neither blank nor a comment, or the beginning of a format without lines?"""
    lines = (line.lstrip() for line in head.removeprefix(BYTE_ORDER_MARK).split(b"\n")[:-1])
    return head.startswith((*COMPRESSED, *BINARY)) or any(line and not line.startswith(b"#") for line in lines)


def _standard_input() -> Any:
    if sys.stdin is None:
        raise ValueError("standard input is closed; pipe the stream into it, or name a file")
    # Unbuffered: a thread that waits for a pipe in the buffer would hold its lock when the program is to end.
    return getattr(sys.stdin.buffer, "raw", sys.stdin.buffer)


def _name(file: Any) -> str:
    name = getattr(file, "name", None)
    return name if isinstance(name, str) else "the open file"
