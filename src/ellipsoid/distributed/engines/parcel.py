"""A large model is broadcast to workers as one file that they can all read, instead of a copy inside each task.

A model inside a task is held by the scheduler, which can send it again after a loss; of a large one that would be a
copy for each task, through one process. So it is written once, and tasks are given its name and its SHA-256. A worker
keeps the last one that it has read.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from ellipsoid.streams.atomic import atomic_write

# Bytes up to which a model travels inside its tasks.
LARGE_MODEL = 32 << 20

_reading = threading.Lock()
_last: dict[str, Any] = {}


@dataclass(frozen=True)
class Parcel:
    """Where a model lies, and the SHA-256 of its bytes."""

    path: str
    digest: str

    def opened(self) -> Any:
        """The model, read unless it was the last one here."""
        with _reading:
            if self.digest not in _last:
                _last.clear()
                try:
                    data = Path(self.path).read_bytes()
                except OSError as error:
                    raise OSError(
                        f"the model of this round lies in {self.path}, which this worker cannot read: put the "
                        f"checkpoint into a folder that all workers share ({error})"
                    ) from error
                if hashlib.sha256(data).hexdigest() != self.digest:
                    raise OSError(f"{self.path} is not the model that was written there")
                _last[self.digest] = pickle.loads(data)
            return _last[self.digest]

    def discard(self) -> None:
        """Remove the file."""
        Path(self.path).unlink(missing_ok=True)


class _Hashed:
    """A file whose bytes are counted into a digest as they are written."""

    def __init__(self, file: IO[bytes]) -> None:
        self.file, self.sum = file, hashlib.sha256()

    def write(self, data: Any) -> int:
        self.sum.update(data)
        return self.file.write(data)


def is_large(value: Any) -> bool:
    """Would a value make a task of more than `LARGE_MODEL` bytes? Its arrays are not copied for the question."""
    arrays: list[Any] = []
    rest = pickle.dumps(value, protocol=5, buffer_callback=arrays.append)
    return len(rest) + sum(array.raw().nbytes for array in arrays) > LARGE_MODEL


def wrap(value: Any, folder: Any, key: str) -> Parcel:
    """Write a value to a file in a folder."""
    path = Path(folder).absolute() / f".{key}.parcel"
    with atomic_write(path, "wb") as file:
        writer = _Hashed(file)
        pickle.dump(value, writer, protocol=5)
    return Parcel(str(path), writer.sum.hexdigest())


def with_parcels(function: Callable[..., Any], args: tuple[Any, ...]) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """A task whose parcels are opened where it runs."""
    return (opening, (function, *args)) if any(isinstance(arg, Parcel) for arg in args) else (function, args)


def opening(function: Callable[..., Any], *args: Any) -> Any:
    """Call a function with what is in its parcels."""
    return function(*(arg.opened() if isinstance(arg, Parcel) else arg for arg in args))


def can_read(path: str) -> bool:
    """Is a file there, as seen from here?"""
    return os.path.exists(path)
