"""The rows of DATA as one stream, where a command names several files, a data set or standard input."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any


def named_data_set(names: tuple[str, ...]) -> Any:
    """The data set with this name, which knows its labels and may have a test part; None for files and streams."""
    if len(names) > 1 or names[0] == "-" or Path(names[0]).suffix or Path(names[0]).exists():
        return None
    from ellipsoid.streams.opening import open_stream

    return open_stream(names[0])


class Inputs:
    """Several streams read one after another as one; each is opened when it is reached, and may be empty.

    ``learned`` are the names of the columns that the model has learned, None while no table with names was read. What
    the first stream shows of the kind of its features and labels is assumed of the others too: they may be parts of the
    same data that do not show it. With ``of_classes`` labels that no classifier can learn are refused. ``asked`` are
    the kinds of some columns, which the user has named.
    """

    def __init__(
        self,
        names: tuple[str, ...],
        learned: list[str] | None = None,
        *,
        of_classes: bool = False,
        asked: dict[str, str] | None = None,
        **options: Any,
    ) -> None:
        self.names, self.learned, self.options = names, learned, options
        self.of_classes, self.asked = of_classes, asked or {}
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
            self.options |= kinds_and_base(self.names, self.options, self.asked)
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

    def reading(self) -> dict[str, Any]:
        """The options of the next stream."""
        kinds = {**(self.options.get("kinds") or {}), **self.asked}
        return {**self.options, "kinds": kinds or None}

    def _rows_of(self, name: str) -> Iterator[tuple[Any, Any, Any]]:
        from ellipsoid.streams.labels import refuse_fractions
        from ellipsoid.streams.opening import open_stream

        self.reader = open_stream(name, **self.reading())
        if self._has_no_label(name):
            self.reader = open_stream(name, **{**self.reading(), "labelled": False})
        for chunk in self.reader:
            if chunk.offset == 0:
                self._check_first(chunk.y)
            if self.of_classes:
                refuse_fractions(chunk.y, self.reader.name, self.reader.label_column, chunk.offset)
            yield chunk.X, chunk.y, chunk.weights

    def _check_first(self, y: Any) -> None:
        """Refuse a stream that does not fit those before it, and note what those after it must fit."""
        from ellipsoid.evaluate.position import KEPT
        from ellipsoid.streams.several_files import check_columns, refuse_other_kinds

        refuse_other_kinds(self.reader, self.asked)
        unlabelled = "--no-label" if "labelled" in self.options else None
        self.learned = check_columns(
            self.reader, self.learned, self.options.get("kinds"), columns="--columns", unlabelled=unlabelled
        )
        self._check_empty()
        if self.reader.bits is not None and self.options["bits"] is None and self.options["zero_based"] is not None:
            raise ValueError(
                f"the features of {self.reader.name} are hashed, and those learned before it are numbered; learn files "
                "of one kind, or start a new model with --bits, which hashes all names"
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
        stream = open_stream(name, **{**self.reading(), "labelled": kinds is None})
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
