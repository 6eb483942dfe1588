"""Files compressed by gzip, bzip2, xz or Zstandard, known by their first bytes, whatever their names."""

from __future__ import annotations

import io
import lzma
import zlib
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

GZIP, BZIP2, XZ = b"\x1f\x8b", b"BZh", b"\xfd7zXZ\x00"
# A frame of data, and those of anything else, which may come first.
ZSTANDARD = b"\x28\xb5\x2f\xfd", *(b"%c\x2a\x4d\x18" % i for i in range(0x50, 0x60))
# The bytes that show how a file is compressed.
COMPRESSED = GZIP, BZIP2, XZ, *ZSTANDARD
MAGIC_BYTES = 16
# Compressed bytes read at once.
_PORTION = 1 << 18
# Blocks of Zstandard unpacked at once, each to at most 128 KiB.
_BLOCKS = 16
# A place behind all bytes.
_END = 1 << 62
# What decompressors raise on damaged bytes.
DAMAGE = (EOFError, OSError, zlib.error, lzma.LZMAError)
SUFFIXES = (".gz", ".bz2", ".xz", ".zst")


class Reader(io.RawIOBase):
    """A file that reads another, and closes it unless it was open before."""

    def __init__(self, file: Any, close: bool = True) -> None:
        self._file, self._close = file, close

    def readable(self) -> bool:
        return True

    def close(self) -> None:
        if self._close:
            self._file.close()
        super().close()


class _Frames(Reader):
    """Decompresses streams, or frames, one after another, which ``padding`` may follow. Unlike the readers of the
    libraries it reports damage behind the first frame, and a last one that is cut off, and does not take them for the
    end.
    """

    def __init__(self, file: Any, start: Callable[[], Any], padding: bytes = b"") -> None:
        super().__init__(file)
        self._start, self._frame, self._padding, self._ready = start, start(), padding, memoryview(b"")

    def readinto(self, buffer: Any) -> int:
        while not self._ready:
            data = b""
            if self._frame.eof:
                data = self._frame.unused_data.lstrip(self._padding)
                while not data:
                    read = self._file.read1(_PORTION)
                    if not read:
                        return 0
                    data = read.lstrip(self._padding)
                self._frame = self._start()
            elif self._frame.needs_input:
                data = self._file.read1(_PORTION)
                if not data:
                    raise EOFError("it ends in the middle of a compressed stream")
            self._ready = memoryview(self._frame.decompress(data, len(buffer)))
        got = min(len(buffer), len(self._ready))
        buffer[:got], self._ready = self._ready[:got], self._ready[got:]
        return got


class _ZstandardFrame:
    """A frame of Zstandard (RFC 8878) with the interface of the decompressors of Python.

    The library unpacks all that it is given, and a few bytes may hold megabytes: it is given a few blocks at a time.
    """

    needs_input = True

    def __init__(self) -> None:
        import zstandard

        self._frame, self._damage = zstandard.ZstdDecompressor().decompressobj(), zstandard.ZstdError
        # How many bytes were given, and where the next block begins; -1 before the header of the frame is known.
        self._data, self._given, self._next = b"", 0, -1

    @property
    def eof(self) -> bool:
        return bool(self._frame.eof)

    @property
    def unused_data(self) -> bytes:
        return bytes(self._frame.unused_data) + self._data[self._given :]

    def decompress(self, data: bytes, most: int) -> bytes:
        if data:
            self._data, self._next = self._data[self._given :] + data, self._next - self._given
            self._given = 0
        begin, end, stop = self._given, len(self._data), self._next
        if stop < 0:
            if end < 5:
                return b""
            stop = _first_block(self._data)
        for _ in range(_BLOCKS):
            if stop + 3 > end:
                break
            block = int.from_bytes(self._data[stop : stop + 3], "little")
            # A block that repeats one byte holds that byte alone. Behind the last one there may be a checksum.
            stop = _END if block & 1 else stop + 3 + (1 if block & 6 == 2 else block >> 3)
        self.needs_input, self._given, self._next = stop + 3 > end, min(stop, end), stop
        try:
            return bytes(self._frame.decompress(self._data[begin : self._given]))
        except self._damage as error:
            raise OSError(str(error)) from error


def _first_block(data: bytes) -> int:
    """Where the first block of a frame of Zstandard begins; other frames have none, and are unpacked to nothing."""
    flags = data[4]
    single = flags >> 5 & 1
    blocks = data.startswith(ZSTANDARD[0])
    return 6 - single + (0, 1, 2, 4)[flags & 3] + (single, 2, 4, 8)[flags >> 6] if blocks else _END


def decompressed(file: io.BufferedReader[Any], name: str) -> Any:
    """A reader of what a file holds decompressed; the file itself where it is not compressed."""
    head = file.peek(MAGIC_BYTES)[:MAGIC_BYTES]
    if head.startswith(GZIP):
        import gzip

        return gzip.GzipFile(fileobj=file)
    if head[:3] == BZIP2 and head[4:10] == b"1AY&SY":
        import bz2

        return _Frames(file, bz2.BZ2Decompressor, padding=b"\0")
    if head.startswith(XZ):
        return _Frames(file, lzma.LZMADecompressor, padding=b"\0")
    if head.startswith(ZSTANDARD):
        if not find_spec("zstandard"):
            raise ImportError(f"{name} is compressed with Zstandard; install the package zstandard to read it")
        return _Frames(file, _ZstandardFrame)
    return file


def stem(name: str) -> str:
    """A file's name in small letters, without the suffix of its compression.

    >>> stem("Train.SVM.gz")
    'train.svm'
    """
    name = name.lower()
    return next((name.removesuffix(suffix) for suffix in SUFFIXES if name.endswith(suffix)), name)
