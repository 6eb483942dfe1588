"""The file `journal.sqlite`: its tables, how it is opened, and how blocks of examples are written and read.

SQLite uses a write-ahead log (WAL) and waits for the disk at every commit (``synchronous=FULL``). It keeps no checksums
of stored data, so every block of examples has one.
"""

import sqlite3
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from ..problem import DamagedStore
from .rows import Rows, as_journalled, read_back

LAYOUT = 1
TABLES = """
CREATE TABLE IF NOT EXISTS models (id INTEGER PRIMARY KEY, name TEXT UNIQUE NOT NULL, body TEXT NOT NULL,
    champion TEXT NOT NULL, made REAL NOT NULL);
CREATE TABLE IF NOT EXISTS learners (model INTEGER NOT NULL, name TEXT NOT NULL, body TEXT NOT NULL,
    first INTEGER NOT NULL, made REAL NOT NULL, PRIMARY KEY (model, name));
CREATE TABLE IF NOT EXISTS blocks (number INTEGER PRIMARY KEY, model INTEGER NOT NULL, first INTEGER NOT NULL,
    rows INTEGER NOT NULL, time REAL NOT NULL, token TEXT NOT NULL, form TEXT NOT NULL, checksum INTEGER NOT NULL,
    y BLOB NOT NULL, x BLOB NOT NULL);
CREATE UNIQUE INDEX IF NOT EXISTS blocks_by_row ON blocks (model, first);
CREATE TABLE IF NOT EXISTS keys (model INTEGER NOT NULL, key TEXT NOT NULL, row INTEGER NOT NULL,
    PRIMARY KEY (model, key)) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS keys_by_row ON keys (model, row);
CREATE TABLE IF NOT EXISTS kept (model INTEGER NOT NULL, id TEXT NOT NULL, x BLOB NOT NULL, time REAL NOT NULL,
    token TEXT NOT NULL, predicted TEXT NOT NULL, doubt REAL NOT NULL, ask INTEGER, PRIMARY KEY (model, id));
CREATE INDEX IF NOT EXISTS kept_by_doubt ON kept (model, doubt DESC);
CREATE TABLE IF NOT EXISTS refused (model INTEGER NOT NULL, learner TEXT NOT NULL, row INTEGER NOT NULL,
    reason TEXT NOT NULL, PRIMARY KEY (model, learner, row));
CREATE TABLE IF NOT EXISTS gone (model INTEGER PRIMARY KEY, rows INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS asked (model INTEGER PRIMARY KEY, asked INTEGER NOT NULL, saved INTEGER NOT NULL,
    answered INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS history (model INTEGER NOT NULL, learner TEXT NOT NULL, t INTEGER NOT NULL,
    time REAL NOT NULL, errors INTEGER NOT NULL, windowed REAL NOT NULL, mistakes INTEGER NOT NULL,
    updates INTEGER NOT NULL, bound REAL, longest REAL, second REAL, PRIMARY KEY (model, learner, t)) WITHOUT ROWID;
"""


class JournalBlock(NamedTuple):
    """Examples of one request from number ``first`` of their stream on, which take about ``size`` bytes of memory."""

    first: int
    rows: Rows
    time: float
    token: str
    size: int = 0

    @property
    def end(self) -> int:
        """The number of the next example."""
        return self.first + len(self.rows.y)


def opened(path: Path, *, write: bool = False) -> sqlite3.Connection:
    """A connection to the journal; one that writes makes the tables."""
    if not write and not path.is_file():
        raise FileNotFoundError(f"there is no store with a journal at {path.parent}")
    # Another process may be backing the journal up, or replaying it: wait for it rather than fail.
    try:
        connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=10.0)
    except sqlite3.OperationalError as error:
        raise OSError(
            f"{path} cannot be opened: {error}; check that it is a file and that you may write to it"
        ) from error
    try:
        if write:
            # The page size holds for a new journal; larger pages are read quicker, smaller ones written quicker.
            connection.execute("PRAGMA page_size = 8192")
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("PRAGMA wal_autocheckpoint = 4000")
            connection.executescript(f"BEGIN IMMEDIATE; {TABLES} COMMIT;")
        else:
            connection.execute("PRAGMA query_only = ON")
        layout = connection.execute("PRAGMA user_version").fetchone()[0]
        if layout > LAYOUT:
            raise DamagedStore(f"{path} has layout {layout}; this ellipsoid reads up to {LAYOUT}. Update ellipsoid")
        if write and layout < LAYOUT:
            connection.execute(f"PRAGMA user_version = {LAYOUT}")
    except sqlite3.DatabaseError as error:
        connection.close()
        if isinstance(error, sqlite3.OperationalError) and "malformed" not in str(error):
            raise OSError(f"{path} cannot be used: {error}") from error
        raise DamagedStore(f"{path} is damaged: {error}; the page on operations says what can be saved") from error
    except BaseException:
        connection.close()
        raise
    return connection


def insert_block(connection: sqlite3.Connection, model: int, block: JournalBlock) -> None:
    """Write a block of a model."""
    form, x, y = as_journalled(block.rows)
    count = len(block.rows.y)
    checksum = _checksum(model, block.first, count, form, x, y)
    connection.execute(
        "INSERT INTO blocks (model, first, rows, time, token, form, checksum, y, x) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (model, block.first, count, block.time, block.token, form, checksum, y, x),
    )


def blocks_after(
    connection: sqlite3.Connection, model: int, row: int, until: int | None = None
) -> Iterator[JournalBlock]:
    """The blocks with the examples ``row`` to ``until - 1``; `DamagedStore` at one that is damaged or missing."""
    found = connection.execute("SELECT max(first) FROM blocks WHERE model = ? AND first <= ?", (model, row)).fetchone()
    expected = start = found[0] if found[0] is not None else row
    try:
        for first, count, time, token, form, checksum, y, x in connection.execute(
            "SELECT first, rows, time, token, form, checksum, y, x FROM blocks WHERE model = ? AND first >= ? "
            "AND first < ? ORDER BY first",
            (model, start, 2**62 if until is None else until),
        ):
            if first != expected:
                raise _damage(model, expected, f"examples {expected:,} to {first - 1:,} are missing")
            if checksum != _checksum(model, first, count, form, x, y):
                raise _damage(model, first, f"the block of examples {first:,} to {first + count - 1:,} was changed")
            expected = first + count
            if expected > row:
                yield JournalBlock(first, read_back(form, x, y), time, token)
    except sqlite3.DatabaseError as error:
        raise _damage(model, expected, f"{error} after example {expected:,}") from error


def _damage(model: int, row: int, what: str) -> DamagedStore:
    return DamagedStore(f"the journal of model {model} is damaged: {what}. The {row:,} examples before it are intact")


def _checksum(model: int, first: int, count: int, form: str, x: bytes, y: bytes) -> int:
    return zlib.crc32(y, zlib.crc32(x, zlib.crc32(f"{model} {first} {count} {form} {len(x)}\n".encode())))


def first_and_last(connection: sqlite3.Connection, model: int) -> tuple[int, int]:
    """The number of the oldest example that the journal holds, and of the next one to come."""
    gone = connection.execute("SELECT rows FROM gone WHERE model = ?", (model,)).fetchone()
    last = connection.execute(
        "SELECT first + rows FROM blocks WHERE model = ? ORDER BY first DESC LIMIT 1", (model,)
    ).fetchone()
    oldest = 0 if gone is None else int(gone[0])
    return oldest, oldest if last is None else int(last[0])


def model_row(connection: sqlite3.Connection, name: str) -> tuple[Any, ...] | None:
    """id, body and champion of a model."""
    return connection.execute("SELECT id, body, champion FROM models WHERE name = ?", (name,)).fetchone()
