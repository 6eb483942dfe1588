"""Files written whole or not at all: a reader never sees half of one, and a failure leaves the old one."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any


def check_folder(path: str | os.PathLike[str]) -> None:
    """Raise ``OSError`` where no file can be written under this name."""
    folder = Path(path).parent
    if not folder.is_dir():
        raise FileNotFoundError(f"the folder of {path} does not exist; create it first")
    if not os.access(folder, os.W_OK):
        raise PermissionError(f"the folder of {path} cannot be written to; name another")


@contextmanager
def atomic_write(path: str | os.PathLike[str], mode: str = "w") -> Iterator[IO[Any]]:
    """Open a new file that takes the place of ``path`` only when the block ends without an error.

    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with atomic_write(Path(folder) / "labels.txt") as file:
    ...         _ = file.write("1")
    ...     os.listdir(folder)
    ['labels.txt']
    """
    target = Path(path)
    check_folder(target)
    encoding = None if "b" in mode else "utf-8"
    # In the target's own folder, because a rename is atomic only inside one file system.
    handle, temporary = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    try:
        with open(handle, mode, encoding=encoding) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        # mkstemp gives 0600; a result file is as readable as any other new file.
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(temporary, 0o666 & ~umask)
        os.replace(temporary, target)
        _sync_folder(target.parent)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _sync_folder(folder: Path) -> None:
    """After a rename the new name must reach the disk too, where the system lets a folder be opened (not Windows)."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(handle)
    except OSError:
        pass  # some network file systems cannot; the file itself is whole either way
    finally:
        os.close(handle)
