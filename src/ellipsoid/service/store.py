"""The folder of a service: one journal, the snapshots, and every model that they hold."""

from __future__ import annotations

import fcntl
import logging
import sqlite3
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .housekeeping import keep_house
from .journal.database import blocks_after, first_and_last, model_row, opened
from .journal.journal import Journal
from .journal.rows import label_of
from .journal.schema import LABEL_LIMIT
from .journal.writes import Change
from .messages import LONGEST_LABEL, NewLearner, NewModel, canonical
from .models.learner_thread import LearnerThread
from .models.learning import StreamLearner, labels_model
from .models.snapshots import FIRST, NAME_AND_T, Snapshots
from .models.stream import ModelStream, decoded_body
from .problem import CallProblem, DamagedStore
from .views.history import StoreHistory

_log = logging.getLogger("ellipsoid.service")

JOURNAL = "journal.sqlite"
# A stop must come to its end within ten seconds.
STOP_SECONDS = 6.0
# How long a promotion waits for the moment in which the new champion has published all that was acknowledged.
PROMOTION_SECONDS = 2.0


@dataclass(frozen=True)
class StoreOptions:
    """How a store is kept: snapshots after so many rows or seconds, examples for so many rows or days (None: all)."""

    snapshot_rows: int = 200_000
    snapshot_seconds: float = 60.0
    keep_rows: int | None = None
    keep_days: float | None = None
    keep_unlabelled_days: float = 30.0
    queue: int = 1024
    group_seconds: float = 0.0
    accept_loss: bool = False


class Store:
    """Opening it rebuilds nothing yet: learners catch up on their threads, see `ModelStream.caught_up`."""

    # When the readers of text that callers send are made ready.
    seconds_until_warm_up = 0.0

    def __init__(self, folder: Path, options: StoreOptions | None = None) -> None:
        self.folder, self.options = Path(folder), options or StoreOptions()
        self.snapshots = self.folder / "snapshots"
        self.snapshots.mkdir(parents=True, exist_ok=True)
        self._lock = open(self.folder / "lock", "w")  # noqa: SIM115
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._lock.close()
            raise OSError(f"{folder} is in use by another service") from None
        self.models: dict[str, ModelStream] = {}
        # One change of models or learners at a time: who is told that one is there finds it there.
        self.changing = threading.Lock()
        # Is told, once, when a learner meets damage in the journal.
        self.damaged: Callable[[str], None] = lambda what: None
        self._stop = threading.Event()
        self._housekeeper = threading.Thread(target=self._keep_house, name="ellipsoid housekeeping", daemon=True)
        try:
            self.journal = Journal(
                self.folder / JOURNAL, most_waiting=self.options.queue, group_seconds=self.options.group_seconds
            )
            self._load()
            self.history = StoreHistory(self.journal.connection)
        except BaseException:
            self._lock.close()
            raise

    def _load(self) -> None:
        connection = self.journal.connection
        for number, name, body, champion in connection.execute(
            "SELECT id, name, body, champion FROM models ORDER BY id"
        ).fetchall():
            stream = ModelStream(number, name, decoded_body(body), self.journal.path, champion)
            stream.open()
            for learner, text, first in connection.execute(
                "SELECT name, body, first FROM learners WHERE model = ? ORDER BY made", (number,)
            ).fetchall():
                self._check_snapshots(stream, learner)
                stream.add(learner, decoded_body(text, NewLearner), first, self.snapshots)
                self._note_refusals(stream, learner)
            self.models[name] = stream
        self._check_strangers()

    def _check_strangers(self) -> None:
        """A snapshot of a learner that the journal does not know tells that the journal was lost, or is another one."""
        known = {each.snapshots.stem for stream in self.models.values() for each in stream.learners.values()}
        for path in sorted(self.snapshots.glob("*.model")):
            if (parts := NAME_AND_T.match(path.name)) and parts[1] in known:
                continue
            if not self.options.accept_loss:
                raise DamagedStore(
                    f"the journal does not know the learner of the snapshot {path.name}: examples were lost on disk. "
                    "Restore a backup, or start with --accept-loss to go on with what the journal has"
                )
            path.rename(path.with_suffix(".lost"))
            _log.warning("the snapshot %s is put aside", path.name)

    def _check_snapshots(self, stream: ModelStream, learner: str) -> None:
        """A snapshot of more examples than the journal holds tells that the journal lost some."""
        for snapshot in Snapshots(self.snapshots, stream.name, learner).all():
            if snapshot.t <= stream.tail.end:
                continue
            if not self.options.accept_loss:
                raise DamagedStore(
                    f"the journal of {stream.name} ends at example {stream.tail.end:,}, and a snapshot holds "
                    f"{snapshot.t:,}: examples were lost on disk. Restore a backup, or start with --accept-loss "
                    "to go on with what the journal has"
                )
            snapshot.path.rename(snapshot.path.with_suffix(".lost"))
            _log.warning("%s: the snapshot of %d examples is put aside", stream.name, snapshot.t)

    def _note_refusals(self, stream: ModelStream, learner: str) -> None:
        learner_thread = stream.learners[learner]
        for row, reason in self.journal.connection.execute(
            "SELECT row, reason FROM refused WHERE model = ? AND learner = ? AND row < ?",
            (stream.id, learner, learner_thread.learner.t),
        ):
            learner_thread.learner.refused[row] = learner_thread.published.learner.refused[row] = reason
        learner_thread.damaged = lambda what: self.damaged(f"{stream.name}: {what}")
        learner_thread.refuse = lambda fresh: self._write_refusals(stream.id, learner, fresh)

    def _write_refusals(self, model: int, learner: str, fresh: dict[int, str]) -> None:
        rows = [(model, learner, row, reason) for row, reason in fresh.items()]
        self._submit(lambda c: c.executemany("INSERT OR REPLACE INTO refused VALUES (?, ?, ?, ?)", rows) and None)

    def start(self) -> None:
        """Begin to write and to learn."""
        self.journal.start()
        for learner_thread in self._learner_threads():
            learner_thread.start()
        self._housekeeper.start()

    def _learner_threads(self) -> list[LearnerThread]:
        return [each for stream in self.models.values() for each in stream.learners.values()]

    def ready(self) -> bool:
        """Has every champion that has not stopped learned its journal, and did the last write succeed?"""
        return not self.behind() and self.journal.fault is None

    def behind(self) -> list[str]:
        """Models that are still being rebuilt; one that has stopped never will be, and keeps no other waiting."""
        models = list(self.models.items())
        return [name for name, stream in models if not stream.caught_up() and stream.best.failure is None]

    def stopped(self) -> dict[str, str]:
        """Models whose champion has stopped, and why."""
        return {name: why for name, stream in list(self.models.items()) if (why := stream.best.failure) is not None}

    def stream(self, name: str) -> ModelStream:
        """A model, or `CallProblem` 404."""
        if name not in self.models:
            raise CallProblem(404, f"there is no model {name!r}; make it by PUT /v1/models/{name}")
        return self.models[name]

    # -- changes -----------------------------------------------------------------------------------------------

    def _submit(self, change: Callable[[sqlite3.Connection], Any]) -> Future[Any]:
        done: Future[Any] = Future()

        def told(answer: Any) -> None:
            if isinstance(answer, BaseException):
                done.set_exception(answer)
            else:
                done.set_result(answer)

        self.journal.submit(Change(told, change), urgent=True)
        return done

    def make_model(self, name: str, body: NewModel) -> bool:
        """Make a model, and wait until that is on disk; False if it is there already, the same."""
        _refuse_bad(body)
        with self.changing:
            return self._make_model(name, body)

    def _make_model(self, name: str, body: NewModel) -> bool:
        text = canonical(body)

        def change(connection: sqlite3.Connection) -> int | None:
            known = model_row(connection, name)
            if known is not None:
                if known[1] != text:
                    raise CallProblem(
                        409, f"there is a model {name!r} already, made otherwise; give the new one another name"
                    )
                return None
            now = time.time()
            added = connection.execute(
                "INSERT INTO models (name, body, champion, made) VALUES (?, ?, ?, ?)", (name, text, FIRST, now)
            )
            own = canonical(NewLearner(learner=body.learner, params=body.params, scale=body.scale))
            connection.execute("INSERT INTO learners VALUES (?, ?, ?, 0, ?)", (added.lastrowid, FIRST, own, now))
            return added.lastrowid

        number = self._submit(change).result()
        if number is None:
            return False
        stream = ModelStream(number, name, body, self.journal.path, FIRST)
        stream.add(FIRST, body, 0, self.snapshots)
        self._note_refusals(stream, FIRST)
        stream.best.start()
        self.models[name] = stream
        return True

    def make_challenger(self, name: str, learner: str, body: NewLearner) -> bool:
        """Have another learner learn the stream of a model, from the oldest example that the journal holds."""
        stream = self.stream(name)
        _refuse_bad(body)
        with self.changing:
            return self._make_challenger(stream, learner, body)

    def _make_challenger(self, stream: ModelStream, learner: str, body: NewLearner) -> bool:
        text = canonical(body)

        def change(connection: sqlite3.Connection) -> int | None:
            known = connection.execute(
                "SELECT body FROM learners WHERE model = ? AND name = ?", (stream.id, learner)
            ).fetchone()
            if known is not None:
                if known[0] != text:
                    raise CallProblem(409, f"{stream.name!r} has a learner {learner!r} already, made otherwise")
                return None
            first, _ = first_and_last(connection, stream.id)
            connection.execute(
                "INSERT INTO learners VALUES (?, ?, ?, ?, ?)", (stream.id, learner, text, first, time.time())
            )
            return first

        first = self._submit(change).result()
        if first is None:
            return False
        stream.add(learner, body, first, self.snapshots)
        self._note_refusals(stream, learner)
        stream.learners[learner].start()
        return True

    def promote(self, name: str, learner: str) -> None:
        """Let a learner that has caught up answer predictions from now on."""
        stream = self.stream(name)
        if learner not in stream.learners:
            raise CallProblem(404, f"{name!r} has no learner {learner!r}; there are {', '.join(stream.learners)}")
        candidate = stream.learners[learner]
        with self.changing:
            before = stream.best
            if candidate.lag > 0 or not before.hand_over(candidate, PROMOTION_SECONDS):
                state = candidate.failure or f"it is {max(1, candidate.lag):,} examples behind"
                raise CallProblem(409, f"{learner!r} cannot be promoted now: {state}", retry_after=1)
            try:
                self._submit(
                    lambda c: c.execute("UPDATE models SET champion = ? WHERE id = ?", (learner, stream.id)) and None
                ).result()
            except BaseException:
                candidate.hand_over(before, PROMOTION_SECONDS)
                raise

    # -- the past ----------------------------------------------------------------------------------------------

    def model_at(self, name: str, t: int) -> bytes:
        """The model file of the champion after its stream's first ``t`` examples."""
        stream = self.stream(name)
        best = stream.best
        if not best.learner.first < t <= best.published.t:
            raise CallProblem(404, f"t must be from {best.learner.first + 1} to {best.published.t}, got {t}")
        learner = StreamLearner(best.learner.body, best.learner.first, classes=stream.body.classes, bits=stream.bits)
        best.snapshots.restore(learner, t)
        if learner.t < stream.oldest:
            raise CallProblem(410, f"the examples before {stream.oldest:,} are gone, and no snapshot stands for them")
        with closing(opened(self.journal.path)) as connection:
            replay_onto(learner, connection, stream.id, t)
        return learner.file()

    # -- housekeeping ------------------------------------------------------------------------------------------

    def _keep_house(self) -> None:
        while not self._stop.wait(1.0):
            try:
                keep_house(self)
            except Exception:
                # Nothing is written any more where somebody stops the service meanwhile.
                if not self._stop.is_set():
                    _log.exception("housekeeping failed; it is tried again")

    def submit_later(
        self, change: Callable[[sqlite3.Connection], Any], told: Callable[[Any], None] = lambda answer: None
    ) -> None:
        """Write something small that nobody waits for, and that is no loss where it fails; ``told`` hears how it ended,
        in the thread of the journal.
        """
        self.journal.submit(Change(told, change), urgent=True)

    def submit_change(self, change: Callable[[sqlite3.Connection], Any]) -> Any:
        """Write something small, and wait for it."""
        return self._submit(change).result()

    def close(self) -> None:
        """Write and learn what has arrived, and write snapshots, as far as there is time."""
        self._stop.set()
        deadline = time.monotonic() + STOP_SECONDS
        self.journal.close()
        for learner_thread in self._learner_threads():
            while (
                learner_thread.lag > 0
                and learner_thread.failure is None
                and time.monotonic() < deadline - STOP_SECONDS / 2
            ):
                time.sleep(0.005)
            if learner_thread.stop(max(0.1, deadline - time.monotonic())) and learner_thread.failure is None:
                learner_thread.publish()
        if self._housekeeper.is_alive():
            self._housekeeper.join(max(0.1, deadline - time.monotonic()))
        for learner_thread in self._learner_threads():
            if time.monotonic() > deadline:
                break  # the journal has it all; a start reads more of it
            try:
                learner_thread.write_snapshot()
            except OSError as error:
                _log.error("no snapshot of %s: %s", learner_thread.stream.name, error)
        self._lock.close()


def replay_onto(learner: StreamLearner, connection: sqlite3.Connection, model: int, until: int | None) -> None:
    """Have a learner learn the journal, from where it stands up to some example."""
    for block in blocks_after(connection, model, learner.t, until):
        end = block.end if until is None else min(block.end, until)
        rows = block.rows.part(learner.t - block.first, end - block.first)
        learner.learn_or_pass(rows)


def _refuse_bad(body: NewLearner) -> None:
    try:
        labels_model(body)
        classes = getattr(body, "classes", None) or []
        if len(set(classes)) < len(classes) or len({isinstance(c, str) for c in classes}) > 1:
            raise ValueError("classes must all be text or all be numbers, and none twice")
        # What no example could be labelled by is no class: a learner that began with it would take none.
        if len(classes) > LABEL_LIMIT:
            raise ValueError(f"a model of the service has at most {LABEL_LIMIT} classes, got {len(classes)}")
        for label in map(label_of, classes):
            if isinstance(label, str) and len(label) > LONGEST_LABEL:
                raise ValueError(f"a class must have at most {LONGEST_LABEL} letters, got {len(label)}")
    except (ValueError, TypeError, ArithmeticError) as error:
        raise CallProblem(422, str(error)) from error
