"""The thread of a learner, which learns the examples of a stream in the order of their numbers.

It begins at the newest snapshot, reads the journal until it has caught up, and then learns what comes. When nothing is
left to learn, or a copy costs little beside the learning since the last one, it publishes a copy for predictions. Only
then are examples acknowledged, so that a caller who got an answer is predicted for by a model that learned them.
"""

from __future__ import annotations

import logging
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import pairwise
from math import inf
from typing import Any, cast

from ellipsoid.streams.threads import read_ahead

from ..journal.database import JournalBlock, blocks_after, opened
from ..journal.rows import Rows, joined
from ..messages import Learned
from ..problem import CallProblem, DamagedStore
from .learning import REFUSALS, StreamLearner
from .published import Published
from .snapshots import Snapshots

_log = logging.getLogger("ellipsoid.service")

# Rows that are learned at once from memory, and rows after which blocks read from the journal are joined and learned.
LEARNED_ROWS = 4096
READ_ROWS = 2048
# The time between two copies is at least so many times what a copy takes.
COPY_INTERVAL = 9.0


class LearnerThread:
    """A learner of a stream with its thread, its snapshots and its published copy."""

    def __init__(self, stream: Any, name: str, learner: StreamLearner, snapshots: Snapshots) -> None:
        self.stream, self.name, self.learner, self.snapshots = stream, name, learner, snapshots
        self.snapshot: int | None = None
        self.written_at = time.monotonic()
        self.failure: str | None = None
        self.published = Published(learner.copy())
        # Examples that were passed over, which the journal does not hold yet as such; called to write them.
        self.unwritten: dict[int, str] = {}
        self.write_refusals: Callable[[], None] = lambda: None
        # Called with the error of a damaged journal.
        self.damaged: Callable[[str], None] = lambda what: None
        self._waiting: deque[tuple[int, Learned, Callable[[Any], None]]] = deque()
        self._waiting_lock = threading.Lock()
        self._stopping = False
        self._copy_seconds = 0.0
        self._copied_at = 0.0
        self._warmed_up_for: Any = None
        self._thread = threading.Thread(target=self._run, name=f"ellipsoid {stream.name}.{name}", daemon=True)

    @property
    def lag(self) -> int:
        """Examples of the journal that are not learned yet."""
        return int(self.stream.tail.end - self.learner.t)

    def restore(self, oldest: int, end: int) -> None:
        """Go on from the newest good snapshot."""
        found = self.snapshots.restore(self.learner, end)
        self.snapshot = None if found is None else found.t
        if found is None and oldest > self.learner.first:
            raise DamagedStore(
                f"{self.stream.name}: no snapshot can be read, and the journal has no examples before {oldest:,}"
            )
        if self.learner.has_learned:
            self.publish()

    def start(self) -> None:
        """Begin to learn."""
        self._thread.start()

    def stop(self, seconds: float) -> bool:
        """Stop after the piece that is being learned; False if that takes longer than so many seconds."""
        self._stopping = True
        self.stream.tail.wake()
        if self._thread.is_alive():
            self._thread.join(seconds)
        return not self._thread.is_alive()

    def reply_when_learned(self, end: int, answer: Learned, reply: Callable[[Any], None]) -> None:
        """Call ``reply`` with the answer when the champion has learned the examples before number ``end``."""
        with self._waiting_lock:
            champion = self.stream.champion
            if champion is self and self.failure is None and self.published.t < end:
                self._waiting.append((end, answer, reply))
                return
        if champion is self:
            self._acknowledge(end, answer, reply)
        else:
            champion.reply_when_learned(end, answer, reply)

    def hand_over(self, other: LearnerThread, seconds: float) -> bool:
        """Make another one the champion once it has published as much; False if that takes longer than this."""
        deadline = time.monotonic() + seconds
        while other.failure is None:
            with self._waiting_lock:
                if other.published.t >= self.published.t:
                    self.stream.champion_name = other.name
                    waiting, self._waiting = self._waiting, deque()
                    break
            if time.monotonic() > deadline:
                return False
            time.sleep(0.001)
        else:
            return False
        for each in waiting:
            other.reply_when_learned(*each)
        return True

    def _run(self) -> None:
        try:
            while not self._stopping:
                if self.stream.tail.wait(self.learner.t, 0.5):
                    for rows in self._pieces():
                        self._learn(rows)
                        if self._stopping:
                            break
                        self._publish_if_due()
                    self.publish()
        except Exception as error:
            _log.exception("the learner %s of %s has stopped", self.name, self.stream.name)
            with self._waiting_lock:
                self.failure = str(error) or type(error).__name__
            self._acknowledge_up_to(inf)
            if isinstance(error, DamagedStore):
                self.damaged(self.failure)

    def _pieces(self) -> Iterator[Rows]:
        """The rows that are left to learn, in pieces, from memory or from the journal."""
        while (found := self.stream.tail.after(self.learner.t, LEARNED_ROWS)) is not None:
            if not found:
                return
            yield _rows_from(found, self.learner.t)
        with closing(opened(self.stream.path)) as connection:
            # The next piece is read while this one is learned.
            yield from cast(Iterator[Rows], read_ahead(self._journalled(connection)))

    def _journalled(self, connection: sqlite3.Connection) -> Iterator[Rows]:
        row = self.learner.t
        gathered: list[JournalBlock] = []
        for block in blocks_after(connection, self.stream.id, row):
            gathered.append(block)
            if block.end - row >= READ_ROWS:
                yield _rows_from(gathered, row)
                row, gathered = block.end, []
        if gathered:
            yield _rows_from(gathered, row)

    def _learn(self, rows: Rows) -> None:
        before, learner = self.learner.t, self.learner
        try:
            learner.learn(rows)
        except REFUSALS:
            # How far it came is not known: begin again at the last copy.
            self._relearn_up_to(before)
            known = set(self.learner.refused)
            self.learner.learn_or_pass(rows)
            fresh = {row: why for row, why in self.learner.refused.items() if row not in known}
            for row, why in fresh.items():
                _log.warning("%s.%s skips example %d: %s", self.stream.name, self.name, row, why)
            self.unwritten |= fresh
            self.write_refusals()

    def _relearn_up_to(self, row: int) -> None:
        self.learner = self.published.learner.copy() if self.published.t <= row else self.learner
        with closing(opened(self.stream.path)) as connection:
            for block in blocks_after(connection, self.stream.id, self.learner.t):
                rest = block.rows.part(self.learner.t - block.first, min(len(block.rows.y), row - block.first))
                self.learner.learn_or_pass(rest)
                if self.learner.t >= row:
                    break

    def _publish_if_due(self) -> None:
        if time.monotonic() - self._copied_at > COPY_INTERVAL * self._copy_seconds:
            self.publish()

    def publish(self) -> None:
        """Copy the learner for predictions, and acknowledge the examples that the copy has learned."""
        if self.published.t < self.learner.t:
            began = time.monotonic()
            fresh = Published(self.learner.copy())
            self._warm_up(fresh)
            self.published = fresh
            self._copied_at = time.monotonic()
            self._copy_seconds = self._copied_at - began
        self._acknowledge_up_to(self.published.t)

    def _warm_up(self, fresh: Published) -> None:
        """Compile or load machine code for predictions before anybody waits for one."""
        kind = (min(3, len(self.learner.classes_known())), self.stream.schema.form)
        if kind != self._warmed_up_for and self.learner.has_learned and self.stream.sample is not None:
            fresh.predict(self.stream.sample)
            self._warmed_up_for = kind

    def _acknowledge_up_to(self, t: float) -> None:
        done = []
        with self._waiting_lock:
            while self._waiting and self._waiting[0][0] <= t:
                done.append(self._waiting.popleft())
        for each in done:
            self._acknowledge(*each)

    def _acknowledge(self, end: int, answer: Learned, reply: Callable[[Any], None]) -> None:
        if self.failure is not None:
            detail = f"the examples are on disk, but the learner has stopped: {self.failure}"
            reply(CallProblem(500, detail))
            return
        refused = self.learner.refused
        if refused:
            first = end - answer.learned
            answer.refuse({row - first: refused[row] for row in range(first, end) if row in refused})
        reply(answer)

    def write_snapshot(self) -> None:
        """Write the published copy, if it has learned anything since the last snapshot.

        A later start refuses again what the snapshot does not hold; what it holds must be known to the journal.
        """
        published = self.published
        if published.learner.has_learned and published.t != self.snapshot and not self.unwritten:
            self.snapshots.write(published)
            self.snapshot, self.written_at = published.t, time.monotonic()


def _rows_from(blocks: list[JournalBlock], row: int) -> Rows:
    """The rows of consecutive blocks from example ``row`` on."""
    assert all(one.end == other.first for one, other in pairwise(blocks))
    rows = joined([block.rows for block in blocks])
    skip = row - blocks[0].first
    return rows.part(skip, len(rows.y)) if skip else rows
