"""One shape for every stream: chunks of rows, in order, of bounded size.

A learner meets a stream as arrays, as the name of a data set, as a file, or as any iterable of chunks or of
single examples. `as_source` turns each of them into a `Source`, so that nothing downstream has to ask which
it was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import numpy as np
from scipy import sparse

from .chunks import Reader
from .datasets import Dataset, Pair, load
from .label_kinds import label_array, refuse_masked

CHUNK_SIZE = 1024


@dataclass(frozen=True)
class Source:
    """A stream: ``read(chunk_size)`` starts at its beginning and yields chunks ``(X, y)`` in order.

    X is a 2-D array, a CSR matrix, or a list of ``dict`` examples. ``n_rows`` is None where only reading
    tells, and ``test`` holds the rows kept for testing where the data has some.

    >>> source = as_source(([[1.0], [2.0], [3.0]], ["a", "b", "a"]))
    >>> [X.shape for X, y in source.read(2)]
    [(2, 1), (1, 1)]
    """

    name: str
    read: Callable[[int], Iterator[Pair]]
    n_rows: int | None = None
    test: Pair | None = None
    classes: Any = None

    def __iter__(self) -> Iterator[Pair]:
        return self.read(CHUNK_SIZE)

    def arrays(self) -> Pair:
        """The whole stream in memory, as one X and one y."""
        parts = list(self)
        if not parts:
            raise ValueError(f"the stream {self.name} has no rows")
        if isinstance(parts[0][0], list):
            raise ValueError("examples given as dicts have no array form; learn from them one after another")
        Xs, ys = zip(*parts, strict=True)
        X = sparse.vstack(Xs, format="csr") if sparse.issparse(Xs[0]) else np.concatenate(Xs)
        return X, np.concatenate(ys)


def as_source(stream: Any) -> Source:
    """A `Source` from a `Source`, a `Reader`, the name of a data set, a `Dataset`, a pair ``(X, y)``, or an iterable of
    chunks ``(X, y)`` or of examples ``(x, y)`` (an iterator can be read only once).
    """
    if isinstance(stream, Source):
        return stream
    if isinstance(stream, Reader):
        return from_reader(stream)
    if isinstance(stream, str):
        stream = load(stream)
    if isinstance(stream, Dataset):
        source = from_arrays(stream.name, *stream.train, test=stream.test)
        y = stream.train[1]
        return replace(source, classes=np.unique(y)) if np.ndim(y) == 1 else source
    if isinstance(stream, tuple) and len(stream) == 2:
        return from_arrays("arrays", *stream)
    if isinstance(stream, Iterable):
        return Source("iterable", lambda chunk_size: _from_iterable(stream, chunk_size))
    raise TypeError(
        "stream must be a data set or its name, a pair (X, y), or an iterable of chunks (X, y) "
        f"or examples (x, y), got {type(stream).__name__}"
    )


def from_reader(reader: Reader) -> Source:
    """A source of the chunks of a reader, which is read anew each time; labels it does not have are None."""

    def read(chunk_size: int) -> Iterator[Pair]:
        for X, y, _ in reader:
            n = X.shape[0]
            labels = np.full(n, None, dtype=object) if y is None else y
            for start in range(0, n, chunk_size):
                yield X[start : start + chunk_size], labels[start : start + chunk_size]

    return Source(reader.description, read)


def from_arrays(name: str, X: Any, y: Any, *, test: Pair | None = None) -> Source:
    """A source that hands out slices of arrays in memory."""
    X, y = _matrix(X), label_array(y)
    n_rows = X.shape[0]
    if len(y) != n_rows:
        raise ValueError(f"X and y must have as many rows as each other, got {n_rows} and {len(y)}")

    def read(chunk_size: int) -> Iterator[Pair]:
        for start in range(0, n_rows, chunk_size):
            yield X[start : start + chunk_size], y[start : start + chunk_size]

    return Source(name, read, n_rows, test)


def _matrix(X: Any) -> Any:
    if sparse.issparse(X):
        return X.tocsr()
    refuse_masked(X, "X")
    X = np.asarray(X)
    if X.ndim != 2:
        raise ValueError(f"X must have two dimensions (rows and features), got shape {X.shape}")
    return X


def _from_iterable(items: Iterable[Any], chunk_size: int) -> Iterator[Pair]:
    iterator = iter(items)
    for item in iterator:
        try:
            x, y = item
        except (TypeError, ValueError):
            raise ValueError("each item of a stream must be a pair (X, y) or (x, y)") from None
        if not _is_example(x, y):
            yield from from_arrays("chunk", x, y).read(chunk_size)
            continue
        # The stream's first item tells its kind; batching examples is what lets the compiled loop see many
        # at once.
        examples = [(x, y), *islice(iterator, chunk_size - 1)]
        xs, ys = [list(part) for part in zip(*examples, strict=True)]
        if isinstance(x, Mapping):
            yield xs, label_array(ys)
        else:
            yield sparse.vstack(xs, format="csr") if sparse.issparse(x) else np.stack(xs), label_array(ys)


def _is_example(x: Any, y: Any) -> bool:
    return isinstance(x, Mapping) or np.ndim(y) == 0 or (not sparse.issparse(x) and np.ndim(x) == 1)
