"""`open_stream`: one function that opens files, pipes, arrays, data sets and iterables.

====================================  =======================================================================
``"-"``, an open binary file          text or Arrow, as its first bytes show, unless ``format`` is given
a path                                by its name: ``.svm .libsvm .svmlight .txt``, ``.csv .tsv``, ``.vw``,
                                      ``.jsonl .ndjson``, ``.parquet .pq``, ``.arrow .feather .ipc``,
                                      ``.npy``, ``.npz``; text of these may be compressed
                                      (``.gz .bz2 .xz .zst``); other names as ``"-"``
the name of a data set, a `Dataset`   its training part; ``test`` has the other; the name may be followed by
                                      the number of rows and the seed: ``sea:rows=20000:seed=3``
a pair ``(X, y)`` of arrays           as it is; X may be a list of dicts
any other iterable                    examples ``(x, y)``, with dicts or rows, or chunks ``(X, y)``
a `Stream` that is open               itself
====================================  =======================================================================
"""

import os
import re
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from typing import Any

from .format import Format
from .options import FORMATS, Options
from .readers.arrays import ArrayRows
from .readers.blocks import BINARY, Origin
from .readers.compression import SUFFIXES, stem
from .readers.errors import NoRows
from .readers.examples import Examples
from .sets.datasets import DEFORMED, Dataset, load, names, parse_name, stream
from .sets.synthetic import RECIPES
from .stream import Stream

# The suffixes of each format, and the module and the class of its reader, imported when it is needed.
_READERS = {
    "svmlight": (".svm .libsvm .svmlight .txt", "svmlight", "Svmlight"),
    "csv": (".csv .tsv", "table", "Csv"),
    "vw": (".vw", "vw", "VowpalWabbit"),
    "jsonl": (".jsonl .ndjson", "jsonl", "JsonLines"),
    "parquet": (".parquet .pq", "arrow", "ArrowTable"),
    "arrow": (".arrow .feather .ipc", "arrow", "ArrowTable"),
    "npy": (".npy", "arrays", "npy"),
    "npz": (".npz", "arrays", "npz"),
}
SUFFIX = {suffix: format for format, (suffixes, _, _) in _READERS.items() for suffix in suffixes.split()}
# Several labels between commas are of this format too, for its reader to refuse: a table has commas further on.
_SVMLIGHT = re.compile(rb"\s*[-+]?[\d.]+(e[-+]?\d+)?(\s+|(,[-+]?[\d.]+)+ +(?=[^,;\t]*$))(qid:|\d+:)", re.IGNORECASE)
_TABLES = ("csv", "parquet", "arrow", "jsonl")


def open_stream(source: Any, **options: Any) -> Stream:
    """``source`` as a `Stream`; the keywords are those of `Options`.

    >>> examples = [({"rain": 1.0}, "wet"), ({"sun": 2.0}, "dry")]
    >>> for X, y, offset in open_stream(examples, bits=8):
    ...     print(X.shape, y.tolist(), offset)
    (2, 256) ['wet', 'dry'] 0
    >>> open_stream("digits").n_rows
    1797
    """
    if isinstance(source, Stream):
        if options:
            raise ValueError(f"{source.name} is already open: give {', '.join(options)} when opening it")
        return source
    chosen = Options(**options)
    if isinstance(source, str | os.PathLike):
        return _open_name(os.fspath(source), chosen)
    if hasattr(source, "read"):
        if isinstance(source.read(0), str):
            raise TypeError("a stream is read from bytes, but this file is open as text: open it with 'rb'")
        return _open_bytes(Origin(source), chosen, chosen.format)
    if isinstance(source, Dataset):
        return _open_dataset(source, chosen)
    if isinstance(source, tuple) and len(source) == 2:
        X, y = source
        if isinstance(X, list) and X and isinstance(X[0], dict):
            if len(X) != len(y):
                raise ValueError(f"y has {len(y)} labels for the {len(X)} rows of X")
            return Stream("stream", Examples(list(zip(X, y, strict=True)), chosen), chosen)
        _refuse_columns("arrays", chosen)
        return Stream("arrays", ArrayRows(*source), chosen)
    if isinstance(source, Iterable):
        from .sets.deformed import DeformedDigits

        if isinstance(source, DeformedDigits):
            return _open_deformed(source, chosen)
        return Stream("stream", Examples(source, chosen), chosen)
    raise TypeError(
        "a stream must be a path, '-', an open binary file, a data set or its name, a pair (X, y), or an iterable of "
        f"chunks (X, y) or examples (x, y), got {type(source).__name__}"
    )


def _open_name(name: str, options: Options) -> Stream:
    if name == "-":
        return _open_bytes(Origin(name), options, options.format)
    path = Path(name)
    format = options.format or SUFFIX.get(Path(stem(path.name)).suffix)
    if not path.exists():
        if format is None and not path.suffix:
            return _open_dataset_name(name, options)
        raise FileNotFoundError(f"no file {name!r}, and no data set of that name (there are {', '.join(names())})")
    return _open_bytes(Origin(path), options, format)


def _open_dataset_name(text: str, options: Options) -> Stream:
    name, settings = parse_name(text) if text.partition(":")[0] in names() else (text, {})
    if name == DEFORMED:
        return _open_deformed(stream(name, device=options.device, **settings), options)
    if not settings:
        return _open_dataset(load(name), options)
    _refuse_columns(name, options)
    test = None if name in RECIPES else load(name, seed=settings.get("seed")).test
    X, y = stream(name, **settings)
    return Stream(name, ArrayRows(X, y, "a data set"), options, test=test)


def _open_deformed(digits: Any, options: Options) -> Stream:
    _refuse_columns(DEFORMED, options)
    return Stream(DEFORMED, digits, options, test=digits.test)


def _open_dataset(data: Dataset, options: Options) -> Stream:
    _refuse_columns(data.name, options)
    return Stream(data.name, ArrayRows(*data.train, "a data set"), options, test=data.test)


def _refuse_columns(name: str, options: Options, labels: bool = False) -> None:
    """Refuse the options of tables for what is no table; ``labels``: ``label`` has a meaning of its own there."""
    for option, asked, what in (
        ("label", options.label, "a column"),
        ("weights", options.weights, "a column"),
        ("columns", options.columns, "columns"),
    ):
        if asked is not None and not (labels and option == "label"):
            verb = "name" if option == "columns" else "names"
            raise ValueError(
                f"{option} {verb} {what} of a table (CSV, JSON lines, Parquet, Arrow), but {name!r} is not a table"
            )


def _open_bytes(origin: Origin, options: Options, format: str | None) -> Stream:
    try:
        return _open_format(origin, options, format or sniff(origin.peek(), origin.name))
    except BaseException:
        # The caller may read other files instead.
        origin.close()
        raise


def _open_format(origin: Origin, options: Options, format: str) -> Stream:
    if format not in _TABLES:
        _refuse_columns(origin.name, options, labels=format == "npy")
    packed = origin.path is not None and origin.path.name.lower().endswith(SUFFIXES)
    if format in ("parquet", "npy", "npz") and (origin.path is None or packed):
        raise ValueError(f"{origin.name}: {format} can be read only from a file that is not compressed as a whole")
    ahead = format in ("parquet", "arrow")
    return Stream(origin.name, _reader(origin, options, format), options, origin=origin, ahead=ahead)


def _reader(origin: Origin, options: Options, format: str) -> Format:
    _, module, name = _READERS[format]
    reader = getattr(import_module(f".readers.{module}", __package__), name)
    return reader(origin, options, format) if name == "ArrowTable" else reader(origin, options)


def sniff(head: bytes, name: str = "the stream") -> str:
    """The format that the first bytes of a stream show.

    >>> sniff(b"# people\\n1 3:0.5\\n"), sniff(b"1 |words to be"), sniff(b"a,b,c\\n")
    ('svmlight', 'vw', 'csv')
    """
    if head.startswith(BINARY):
        return "parquet" if head.startswith(b"PAR1") else "arrow"
    if not head.strip():
        raise NoRows(f"{name} has no rows")
    for line in head.splitlines():
        if line.strip() and not line.lstrip().startswith(b"#"):
            if line.lstrip().startswith(b"{"):
                return "jsonl"
            if _SVMLIGHT.match(line):
                return "svmlight"
            if b"|" in line:
                return "vw"
            if any(delimiter in line for delimiter in (b",", b";", b"\t")):
                return "csv"
            break
    raise ValueError(
        f"{name}: the format cannot be detected from the first line; give format, one of {', '.join(FORMATS)}"
    )
