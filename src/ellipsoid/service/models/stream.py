"""A model of the service: one stream of examples, and the learners that learn it.

The champion answers predictions and acknowledges examples. Challengers learn the same stream in threads of their own,
and may lag behind.
"""

import secrets
import threading
import time
from collections.abc import Callable, Collection
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from ..journal.database import JournalBlock, first_and_last, opened
from ..journal.rows import Rows, check_numbers, features_of, label_of
from ..journal.schema import Schema
from ..journal.tail import Tail
from ..messages import Learned, NewLearner, NewModel
from ..problem import CallProblem
from .learner_thread import LearnerThread
from .learning import StreamLearner
from .snapshots import Snapshots

CLAIM_SECONDS = 300.0


@dataclass
class AskedCounts:
    """Of the examples kept so far: how many the model asked for, how many it did not need, how many got a label."""

    asked: int = 0
    saved: int = 0
    answered: int = 0

    def add(self, asked: int, saved: int, answered: int) -> None:
        """Count some more."""
        self.asked, self.saved, self.answered = self.asked + asked, self.saved + saved, self.answered + answered


class ModelStream:
    """``id`` is the model's number in the journal, ``path`` that of the journal."""

    def __init__(self, number: int, name: str, body: NewModel, path: Path, champion: str) -> None:
        self.id, self.name, self.body, self.path, self.champion_name = number, name, body, path, champion
        self.bits = body.bits
        self.learners: dict[str, LearnerThread] = {}
        self.schema = Schema(body.classes)
        self.tail = Tail(0)
        self.oldest = 0
        self.kept = 0
        self.asked = AskedCounts()
        self._fresh: list[JournalBlock] = []
        self.forget_again_at = 0.0
        self.ready = False
        # An example with which machine code for predictions is compiled before the first one.
        self.sample: Any = None
        # Kept examples that somebody is labelling: who, and until when.
        self.claims: dict[str, tuple[str, float]] = {}
        self.claims_lock = threading.Lock()

    @property
    def champion(self) -> LearnerThread:
        return self.learners[self.champion_name]

    def open(self) -> None:
        """Find out how far the journal goes, and what the first example looked like."""
        with closing(opened(self.path)) as connection:
            self.oldest, end = first_and_last(connection, self.id)
            self.tail = Tail(end)
            self.schema.rows = end
            query = "SELECT form, length(x), rows FROM blocks WHERE model = ? ORDER BY first DESC LIMIT 1"
            last = connection.execute(query, (self.id,)).fetchone()
            if last is not None:
                self._set_form(last[0], None if last[0] == "named" else last[1] // 8 // last[2])
            self.kept = connection.execute("SELECT count(*) FROM kept WHERE model = ?", (self.id,)).fetchone()[0]
            query = "SELECT asked, saved, answered FROM asked WHERE model = ?"
            self.asked = AskedCounts(*(connection.execute(query, (self.id,)).fetchone() or ()))

    def _set_form(self, form: str, width: int | None) -> None:
        self.schema.form, self.schema.width = form, width
        self.sample = [{}] if width is None else np.zeros((1, width))

    def add(self, name: str, body: NewLearner, first: int, snapshots: Path) -> LearnerThread:
        """Add a learner, restored from its newest snapshot; its thread is not started yet."""
        learner = StreamLearner(body, first, classes=self.body.classes, bits=self.bits)
        learner_thread = LearnerThread(self, name, learner, Snapshots(snapshots, self.name, name))
        learner_thread.restore(self.oldest, self.tail.end)
        self.learners[name] = learner_thread
        return learner_thread

    def caught_up(self) -> bool:
        """Has the champion learned the journal? From then on the schema knows every label."""
        if not self.ready and self.champion.failure is None and self.champion.published.t >= self.tail.end:
            self.schema.labels |= set(self.champion.learner.classes_known())
            self.ready = True
        return self.ready

    def journalled(self, blocks: list[JournalBlock], answer: Learned, reply: Callable[[Any], None]) -> None:
        """Take blocks that are on disk, and reply when they are learned, which begins with `flush`."""
        if blocks and self.sample is None:
            self._set_form(self.schema.form or "", self.schema.width)
        # The duplicates of examples that are not learned yet make an answer without blocks wait, too.
        self.champion.reply_when_learned(blocks[-1].end if blocks else answer.t, answer, reply)
        self._fresh += blocks

    def flush(self) -> None:
        """Hand the blocks of one commit to the learners together."""
        if self._fresh:
            self.tail.add(self._fresh)
            self._fresh = []

    def rows_of(self, xs: list[Any], ys: list[Any]) -> Rows:
        """Checked rows of examples of one form."""
        y = [label_of(label) for label in ys]
        if isinstance(xs[0], dict):
            return Rows([features_of(x, self.bits) for x in xs], y)
        x = np.array(xs, dtype=np.float64)
        check_numbers(x)
        return Rows(x, y)

    def matrix_of(self, xs: list[Any]) -> Any:
        """Examples of one form to be predicted."""
        rows = self.rows_of(xs, [0] * len(xs))
        self.schema.check_form(rows)
        return rows.x

    def claim(self, ids: list[str], who: str, most: int, skipped: Collection[str] = ()) -> dict[str, float]:
        """Claim at most ``most`` ids that no other holds, give back ``skipped``; returns the seconds of each claim."""
        now = time.monotonic()
        with self.claims_lock:
            for old in [each for each in skipped if self.claims.get(each, ("", 0.0))[0] == who]:
                del self.claims[old]
            ids = [each for each in ids if each not in skipped]
            for old in [each for each, (_, until) in self.claims.items() if until < now]:
                del self.claims[old]
            mine = [each for each in ids if self.claims.get(each, (who, 0.0))[0] == who][:most]
            for each in mine:
                self.claims[each] = (who, now + CLAIM_SECONDS)
        return dict.fromkeys(mine, CLAIM_SECONDS)

    def check_learning(self) -> None:
        """Refuse examples while they could not be learned."""
        if self.champion.failure is not None:
            raise CallProblem(503, f"the learner has stopped: {self.champion.failure}")
        if not self.caught_up():
            raise CallProblem(503, f"{self.name} is being rebuilt from its journal; try again soon", retry_after=1)


def new_id() -> str:
    """An id for a kept example that nobody can guess."""
    return secrets.token_urlsafe(12)


def decoded_body(text: str, kind: type[NewLearner] = NewModel) -> Any:
    """The request that a model or learner was made by."""
    return msgspec.json.decode(text, type=kind)
