"""An open stream: its rows in order, in chunks of bounded size, and what is known of them beforehand.

A stream may be longer than memory: each `Chunk` may be forgotten before the next is read. How a stream is cut into
chunks changes no result.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from .format import Format
from .options import Options
from .readers.arrays import ArrayRows
from .readers.errors import NoRows
from .sets.datasets import Pair
from .threads import read_ahead


class _Rows(NamedTuple):
    X: Any
    y: Any
    offset: int


class Chunk(_Rows):
    """Consecutive rows of a stream: ``X, y, offset``, and ``weights``.

    ``X`` is a 2-D array of numbers, a CSR matrix whose indices increase within a row, or (with ``dicts="keep"``) a list
    of dicts; ``y`` the labels, one per row (or a 0/1 matrix, one column per label), None where the stream has none;
    ``offset`` the number of rows before the first of these. ``weights`` are those of the rows, None where the stream
    has none.

    A sparse stream does not know its width before its end: ``X.shape[1]`` may grow from one chunk to the next, unless
    ``n_features`` is given or features are hashed to ``2**bits`` columns; it never shrinks.
    """

    weights: Any = None

    def __new__(cls, X: Any, y: Any, offset: int, weights: Any = None) -> Chunk:
        chunk = super().__new__(cls, X, y, offset)
        chunk.weights = weights
        return chunk


def _of_format(name: str, doc: str) -> Any:
    """A property of a stream that its format knows."""
    return property(attrgetter(f"_format.{name}"), doc=doc)


class Stream:
    """What `open_stream` returns.

    Each iteration starts at the beginning; a pipe or an iterator, which can be read only once, raises an error the
    second time. Bad input raises ``ValueError`` that names the file and the line or row, after every chunk before it.

    ``test`` is the test part of a data set that has one. ``ahead`` lets a thread read the next piece while this one is
    learned, which pays where most of the reading is done without Python's lock.
    """

    def __init__(
        self,
        name: str,
        format: Format,
        options: Options,
        *,
        origin: Any = None,
        ahead: bool = False,
        test: Pair | None = None,
    ) -> None:
        self.name, self.options, self.test = name, options, test
        self._format, self._origin, self._ahead = format, origin, ahead

    @property
    def description(self) -> str:
        """The stream in words, with what was detected: ``train.svm.gz: svmlight text, features count from 1``."""
        return f"{self.name}: {self._format.describe()}"

    n_features: int | None = _of_format("n_features", "The width of the chunks, None while it is unknown.")
    header: list[str] | None = _of_format(
        "header", "The names in the first line of CSV text; None while they are unknown, and where it has none."
    )
    columns: list[str] | None = _of_format(
        "columns", "The names of a table's columns of numbers in the order of the features, None while unknown."
    )
    label_column: str | None = _of_format(
        "label_column", "A table's column of labels in words; None while it is unknown, and for other formats."
    )
    kinds: dict[str, str | None] | None = _of_format(
        "kinds",
        "What each of a table's columns of features holds, as in `Options`, None for a column without a value so far; "
        "None while it is unknown, and for other formats.",
    )
    zero_based: bool | None = _of_format(
        "zero_based", "Whether the features of svmlight text count from 0; None while unknown, and for other formats."
    )
    bits: int | None = _of_format(
        "bits", "Features are hashed to ``2**bits`` columns; None while that is unknown, and where they are not."
    )

    @property
    def n_rows(self) -> int | None:
        """The number of rows of arrays, data sets and synthetic streams; None for what must be read to know it."""
        if self._whole is not None:
            return self._whole[0].shape[0]
        rows_made = self._format.n_rows
        return None if rows_made is None else max(0, rows_made - self.options.skip)

    @property
    def lies_in_memory(self) -> bool:
        """Whether all rows are in memory, or mapped."""
        return self._whole is not None

    @property
    def classes(self) -> Any:
        """The labels of arrays and data sets; None for what must be read to know them, and for label sets."""
        if self._whole is None:
            return self._format.classes
        y = self._whole[1]
        return None if y is None or y.ndim > 1 else np.unique(y)

    @property
    def bytes_total(self) -> int | None:
        """The size of the file on disk; None for a pipe or an iterator."""
        return self._origin.bytes_total if self._origin else None

    @property
    def bytes_read(self) -> int:
        """Bytes of the file read so far; 0 where nothing is read from a file."""
        return self._origin.bytes_read if self._origin else 0

    def __iter__(self) -> Iterator[Chunk]:
        return self.chunks(self.options.chunk_rows)

    def chunks(self, most: int | None) -> Iterator[Chunk]:
        """The chunks, of at most ``most`` rows (None: as many as are read together)."""
        offset, skip = 0, self.options.skip
        most = most or self._format.rows_at_once
        pieces = self._format.pieces()
        for X, y, weights in read_ahead(pieces) if self._ahead else pieces:
            n = len(X) if isinstance(X, list) else X.shape[0]
            start = min(max(0, skip - offset), n)
            step = most or n
            while start < n:
                stop = min(n, start + step)
                whole = stop - start == n
                labels = None if y is None or not self.options.labelled else y if whole else y[start:stop]
                own = None if weights is None else weights[start:stop]
                yield Chunk(X if whole else X[start:stop], labels, offset + start, own)
                start = stop
            offset += n
        if offset == 0:
            raise NoRows(f"{self.name} has no rows")

    def arrays(self) -> Pair:
        """All rows as one X, as wide as the widest, and their labels as one y (None: there are none)."""
        if self._whole is not None and self.n_rows:
            return self._whole
        parts = list(self)
        if not parts:
            raise ValueError(f"{self.name} has no rows after the first {self.options.skip}")
        Xs, ys, _ = zip(*parts, strict=True)
        if isinstance(Xs[0], list):
            raise ValueError("examples kept as dicts cannot become arrays; learn them one after another")
        if not sparse.issparse(Xs[0]):
            X = np.concatenate(Xs)
        else:
            width = max(X.shape[1] for X in Xs)
            parts = [sparse.csr_matrix((X.data, X.indices, X.indptr), shape=(X.shape[0], width)) for X in Xs]
            X = sparse.vstack(parts, format="csr")
        if ys[0] is None:
            return X, None
        # With words among them, NumPy would turn numbers into words.
        words = {y.dtype.kind == "U" for y in ys}
        return X, np.concatenate(ys, dtype=object if len(words) > 1 else None)

    def in_memory(self) -> Stream:
        """The same stream with its rows in memory, where they can be counted and read again."""
        return self if self._whole else Stream(self.name, ArrayRows(*self.arrays()), Options(), test=self.test)

    @cached_property
    def _whole(self) -> Pair | None:
        if self._format.whole is None:
            return None
        X, y = self._format.whole
        skip = self.options.skip
        return X[skip:] if skip else X, y[skip:] if y is not None and self.options.labelled else None
