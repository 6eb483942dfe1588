"""Tokens, by which callers are identified, and their roles; a file keeps only names, roles and hashes.

A token is ``NAME.SECRET`` with a secret of 256 bits; the file has a line of JSON for each, with the scrypt hash of the
secret. Roles are ordered: each may do what those before it may.
"""

import fcntl
import hashlib
import hmac
import json
import os
import re
import secrets
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from ellipsoid.streams.atomic import atomic_write

from ..messages import NAME

ROLES = ("read", "predict", "label", "learn", "admin")
# These cost 16 MiB and some tens of milliseconds for each guess.
_SCRYPT = {"n": 1 << 14, "r": 8, "p": 1}


class Holder(NamedTuple):
    """The holder of a token: a name and a role."""

    name: str
    role: str

    def may(self, role: str) -> bool:
        """Is the holder's role this one or a higher one?"""
        return ROLES.index(self.role) >= ROLES.index(role)


# The holder of every request to a service without tokens.
EVERYBODY = Holder("", "admin")


class Tokens:
    """The tokens of a file, which is read again when it changes."""

    def __init__(self, path: Path) -> None:
        self.path = Path(path)
        self._stamp: tuple[int, int, int] | None = None
        self._entries: dict[str, dict[str, str]] = {}
        # Digests of tokens that were found valid, so that scrypt is computed once for each.
        self._good: dict[bytes, Holder] = {}
        self._lock = threading.Lock()
        self.refresh()

    def refresh(self) -> None:
        """Read the file, if it has changed."""
        status = self.path.stat()
        stamp = (status.st_mtime_ns, status.st_size, status.st_ino)
        if stamp != self._stamp:
            entries = _entries(self.path)
            with self._lock:
                same = {name for name, entry in entries.items() if entry == self._entries.get(name)}
                self._good = {token: holder for token, holder in self._good.items() if holder.name in same}
                self._entries, self._stamp = entries, stamp

    def entry(self, name: str) -> dict[str, str] | None:
        """The entry of a name in the file now, None if there is none. It differs when role or secret are changed."""
        self.refresh()
        return self._entries.get(name)

    def known(self, token: str) -> Holder | None:
        """The holder of a token that was checked before; quick."""
        return self._good.get(_digest(token))

    def check(self, token: str) -> Holder | None:
        """The holder of a token, None if it is not valid; takes as long as scrypt does, also for an unknown name."""
        name, _, secret = token.partition(".")
        with self._lock:
            entry = self._entries.get(name)
        salt = bytes.fromhex(entry["salt"]) if entry else b"\0" * 16
        wanted = bytes.fromhex(entry["hash"]) if entry else b"\0" * 32
        good = hmac.compare_digest(_hash(secret, salt), wanted)
        if not (good and entry):
            return None
        holder = Holder(name, entry["role"])
        with self._lock:
            if self._entries.get(name) == entry:
                self._good[_digest(token)] = holder
        return holder


def add_token(path: Path, name: str, role: str) -> str:
    """Make a token, write its hash to the file, and return it; it cannot be recovered from the file."""
    if not re.fullmatch(NAME, name):
        raise ValueError(f"the name of a token must be 1 to 64 letters, digits, - or _, got {name!r}")
    if role not in ROLES:
        raise ValueError(f"role must be one of {', '.join(ROLES)}, got {role!r}")
    secret, salt = secrets.token_urlsafe(32), secrets.token_bytes(16)
    with _locked_folder(path):
        entries = _entries(path) if path.exists() else {}
        if name in entries:
            raise ValueError(f"there is already a token {name!r}; remove it first, or choose another name")
        entries[name] = {"name": name, "role": role, "salt": salt.hex(), "hash": _hash(secret, salt).hex()}
        _write(path, entries)
    return f"{name}.{secret}"


def remove_token(path: Path, name: str) -> None:
    """Remove a token from the file; it is refused from the next request on."""
    with _locked_folder(path):
        entries = _entries(path)
        if name not in entries:
            raise ValueError(f"there is no token {name!r}; there are {', '.join(entries) or 'none'}")
        del entries[name]
        _write(path, entries)


@contextmanager
def _locked_folder(path: Path) -> Iterator[None]:
    """Lock the folder of a file, so that two changes at once do not undo each other."""
    folder = os.open(Path(path).absolute().parent, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)


def listed_tokens(path: Path) -> list[Holder]:
    """Names and roles."""
    return [Holder(entry["name"], entry["role"]) for entry in _entries(path).values()]


def _write(path: Path, entries: dict[str, dict[str, str]]) -> None:
    fresh = not path.exists()
    with atomic_write(path) as file:
        file.writelines(json.dumps(entry) + "\n" for entry in entries.values())
    if fresh:
        path.chmod(0o600)


def _entries(path: Path) -> dict[str, dict[str, str]]:
    entries = {}
    for number, line in enumerate(path.read_text("utf-8", "replace").splitlines(), start=1):
        if not line.strip():
            continue
        try:
            entry = json.loads(line)
            name, role = entry["name"], entry["role"]
            bytes.fromhex(entry["salt"]), bytes.fromhex(entry["hash"])
            if not isinstance(name, str) or role not in ROLES:
                raise ValueError(f"role must be one of {', '.join(ROLES)}")
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(f"{path}, line {number}: this line holds no valid token: {error}") from error
        entries[name] = entry
    return entries


def _hash(secret: str, salt: bytes) -> bytes:
    return hashlib.scrypt(secret.encode("utf-8", "surrogateescape"), salt=salt, dklen=32, **_SCRYPT)


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()
