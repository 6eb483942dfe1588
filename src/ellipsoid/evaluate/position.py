"""The position of a run in its inputs: what a model file must hold so that a killed run can be resumed.

A run reads its inputs in the order given, ``epochs`` times. Its position is the number of complete passes and the
number of rows of the present one that the model has learned. To resume, the same inputs are opened again and that many
rows are skipped; because chunks do not change a model, the result is that of an uninterrupted run. A run that is
complete is not resumed: whatever is learned next is a new run.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from ellipsoid.streams.options import CELL_KINDS

# A file is identified by this many bytes at each of so many places, its first and last bytes among them.
HEAD, PROBES = 1 << 12, 16
# What a model file keeps of how its streams were read: later streams may not show it.
KEPT = ("zero_based", "bits", "kinds")


@dataclass
class Position:
    """A run over ``inputs`` (names; ``heads`` are the marks of those that are files) and how far it came.

    ``order`` is the seed of a shuffled run; ``errors`` counts the rows whose label was not the one predicted;
    ``weightless`` counts the rows of weight 0, which are no errors; ``columns`` are the names of a table's columns of
    numbers, in the order of the model's features; ``zero_based``, ``bits`` and ``kinds`` are those of the stream;
    ``missing`` is "zero" where empty cells were read so, None where they were errors.
    """

    inputs: list[str]
    heads: list[str | None]
    epochs: int = 1
    order: int | None = None
    epoch: int = 0
    row: int = 0
    rows: int = 0
    errors: int = 0
    complete: bool = False
    columns: list[str] | None = None
    zero_based: bool | None = None
    bits: int | None = None
    kinds: dict[str, str | None] | None = None
    weightless: int = 0
    missing: str | None = None

    @classmethod
    def start(cls, inputs: Sequence[str], epochs: int, order: int | None) -> Position:
        """Before the first row."""
        return cls(list(inputs), [mark_of(name) for name in inputs], epochs, order)

    @classmethod
    def read(cls, record: Any) -> Position:
        """The position that a model file holds."""
        known, of_features = {field.name for field in fields(cls)}, {"columns", "missing", *KEPT}
        if isinstance(record, dict) and record and {*record} <= of_features:
            record = {"inputs": [], "heads": [], "complete": True, **record}  # no run
        elif not isinstance(record, dict) or {*record, *of_features, "weightless"} != known:
            raise ValueError(f"the model file's record of its stream cannot be read: {record!r}")
        position = cls(**record)
        numbers = (position.epochs, position.epoch, position.row, position.rows, position.errors, position.weightless)
        bits = 1 if position.bits is None else position.bits
        lists = all(isinstance(part, list) for part in (position.inputs, position.heads, position.columns or []))
        good = (
            lists
            and all(isinstance(name, str) for name in (*position.inputs, *(position.columns or [])))
            and all(isinstance(head, str | None) for head in position.heads)
            and all(isinstance(number, int) and number >= 0 for number in (*numbers, bits))
            and isinstance(position.complete, bool)
            and isinstance(position.zero_based, bool | None)
            and position.missing in (None, "zero")
            and isinstance(position.kinds, dict | None)
            and all(kind in (None, *CELL_KINDS) for kind in (position.kinds or {}).values())
        )
        if not good or (position.epoch >= position.epochs and not position.complete):
            raise ValueError(f"the model file's record of its stream cannot be read: {record!r}")
        return position

    def record(self) -> dict[str, Any]:
        """What a model file holds of it."""
        left_out = [name for name in ("weightless", "missing") if not getattr(self, name)]
        return {key: value for key, value in asdict(self).items() if key not in left_out}

    def options(self) -> dict[str, Any]:
        """How streams are to be read that are like those of the run, as keyword arguments of ``open_stream``."""
        missing = {} if self.missing is None else {"missing": self.missing}
        return {**{option: getattr(self, option) for option in KEPT}, **missing}

    @property
    def error(self) -> float:
        """The share of the rows whose label was not the one predicted."""
        return self.errors / max(1, self.rows - self.weightless)

    @property
    def pass_rows(self) -> int:
        """The rows of the last pass of a run that came to its end."""
        return self.row or self.rows // self.epochs

    def has_grown(self, other: Position) -> bool:
        """Whether the files of the other, the same run, have grown; unknown for marks from before 0.2."""
        pairs = zip(self.heads, other.heads, strict=True)
        return any(mine is not None and " " in mine and mine != theirs for mine, theirs in pairs)

    def same_run(self, other: Position) -> bool:
        """Whether the other, a new run, reads the same inputs in the same way; files may have been moved or grown."""
        if (self.epochs, self.order, len(self.inputs)) != (other.epochs, other.order, len(other.inputs)):
            return False
        pairs = zip(self.inputs, self.heads, other.inputs, other.heads, strict=True)
        return all(
            a == b and theirs is None if mine is None else theirs is not None and _had_mark(b, mine)
            for a, mine, b, theirs in pairs
        )

    def advance(self, rows: int) -> None:
        """Count rows that were learned."""
        self.row += rows
        self.rows += rows

    def next_epoch(self) -> None:
        """Count a complete pass. Over a file that grew between passes, the length of the last one is kept."""
        self.epoch += 1
        if self.epoch < self.epochs or self.row * self.epochs == self.rows:
            self.row = 0

    def reopen(self) -> None:
        """Put a complete run back behind its last row, before its end."""
        self.epoch, self.row, self.complete = self.epochs - 1, self.pass_rows, False

    def __str__(self) -> str:
        names = ", ".join(self.inputs)
        if self.complete:
            return f"{self.rows:,} rows of {names}, to the end"
        which = f" of pass {self.epoch + 1}" if self.epochs > 1 else ""
        return f"{self.row:,} rows{which} of {names}, unfinished"


def mark_of(name: str, size: int | None = None) -> str | None:
    """The size and a digest of a file, or of its first ``size`` bytes; None for what is no file."""
    path = Path(name)
    if name == "-" or not path.is_file():
        return None
    size = path.stat().st_size if size is None else size
    return f"{size} {hashlib.sha256(probes(path, size)).hexdigest()}"


def probes(path: Path, size: int) -> bytes:
    """Samples of the first ``size`` bytes of a file: reading all would take as long as learning them."""
    found = []
    with open(path, "rb") as file:
        for place in (max(0, size - HEAD) * i // (PROBES - 1) for i in range(PROBES)):
            file.seek(place)
            found.append(file.read(min(HEAD, size - place)))
    return b"".join(found)


def _had_mark(name: str, mark: str) -> bool:
    """Whether a file has this mark, or had it before it grew."""
    size, _, digest = mark.rpartition(" ")
    if not size:
        # Before 0.2 the mark was that of the first bytes alone.
        with open(name, "rb") as file:
            return hashlib.sha256(file.read(HEAD)).hexdigest() == digest
    return size.isdecimal() and mark_of(name, int(size)) == mark


def part_of(chunk: tuple[Any, ...], part: slice) -> tuple[Any, ...]:
    """Some rows of a chunk: of X and y, and of whatever else has a value for each row."""
    return tuple(None if values is None else values[part] for values in chunk)


def without_first(chunks: Iterable[tuple[Any, ...]], rows: int) -> Iterator[tuple[Any, ...]]:
    """The chunks less their first rows.

    >>> [y for X, y in without_first([("ab", [1, 2]), ("cd", [3, 4])], 3)]
    [[4]]
    """
    for chunk in chunks:
        count = len(chunk[1])
        if rows >= count:
            rows -= count
            continue
        yield part_of(chunk, slice(rows, None)) if rows else chunk
        rows = 0
    if rows:
        raise ValueError(
            f"the input ends {rows:,} rows before the place where the saved run stopped, so it is "
            "not the same input; give the same"
        )


def in_steps(chunks: Iterable[tuple[Any, ...]], done: int, step: int | None) -> Iterator[tuple[Any, ...]]:
    """The chunks, cut also after every multiple of ``step`` rows; ``done`` rows came before.

    >>> [y for X, y in in_steps([("abcde", [1, 2, 3, 4, 5])], done=1, step=3)]
    [[1, 2], [3, 4, 5]]
    """
    for chunk in chunks:
        start, count = 0, len(chunk[1])
        while start < count:
            stop = count if step is None else min(count, start + step - done % step)
            yield chunk if stop - start == count else part_of(chunk, slice(start, stop))
            done, start = done + stop - start, stop
