"""Atomic writing of files: a reader never sees half of one, and a failure leaves the old one.

A new file takes the place of the old one with the same mode, and the same owner where the system permits. A symbolic
link stays one, and what it points to is replaced. What is no regular file (a pipe, a terminal, /dev/stdout) is written
into.
"""

import errno
import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

# Errors of writing, which come without the name of the file.
_NO_ROOM = (errno.ENOSPC, errno.EFBIG, errno.EDQUOT)


def check_folder(path: str | os.PathLike[str]) -> None:
    """Raise ``OSError`` where no file can be written under this name."""
    if _is_special(path):
        if not os.access(path, os.W_OK):
            raise PermissionError(f"{path} cannot be written to; name another file")
        return
    target = _resolved(path)
    if target.is_dir():
        raise IsADirectoryError(f"{path} is a folder; name a file in it")
    if not target.parent.is_dir():
        raise FileNotFoundError(f"the folder of {path} does not exist; create it first")
    if not os.access(target.parent, os.W_OK):
        raise PermissionError(f"the folder of {path} cannot be written to; name another folder")


@contextmanager
def atomic_write(path: str | os.PathLike[str], mode: str = "w") -> Iterator[IO[Any]]:
    """Open a new file that takes the place of ``path`` only when the block ends without an error.

    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with atomic_write(Path(folder) / "labels.txt") as file:
    ...         _ = file.write("1")
    ...     os.listdir(folder)
    ['labels.txt']
    """
    check_folder(path)
    encoding = None if "b" in mode else "utf-8"
    if _is_special(path):
        with open(path, mode, encoding=encoding) as file:
            yield file
        return
    target = _resolved(path)
    # In the target's own folder, because a rename is atomic only inside one file system.
    handle, temporary = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    try:
        with open(handle, mode, encoding=encoding) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        _copy_mode(temporary, target)
        os.replace(temporary, target)
        _sync_folder(target.parent)
    except BaseException as error:
        Path(temporary).unlink(missing_ok=True)
        if isinstance(error, OSError) and error.errno in _NO_ROOM and error.filename is None:
            error.filename = os.fspath(path)
        raise


def _is_special(path: str | os.PathLike[str]) -> bool:
    """Whether the name is that of a pipe, a device, or a file that a process holds open."""
    if os.fsdecode(path).startswith(("/dev/fd/", "/dev/stdout", "/dev/stderr", "/proc/")):
        return os.path.exists(path)
    try:
        kind = os.stat(path).st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(kind) or stat.S_ISDIR(kind))


def _resolved(path: str | os.PathLike[str]) -> Path:
    return Path(os.fsdecode(os.path.realpath(path) if os.path.islink(path) else path))


def _copy_mode(temporary: str, target: Path) -> None:
    """Give the temporary file mode and owner of the target, or the mode of any new file: mkstemp gives 0600."""
    try:
        old = target.stat()
    except FileNotFoundError:
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(temporary, 0o666 & ~umask)
        return
    mine = os.stat(temporary)
    if (old.st_uid, old.st_gid) != (mine.st_uid, mine.st_gid):
        with suppress(OSError, AttributeError):  # only root may give files away, and Windows has no owners
            os.chown(temporary, old.st_uid, old.st_gid)
    os.chmod(temporary, stat.S_IMODE(old.st_mode) & 0o777)


def _sync_folder(folder: Path) -> None:
    """Write a renamed file's new name to the disk, where a folder can be opened (not on Windows)."""
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
