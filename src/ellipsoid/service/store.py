"""The store of a service: a folder with one journal, the snapshots, and all models that they hold."""

import fcntl
import logging
import sqlite3
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ellipsoid.streams.labels import LONGEST_LABEL

from .housekeeping import run_housekeeping, write_snapshot
from .journal.database import blocks_after, first_and_last, model_row, opened
from .journal.journal import Journal
from .journal.rows import label_of
from .journal.schema import LABEL_LIMIT
from .journal.writes import Change
from .messages import NewLearner, NewModel, canonical
from .models.learner_thread import LearnerThread
from .models.learning import StreamLearner, labels_model
from .models.snapshots import FIRST, NAME_AND_T, Snapshots
from .models.stream import ModelStream, decoded_body
from .problem import CallProblem, DamagedStore
from .views.history import StoreHistory

_log = logging.getLogger("ellipsoid.service")

JOURNAL = "journal.sqlite"
# The process must end within ten seconds after it was told to stop.
STOP_SECONDS = 6.0
# How long a promotion waits until the new champion has published all that was acknowledged.
PROMOTION_SECONDS = 2.0


@dataclass(frozen=True)
class StoreOptions:
    """After how many rows or seconds snapshots are written, how many rows or days of examples are kept (None: all), how
    many writes may wait, how long a commit waits for more, and whether examples that the disk lost are given up.
    """

    snapshot_rows: int = 200_000
    snapshot_seconds: float = 60.0
    keep_rows: int | None = None
    keep_days: float | None = None
    keep_unlabelled_days: float = 30.0
    queue: int = 1024
    group_seconds: float = 0.0
    accept_loss: bool = False


class Store:
    """The models of a folder. After `start` they are rebuilt in the threads of their learners."""

    # How long after the start the compiled reader of examples is loaded.
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
            raise OSError(f"{folder} is in use by another service; stop it, or give another folder") from None
        self.models: dict[str, ModelStream] = {}
        # Held while models or learners change, so that one that was found to exist can be used.
        self.changing = threading.Lock()
        # Called once when a learner finds the journal damaged.
        self.damaged: Callable[[str], None] = lambda what: None
        self._stop = threading.Event()
        self._housekeeper = threading.Thread(target=self._housekeeping_loop, name="ellipsoid housekeeping", daemon=True)
        with ExitStack() as on_error:
            on_error.callback(self._lock.close)
            self.journal = Journal(
                self.folder / JOURNAL, most_waiting=self.options.queue, group_seconds=self.options.group_seconds
            )
            on_error.callback(self.journal.connection.close)
            self._load()
            self.history = StoreHistory(self.journal.connection)
            on_error.pop_all()

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
                self._add_learner(stream, learner, decoded_body(text, NewLearner), first)
            self.models[name] = stream
        known = {each.snapshots.stem for each in self._learner_threads()}
        for path in sorted(self.snapshots.glob("*.model")):
            if not ((parts := NAME_AND_T.match(path.name)) and parts[1] in known):
                # The journal was lost, or is another one.
                self._put_aside(path, f"the journal does not know the learner of the snapshot {path.name}")

    def _check_snapshots(self, stream: ModelStream, learner: str) -> None:
        """Put snapshots aside that hold more examples than the journal, which has lost some."""
        for snapshot in Snapshots(self.snapshots, stream.name, learner).all():
            if snapshot.t > stream.tail.end:
                end = f"the journal of {stream.name} ends at example {stream.tail.end:,}"
                self._put_aside(snapshot.path, f"{end}, and a snapshot holds {snapshot.t:,}")

    def _put_aside(self, snapshot: Path, evidence: str) -> None:
        """Rename a snapshot that shows a loss, or raise `DamagedStore` where losses are not accepted."""
        if not self.options.accept_loss:
            raise DamagedStore(
                f"{evidence}: examples were lost on disk. Restore a backup, or start with --accept-loss to go on with "
                "what the journal has"
            )
        snapshot.rename(snapshot.with_suffix(".lost"))
        _log.warning("the snapshot %s does not fit the journal and is put aside", snapshot.name)

    def _add_learner(self, stream: ModelStream, name: str, body: NewLearner, first: int) -> LearnerThread:
        """Add a learner to a stream, with the examples that it has refused; its thread is not started yet."""
        learner_thread = stream.add(name, body, first, self.snapshots)
        for row, reason in self.journal.connection.execute(
            "SELECT row, reason FROM refused WHERE model = ? AND learner = ? AND row < ?",
            (stream.id, name, learner_thread.learner.t),
        ):
            learner_thread.learner.refused[row] = learner_thread.published.learner.refused[row] = reason
        learner_thread.damaged = lambda what: self.damaged(f"{stream.name}: {what}")
        learner_thread.write_refusals = lambda: self._write_refusals(learner_thread)
        return learner_thread

    def _write_refusals(self, learner_thread: LearnerThread) -> None:
        """Write which examples a learner has passed over; where that fails, housekeeping tries again."""
        fresh = dict(learner_thread.unwritten)
        rows = [(learner_thread.stream.id, learner_thread.name, row, reason) for row, reason in fresh.items()]

        def written(answer: Any) -> None:
            for row in fresh if not isinstance(answer, BaseException) else ():
                learner_thread.unwritten.pop(row, None)

        with suppress(CallProblem):  # the service is stopping: the next start refuses them again
            self.submit_later(
                lambda c: c.executemany("INSERT OR REPLACE INTO refused VALUES (?, ?, ?, ?)", rows), written
            )

    def start(self) -> None:
        """Begin to write and to learn."""
        self.journal.start()
        for learner_thread in self._learner_threads():
            learner_thread.start()
        self._housekeeper.start()

    def _learner_threads(self) -> list[LearnerThread]:
        return [each for stream in self.models.values() for each in stream.learners.values()]

    def ready(self) -> bool:
        """Has every champion that has not failed learned its journal, and did the last write succeed?"""
        return not self.behind() and self.journal.fault is None

    def behind(self) -> list[str]:
        """Models that are still being rebuilt; one whose champion has stopped never will be, and is not among them."""
        models = list(self.models.items())
        return [name for name, stream in models if not stream.caught_up() and stream.champion.failure is None]

    def stopped(self) -> dict[str, str]:
        """Models whose champion has stopped, and why."""
        return {name: why for name, stream in list(self.models.items()) if (why := stream.champion.failure) is not None}

    def stream(self, name: str) -> ModelStream:
        """A model, or `CallProblem` 404."""
        if name not in self.models:
            raise CallProblem(404, f"there is no model {name!r}; make it by PUT /v1/models/{name}")
        return self.models[name]

    # -- changes -----------------------------------------------------------------------------------------------

    def submit_later(
        self, change: Callable[[sqlite3.Connection], Any], reply: Callable[[Any], None] = lambda answer: None
    ) -> None:
        """Write something small that may be lost; ``reply`` gets the answer or error in the thread of the journal."""
        self.journal.submit(Change(reply, change), urgent=True)

    def submit_change(self, change: Callable[[sqlite3.Connection], Any]) -> Any:
        """Write something small, and wait for its answer."""
        done: Future[Any] = Future()

        def reply(answer: Any) -> None:
            if isinstance(answer, BaseException):
                done.set_exception(answer)
            else:
                done.set_result(answer)

        self.submit_later(change, reply)
        return done.result()

    def make_model(self, name: str, body: NewModel) -> bool:
        """Make a model, and wait until that is on disk; False if the same one exists already."""
        _refuse_bad(body)
        text = canonical(body)

        def change(connection: sqlite3.Connection) -> int | None:
            existing = model_row(connection, name)
            if existing is not None:
                if existing[1] != text:
                    raise CallProblem(
                        409, f"there is already a model {name!r} with other settings; give the new one another name"
                    )
                return None
            now = time.time()
            added = connection.execute(
                "INSERT INTO models (name, body, champion, made) VALUES (?, ?, ?, ?)", (name, text, FIRST, now)
            )
            own = canonical(NewLearner(learner=body.learner, params=body.params, scale=body.scale))
            connection.execute("INSERT INTO learners VALUES (?, ?, ?, 0, ?)", (added.lastrowid, FIRST, own, now))
            return added.lastrowid

        with self.changing:
            number = self.submit_change(change)
            if number is None:
                return False
            stream = ModelStream(number, name, body, self.journal.path, FIRST)
            self._add_learner(stream, FIRST, body, 0).start()
            self.models[name] = stream
            return True

    def make_challenger(self, name: str, learner: str, body: NewLearner) -> bool:
        """Have another learner learn the stream of a model, from the oldest example that the journal holds."""
        stream = self.stream(name)
        _refuse_bad(body)
        text = canonical(body)

        def change(connection: sqlite3.Connection) -> int | None:
            query = "SELECT body FROM learners WHERE model = ? AND name = ?"
            existing = connection.execute(query, (stream.id, learner)).fetchone()
            if existing is not None:
                if existing[0] != text:
                    raise CallProblem(
                        409,
                        f"{stream.name!r} already has a learner {learner!r} with other settings; "
                        "give the new one another name",
                    )
                return None
            first, _ = first_and_last(connection, stream.id)
            connection.execute(
                "INSERT INTO learners VALUES (?, ?, ?, ?, ?)", (stream.id, learner, text, first, time.time())
            )
            return first

        with self.changing:
            first = self.submit_change(change)
            if first is None:
                return False
            self._add_learner(stream, learner, body, first).start()
            return True

    def promote(self, name: str, learner: str) -> None:
        """Make a learner that has caught up the champion, which answers predictions."""
        stream = self.stream(name)
        if learner not in stream.learners:
            raise CallProblem(404, f"{name!r} has no learner {learner!r}; there are {', '.join(stream.learners)}")
        candidate = stream.learners[learner]
        with self.changing:
            before = stream.champion
            if candidate.lag > 0 or not before.hand_over(candidate, PROMOTION_SECONDS):
                state = candidate.failure or f"it is {max(1, candidate.lag):,} examples behind"
                raise CallProblem(409, f"{learner!r} cannot be promoted now: {state}", retry_after=1)
            try:
                query = "UPDATE models SET champion = ? WHERE id = ?"
                self.submit_change(lambda connection: connection.execute(query, (learner, stream.id)))
            except BaseException:
                candidate.hand_over(before, PROMOTION_SECONDS)
                raise

    # -- the past ----------------------------------------------------------------------------------------------

    def model_at(self, name: str, t: int) -> bytes:
        """The model file of the champion after its stream's first ``t`` examples."""
        stream = self.stream(name)
        champion, first = stream.champion, stream.champion.learner.first
        if not first < t <= champion.published.t:
            raise CallProblem(404, f"t must be from {first + 1} to {champion.published.t}, got {t}")
        learner = StreamLearner(champion.learner.body, first, classes=stream.body.classes, bits=stream.bits)
        champion.snapshots.restore(learner, t)
        if learner.t < stream.oldest:
            raise CallProblem(410, f"the examples before {stream.oldest:,} are gone, and there is no snapshot of them")
        with closing(opened(self.journal.path)) as connection:
            for block in blocks_after(connection, stream.id, learner.t, t):
                learner.learn_or_pass(block.rows.part(learner.t - block.first, min(block.end, t) - block.first))
        if not learner.has_learned:
            raise CallProblem(409, f"{stream.name} has learned none of its first {t} examples")
        return learner.file()

    # -- housekeeping ------------------------------------------------------------------------------------------

    def _housekeeping_loop(self) -> None:
        while not self._stop.wait(1.0):
            try:
                run_housekeeping(self)
            except Exception:
                # A service that is being stopped refuses writes.
                if not self._stop.is_set():
                    _log.exception("housekeeping failed; it will be tried again")

    def close(self) -> None:
        """Write and learn what has arrived, and write snapshots, as far as there is time."""
        self._stop.set()
        deadline = time.monotonic() + STOP_SECONDS
        catch_up_until = deadline - STOP_SECONDS / 2
        self.journal.close()
        for learner_thread in self._learner_threads():
            while learner_thread.lag > 0 and learner_thread.failure is None and time.monotonic() < catch_up_until:
                time.sleep(0.005)
            if learner_thread.stop(max(0.1, deadline - time.monotonic())) and learner_thread.failure is None:
                learner_thread.publish()
        if self._housekeeper.is_alive():
            self._housekeeper.join(max(0.1, deadline - time.monotonic()))
        for learner_thread in self._learner_threads():
            if time.monotonic() > deadline:
                break  # nothing is lost: the next start reads more of the journal
            write_snapshot(learner_thread)
        self._lock.close()


def _refuse_bad(body: NewLearner) -> None:
    try:
        labels_model(body)
        classes = getattr(body, "classes", None) or []
        if len(set(classes)) < len(classes) or len({isinstance(c, str) for c in classes}) > 1:
            raise ValueError("classes must be all text or all numbers, without repetitions")
        # A class that no example could have as its label would make the learner refuse all examples.
        if len(classes) > LABEL_LIMIT:
            raise ValueError(f"a model of the service has at most {LABEL_LIMIT} classes, got {len(classes)}")
        for label in map(label_of, classes):
            if isinstance(label, str) and len(label) > LONGEST_LABEL:
                raise ValueError(f"a class must have at most {LONGEST_LABEL} letters, got {len(label)}")
    except (ValueError, TypeError, ArithmeticError) as error:
        raise CallProblem(422, str(error)) from error
