"""What the commands can be told about DATA, and how they open it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import wraps
from typing import Any

import click


class NewFile(click.Path):
    """A file to be written. An empty name, of a variable that is not set, would mean none: hours would be lost."""

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """The name, if it is one."""
        if value == "":
            self.fail("an empty name is no file's; is the variable that holds it set?", param, ctx)
        return super().convert(value, param, ctx)


class _Text(click.types.StringParamType):
    """Some text. Columns, labels or rows that an empty variable should have named would be passed over in silence."""

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """The text, if there is any."""
        if value == "":
            self.fail("it is empty; is the variable that holds it set?", param, ctx)
        return super().convert(value, param, ctx)


class _Labels(_Text):
    """Labels with commas between them, as a list. An empty one would be one more label that no row has."""

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """The labels, if each is one."""
        labels = [label.strip() for label in super().convert(value, param, ctx).split(",")]
        if "" in labels:
            self.fail(f"{value!r} names an empty label; leave out the comma that is too many", param, ctx)
        return labels


SOME_TEXT = _Text()
SOME_LABELS = _Labels()


def refuse_missing(names: Iterable[str | None]) -> None:
    """Refuse names that are neither files' nor data sets' before hours of learning what stands before them."""
    from ellipsoid.streams.opening import open_stream
    from ellipsoid.streams.sets.datasets import names as data_sets

    for name in names:
        if name is None or name == "-" or (os.path.exists(name) and not os.path.isdir(name)):
            continue
        if os.path.isdir(name) or name.partition(":")[0] not in data_sets():
            open_stream(name)  # which says what is wrong


def refuse_reading_again(names: Iterable[str | None], passes: int = 1) -> None:
    """Refuse to read a second time what gives its rows only once, before hours of learning those of the first."""
    met: list[str] = []
    for name in names:
        if name is None or (name != "-" and (not os.path.exists(name) or os.path.isfile(name) or os.path.isdir(name))):
            continue
        spoken = "standard input" if name == "-" else name
        if passes > 1:
            raise ValueError(f"{spoken} can be read only once: save it to a file, or leave --epochs out")
        if any(_same_pipe(name, other) for other in met):
            raise ValueError(f"{spoken} can be read only once: save it to a file, and name that")
        met.append(name)


def _same_pipe(name: str, other: str) -> bool:
    try:
        one, two = (os.fstat(sys.stdin.fileno()) if each == "-" else os.stat(each) for each in (name, other))
    except (OSError, AttributeError):  # standard input is no file, or closed
        return name == other
    return os.path.samestat(one, two)


def refuse_overwriting(option: str, target: str | None, read: Iterable[str | None]) -> None:
    """Refuse to write to a file that the same command reads: its rows or its model would be lost."""
    # What is no regular file, such as a terminal, may be read and written; a name without a file is a data set's.
    if target is None or not os.path.isfile(target):
        return
    for name in read:
        if name == "-":
            same, name = _is_standard_input(target), "standard input"
        else:
            same = name is not None and os.path.exists(name) and os.path.samefile(target, name)
        if same:
            raise click.UsageError(f"{option} {target} would overwrite {name}, which is read: name another file.")


def _is_standard_input(target: str) -> bool:
    """Is standard input read from this file?"""
    try:
        return os.path.samestat(os.stat(target), os.fstat(sys.stdin.fileno()))
    except (OSError, AttributeError):  # it is no file, or closed
        return False


# What the library calls an argument, where a sentence advises one, and the option that stands for it.
IN_OPTIONS = {
    "missing='zero'": "--missing zero",
    "zero_based=True": "--first-feature 0",
    "give n_features or bits": "give --bits",
    "give format,": "give --format,",
    "give header=False": "give --no-header",
    "to use by columns": "to use by --columns",
    "in that order by columns": "in that order by --columns",
    "leave dicts='keep' out": "leave --keep-names out",
    "of the labels by label, or give labelled=False": "of the labels by --label",
    "of the labels by label, or give --no-label": "of the labels by --label, or give --no-label",
    "; give labelled=False where none has one": "",
    "label names a column": "--label names a column",
    "weights names a column": "--weights names a column",
    "columns name columns": "--columns names columns",
    "without classes=": "without --classes",
    "pass classes=": "give --classes",
    "classes=[": "--classes [",
    'device="cuda"': "--device cuda",
    'device="cpu"': "--device cpu",
    'precision="single"': "--param precision=single",
    "budget=None": "--param budget=none",
    "grow_features=True": "a model learned with --param grow_features=true",
}


def reading_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options of a command that reads streams row by row, in which its errors speak."""
    keep = "Give each name in JSON lines a column of its own, instead of hashing it."
    return array_options(click.option("--keep-names", is_flag=True, help=keep)(command))


def array_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Those of every command that reads streams, also of one that needs all rows as one array."""
    command = in_options(command)
    for option in reversed(
        (
            click.option("--format", type=SOME_TEXT, metavar="NAME",
                         help="svmlight, csv, vw, jsonl, parquet, arrow, npy [default: by name]."),
            click.option("--label", type=SOME_TEXT, metavar="COLUMN",
                         help="The label's column of a table [default: the last], or member of JSON lines."),
            click.option("--columns", type=SOME_TEXT, metavar="A,B,…",
                         help="Columns of a table to use [default: all]."),
            click.option("--header/--no-header", default=None,
                         help="Whether CSV text begins with a line of names [default: found out]."),
            click.option("--bits", type=click.IntRange(1, 30), help="Hash names of features to 2^BITS columns."),
            click.option("--missing", type=click.Choice(["error", "zero"]), default="error", show_default=True,
                         help="What to do with empty cells."),
            click.option("--first-feature", type=click.Choice(["0", "1"]),
                         help="What svmlight text counts features from [default: found out]."),
        )
    ):  # fmt: skip
        command = option(command)
    return command


def in_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The command, with errors that advise options where the library advises arguments."""

    @wraps(command)
    def spoken(*args: Any, **options: Any) -> Any:
        try:
            return command(*args, **options)
        except (ValueError, MemoryError) as error:
            sentence = str(error)
            if "no_label" in options:
                sentence = sentence.replace("give labelled=False", "give --no-label")
            for argument, option in IN_OPTIONS.items():
                sentence = sentence.replace(argument, option)
            raise (ValueError if isinstance(error, ValueError) else MemoryError)(sentence) from error

    return spoken


def stream_options(options: dict[str, Any]) -> dict[str, Any]:
    """The keywords of ``open_stream`` that the options stand for."""
    given = {
        name: options[name]
        for name in ("format", "label", "weights", "header", "bits", "missing", "device")
        if options.get(name) is not None
    }
    if options.get("keep_names"):
        given["dicts"] = "keep"
    if options["columns"]:
        given["columns"] = tuple(name.strip() for name in options["columns"].split(","))
    if options["first_feature"]:
        given["zero_based"] = options["first_feature"] == "0"
    return given


def with_kept(options: dict[str, Any], kept: Any) -> dict[str, Any]:
    """The same, and for what the options leave open, what a model's `Position` has kept of the streams it learned."""
    from ellipsoid.evaluate.position import KEPT

    given = stream_options(options)
    bits = given.get("bits")
    if bits is not None and (kept.bits or bits) != bits:
        raise click.UsageError(f"--bits {bits} contradicts the model, whose features are hashed to {kept.bits} bits.")
    if bits is not None and kept.bits is None and kept.zero_based is not None:
        raise click.UsageError(f"--bits {bits} contradicts the model, whose features are not hashed.")
    return {**{option: getattr(kept, option) for option in KEPT}, **given}


def keeping_names(options: dict[str, Any], model: Any) -> dict[str, Any]:
    """The options, with names kept where a model that has learned knows its features by theirs."""
    core = getattr(getattr(model, "learner_", model), "_core", None)
    return {**options, "keep_names": options.get("keep_names") or getattr(core, "features", None) is not None}


def named_set(names: tuple[str, ...]) -> Any:
    """The data set that is meant where one name is no file's: it knows its labels and may have a test part."""
    from pathlib import Path

    if len(names) > 1 or names[0] == "-" or Path(names[0]).suffix or Path(names[0]).exists():
        return None
    from ellipsoid.streams.opening import open_stream

    return open_stream(names[0])


class Inputs:
    """Several streams as one, opened when they are read; those without rows are passed over.

    ``learned`` are the columns that a model knows its features by, None if their names are not known: of no table yet,
    and after the first table that has names, its own. Whatever else the first stream tells of its features and labels
    holds for the others too, which may be parts of it that do not show it.
    """

    def __init__(self, names: tuple[str, ...], learned: list[str] | None = None, **options: Any) -> None:
        self.names, self.learned, self.options = names, learned, options
        self.reader: Any = None
        self.descriptions: list[str] = []
        self._behind = 0
        self._empty: list[Any] = []

    def __iter__(self) -> Iterator[tuple[Any, Any]]:
        for X, y, _ in self.weighted():
            yield X, y

    def weighted(self) -> Iterator[tuple[Any, Any, Any]]:
        """Rows and labels, and weights, None where the streams do not tell them."""
        from ellipsoid.streams.readers.errors import NoRows
        from ellipsoid.streams.several_files import look_ahead

        self.descriptions, self._behind, self._empty = [], 0, []
        if len(self.names) > 1:
            self.options |= look_ahead(self.names, self.options)
        first: NoRows | None = None
        for name in self.names:
            self.reader = None
            try:
                yield from self._rows_of(name)
            except NoRows as error:
                first = first or error
                self._empty += [] if self.reader is None else [self.reader]
                if self.descriptions:
                    self._hold_empty()
                continue
            self.descriptions.append(self.reader.description)
            self._behind += self.reader.bytes_total or 0
        if first is not None and not self.descriptions:
            raise first

    def _rows_of(self, name: str) -> Iterator[tuple[Any, Any, Any]]:
        from ellipsoid.streams.opening import open_stream

        self.reader = open_stream(name, **self.options)
        if self._has_no_label(name):
            self.reader = open_stream(name, **{**self.options, "labelled": False})
        for chunk in self.reader:
            if chunk.offset == 0:
                self._settle(chunk.y)
            yield chunk.X, chunk.y, chunk.weights

    def _settle(self, y: Any) -> None:
        """Hold a stream that has given its first rows to those before it, and those after it to what it tells."""
        from ellipsoid.evaluate.position import KEPT
        from ellipsoid.streams.several_files import same_columns

        unlabelled = "--no-label" if "labelled" in self.options else None
        self.learned = same_columns(
            self.reader, self.learned, self.options.get("kinds"), columns="--columns", unlabelled=unlabelled
        )
        self._hold_empty()
        if self.reader.bits is not None and self.options["bits"] is None and self.options["zero_based"] is not None:
            raise ValueError(
                f"the features of {self.reader.name} are hashed, and those learned before it are numbered; learn files "
                "of one kind, or begin anew with --bits, which hashes all"
            )
        for option in KEPT:
            if self.options.get(option) is None:
                self.options[option] = getattr(self.reader, option)
        if y is not None and y.dtype.kind == "U":
            self.options["word_labels"] = True

    def _hold_empty(self) -> None:
        """Refuse what seems to have no rows and may be a row, before anything behind it is learned."""
        from ellipsoid.streams.several_files import hold_empty

        while self._empty:
            hold_empty(self._empty.pop(), self.learned, self.options.get("kinds"))

    def _has_no_label(self, name: str) -> bool:
        """Has a table to be labelled exactly the columns that were learned, and so none for a label?"""
        if self.learned is None or not self.options.get("labelled") or self.options.get("label"):
            return False
        if not os.path.isfile(name):
            return False  # of a pipe, which is read only once, the rows would be gone
        from ellipsoid.streams.opening import open_stream

        # The columns are known when the first rows have come; what was read of a file is read again.
        kinds = self.options.get("kinds")
        stream = open_stream(name, **{**self.options, "labelled": kinds is None})
        for _ in stream:
            if kinds is None:
                return bool(self.learned and stream.columns == self.learned[:-1])
            return set(stream.kinds or ()) == set(kinds)
        return False

    def done(self, rows: int) -> tuple[int, int | None]:
        """Bytes read and bytes in all, or rows and rows in all of what is no file; None where nobody knows."""
        if self.reader is None or self.reader.bytes_total is None:
            return rows, None if self.reader is None or len(self.names) > 1 else self.reader.n_rows
        return self._behind + self.reader.bytes_read, _sizes(self.names)


def _sizes(names: tuple[str, ...]) -> int | None:
    try:
        return sum(os.path.getsize(name) for name in names)
    except OSError:
        return None
