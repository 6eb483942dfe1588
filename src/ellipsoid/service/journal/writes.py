"""What can be written into the journal, each as one write: all of it, or nothing."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from typing import Any

import msgspec

from ..messages import Learned, LearnedLines, LineAnswer
from ..problem import CallProblem
from .database import JournalBlock, first_and_last, insert_block
from .rows import Rows
from .schema import Schema


# Keys of callers and ids of labelled examples are told apart by their first letter.
def caller_key(key: str) -> str:
    """The key of an example that its sender gave it."""
    return f"k{key}"


def label_key(key: str) -> str:
    """The key of an example that was kept under an id."""
    return f"l{key}"


Schemas = Callable[[Any], Schema]
Told = Callable[[Any], None]

# Rows of one block: small enough to be read and learned without holding others up.
ROWS_LEARNED_AT_ONCE = 2048
LARGEST_BLOCK = 1 << 21


class AnsweredWrite:
    """A write that tells one function how it ended: an answer, or an error."""

    size = 1000
    stream: Any = None

    def __init__(self, told: Told) -> None:
        self.told = told

    def written(self, answer: Any) -> None:
        self.told(answer)

    def failed(self, error: BaseException) -> None:
        self.told(error)


class Change(AnsweredWrite):
    """A rare change of some tables, as a function of the connection."""

    def __init__(self, told: Told, change: Callable[[sqlite3.Connection], Any]) -> None:
        super().__init__(told)
        self.change = change

    def apply(self, connection: sqlite3.Connection, schemas: Schemas) -> Any:
        return self.change(connection)


class Incoming:
    """Examples of a request: rows of one form, their keys (None: without), and the line of each."""

    def __init__(self, rows: Rows, keys: list[str | None] | None, lines: list[int] | range) -> None:
        self.rows, self.keys, self.lines = rows, keys, lines


class LearnWrite(AnsweredWrite):
    """Examples to be journalled and learned; ``stream`` is theirs. A line that does not fit refuses all; with
    ``noted``, lines refused before, the others are taken, and ``answers`` tells what became of each.
    """

    def __init__(
        self, stream: Any, parts: list[Incoming], token: str, told: Told, noted: list[LineAnswer] | None = None
    ) -> None:
        super().__init__(told)
        self.stream, self.parts, self.token, self.noted = stream, parts, token, noted
        self.answers: list[LineAnswer] | None = None
        self.size = 200 + sum(part.rows.size for part in parts)
        self.blocks: list[JournalBlock] = []

    def apply(self, connection: sqlite3.Connection, schemas: Schemas) -> Learned:
        schema, model = schemas(self.stream.schema), self.stream.id
        self.blocks, duplicates, now = [], 0, time.time()
        self.answers = None if self.noted is None else [*self.noted]
        if self.answers is None:
            self._check_all(schema)
        for part in self.parts:
            rows, kept = part.rows, list(range(len(part.rows.y)))
            if self.answers is not None:
                kept = self._fitting(schema, part)
            if part.keys is not None:
                unseen = self._unseen(connection, part, kept, schema.rows)
                duplicates += len(kept) - len(unseen)
                kept = unseen
            if self.answers is not None:
                self.answers += [LineAnswer(line=part.lines[i], status="learned") for i in kept]
            if not kept:
                continue
            if len(kept) < len(rows.y):
                rows = rows.only(kept)
            step = max(1, min(ROWS_LEARNED_AT_ONCE, LARGEST_BLOCK * len(rows.y) // max(1, part.rows.size)))
            for start in range(0, len(rows.y), step):
                piece = rows.part(start, start + step)
                block = JournalBlock(schema.admit(piece), piece, now, self.token)
                insert_block(connection, model, block)
                self.blocks.append(block)
        learned = sum(len(block.rows.y) for block in self.blocks)
        if self.answers is None:
            return Learned(t=schema.rows, learned=learned, duplicates=duplicates)
        return LearnedLines(t=schema.rows, learned=learned, duplicates=duplicates, lines=self.answers)

    def _check_all(self, schema: Schema) -> None:
        """Refuse everything for the first line that does not fit; parts are judged as if those before were in."""
        trial = schema.trial(schema.labels if len(self.parts) == 1 else set(schema.labels))
        for part in self.parts:
            flaw = trial.flaw(part.rows)
            if flaw is not None:
                raise CallProblem(422, flaw[1], line=part.lines[flaw[0]])
            if len(self.parts) > 1:
                trial.admit(part.rows)

    def _fitting(self, schema: Schema, part: Incoming) -> list[int]:
        """Rows that fit, the others noted. Those that bring labels are judged one after another."""
        trial, kept = schema.trial(set(schema.labels)), []
        assert self.answers is not None
        for i in range(len(part.rows.y)):
            one = part.rows.part(i, i + 1)
            flaw = trial.flaw(one)
            if flaw is None:
                trial.admit(one)
                kept.append(i)
            else:
                self.answers.append(LineAnswer(line=part.lines[i], status="refused", detail=flaw[1]))
        return kept

    def _unseen(self, connection: sqlite3.Connection, part: Incoming, kept: list[int], row: int) -> list[int]:
        unseen: list[int] = []
        assert part.keys is not None
        for i in kept:
            key = part.keys[i]
            if key is not None:
                added = connection.execute(
                    "INSERT OR IGNORE INTO keys VALUES (?, ?, ?)", (self.stream.id, key, row + len(unseen))
                )
                if added.rowcount == 0:
                    if self.answers is not None:
                        self.answers.append(LineAnswer(line=part.lines[i], status="duplicate"))
                    continue
            unseen.append(i)
        return unseen

    def written(self, answer: Learned) -> None:
        """Hand the blocks to the learners; the caller is told when the champion has learned them."""
        self.stream.journalled(self.blocks, answer, self.told)


class KeepWrite(AnsweredWrite):
    """Examples that were predicted and wait for their labels: (id, x as JSON, predicted as JSON, doubt, ask). One that
    waits already, the same under its id, is acknowledged only: its sender may not have heard the answer.
    """

    def __init__(self, stream: Any, examples: list[tuple[Any, ...]], token: str, told: Told) -> None:
        super().__init__(told)
        self.stream, self.examples, self.token = stream, examples, token
        self.size = 200 + sum(len(example[1]) for example in examples)
        self.fresh: list[tuple[Any, ...]] = []

    def apply(self, connection: sqlite3.Connection, schemas: Schemas) -> int:
        model, now = self.stream.id, time.time()
        self.fresh = []
        for example in self.examples:
            key, x, *_ = example
            kept = connection.execute("SELECT x FROM kept WHERE model = ? AND id = ?", (model, key)).fetchone()
            if kept is None and not _labelled(connection, model, key):
                self.fresh.append(example)
            elif kept != (x,):
                raise CallProblem(409, f"another example is kept, or was labelled, under the id {key!r} already")
        if len({key for key, *_ in self.examples}) < len(self.examples):
            raise CallProblem(409, "an id is given twice in one batch")
        connection.executemany(
            "INSERT INTO kept (model, id, x, predicted, doubt, ask, time, token) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            [(model, *example, now, self.token) for example in self.fresh],
        )
        saved = sum(ask is False for *_, ask in self.fresh)
        _count_asked(connection, model, len(self.fresh) - saved, saved, 0)
        return len(self.fresh)

    def written(self, answer: int) -> None:
        saved = sum(ask is False for *_, ask in self.fresh)
        self.stream.kept += answer
        self.stream.asked.add(answer - saved, saved, 0)
        self.told(answer)


class LabelWrite(LearnWrite):
    """True labels of kept examples, journalled in the order of their arrival; a second label is acknowledged only."""

    def __init__(self, stream: Any, truths: list[tuple[int, str, Any]], token: str, told: Told) -> None:
        super().__init__(stream, [], token, told)
        self.truths = truths
        self.size = 200 + 500 * len(truths)
        self.labelled = 0

    def apply(self, connection: sqlite3.Connection, schemas: Schemas) -> Learned:
        model, self.parts, self.labelled = self.stream.id, [], 0
        duplicates, met = 0, set()
        for line, key, y in self.truths:
            kept = connection.execute("SELECT x FROM kept WHERE model = ? AND id = ?", (model, key)).fetchone()
            if key in met or (kept is None and _labelled(connection, model, key)):
                duplicates += 1
                continue
            if kept is None:
                raise CallProblem(404, f"no example is kept under the id {key!r}", line=line)
            met.add(key)
            rows = self.stream.rows_of([msgspec.json.decode(kept[0])], [y])
            self.parts.append(Incoming(rows, [label_key(key)], [line]))
        self._check_all(schemas(self.stream.schema))
        learned = super().apply(connection, schemas)
        connection.executemany("DELETE FROM kept WHERE model = ? AND id = ?", [(model, key) for key in met])
        self.labelled = len(met)
        _count_asked(connection, model, 0, 0, len(met))
        return Learned(t=learned.t, learned=learned.learned, duplicates=duplicates)

    def written(self, answer: Learned) -> None:
        self.stream.kept -= self.labelled
        self.stream.asked.add(0, 0, self.labelled)
        super().written(answer)


def _count_asked(connection: sqlite3.Connection, model: int, asked: int, saved: int, answered: int) -> None:
    connection.execute(
        "INSERT INTO asked VALUES (?1, ?2, ?3, ?4) ON CONFLICT (model) DO UPDATE SET asked = asked + ?2, "
        "saved = saved + ?3, answered = answered + ?4",
        (model, asked, saved, answered),
    )


def _labelled(connection: sqlite3.Connection, model: int, key: str) -> bool:
    found = connection.execute("SELECT 1 FROM keys WHERE model = ? AND key = ?", (model, label_key(key))).fetchone()
    return found is not None


def forget_rows(connection: sqlite3.Connection, model: int, before: int) -> int:
    """Remove whole blocks of examples with numbers below ``before``, and their keys; returns how many rows went."""
    oldest, _ = first_and_last(connection, model)
    row = connection.execute(
        "SELECT max(first + rows) FROM blocks WHERE model = ? AND first + rows <= ?", (model, before)
    ).fetchone()
    if row[0] is None or row[0] <= oldest:
        return 0
    end = int(row[0])
    connection.execute("DELETE FROM blocks WHERE model = ? AND first < ?", (model, end))
    connection.execute("DELETE FROM keys WHERE model = ? AND row < ?", (model, end))
    connection.execute("INSERT OR REPLACE INTO gone VALUES (?, ?)", (model, end))
    return end - oldest
