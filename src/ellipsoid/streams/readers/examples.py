"""Any Python iterable as a stream: of examples ``(x, y)`` or of chunks ``(X, y)``.

An example's x is a 1-D array, a sparse row, or a ``dict`` of features by name. Unless dicts are kept, names are hashed:
the feature ``name: number`` has the column ``hash(name)``; ``name: "word"`` sets a one in the column of the hash of the
word, seeded with the hash of the name, as a column of words in a table does.
"""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from itertools import islice
from math import isfinite
from typing import Any

import numpy as np
from scipy import sparse

from ..format import Format, RowPieces
from ..labels import label_values
from ..options import Options
from ..scan.hashing import hash_name, hash_strings
from .arrays import ArrayRows

EXAMPLES = 1024


class Examples(Format):
    """An iterable of pairs."""

    def __init__(self, items: Iterable[Any], options: Options) -> None:
        self._items, self.options = items, options
        self._begun = self._named = False

    def describe(self) -> str:
        hashed = "" if self.n_features is None else f", hashed to {self.options.hash_bits} bits"
        return f"an iterable of named features{hashed}" if self._named else "an iterable"

    def pieces(self) -> RowPieces:
        iterator = iter(self._items)
        if iterator is self._items:
            if self._begun:
                raise ValueError("an iterator can be read only once; give a list, or write it to a file")
            self._begun = True
        row = 0
        for item in iterator:
            x, y = _pair(item, row)
            if is_example(x, y):
                others = enumerate(islice(iterator, (self.options.chunk_rows or EXAMPLES) - 1), start=row + 1)
                several = [(x, y), *(_pair(other, i) for i, other in others)]
                xs, ys = [list(part) for part in zip(*several, strict=True)]
                yield self._rows(xs, row), label_values(ys), None
                row += len(ys)
            else:
                X, labels = ArrayRows(x, y).whole
                row += X.shape[0]
                yield X, labels, None

    def _rows(self, xs: list[Any], row: int) -> Any:
        if isinstance(xs[0], Mapping):
            for i, x in enumerate(xs, start=row):
                if not isinstance(x, Mapping):
                    raise ValueError(f"row {i}: every example must be a dict of features, as the first is, got {x!r}")
            self._named = True
            if self.options.dicts == "keep":
                return xs
            self.n_features = 1 << self.options.hash_bits
            return hashed([self._known(x, i) for i, x in enumerate(xs, start=row)], self.options.hash_bits, row)
        if sparse.issparse(xs[0]):
            return sparse.vstack(xs, format="csr")
        rows = [np.asarray(x) for x in xs]
        for i, x in enumerate(rows, start=row):
            if x.ndim != 1 or x.shape != rows[0].shape:
                raise ValueError(
                    f"row {i}: every example must be a dict or a row as long as the first, got {xs[i - row]!r}"
                )
        return np.stack(rows)

    def _known(self, x: Mapping[Any, Any], row: int) -> Mapping[Any, Any]:
        """The features that are not missing."""
        if None not in x.values():
            return x
        if self.options.missing == "error":
            name = next(name for name, value in x.items() if value is None)
            raise ValueError(
                f"row {row}: feature {name!r} is missing; give missing='zero' to open_stream to read that as zero"
            )
        return {name: value for name, value in x.items() if value is not None}


def _pair(item: Any, row: int) -> Any:
    try:
        x, y = item
    except (TypeError, ValueError):
        raise ValueError(f"row {row}: each item of a stream must be a pair (X, y) or (x, y)") from None
    return x, y


def is_example(x: Any, y: Any) -> bool:
    """Is a pair one example, not a chunk of them?"""
    return isinstance(x, Mapping) or np.ndim(y) == 0 or (not sparse.issparse(x) and np.ndim(x) == 1)


def hashed(examples: list[Mapping[Any, Any]], bits: int, row: int = 0) -> Any:
    """Named features as a CSR matrix of ``2**bits`` columns; features of one hash are added up.

    >>> X = hashed([{"length": 2.5, "colour": "red"}, {}], bits=10)
    >>> X.shape, sorted(X.data.tolist())
    ((2, 1024), [1.0, 2.5])
    """
    names: list[bytes] = []
    seeds: list[int] = []
    values: list[float] = []
    indptr = [0]
    for i, example in enumerate(examples, start=row):
        for name, value in example.items():
            text = name if isinstance(name, str) else str(name)
            if isinstance(value, str):
                seeds.append(_seed(text))
                text, value = value, 1.0
            else:
                seeds.append(0)
            number = _number(value, name, i)
            names.append(text.encode("utf-8", "surrogatepass"))
            values.append(number)
        indptr.append(len(values))
    offsets = np.concatenate([[0], np.cumsum([len(name) for name in names], dtype=np.int64)]).astype(np.int64)
    columns = np.empty(len(names), dtype=np.int64)
    data = np.frombuffer(bytearray(b"".join(names)), dtype=np.uint8)
    hash_strings(data, offsets, np.array(seeds, dtype=np.int64), (1 << bits) - 1, columns)
    X = sparse.csr_matrix(
        (np.array(values, dtype=np.float64), columns.astype(np.int32), np.array(indptr, dtype=np.int32)),
        shape=(len(examples), 1 << bits),
    )
    X.sum_duplicates()
    return X


_seed = lru_cache(maxsize=1 << 12)(hash_name)


def _number(value: Any, name: Any, row: int) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise ValueError(f"row {row}: feature {name!r} must be a number or a word, got {value!r}") from None
    if not isfinite(number):
        raise ValueError(f"row {row}: feature {name!r} is {number}; leave a missing feature out")
    return number
