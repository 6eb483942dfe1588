"""Parcels: large models that are sent to workers as one file that they can all read, instead of inside each task.

A small model travels inside its tasks: the scheduler holds it, and can send it again after a loss. A large one would be
copied for every task through one process. So it is written to a file once, and tasks get the path and the SHA-256. A
worker keeps the last model that it has read.
"""

import hashlib
import os
import pickle
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from ellipsoid.streams.atomic import atomic_write

# The most bytes of a model that travels inside its tasks.
LARGE_MODEL = 32 << 20

_reading = threading.Lock()
_last: dict[str, Any] = {}


@dataclass(frozen=True)
class Parcel:
    """The file of a model, and the SHA-256 of its bytes."""

    path: str
    digest: str

    def opened(self) -> Any:
        """The model; it is read unless it is the last one that this process has read."""
        with _reading:
            if self.digest not in _last:
                _last.clear()
                try:
                    data = Path(self.path).read_bytes()
                except OSError as error:
                    raise OSError(
                        f"the model of this round lies in {self.path}, which this worker cannot read: put the "
                        f"checkpoint in a folder that all workers share ({error})"
                    ) from error
                if hashlib.sha256(data).hexdigest() != self.digest:
                    raise OSError(
                        f"{self.path} does not hold the model that was written there; another run may use the same file"
                    )
                _last[self.digest] = pickle.loads(data)
            return _last[self.digest]

    def discard(self) -> None:
        """Remove the file."""
        Path(self.path).unlink(missing_ok=True)


class _Hashed:
    """A file whose SHA-256 is computed as it is written."""

    def __init__(self, file: IO[bytes]) -> None:
        self.file, self.sum = file, hashlib.sha256()

    def write(self, data: Any) -> int:
        self.sum.update(data)
        return self.file.write(data)


def is_large(value: Any) -> bool:
    """Whether a value has more than `LARGE_MODEL` bytes when pickled; its arrays are not copied to find out."""
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
    """The same task, but opening its parcels on the worker."""
    return (opening, (function, *args)) if any(isinstance(arg, Parcel) for arg in args) else (function, args)


def opening(function: Callable[..., Any], *args: Any) -> Any:
    """Call a function with the contents of its parcels."""
    return function(*(arg.opened() if isinstance(arg, Parcel) else arg for arg in args))


def can_read(path: str) -> bool:
    """Whether this process sees the file."""
    return os.path.exists(path)
