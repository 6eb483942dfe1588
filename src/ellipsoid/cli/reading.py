"""The options that say how DATA is read, the checks of file names, and several inputs read as one stream."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import wraps
from typing import Any

import click


class NewFile(click.Path):
    """A file to write. An empty name, as of an unset shell variable, would mean no file: hours could be lost."""

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        if value == "":
            self.fail("an empty name is no file's; is the variable that holds it set?", param, ctx)
        return super().convert(value, param, ctx)


class _NonemptyText(click.types.StringParamType):
    """Text that is not empty. An empty name of a column or file, as of an unset variable, would be ignored silently."""

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        if value == "":
            self.fail("it is empty; is the variable that holds it set?", param, ctx)
        return super().convert(value, param, ctx)


class _Labels(_NonemptyText):
    """A list of labels, separated by commas. An empty label would be a class that no row has."""

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        labels = [label.strip() for label in super().convert(value, param, ctx).split(",")]
        if "" in labels:
            self.fail(f"{value!r} names an empty label; leave out the comma that is too many", param, ctx)
        return labels


NONEMPTY_TEXT = _NonemptyText()
LABELS = _Labels()


def refuse_missing(names: Iterable[str | None]) -> None:
    """Refuse, before anything is learned, a name that is neither a file nor a data set."""
    from ellipsoid.streams.opening import open_stream
    from ellipsoid.streams.sets.datasets import names as data_sets

    for name in names:
        if name is None or name == "-" or (os.path.exists(name) and not os.path.isdir(name)):
            continue
        if os.path.isdir(name) or name.partition(":")[0] not in data_sets():
            open_stream(name)  # raises the error that says what is wrong


def refuse_reading_again(names: Iterable[str | None], passes: int = 1) -> None:
    """Refuse, before anything is learned, to read a pipe or standard input a second time."""
    pipes: list[str] = []
    for name in names:
        if name is None or (name != "-" and (not os.path.exists(name) or os.path.isfile(name) or os.path.isdir(name))):
            continue
        shown = "standard input" if name == "-" else name
        if passes > 1:
            raise ValueError(f"{shown} can be read only once: save it to a file, or leave --epochs out")
        if any(name == other or _is_same_file(name, other) for other in pipes):
            raise ValueError(f"{shown} can be read only once: save it to a file, and name that")
        pipes.append(name)


def refuse_overwriting(option: str, target: str | None, read: Iterable[str | None]) -> None:
    """Refuse to write to a file that the same command reads: its rows or its model would be lost."""
    # A device such as a terminal may be both read and written.
    if target is None or not os.path.isfile(target):
        return
    for name in read:
        if name is not None and _is_same_file(target, name):
            shown = "standard input" if name == "-" else name
            raise click.UsageError(f"{option} {target} would overwrite {shown}, which is read: name another file.")


def _is_same_file(*names: str) -> bool:
    """Do two names mean the same file or pipe? ``-`` is standard input."""
    try:
        one, two = (os.fstat(sys.stdin.fileno()) if name == "-" else os.stat(name) for name in names)
    except (OSError, AttributeError):  # a name of a data set, or standard input that is closed or no file
        return False
    return os.path.samestat(one, two)


# Arguments that the library's error messages advise, and the options that a user of the command line knows them by.
OPTION_FOR_ARGUMENT = {
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
    """Add the options of a command that reads streams row by row."""
    keep = "Give each name in JSON lines a column of its own, instead of hashing it."
    return array_options(click.option("--keep-names", is_flag=True, help=keep)(command))


def array_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of every command that reads streams, also of one that needs all rows as one array."""
    command = _with_options_in_errors(command)
    for option in reversed(
        (
            click.option("--format", type=NONEMPTY_TEXT, metavar="NAME",
                         help="svmlight, csv, vw, jsonl, parquet, arrow, npy [default: by name]."),
            click.option("--label", type=NONEMPTY_TEXT, metavar="COLUMN",
                         help="The label's column of a table [default: the last], or member of JSON lines."),
            click.option("--columns", type=NONEMPTY_TEXT, metavar="A,B,…",
                         help="Columns of a table to use [default: all]."),
            click.option("--header/--no-header", default=None,
                         help="Whether CSV text begins with a line of names [default: found out]."),
            click.option("--bits", type=click.IntRange(1, 30), help="Hash names of features to 2^BITS columns."),
            click.option("--missing", type=click.Choice(["error", "zero"]), default="error",
                         help="What to do with empty cells."),
            click.option("--first-feature", type=click.Choice(["0", "1"]),
                         help="What svmlight text counts features from [default: found out]."),
        )
    ):  # fmt: skip
        command = option(command)
    return command


def _with_options_in_errors(command: Callable[..., Any]) -> Callable[..., Any]:
    """The command, with errors that advise options where the library advises arguments."""

    @wraps(command)
    def wrapped(*args: Any, **options: Any) -> Any:
        try:
            return command(*args, **options)
        except (ValueError, MemoryError) as error:
            sentence = str(error)
            if "no_label" in options:
                sentence = sentence.replace("give labelled=False", "give --no-label")
            for argument, option in OPTION_FOR_ARGUMENT.items():
                sentence = sentence.replace(argument, option)
            raise (ValueError if isinstance(error, ValueError) else MemoryError)(sentence) from error

    return wrapped


def stream_options(options: dict[str, Any]) -> dict[str, Any]:
    """The options as keyword arguments of ``open_stream``."""
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


def stream_options_of_model(options: dict[str, Any], model: Any, kept: Any) -> dict[str, Any]:
    """The same; what the options leave open is as in the streams that the model learned, which ``kept``, the `Position`
    in its file, remembers.
    """
    from ellipsoid.evaluate.position import KEPT

    # A model that knows its features by names needs the names of these rows too.
    core = getattr(getattr(model, "learner_", model), "_core", None)
    keep_names = options["keep_names"] or getattr(core, "features", None) is not None
    given = stream_options({**options, "keep_names": keep_names})
    bits = given.get("bits")
    if bits is not None and (kept.bits or bits) != bits:
        raise click.UsageError(f"--bits {bits} contradicts the model, whose features are hashed to {kept.bits} bits.")
    if bits is not None and kept.bits is None and kept.zero_based is not None:
        raise click.UsageError(f"--bits {bits} contradicts the model, whose features are not hashed.")
    return {**{option: getattr(kept, option) for option in KEPT}, **given}


def named_data_set(names: tuple[str, ...]) -> Any:
    """The data set with this name, which knows its labels and may have a test part; None for files and streams."""
    from pathlib import Path

    if len(names) > 1 or names[0] == "-" or Path(names[0]).suffix or Path(names[0]).exists():
        return None
    from ellipsoid.streams.opening import open_stream

    return open_stream(names[0])


class Inputs:
    """Several streams read one after another as one; each is opened when it is reached, and may be empty.

    ``learned`` are the names of the columns that the model has learned, None while no table with names was read. What
    the first stream shows of the kind of its features and labels is assumed of the others too: they may be parts of the
    same data that do not show it.
    """

    def __init__(self, names: tuple[str, ...], learned: list[str] | None = None, **options: Any) -> None:
        self.names, self.learned, self.options = names, learned, options
        self.reader: Any = None
        self.descriptions: list[str] = []
        self._bytes_before = 0
        self._empty: list[Any] = []

    def __iter__(self) -> Iterator[tuple[Any, Any]]:
        for X, y, _ in self.weighted():
            yield X, y

    def weighted(self) -> Iterator[tuple[Any, Any, Any]]:
        """Rows, labels and weights (None where a stream has no weights)."""
        from ellipsoid.streams.readers.errors import NoRows
        from ellipsoid.streams.several_files import kinds_and_base

        self.descriptions, self._bytes_before, self._empty = [], 0, []
        if len(self.names) > 1:
            self.options |= kinds_and_base(self.names, self.options)
        first: NoRows | None = None
        for name in self.names:
            self.reader = None
            try:
                yield from self._rows_of(name)
            except NoRows as error:
                first = first or error
                self._empty += [] if self.reader is None else [self.reader]
                if self.descriptions:
                    self._check_empty()
                continue
            self.descriptions.append(self.reader.description)
            self._bytes_before += self.reader.bytes_total or 0
        if first is not None and not self.descriptions:
            raise first

    def _rows_of(self, name: str) -> Iterator[tuple[Any, Any, Any]]:
        from ellipsoid.streams.opening import open_stream

        self.reader = open_stream(name, **self.options)
        if self._has_no_label(name):
            self.reader = open_stream(name, **{**self.options, "labelled": False})
        for chunk in self.reader:
            if chunk.offset == 0:
                self._check_first(chunk.y)
            yield chunk.X, chunk.y, chunk.weights

    def _check_first(self, y: Any) -> None:
        """Refuse a stream that does not fit those before it, and note what those after it must fit."""
        from ellipsoid.evaluate.position import KEPT
        from ellipsoid.streams.several_files import check_columns

        unlabelled = "--no-label" if "labelled" in self.options else None
        self.learned = check_columns(
            self.reader, self.learned, self.options.get("kinds"), columns="--columns", unlabelled=unlabelled
        )
        self._check_empty()
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

    def _check_empty(self) -> None:
        """Refuse a stream without rows whose heading may be a row, before later streams are learned."""
        from ellipsoid.streams.several_files import refuse_empty_table

        while self._empty:
            refuse_empty_table(self._empty.pop(), self.learned, self.options.get("kinds"))

    def _has_no_label(self, name: str) -> bool:
        """Does a table to be labelled have exactly the learned columns, and so no label?"""
        if self.learned is None or not self.options.get("labelled") or self.options.get("label"):
            return False
        if not os.path.isfile(name):
            return False  # the rows of a pipe can be read only once
        from ellipsoid.streams.opening import open_stream

        # The columns are known when the first rows have been read; a file is then opened again.
        kinds = self.options.get("kinds")
        stream = open_stream(name, **{**self.options, "labelled": kinds is None})
        for _ in stream:
            if kinds is None:
                return bool(self.learned and stream.columns == self.learned[:-1])
            return set(stream.kinds or ()) == set(kinds)
        return False

    def done(self, rows: int) -> tuple[int, int | None]:
        """Bytes read and bytes in all, or, where an input is no file, rows; None for a total that is not known."""
        if self.reader is None or self.reader.bytes_total is None:
            return rows, None if self.reader is None or len(self.names) > 1 else self.reader.n_rows
        try:
            total = sum(os.path.getsize(name) for name in self.names)
        except OSError:
            total = None
        return self._bytes_before + self.reader.bytes_read, total
