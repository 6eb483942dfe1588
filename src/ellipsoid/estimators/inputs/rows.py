"""Arrays and matrices that users pass, as rows that the compiled loop can read.

Native inputs (C-contiguous float64 or float32, CSR of float64 with int32 indices) are read in place, also if they are
memory-mapped or read-only. Everything else is converted block by block: a pass needs no copy of the whole, and the
loop is compiled for few types of numbers. Dense float32 is native, because its conversion would cost half a pass.
"""

from collections.abc import Iterator
from copy import copy
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ellipsoid.engine import CSR, Dense, call, inspect
from ellipsoid.engine.rows import BAD_INDEX, HUGE, NOT_FINITE
from ellipsoid.streams.label_kinds import is_absent, refuse_masked

BLOCK_VALUES = 1 << 17
INT32 = np.iinfo(np.int32)


class InvalidInput(ValueError, TypeError):
    """Input that does not consist of numbers: both the value and the type are wrong."""


def flaw_message(row: int, flaw: int) -> str:
    """The error message for a bad row."""
    if flaw == NOT_FINITE:
        return f"row {row} of X holds NaN or inf; impute or drop it before learning"
    if flaw == BAD_INDEX:
        return (
            f"row {row} of X has column indices that are negative, out of range, repeated or unsorted; "
            "call X.sum_duplicates() and X.sort_indices() first"
        )
    return f"row {row} of X is too large: its squared norm is beyond {HUGE:g} (inf in a sum); rescale the features"


class RowSource:
    """Examples as blocks of rows, each with the constant feature of value ``constant``.

    >>> source = RowSource(np.ones((3, 2), dtype=np.int8), constant=1.0)
    >>> source.n, source.width, source.rows(0, 3).X.dtype
    (3, 2, dtype('float64'))
    """

    def __init__(self, X: Any, constant: float) -> None:
        self.constant = constant
        for part in X if isinstance(X, list | tuple) else (X,):
            refuse_masked(part, "X")
        self.sparse = sp.issparse(X)
        if self.sparse:
            self._X = _canonical(X)
        elif isinstance(X, np.ndarray) and X.dtype.kind in "fiub" and X.dtype.itemsize <= 8:
            self._X = X
        else:
            self._X = numeric(X)
        if self._X.ndim != 2:
            raise ValueError(
                f"X must be 2-D, one row per example, got {self._X.ndim}-D. Reshape your data: X.reshape(1, -1)"
            )
        self.n, self.width = self._X.shape
        self._whole = self._X

    @property
    def native(self) -> bool:
        """Can compiled code read the input in place?"""
        X = self._X
        if self.sparse:
            return X.data.dtype == np.float64 and X.indices.dtype == np.int32
        return bool(X.dtype in (np.float64, np.float32) and _plain(X))

    def narrowed(self, width: int) -> "RowSource":
        """The same examples without the columns from ``width`` on."""
        narrow = RowSource(self._X[:, :width], self.constant)
        narrow._whole = self._X
        return narrow

    def dropped_sizes(self, start: int, stop: int) -> NDArray[np.float64]:
        """For rows start..stop the sum of the absolute values in the columns that `narrowed` has dropped."""
        if self._whole is self._X:
            return np.zeros(stop - start)
        taken = self._whole[start:stop, self.width :].astype(np.float64)
        return np.asarray(abs(taken).sum(axis=1), dtype=np.float64).ravel()

    def without_new_features(self, known: int, named: bool) -> "RowSource":
        """Each example without the features that appear in no earlier row; the first ``known`` ones are old.

        With ``named`` columns each row may add some; else the first row adds all that are new.
        """
        if self.width <= known:
            return self
        found = copy(self)
        if not self.sparse:
            found._X = self._X.copy()
            found._X[:1, known:] = 0
            return found
        X, rows = self._X, np.repeat(np.arange(self.n), np.diff(self._X.indptr))
        highest = np.full(self.n + 1, known)
        if named:
            np.maximum.at(highest, rows + 1, X.indices + 1)
        else:
            highest[1:] = self.width
        kept = X.indices < np.maximum.accumulate(highest)[rows]
        ends = np.concatenate([[0], np.cumsum(kept)])[X.indptr]
        found._X = sp.csr_matrix((X.data[kept], X.indices[kept], ends), shape=(self.n, self.width))
        return found

    def only(self, row: int) -> "RowSource":
        """One row as a source of its own, of the same kind."""
        one = copy(self)
        if self.sparse:
            X, span = self._X, slice(self._X.indptr[row], self._X.indptr[row + 1])
            ends = np.array([0, span.stop - span.start], dtype=X.indptr.dtype)
            one._X = _Compressed(X.data[span], X.indices[span], ends, (1, self.width))
        else:
            one._X = self._X[row : row + 1]
        one.n = 1
        return one

    def has_same(self, row: int, other: "RowSource") -> bool:
        """Is this row the same in another source of the same kind?"""
        one, its = self._X, other._X
        if not self.sparse:
            return bool((one[row] == its[row]).all())
        here, there = (slice(X.indptr[row], X.indptr[row + 1]) for X in (one, its))
        return np.array_equal(one.data[here], its.data[there]) and np.array_equal(one.indices[here], its.indices[there])

    def first(self, count: int) -> "RowSource":
        """The first examples."""
        return RowSource(self._X[:count], self.constant)

    def rows(self, start: int, stop: int) -> Dense | CSR:
        """Rows start..stop for the engine."""
        X = self._X
        if not self.sparse:
            block = X[start:stop]
            if not self.native:
                # float32 stays float32 in every memory layout: then any chunking runs the same machine code.
                single = X.dtype.kind == "f" and X.dtype.itemsize == 4
                block = np.ascontiguousarray(block, dtype=np.float32 if single else np.float64)
            return Dense(writable(block), self.constant)
        data, indices, ends = X.data, X.indices, X.indptr[start : stop + 1]
        if not self.native:
            data = data[ends[0] : ends[-1]].astype(np.float64, copy=False)
            # An index that no int32 can hold stays out of range.
            indices = indices[ends[0] : ends[-1]].clip(-1, INT32.max).astype(np.int32)
            ends = (ends - ends[0]).astype(np.int32)
        return CSR(writable(data), writable(indices), writable(ends), self.constant, self.width)

    def blocks(self) -> Iterator[tuple[int, int]]:
        """Ranges of rows of bounded size."""
        size = 1 << 16
        if not self.native:
            values = self._X.indptr[-1] // max(1, self.n) if self.sparse else self.width
            size = max(1, min(size, BLOCK_VALUES // max(1, int(values))))
        for start in range(0, self.n, size):
            yield start, min(self.n, start + size)

    def squared_norms(self, start: int, stop: int) -> NDArray[np.float64]:
        """Squared norms of rows start..stop, without the constant feature."""
        X = self._X
        if not self.sparse:
            block = np.asarray(X[start:stop], dtype=np.float64)
            return np.einsum("ij,ij->i", block, block)
        ends = np.concatenate([[0.0], np.cumsum(np.asarray(X.data, dtype=np.float64) ** 2)])
        return ends[X.indptr[start + 1 : stop + 1]] - ends[X.indptr[start:stop]]

    def check(self) -> None:
        """Raise ``ValueError`` naming the first bad row."""
        for start, stop in self.blocks():
            rows = self.rows(start, stop)
            row, flaw = call(inspect, rows)
            if row >= 0:
                raise ValueError(flaw_message(start + row, flaw))


def check_memory(values: int, what: str) -> None:
    """Raise ``ValueError`` if so many float64 numbers do not fit in memory, before anything has changed."""
    try:
        np.empty(values)
    except (MemoryError, ValueError):
        raise ValueError(
            f"X is too wide: {what} would take {8 * values / 2**30:,.0f} GiB, more memory than there is; "
            "hash the features into fewer columns"
        ) from None


def numeric(X: Any) -> NDArray[np.float64]:
    """X as a float64 array, or an error that names the first entry which is not a number."""
    array = np.asarray(X)
    if array.dtype.kind == "c":
        raise ValueError("Complex data not supported: X must hold real numbers")
    if array.dtype.kind not in "fiubO":
        raise InvalidInput(f"X must hold numbers, got an array of type {array.dtype}; encode its columns first")
    try:
        return array.astype(np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        for position, value in np.ndenumerate(array):
            try:
                float(value)
            except (TypeError, ValueError, OverflowError):
                place = f"row {position[0]} of X" if position else "X"
                if is_absent(value):
                    raise InvalidInput(f"{place} holds {value!r}; impute or drop it before learning") from error
                raise InvalidInput(
                    f"{place} holds {value!r} of type {type(value).__name__}: each argument must be "
                    "a string or a real number that float() takes"
                ) from error
        raise InvalidInput(f"X cannot be read as an array of numbers: {error}") from error


def checked_csr(X: Any) -> Any:
    """A sparse matrix as CSR, whose rows can be indexed; ``ValueError`` if its indices are damaged.

    scipy checks no index: a wrong one would make it read and write outside its arrays.
    """
    if X.ndim != 2:
        raise ValueError(f"X must be 2-D, got a {X.ndim}-D sparse array")
    if X.format in ("csr", "csc", "bsr"):
        lines = X.shape[1] if X.format == "csc" else X.shape[0] // (X.blocksize[0] if X.format == "bsr" else 1)
        ends, room = X.indptr, min(len(X.data), len(X.indices))
        if not (len(ends) == lines + 1 and ends[0] == 0 and ends[-1] <= room and bool((ends[1:] >= ends[:-1]).all())):
            raise ValueError(
                f"X.indptr of the {X.format.upper()} matrix is damaged: it must start at 0, never fall, and end at "
                "X.nnz"
            )
    if X.format == "csr":
        return X
    # Column indices are checked later, row by row, as those of CSR are.
    rows: Any = X.indices if X.format == "csc" else X.row if X.format == "coo" else ()
    if len(rows) and not (rows.min() >= 0 and rows.max() < X.shape[0]):
        raise ValueError(
            f"the {X.format.upper()} matrix X is damaged: it has row indices that are negative or too large"
        )
    return X.tocsr()


def row_indexable(X: Any) -> Any:
    """The same rows in a form that can be indexed by row numbers."""
    if sp.issparse(X):
        return checked_csr(X)
    return X if isinstance(X, np.ndarray | list | tuple) or hasattr(X, "columns") else np.asarray(X)


def _canonical(X: Any) -> Any:
    """CSR of real numbers with one type of indices and a sound row pointer."""
    X = checked_csr(X)
    if X.dtype.kind == "c":
        raise ValueError("Complex data not supported: X must hold real numbers")
    data = X.data if X.dtype in (np.float64, np.float32) else X.data.astype(np.float64)
    kind = np.int32 if X.indices.dtype == X.indptr.dtype == np.int32 else np.int64
    indices, indptr = X.indices.astype(kind, copy=False), X.indptr.astype(kind, copy=False)
    return _Compressed(data, indices, indptr, X.shape)


class _Compressed:
    """The arrays of a CSR matrix, without scipy's checks at every slice."""

    ndim = 2

    def __init__(self, data: Any, indices: Any, indptr: Any, shape: tuple[int, int]) -> None:
        self.data, self.indices, self.indptr, self.shape = data, indices, indptr, shape

    def __getitem__(self, key: Any) -> Any:
        return sp.csr_matrix((self.data, self.indices, self.indptr), shape=self.shape)[key]


def _plain(X: NDArray[Any]) -> bool:
    return bool(X.flags.c_contiguous and X.flags.aligned and X.dtype.isnative)


class _Alias:
    """A read-only array as one that says it is writable: compiled code then takes both as the same type."""

    def __init__(self, array: NDArray[Any]) -> None:
        self.array = array
        self.__array_interface__ = dict(array.__array_interface__)
        self.__array_interface__["data"] = (self.__array_interface__["data"][0], False)


def writable(array: NDArray[Any]) -> NDArray[Any]:
    """A view that is marked as writable: the loop would be compiled a second time for read-only input.

    The loop never writes to rows, and the view is never handed out.
    """
    if not array.flags.c_contiguous:
        array = np.ascontiguousarray(array)
    if type(array) is not np.ndarray:
        array = array.view(np.ndarray)
    return array if array.flags.writeable else np.asarray(_Alias(array))
