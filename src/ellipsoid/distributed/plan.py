"""The plan of a run: the blocks of the data, which shard learns which, and a digest that identifies the data.

Blocks are dealt to the shards in turn, because files are often sorted, and neighbouring blocks alike.
"""

import hashlib
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ellipsoid.estimators.parameters.validation import is_count
from ellipsoid.evaluate.position import probes
from ellipsoid.streams.opening import SUFFIX, open_stream, sniff
from ellipsoid.streams.options import OF_NUMBERS
from ellipsoid.streams.readers.blocks import Origin
from ellipsoid.streams.readers.compression import stem
from ellipsoid.streams.readers.errors import NoRows
from ellipsoid.streams.several_files import check_columns, kinds_and_base, refuse_empty_table, refuse_other_kinds

from .blocks import BlockReading, FileBlock, Partition, RowGroups

LINES = ("svmlight", "csv", "vw", "jsonl")
WITH_COLUMNS = ("csv", "parquet", "arrow")


class Plan(NamedTuple):
    """All blocks in their order, how they are read, and a digest of both.

    ``format`` is None for collections; ``columns`` are the names of a table's columns of numbers.
    """

    blocks: list[Any]
    reading: BlockReading
    digest: str
    format: str | None
    columns: list[str] | None = None

    def deal(self, shards: int) -> list[list[Any]]:
        """The blocks of each shard: no more shards than blocks, each with one at least."""
        count = min(shards, len(self.blocks))
        return [self.blocks[i::count] for i in range(count)]


def is_collection(data: Any) -> bool:
    """Whether the data are a Dask collection, not files."""
    return hasattr(data, "dask") or (isinstance(data, tuple) and any(hasattr(each, "dask") for each in data))


def make_plan(
    data: Any,
    block_bytes: int,
    options: dict[str, Any],
    label: Any = None,
    learned: list[str] | None = None,
    asked: dict[str, str] | None = None,
) -> Plan:
    """The plan for files, for a pair ``(X, y)`` of Dask arrays, or for a Dask data frame; with the ``label`` column.

    ``learned`` are the columns that a model knows its features by: tables that have others are refused.
    ``asked`` are the kinds of some columns, which the user has named.
    """
    if not is_count(block_bytes):
        raise ValueError(f"block_bytes must be positive and whole, got {block_bytes!r}")
    if isinstance(data, str | os.PathLike):
        data = [data]
    if is_collection(data):
        if options or asked:
            raise TypeError(
                f"{next(iter(options), 'kinds')} is an option for files, but the data are a collection: leave it out"
            )
        return _collection(data, label)
    if not isinstance(data, Sequence) or not all(isinstance(name, str | os.PathLike) for name in data):
        raise TypeError("data must be names of files, a pair (X, y) of Dask arrays, or a Dask data frame with label=")
    if label is not None:
        options = {**options, "label": label}
    return _files([os.path.abspath(os.fspath(name)) for name in data], block_bytes, dict(options), learned, asked or {})


def _files(
    names: list[str], block_bytes: int, options: dict[str, Any], learned: list[str] | None, asked: dict[str, str]
) -> Plan:
    if not names:
        raise ValueError("give at least one file")
    digest, blocks, formats = hashlib.sha256(), [], []
    empty: NoRows | None = None
    for name in names:
        path = Path(name)
        if not (path.is_file() or path.is_dir()):
            raise FileNotFoundError(f"no file {name!r}; write a data set or a pipe to files that all workers can read")
        origin = Origin(path)
        head = origin.peek()
        origin.open().close()
        format = options.get("format") or SUFFIX.get(Path(stem(path.name)).suffix)
        if format in (None, *LINES) and not head.strip():
            # An empty file would make a shard that learns nothing.
            empty = empty or NoRows(f"{name} has no rows")
            continue
        format = format or sniff(head, name)
        formats.append(format)
        size = path.stat().st_size
        digest.update(_fingerprint(path))
        blocks += _cut(name, format, size, origin._packed, block_bytes)
    if empty is not None and not formats:
        raise empty
    if len(set(formats)) > 1:
        raise ValueError(
            f"the files have different formats; learn them one format at a time: {', '.join(sorted(set(formats)))}"
        )
    reading = BlockReading(options={**options, "format": formats[0]})
    if formats[0] in WITH_COLUMNS:
        reading, blocks, learned = _agreed(blocks, reading, learned, asked)
    elif asked:
        raise ValueError(f"kinds names columns of CSV text, but {names[0]!r} is no such text: leave it out")
    if not blocks:
        raise NoRows("the data have no rows")
    told = {**options, "kinds": asked} if asked else options
    digest.update(repr((sorted(told.items(), key=str), block_bytes)).encode())
    return Plan(blocks, reading, digest.hexdigest(), formats[0], learned)


def _fingerprint(path: Path) -> bytes:
    """The size of a file, the time of its modification, and a sample of its bytes."""
    about = path.stat()
    return f"{about.st_size} {about.st_mtime_ns} ".encode() + probes(path, about.st_size)


def _cut(name: str, format: str, size: int, packed: bool, block_bytes: int) -> list[Any]:
    if format in LINES and not packed:
        cuts = [
            FileBlock(name, start, min(size, start + block_bytes), size)
            for start in range(0, max(1, size), block_bytes)
        ]
        # A block in which no line begins would make a shard that learns nothing.
        return [cuts[0], *(block for block in cuts[1:] if block.begins_a_line)]
    if format == "parquet":
        from pyarrow import parquet

        with parquet.ParquetFile(name) as file:
            sizes = [file.metadata.row_group(i).total_byte_size for i in range(file.metadata.num_row_groups)]
        blocks, first, taken = [], 0, 0
        for i, own in enumerate(sizes):
            taken += own
            if taken >= block_bytes or i + 1 == len(sizes):
                blocks.append(RowGroups(name, first, i + 1, size))
                first, taken = i + 1, 0
        return blocks
    return [FileBlock(name, size=size)]


def _agreed(
    blocks: list[Any], reading: BlockReading, learned: list[str] | None, asked: dict[str, str]
) -> tuple[BlockReading, list[Any], Any]:
    """How tables are read, their blocks, and the names of their columns of numbers, which must be the same in all."""
    names = list(dict.fromkeys(block.path for block in blocks))
    options = {**reading.options, "threads": 0, "chunk_rows": 1}
    unlabelled = "labelled=False" if "labelled" in options else None
    # All blocks must be read alike, and a block in the middle does not show the types of its columns, nor whether its
    # file begins with names. A column that is empty at the beginning of all files is taken as numbers, as in one
    # process.
    kinds = kinds_and_base(names, options, asked)["kinds"] or {}
    settled: dict[str, Any] = {"kinds": {column: kind or OF_NUMBERS for column, kind in kinds.items()}}
    found: dict[str, dict[str, Any]] = {}
    empty: list[Any] = []
    for name in names:
        stream = open_stream(name, **{**options, **settled, "kinds": {**settled["kinds"], **asked}})
        try:
            chunk = next(iter(stream))
        except NoRows:
            empty.append(stream)
            continue
        refuse_other_kinds(stream, asked)
        learned = check_columns(stream, learned, settled["kinds"], unlabelled=unlabelled)
        found[name] = {}
        if options["format"] == "csv":
            words = settled.get("word_labels", options.get("word_labels"))
            words = (chunk.y is not None and chunk.y.dtype.kind == "U") if words is None else words
            found[name] = {"header": stream.columns is not None, "word_labels": words}
            if unlabelled is None:
                settled["word_labels"] = words
    if empty and not found:
        raise NoRows(f"{empty[0].name} has no rows")
    for stream in empty:
        refuse_empty_table(stream, learned, settled["kinds"])
    blocks = [block for block in blocks if block.path in found]
    if options["format"] == "csv":
        blocks = [replace(block, table_options=found[block.path]) for block in blocks]
    return replace(reading, options={**reading.options, **settled}), blocks, learned


def _collection(data: Any, label: Any) -> Plan:
    from dask.base import tokenize

    if isinstance(data, tuple):
        X, y = data
        parts = [list(np.ravel(each.to_delayed())) for each in (X, y)]
        if getattr(X, "ndim", 2) == 2 and hasattr(X, "numblocks") and X.numblocks[1] != 1:
            raise ValueError('a block of X must hold whole rows: rechunk it by X.rechunk(("auto", -1))')
        if len(parts[0]) != len(parts[1]):
            raise ValueError(
                f"X has {len(parts[0])} blocks and y {len(parts[1])}: give both the same chunks along their rows"
            )
        blocks = [Partition(i, *pair) for i, pair in enumerate(zip(*parts, strict=True))]
    else:
        if label is None:
            raise ValueError("label= must name the column of labels of the data frame")
        if label not in data.columns:
            raise ValueError(f"the data frame has no column {label!r}: label= must name the column of the labels")
        blocks = [Partition(i, part) for i, part in enumerate(data.to_delayed())]
    digest = hashlib.sha256(repr((tokenize(data), label)).encode()).hexdigest()
    return Plan(blocks, BlockReading(label=label), digest, None)
