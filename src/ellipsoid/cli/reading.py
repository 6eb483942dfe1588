"""The options that say how DATA is read, and the checks of the names of files that are read and written."""

import os
import sys
from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any

import click


class NewFile(click.Path):
    """A file to write. An empty name, as of an unset shell variable, would mean no file: hours could be lost."""

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        if value == "":
            self.fail("the file name is empty; is the variable that should hold it set?", param, ctx)
        if value == "-" and not self.allow_dash:
            self.fail("it is not written to standard output; name a file (./- is one of that name)", param, ctx)
        return super().convert(value, param, ctx)


class _NonemptyText(click.types.StringParamType):
    """Text that is not empty. An empty name of a column or file, as of an unset variable, would be ignored silently."""

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        if value == "":
            self.fail("it must not be empty; is the variable that should hold it set?", param, ctx)
        return super().convert(value, param, ctx)


class _Labels(_NonemptyText):
    """A list of labels, separated by commas. An empty label would be a class that no row has."""

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        labels = [label.strip() for label in super().convert(value, param, ctx).split(",")]
        if "" in labels:
            self.fail(f"{value!r} names an empty label; remove the extra comma", param, ctx)
        for label in labels:
            if labels.count(label) > 1:
                self.fail(f"it names {label!r} twice", param, ctx)
        return labels


class _Kinds(_NonemptyText):
    """What columns hold, as ``NAME=words,NAME=numbers``."""

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        from ellipsoid.streams.options import CELL_KINDS

        kinds: dict[str, str] = {}
        for part in super().convert(value, param, ctx).split(","):
            name, _, kind = (word.strip() for word in part.rpartition("="))
            if not name or kind not in CELL_KINDS:
                self.fail(f"{part!r} must be NAME=words or NAME=numbers", param, ctx)
            if name in kinds:
                self.fail(f"it names {name!r} twice", param, ctx)
            kinds[name] = kind
        return kinds


NAMED_KINDS = _Kinds()
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
            raise ValueError(f"{shown} can be read only once: save it to a file, and give that file")
        pipes.append(name)


def refuse_overwriting(option: str, target: str | None, read: Iterable[str | None]) -> None:
    """Refuse to write to a file that the same command reads: its rows or its model would be lost."""
    # A device such as a terminal may be both read and written.
    if target is None or not os.path.isfile(target):
        return
    for name in read:
        if name is not None and _is_same_file(target, name):
            shown = "standard input" if name == "-" else name
            raise click.UsageError(
                f"{option} {target} would overwrite {shown}, which is read by this command: name another file."
            )


def _is_same_file(*names: str) -> bool:
    """Do two names mean the same file or pipe? ``-`` is standard input."""
    try:
        one, two = (os.fstat(sys.stdin.fileno()) if name == "-" else os.stat(name) for name in names)
    except (OSError, AttributeError):  # a name of a data set, or standard input that is closed or no file
        return False
    return os.path.samestat(one, two)


# Arguments that the library's error messages advise, and the options that a user of the command line knows them by.
OPTION_FOR_ARGUMENT = {
    "missing='zero' to open_stream": "--missing zero",
    "zero_based=True": "--first-feature 0",
    "give n_features or bits": "give --bits",
    "give format,": "give --format,",
    "give header=False": "give --no-header",
    "to use by columns": "to use by --columns",
    "in that order by columns": "in that order by --columns",
    "leave dicts='keep' out": "leave --keep-names out",
    "of the labels by label, or learn numbers": "of the labels by --label, or learn numbers",
    "of the labels by label, or give labelled=False": "of the labels by --label",
    "of the labels by label, or give --no-label": "of the labels by --label, or give --no-label",
    "; give labelled=False where none has one": "",
    "label names a column": "--label names a column",
    "weights names a column": "--weights names a column",
    "columns name columns": "--columns names columns",
    "kinds names columns": "--kinds names columns",
    "as kinds or the first table says": "as --kinds or the first table says",
    "client must be a Dask client, an address such as tcp://head:8786, 'here' or None": (
        "--scheduler must be an address such as tcp://head:8786"
    ),
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
    keep = "Give each feature name in JSON lines its own column instead of hashing it."
    return array_options(click.option("--keep-names", is_flag=True, help=keep)(command))


def array_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of every command that reads streams, also of one that needs all rows as one array."""
    command = _with_options_in_errors(command)
    for option in reversed(
        (
            click.option("--format", type=NONEMPTY_TEXT, metavar="NAME",
                         help="svmlight, csv, vw, jsonl, parquet, arrow, npy [default: by name]."),
            click.option("--label", type=NONEMPTY_TEXT, metavar="COLUMN",
                         help="Column of a table, or member of JSON lines, with the label [default: the last]."),
            click.option("--columns", type=NONEMPTY_TEXT, metavar="A,B,…",
                         help="Columns of a table to use [default: all]."),
            click.option("--kinds", type=NAMED_KINDS, metavar="A=words,…",
                         help="What columns of CSV text hold, words or numbers [default: what their first cell is]."),
            click.option("--header/--no-header", default=None,
                         help="Whether CSV text begins with a line of names [default: detected]."),
            click.option("--bits", type=click.IntRange(1, 30), help="Hash feature names to 2^BITS columns."),
            click.option("--missing", type=click.Choice(["error", "zero"]),
                         help="What to do with empty cells [default: error; with a saved model, as it learned]."),
            click.option("--first-feature", type=click.Choice(["0", "1"]),
                         help="Number of the first feature in svmlight text [default: detected]."),
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
            if "task" in options:
                sentence = sentence.replace("learn numbers with a regressor", "learn numbers with --task regression")
            for argument, option in OPTION_FOR_ARGUMENT.items():
                sentence = sentence.replace(argument, option)
            raise (ValueError if isinstance(error, ValueError) else MemoryError)(sentence) from error

    return wrapped


def stream_options(options: dict[str, Any]) -> dict[str, Any]:
    """The options as keyword arguments of ``open_stream``."""
    given = {
        name: options[name]
        for name in ("format", "label", "weights", "kinds", "header", "bits", "missing", "device")
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
    """The same; what they leave open is as in the streams that the model learned, which its `Position` ``kept``."""
    # A model that knows its features by names needs the names of these rows too.
    core = getattr(getattr(model, "learner_", model), "_core", None)
    keep_names = options["keep_names"] or getattr(core, "features", None) is not None
    given = stream_options({**options, "keep_names": keep_names})
    bits = given.get("bits")
    if bits is not None and (kept.bits or bits) != bits:
        raise click.UsageError(f"--bits {bits} contradicts the model, whose features are hashed to {kept.bits} bits.")
    if bits is not None and kept.bits is None and kept.zero_based is not None:
        raise click.UsageError(f"--bits {bits} contradicts the model, whose features are not hashed.")
    asked = given.pop("kinds", None)
    for name, kind in (asked or {}).items():
        learned = (kept.kinds or {}).get(name)
        if learned not in (None, kind):
            raise click.UsageError(
                f"--kinds {name}={kind} contradicts the model, which has learned {learned} from that column."
            )
    return {**kept.options(), **given, "asked": asked}
