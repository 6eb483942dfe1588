"""Replay the journal of a store, to rebuild a model as it was, or to let another learner learn the same stream.

The journal is only read, so that a service may use it at the same time.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from ellipsoid.evaluate.cell import Cell
from ellipsoid.evaluate.compare import Comparison
from ellipsoid.evaluate.recorder import ErrorRecorder

from ..journal.database import blocks_after, first_and_last, model_row, opened
from ..journal.rows import Rows, as_learned, joined
from ..messages import NewLearner
from .learner_thread import LEARNED_ROWS
from .learning import ONE_BY_ONE, REFUSALS, StreamLearner, copied, labels_model, model_file, new_model
from .record import ERROR_WINDOW
from .snapshots import Snapshots
from .stream import decoded_body


class PastStream:
    """The stream of one model of a store, up to some example (None: all)."""

    def __init__(self, store: Path, name: str, until: int | None = None) -> None:
        self.store, self.name = Path(store), name
        self.connection = opened(self.store / "journal.sqlite")
        try:
            self._find(until)
        except BaseException:
            self.connection.close()
            raise

    def _find(self, until: int | None) -> None:
        """Look up the model, its champion and its examples."""
        row = model_row(self.connection, self.name)
        if row is None:
            there = [each for (each,) in self.connection.execute("SELECT name FROM models ORDER BY name")]
            raise ValueError(f"{self.store} has no model {self.name!r}; there are {', '.join(there) or 'none'}")
        self.id, self.champion_name = row[0], row[2]
        self.body = decoded_body(row[1])
        query = "SELECT body, first FROM learners WHERE model = ? AND name = ?"
        champion, self.champion_first = self.connection.execute(query, (self.id, self.champion_name)).fetchone()
        self.champion_body: NewLearner = decoded_body(champion, NewLearner)
        self.oldest, self.end = first_and_last(self.connection, self.id)
        if until is not None and not self.oldest <= until <= self.end:
            raise ValueError(
                f"--until must be from {self.oldest} to {self.end}, the examples in the journal, got {until}"
            )
        self.until = self.end if until is None else until

    def close(self) -> None:
        """Close the journal."""
        self.connection.close()

    def rows(self, start: int, without: frozenset[int] = frozenset()) -> Iterator[Rows]:
        """Examples from number ``start`` on, in pieces, without those of some numbers."""
        gathered: list[Rows] = []
        for block in blocks_after(self.connection, self.id, start, self.until):
            begin, end = max(start, block.first), min(block.end, self.until)
            rows = block.rows.part(begin - block.first, end - block.first)
            if without and not without.isdisjoint(range(begin, end)):
                rows = rows.only([number - begin for number in range(begin, end) if number not in without])
            if len(rows.y):
                gathered.append(rows)
            if sum(len(rows.y) for rows in gathered) >= LEARNED_ROWS:
                yield joined(gathered)
                gathered = []
        if gathered:
            yield joined(gathered)

    def refused(self, learner: str) -> frozenset[int]:
        """Examples that a learner has passed over."""
        query = "SELECT row FROM refused WHERE model = ? AND learner = ?"
        return frozenset(row for (row,) in self.connection.execute(query, (self.id, learner)))

    def write_lines(self, file: IO[str]) -> int:
        """The examples that the champion is not known to refuse as JSON lines, for ``ellipsoid learn``; returns how
        many. Nothing is learned here, so that what only a restarted service would refuse is among them.
        """
        count = 0
        for rows in self.rows(self.oldest, self.refused(self.champion_name)):
            xs = rows.x if isinstance(rows.x, list) else rows.x.tolist()
            file.writelines(json.dumps({"x": x, "y": y}) + "\n" for x, y in zip(xs, rows.y, strict=True))
            count += len(rows.y)
        return count


class Replay:
    """A learner that learns a past stream: a new one made by ``body``, or the champion, whose body is None.

    ``refused`` are the reasons why it passed over examples, beside those that the journal knows to be refused: a
    service that was killed had perhaps not yet tried to learn its last ones.
    """

    def __init__(self, past: PastStream, body: NewLearner | None) -> None:
        self.past, self.own = past, body is None
        self.body = past.champion_body if body is None else body
        self.without = past.refused(past.champion_name) if self.own else frozenset()
        self.refused: list[str] = []
        self._begin()

    def _begin(self) -> None:
        past = self.past
        self.start, self.rows, self.errors = past.oldest, 0, 0
        model = new_model(self.body) if self.own else labels_model(self.body)
        if self.own and past.oldest > 0:
            model = self._restored()
        known = hasattr(model, "n_features_in_")
        self.recorder = ErrorRecorder(model, None, ERROR_WINDOW, None if known else past.body.classes)
        self.recorder.stops = False

    def _restored(self) -> Any:
        """The model of the newest snapshot, which holds deleted examples, unless the learner began after them."""
        past = self.past
        learner = StreamLearner(self.body, past.champion_first, classes=past.body.classes, bits=past.body.bits)
        found = Snapshots(past.store / "snapshots", past.name, past.champion_name).restore(learner, past.until)
        if found is None and learner.first < past.oldest:
            raise ValueError(
                f"the examples before {past.oldest:,} are gone, and no snapshot up to example {past.until:,} is left"
            )
        self.start, self.rows, self.errors = learner.t, learner.record.rows, learner.record.errors
        return learner.model

    def run(self) -> None:
        """Learn the stream; what is refused is passed over."""
        if not all(self._learns(rows) for rows in self._pieces()):
            # How far it came is not known: begin again, now with copies to go back to.
            self._begin()
            for rows in self._pieces():
                self._learn_or_pass(rows)
        if not hasattr(self.recorder.model, "n_features_in_"):
            if self.refused:
                raise ValueError(f"{self.body.learner} can learn none of the examples: the first, {self.refused[0]}")
            raise ValueError(f"the stream of {self.past.name} has no examples up to {self.past.until}")

    def _pieces(self) -> Iterator[Rows]:
        return self.past.rows(self.start, self.without)

    def _learns(self, rows: Rows) -> bool:
        """Predict and learn examples; False where one is refused, after which it is not known how many were learned."""
        try:
            self.recorder.feed(*as_learned(rows, self.past.body.bits))
        except REFUSALS as error:
            self._reason = str(error) or type(error).__name__
            return False
        return True

    def _learn_or_pass(self, rows: Rows) -> None:
        """Learn examples; what is refused is passed over. What is bad is looked for in halves."""
        before, half = copied(self.recorder.model, self.recorder), len(rows.y) // 2
        if self._learns(rows):
            return
        self.recorder = before
        if half >= ONE_BY_ONE:
            self._learn_or_pass(rows.part(0, half))
            self._learn_or_pass(rows.part(half, len(rows.y)))
            return
        for i in range(len(rows.y)):
            # A call that refuses its only row leaves a model as it was.
            if not self._learns(rows.part(i, i + 1)):
                self.refused.append(self._reason)

    def file(self) -> bytes:
        """The model file, the same as that of a service that was never stopped."""
        rows, errors = self.rows + self.recorder.rows, self.errors + self.recorder.errors
        return model_file(self.recorder.model, rows, errors, self.past.body.bits)

    def cell(self, label: str) -> Cell:
        """The run as a line of a comparison."""
        run = self.recorder.result()
        return Cell(label, None, (run,), (), tuple(self.recorder.model.certificates()), (), run.seconds)


def comparison(replays: dict[str, Replay]) -> Comparison:
    """Replays of one stream side by side, each with what it learned beyond its snapshot."""
    cells = tuple(replay.cell(label) for label, replay in replays.items())
    return Comparison(
        setting={"seeds": [None], "at_once": None},
        kinds={label: replay.body.learner for label, replay in replays.items()},
        parameters={label: dict(replay.body.params) for label, replay in replays.items()},
        cells=cells,
    )
