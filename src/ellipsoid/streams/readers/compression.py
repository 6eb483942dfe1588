"""Files compressed by gzip, bzip2, xz or Zstandard, known by their first bytes, whatever their names."""

from __future__ import annotations

import io
import lzma
import zlib
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

GZIP, BZIP2, XZ, ZSTANDARD = COMPRESSED = (b"\x1f\x8b", b"BZh", b"\xfd7zXZ\x00", b"\x28\xb5\x2f\xfd")
# The bytes that show how a file is compressed.
MAGIC_BYTES = 16
# Compressed bytes read at once.
_PORTION = 1 << 18
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
        self._start, self._frame, self._padding, self._ready = start, start(), padding, b""

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
            self._ready = self._frame.decompress(data, len(buffer))
        got = min(len(buffer), len(self._ready))
        buffer[:got], self._ready = self._ready[:got], self._ready[got:]
        return got


class _ZstandardFrame:
    """A frame of Zstandard with the interface of the decompressors of Python."""

    needs_input = True

    def __init__(self) -> None:
        import zstandard

        self._frame, self._damage = zstandard.ZstdDecompressor().decompressobj(), zstandard.ZstdError

    def __getattr__(self, name: str) -> Any:
        return getattr(self._frame, name)

    def decompress(self, data: bytes, most: int) -> bytes:
        try:
            return bytes(self._frame.decompress(data))
        except self._damage as error:
            raise OSError(str(error)) from error


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
