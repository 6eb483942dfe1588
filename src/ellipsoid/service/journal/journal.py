"""The thread that writes the journal: whatever has arrived while the disk was busy is committed together.

A ``Write`` is applied inside a transaction with others, and learns how it ended after the commit, when the disk has it.
Where a commit fails, the writes of its group are tried one by one, so that a large one does not make the small ones
beside it fail; what cannot be written is answered by 507, and the next one is tried anew.
"""

import logging
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from ..problem import CallProblem
from .database import opened
from .schema import Schema
from .writes import Write

_log = logging.getLogger("ellipsoid.service")

# The most writes, and about the most bytes, of one commit.
MOST_WRITES = 1024
LARGEST_GROUP = 1 << 26


class Journal:
    """The writing connection and its thread; ``group_seconds`` is how long a commit waits for more writes."""

    def __init__(self, path: Path, *, most_waiting: int = 1024, group_seconds: float = 0.0) -> None:
        self.path, self.most_waiting, self.group_seconds = path, most_waiting, group_seconds
        self.connection = opened(path, write=True)
        # Why the last commit failed, None if it did not.
        self.fault: str | None = None
        self.observe: Callable[[float, int], None] = lambda seconds, writes: None
        self._waiting: deque[Write] = deque()
        self._bytes = 0
        self._ready = threading.Condition()
        self._closing = False
        self._thread = threading.Thread(target=self._run, name="ellipsoid journal", daemon=True)

    def start(self) -> None:
        """Begin to write."""
        self._thread.start()

    @property
    def waiting(self) -> int:
        """The number of writes that no commit has taken up yet."""
        return len(self._waiting)

    def submit(self, write: Write, *, urgent: bool = False) -> None:
        """Queue a write, or raise `CallProblem` 429 where too much is waiting; an ``urgent`` one is always taken."""
        with self._ready:
            if self._closing:
                raise CallProblem(503, "the service is stopping; try again when it is running again", retry_after=5)
            full = len(self._waiting) >= self.most_waiting or self._bytes > LARGEST_GROUP
            if full and not urgent:
                raise CallProblem(429, "too much is waiting to be written; try again in a second", retry_after=1)
            self._waiting.append(write)
            self._bytes += write.size
            self._ready.notify()

    def close(self) -> None:
        """Write what is waiting, and stop."""
        with self._ready:
            self._closing = True
            self._ready.notify()
        if self._thread.is_alive():
            self._thread.join()
        self.connection.close()

    def _run(self) -> None:
        while writes := self._take():
            began = time.perf_counter()
            self._write(writes)
            self.observe(time.perf_counter() - began, len(writes))

    def _take(self) -> list[Write]:
        """The next group; empty at the end."""
        with self._ready:
            while not self._waiting and not self._closing:
                self._ready.wait()
            if self.group_seconds and not self._closing:
                self._ready.wait(self.group_seconds)
            taken: list[Write] = []
            size = 0
            while self._waiting and len(taken) < MOST_WRITES and (not taken or size < LARGEST_GROUP):
                taken.append(self._waiting.popleft())
                size += taken[-1].size
            self._bytes -= size
            return taken

    def _write(self, writes: list[Write]) -> None:
        try:
            ended = self._commit(writes)
        except Exception as error:
            if len(writes) > 1:
                for write in writes:
                    self._write([write])
                return
            self._fail(writes[0], error)
            return
        self.fault = None
        for write, answer in ended:
            if isinstance(answer, CallProblem):
                write.failed(answer)
            else:
                write.written(answer)
        for stream in {id(stream): stream for write in writes if (stream := write.stream) is not None}.values():
            stream.flush()

    def _commit(self, writes: Iterable[Write]) -> list[tuple[Write, Any]]:
        touched: dict[int, Schema] = {}

        def schemas(schema: Schema) -> Schema:
            if id(schema) not in touched:
                touched[id(schema)] = schema
                schema.begin()
            return schema

        ended: list[tuple[Write, Any]] = []
        try:
            self.connection.execute("BEGIN IMMEDIATE")
            for write in writes:
                try:
                    ended.append((write, write.apply(self.connection, schemas)))
                except CallProblem as problem:
                    ended.append((write, problem))
            self.connection.execute("COMMIT")
        except BaseException:
            for schema in touched.values():
                schema.roll_back()
            self._roll_back()
            raise
        return ended

    def _roll_back(self) -> None:
        try:
            if self.connection.in_transaction:
                self.connection.execute("ROLLBACK")
        except sqlite3.Error:
            _log.warning("the journal could not be rolled back; it is opened again")
        # After an error of the disk, what the connection remembers may be wrong.
        try:
            fresh = opened(self.path, write=True)
        except (OSError, ValueError, sqlite3.Error) as error:
            _log.warning("the journal could not be opened again: %s", error)
            return
        self.connection.close()
        self.connection = fresh

    def _fail(self, write: Write, error: Exception) -> None:
        if isinstance(error, sqlite3.Error | OSError):
            if self.fault is None:
                _log.error("the journal cannot be written: %s", error)
            self.fault = str(error)
            detail = (
                f"the journal cannot be written ({error}); nothing of this was learned. "
                "Try again when the disk can be written"
            )
            write.failed(CallProblem(507, detail, retry_after=5))
        else:
            _log.exception("a write for the journal failed", exc_info=error)
            write.failed(error)
