"""The kinds of writes to the journal; each is written as a whole or not at all."""

import sqlite3
import time
from collections.abc import Callable
from typing import Any

import msgspec

from ..messages import Learned, LearnedLines, LineAnswer
from ..problem import CallProblem
from .database import JournalBlock, blocks_after, first_and_last, insert_block
from .rows import Rows, as_journalled
from .schema import Schema


# Keys of callers and ids of labelled examples are distinguished by their first letter.
def caller_key(key: str) -> str:
    """The key of an example that its sender gave it."""
    return f"k{key}"


def label_key(key: str) -> str:
    """The key of an example that was kept under an id."""
    return f"l{key}"


Schemas = Callable[[Schema], Schema]
Reply = Callable[[Any], None]

# Rows of one block: small enough to be read and learned without holding others up.
ROWS_LEARNED_AT_ONCE = 2048
LARGEST_BLOCK = 1 << 21


class Write:
    """Something to be written; ``reply`` is called with the answer when it is on disk, or with an error."""

    # About how many bytes it writes.
    size = 1000
    # The `ModelStream` that it belongs to, whose ``flush`` is called after each commit; None: no one's.
    stream: Any = None

    def __init__(self, reply: Reply) -> None:
        self.reply = reply

    def apply(self, connection: sqlite3.Connection, schemas: Schemas) -> Any:
        """Write, and return the answer; a `CallProblem` refuses this write, and must leave nothing written. Before a
        schema is changed ``schemas`` must be called with it, so that it is rolled back if the commit fails.
        """
        raise NotImplementedError

    def written(self, answer: Any) -> None:
        """Called when the disk has it."""
        self.reply(answer)

    def failed(self, error: BaseException) -> None:
        """Called when it was not written."""
        self.reply(error)


class Change(Write):
    """A rare change of some tables, as a function of the connection."""

    def __init__(self, reply: Reply, change: Callable[[sqlite3.Connection], Any]) -> None:
        super().__init__(reply)
        self.change = change

    def apply(self, connection: sqlite3.Connection, schemas: Schemas) -> Any:
        return self.change(connection)


class IncomingRows:
    """Examples of a request: rows of one form, their keys (None: without), and the line number of each."""

    def __init__(self, rows: Rows, keys: list[str | None] | None, lines: list[int] | range) -> None:
        self.rows, self.keys, self.lines = rows, keys, lines
        self.size = rows.size


class LearnWrite(Write):
    """Examples of ``stream`` to be journalled and learned. Without ``refused`` one line that does not fit refuses all;
    with it, the list of lines refused so far, the others are learned, and ``answers`` says what became of each line.
    """

    def __init__(
        self, stream: Any, parts: list[IncomingRows], token: str, reply: Reply, refused: list[LineAnswer] | None = None
    ) -> None:
        super().__init__(reply)
        self.stream, self.parts, self.token, self.refused = stream, parts, token, refused
        self.answers: list[LineAnswer] | None = None
        self.size = 200 + sum(part.size for part in parts)
        self.blocks: list[JournalBlock] = []

    def apply(self, connection: sqlite3.Connection, schemas: Schemas) -> Learned:
        schema, model = schemas(self.stream.schema), self.stream.id
        self.blocks, duplicates, now = [], 0, time.time()
        self.answers = None if self.refused is None else [*self.refused]
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
            row_bytes = max(1, part.size // len(part.rows.y))
            step = max(1, min(ROWS_LEARNED_AT_ONCE, LARGEST_BLOCK // row_bytes))
            for start in range(0, len(rows.y), step):
                piece = rows.part(start, start + step)
                block = JournalBlock(schema.admit(piece), piece, now, self.token, row_bytes * len(piece.y))
                insert_block(connection, model, block)
                self.blocks.append(block)
        learned = sum(len(block.rows.y) for block in self.blocks)
        if self.answers is None:
            return Learned(t=schema.rows, learned=learned, duplicates=duplicates)
        return LearnedLines(t=schema.rows, learned=learned, duplicates=duplicates, lines=self.answers)

    def _check_all(self, schema: Schema) -> None:
        """Refuse everything for the first line that does not fit the schema and the lines before it."""
        trial = schema.trial(schema.labels if len(self.parts) == 1 else set(schema.labels))
        for part in self.parts:
            misfit = trial.misfit(part.rows)
            if misfit is not None:
                raise CallProblem(422, misfit[1], line=part.lines[misfit[0]])
            if len(self.parts) > 1:
                trial.admit(part.rows)

    def _fitting(self, schema: Schema, part: IncomingRows) -> list[int]:
        """The rows that fit the schema and the rows before them; the others are refused."""
        trial, kept = schema.trial(set(schema.labels)), []
        assert self.answers is not None
        for i in range(len(part.rows.y)):
            one = part.rows.part(i, i + 1)
            misfit = trial.misfit(one)
            if misfit is None:
                trial.admit(one)
                kept.append(i)
            else:
                self.answers.append(LineAnswer(line=part.lines[i], status="refused", detail=misfit[1]))
        return kept

    def _unseen(self, connection: sqlite3.Connection, part: IncomingRows, kept: list[int], row: int) -> list[int]:
        """Those of the ``kept`` rows whose keys are new; the keys are written, with numbers from ``row`` on."""
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
        """Hand the blocks to the learners; the reply comes when the champion has learned them."""
        self.stream.journalled(self.blocks, answer, self.reply)


class KeepWrite(Write):
    """Examples that were predicted and wait for their labels: (id, x as JSON, predicted as JSON, doubt, ask). One that
    waits already under the same id, or has got its label, is only acknowledged: its sender may not have received the
    first answer.
    """

    def __init__(self, stream: Any, examples: list[tuple[Any, ...]], token: str, reply: Reply) -> None:
        super().__init__(reply)
        self.stream, self.examples, self.token = stream, examples, token
        self.size = 200 + sum(len(example[1]) for example in examples)
        self.fresh: list[tuple[Any, ...]] = []

    def apply(self, connection: sqlite3.Connection, schemas: Schemas) -> int:
        model, now = self.stream.id, time.time()
        self.fresh = []
        for example in self.examples:
            key, x, *_ = example
            kept = connection.execute("SELECT x FROM kept WHERE model = ? AND id = ?", (model, key)).fetchone()
            row = _labelled_row(connection, model, key) if kept is None else None
            if kept is None and row is None:
                self.fresh.append(example)
            elif not (kept == (x,) if row is None else self._is_row(connection, row, x)):
                raise CallProblem(409, f"the id {key!r} already belongs to another example; choose another id")
        if len({key for key, *_ in self.examples}) < len(self.examples):
            raise CallProblem(409, "an id is given twice in one batch; give each example its own id")
        connection.executemany(
            "INSERT INTO kept (model, id, x, predicted, doubt, ask, time, token) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            [(model, *example, now, self.token) for example in self.fresh],
        )
        saved = sum(ask is False for *_, ask in self.fresh)
        _count_asked(connection, model, len(self.fresh) - saved, saved, 0)
        return len(self.fresh)

    def _is_row(self, connection: sqlite3.Connection, row: int, x: bytes) -> bool:
        """Is this the example that was journalled under that number when its label came?"""
        block = next(blocks_after(connection, self.stream.id, row))
        there = block.rows.part(row - block.first, row - block.first + 1)
        again = self.stream.rows_of([msgspec.json.decode(x)], there.y)
        return as_journalled(again) == as_journalled(there)

    def written(self, answer: int) -> None:
        saved = sum(ask is False for *_, ask in self.fresh)
        self.stream.kept += answer
        self.stream.asked.add(answer - saved, saved, 0)
        self.reply(answer)


class LabelWrite(LearnWrite):
    """True labels of kept examples, in the order of their arrival; a second label is only acknowledged."""

    def __init__(self, stream: Any, truths: list[tuple[int, str, Any]], token: str, reply: Reply) -> None:
        super().__init__(stream, [], token, reply)
        self.truths = truths
        self.size = 200 + 500 * len(truths)
        self.labelled = 0

    def apply(self, connection: sqlite3.Connection, schemas: Schemas) -> Learned:
        model, self.parts, self.labelled = self.stream.id, [], 0
        duplicates, labelled = 0, set()
        for line, key, y in self.truths:
            kept = connection.execute("SELECT x FROM kept WHERE model = ? AND id = ?", (model, key)).fetchone()
            if key in labelled or (kept is None and _labelled_row(connection, model, key) is not None):
                duplicates += 1
                continue
            if kept is None:
                raise CallProblem(404, f"no example is kept under the id {key!r}", line=line)
            labelled.add(key)
            rows = self.stream.rows_of([msgspec.json.decode(kept[0])], [y])
            self.parts.append(IncomingRows(rows, [label_key(key)], [line]))
        self._check_all(schemas(self.stream.schema))
        learned = super().apply(connection, schemas)
        connection.executemany("DELETE FROM kept WHERE model = ? AND id = ?", [(model, key) for key in labelled])
        self.labelled = len(labelled)
        _count_asked(connection, model, 0, 0, len(labelled))
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


def _labelled_row(connection: sqlite3.Connection, model: int, key: str) -> int | None:
    """The number of the example whose label came under this id, None if none did."""
    found = connection.execute("SELECT row FROM keys WHERE model = ? AND key = ?", (model, label_key(key))).fetchone()
    return None if found is None else int(found[0])


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
