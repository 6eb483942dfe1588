"""The layout of a model file: a version, a header and arrays under one checksum, whatever learner they are of.

A model file is a safetensors file: a length, a JSON table of contents, raw little-endian arrays. Its metadata hold

    ellipsoid   the version of the layout, "1"
    header      a JSON object that describes the arrays
    sha256      of the header's text and of every array in the order of their names: for each the line
                "\\n<name> <type> <n1>,<n2>,...\\n" (type as safetensors spells it: F64, I64), then its bytes

The checksum detects damage, not malice: whoever forges a file can forge the checksum too. Types, and the shapes of
arrays without entries, are limited here; `soundness` checks whether the arrays can be those of a model.
"""

import hashlib
import json
import os
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ellipsoid.representation.table_protocol import StoredArrays
from ellipsoid.streams.atomic import atomic_write

VERSION = 1

# An array without entries costs a forger nothing, whatever shape it claims.
WIDEST_EMPTY = 1 << 24

# The largest table of contents that safetensors reads, in bytes.
MOST_CONTENTS = 100_000_000

FLOATS = {"F64": np.float64, "F32": np.float32, "F16": np.float16}
INTEGERS = {"I64": np.int64, "I32": np.int32, "I16": np.int16, "I8": np.int8, "U8": np.uint8}
SPELLINGS = {np.dtype(kind): name for name, kind in (FLOATS | INTEGERS).items()}


class DamagedModel(ValueError):
    """A file that is damaged, changed, or of a version that this library cannot read."""


class Content(NamedTuple):
    """The content of a model file: floats as float64, integers as int64, whatever they were stored as."""

    version: int
    header: dict[str, Any]
    arrays: StoredArrays
    sha256: str


def write(path: Any, header: dict[str, Any], arrays: StoredArrays) -> None:
    """Write a file of the current version, atomically: a crash or a kill leaves the old one intact."""
    with atomic_write(path, "wb") as file:
        for piece in pieces(header, arrays):
            file.write(piece)


def encode(header: dict[str, Any], arrays: StoredArrays) -> bytes:
    """The bytes of a file, the same for the same content, which the writer of safetensors does not promise."""
    return b"".join(pieces(header, arrays))


def pieces(header: dict[str, Any], arrays: StoredArrays) -> list[Any]:
    """The parts of a file, one after another; the arrays are not copied."""
    text = json.dumps(header, sort_keys=True)
    contents: dict[str, Any] = {
        "__metadata__": {"ellipsoid": str(VERSION), "header": text, "sha256": checksum(text, arrays)}
    }
    parts: list[memoryview] = []
    end = 0
    for name in sorted(arrays):
        array = arrays[name]
        parts.append(_bytes_of(array))
        start, end = end, end + len(parts[-1])
        kind = SPELLINGS[array.dtype.newbyteorder("=")]
        contents[name] = {"dtype": kind, "shape": list(array.shape), "data_offsets": [start, end]}
    top = json.dumps(contents).encode()
    top += b" " * (-len(top) % 8)
    return [len(top).to_bytes(8, "little"), top, *parts]


def read(path: Any) -> Content:
    """Read a file of any version so far, or raise `DamagedModel` (`OSError` if there is no file)."""
    from safetensors import SafetensorError, safe_open

    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"there is no model file {path}")
    _check_size(path)
    try:
        with safe_open(path, framework="numpy") as file:
            metadata = file.metadata() or {}
            version = _version(path, metadata)
            text, sha256 = metadata["header"], metadata["sha256"]
            arrays = {name: _array(file, name) for name in file.keys()}  # noqa: SIM118
        if checksum(text, arrays) != sha256:
            raise ValueError("its checksum does not agree with its content")
        header = json.loads(text)
        if not isinstance(header, dict):
            raise ValueError("its header is not a JSON object")
    except DamagedModel:
        raise
    except KeyError as error:
        raise DamagedModel(f"{path} is not a model file of ellipsoid: it has no {error}") from error
    except (SafetensorError, TypeError, ValueError, AttributeError, OverflowError, RecursionError) as error:
        raise DamagedModel(f"{path} is not a model file of ellipsoid, or is damaged: {error}") from error
    except MemoryError as error:
        raise DamagedModel(f"{path} needs more memory than there is") from error
    wide = {n: a.astype(np.float64 if a.dtype.kind == "f" else np.int64, copy=False) for n, a in arrays.items()}
    return Content(version, header, wide, sha256)


def checksum(text: str, arrays: StoredArrays) -> str:
    """SHA-256 over the header's text and the arrays, the same on every platform."""
    digest = hashlib.sha256(text.encode())
    for name in sorted(arrays):
        array = arrays[name]
        kind = SPELLINGS[array.dtype.newbyteorder("=")]
        digest.update(f"\n{name} {kind} {','.join(map(str, array.shape))}\n".encode())
        digest.update(_bytes_of(array))
    return digest.hexdigest()


def _bytes_of(array: NDArray[Any]) -> memoryview:
    little = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
    return little.reshape(-1).view(np.uint8).data


def _check_size(path: Path) -> None:
    """Raise `DamagedModel` for a file that is cut short, or that was changed in a way safetensors does not notice."""
    size = os.path.getsize(path)
    with open(path, "rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if size < 8 or 8 + length > size:
            raise DamagedModel(f"{path} is not a model file of ellipsoid, or is cut short: it has only {size} bytes")
        # JSON ignores these characters between its parts, and so would the checksum; no writer puts them there.
        contents = file.read(min(length, MOST_CONTENTS))
        if any(mark in contents for mark in (b"\t", b"\n", b"\r")):
            raise DamagedModel(
                f"{path} is not a model file of ellipsoid, or is damaged: its contents are not on one line"
            )


def _version(path: Path, metadata: dict[str, str]) -> int:
    version = int(metadata["ellipsoid"])
    if version > VERSION:
        raise DamagedModel(
            f"{path} has version {version} of the layout of model files; this ellipsoid reads versions up to "
            f"{VERSION}. Update ellipsoid"
        )
    if version < 1:
        raise ValueError(f"there is no version {version}")
    return version


def _array(file: Any, name: str) -> NDArray[Any]:
    part = file.get_slice(name)
    kind, shape = part.get_dtype(), part.get_shape()
    if kind not in FLOATS and kind not in INTEGERS:
        raise ValueError(f"its array {name!r} is of type {kind}; it may be one of {', '.join(FLOATS | INTEGERS)}")
    if 0 in shape and max(shape) > WIDEST_EMPTY:
        raise ValueError(f"its array {name!r} has no entries but claims the shape {tuple(shape)}")
    return file.get_tensor(name)
