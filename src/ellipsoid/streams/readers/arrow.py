"""Tables in Parquet and Arrow files, a batch of rows at a time (with pyarrow, the extra ``arrow``).

Columns of numbers and truth values pass straight through, columns of strings (also dictionary-coded) are one-hot
coded by hashing, as in CSV text. A null or NaN is missing. Other types are refused by name.
"""

from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

import numpy as np

from ..format import Format, RowPieces
from ..labels import NumericLabels, label_word
from ..options import OF_NUMBERS, OF_WORDS, Options
from ..scan.hashing import hash_name, hash_strings
from ..scan.table import NO_HASH
from .blocks import Origin
from .errors import WrongRow
from .onehot import with_one_hot_words

BATCH_ROWS = 8192
PARQUET = "parquet"
FILE_MAGIC = b"ARROW1"


class ArrowTable(Format):
    """A Parquet file, or Arrow record batches in a file or a pipe."""

    def __init__(self, origin: Origin, options: Options, kind: str) -> None:
        if not find_spec("pyarrow"):
            raise ImportError(
                f"{origin.name}: reading {kind} files needs pyarrow; install it with: pip install 'ellipsoid[arrow]'"
            )
        if kind == PARQUET and origin.path is None:
            raise ValueError(f"{origin.name}: a Parquet file is read from its end; give a file, not a pipe")
        self.origin, self.options, self.kind = origin, options, kind
        self.columns: list[str] = []
        self._words: list[str] = []

    def describe(self) -> str:
        name = "Parquet" if self.kind == PARQUET else "Arrow IPC"
        if self.n_features is None:
            return name
        hashed = f" and {len(self._words)} of words, hashed to {self.options.hash_bits} bits" if self._words else ""
        return f"{name}, {len(self.columns)} columns of numbers{hashed}"

    def pieces(self) -> RowPieces:
        import pyarrow

        numbers, row, label = NumericLabels(), 0, None
        try:
            for batch in self._batches():
                if self.kind != PARQUET:
                    # Damaged bytes may name places outside the batch, which nobody else checks.
                    batch.validate(full=True)
                if self.n_features is None or row == 0:
                    label = self._arrange(batch.schema)
                for start in range(0, batch.num_rows, BATCH_ROWS):
                    part, flaw = batch.slice(start, BATCH_ROWS), None
                    while part.num_rows:
                        try:
                            y = None if label is None else self._labels(part.column(label))
                            piece = self._features(part), y, self._weights(part)
                            break
                        except WrongRow as error:
                            part, flaw = part.slice(0, error.row), error
                    if part.num_rows:
                        yield from numbers.pieces(*piece)
                    row += part.num_rows
                    if flaw is not None:
                        raise ValueError(f"{self.origin.name}, row {row}: {flaw}")
        except (pyarrow.ArrowException, OSError, UnicodeDecodeError) as error:
            raise ValueError(f"{self.origin.name}: not a readable {self.kind} file: {error}") from error

    def _batches(self) -> Iterator[Any]:
        if self.kind == PARQUET:
            from pyarrow import parquet

            with parquet.ParquetFile(self.origin.path) as file:
                yield from file.iter_batches(batch_size=BATCH_ROWS, use_threads=False)
            return
        from pyarrow import ipc

        if self.origin.path is not None:
            with open(self.origin.path, "rb") as file:
                magic = file.read(6)
            if magic == FILE_MAGIC:
                with ipc.open_file(str(self.origin.path)) as batches:
                    for i in range(batches.num_record_batches):
                        yield batches.get_batch(i)
                return
        with self.origin.open() as file:
            if file.peek(8).startswith(FILE_MAGIC):
                # In a pipe, an Arrow file is a stream behind eight bytes.
                file.read(8)
            with ipc.open_stream(file) as batches:
                yield from batches

    def _arrange(self, schema: Any) -> str | None:
        """Give each column its purpose; returns the label's."""
        options, names = self.options, schema.names
        if len(set(names)) < len(names):
            raise ValueError(f"{self.origin.name} has two columns of one name: {', '.join(names)}")
        wanted = [name for name in (options.label, options.weights, *(options.columns or ())) if name is not None]
        unknown = [name for name in wanted if name not in names]
        if unknown:
            raise ValueError(f"{self.origin.name} has no column {unknown[0]!r}; it has {', '.join(names)}")
        label = options.label or (names[-1] if options.labelled else None)
        if label is not None:
            self.label_column = f"column {label!r}" if options.label else f"the last column, {label!r},"
        options.refuse_labels_as_weights(self.origin.name, label is not None and options.weights == label)
        self.columns, self._words = [], []
        for name in options.columns or names:
            kind = _value_type(schema.field(name))
            if name in (label, options.weights):
                continue
            if _is_number(kind):
                self.columns.append(name)
            elif _is_text(kind):
                self._words.append(name)
            else:
                raise ValueError(
                    f"{self.origin.name}: column {name!r} of type {kind} holds neither numbers nor strings; "
                    "name those to use by columns"
                )
        if not self.columns and not self._words:
            raise ValueError(f"{self.origin.name} has no column of features besides the label")
        self.kinds = {**dict.fromkeys(self.columns, OF_NUMBERS), **dict.fromkeys(self._words, OF_WORDS)}
        self.bits = options.hash_bits if self._words else None
        self.n_features = len(self.columns) + (1 << options.hash_bits if self._words else 0)
        return label if options.labelled else None

    def _features(self, batch: Any) -> Any:
        numbers = np.empty((batch.num_rows, len(self.columns)))
        for j, name in enumerate(self.columns):
            numbers[:, j] = self._checked(_floats(batch.column(name)), name)
        if not self._words:
            return numbers
        hashes = np.empty((batch.num_rows, len(self._words)), dtype=np.int64)
        for j, name in enumerate(self._words):
            column = batch.column(name)
            self._refuse_nulls(np.asarray(column.is_null()), name)
            hashes[:, j] = _hashes(column, hash_name(name), self.options.hash_bits)
        return with_one_hot_words(numbers, hashes, self.options.hash_bits)

    def _weights(self, batch: Any) -> Any:
        """The weights of rows, None where no column holds them."""
        name = self.options.weights
        if name is None:
            return None
        if not _is_number(batch.column(name).type):
            raise ValueError(
                f"{self.origin.name}: the column {name!r} holds no numbers, so it cannot weight the rows; name another"
            )
        return self._checked(_floats(batch.column(name)), name)

    def _checked(self, values: Any, name: str) -> Any:
        finite = np.isfinite(values)
        if not finite.all():
            missing = np.isnan(values)
            _refuse_infinite(finite | missing, f"column {name!r}")
            self._refuse_nulls(missing, name)
            values[missing] = 0.0
        return values

    def _refuse_nulls(self, missing: Any, name: str) -> None:
        if self.options.missing == "error" and missing.any():
            what = f"column {name!r} is missing; give missing='zero' to open_stream to read that as zero"
            raise WrongRow(int(missing.argmax()), what)

    def _labels(self, column: Any) -> Any:
        name, kind = self.origin.name, _value_type(column)
        missing = np.asarray(column.is_null())
        if not missing.any():
            if _is_text(kind):
                return _words(column)
            if not _is_number(kind):
                raise ValueError(f"{name}: a label must be a number or a string, got a column of type {kind}")
            y = _floats(column)
            missing = np.isnan(y)
            _refuse_infinite(np.isfinite(y) | missing, "the label")
        if missing.any():
            raise WrongRow(int(missing.argmax()), "the label is missing")
        return y


def _refuse_infinite(good: Any, what: str) -> None:
    if not good.all():
        raise WrongRow(int(good.argmin()), f"{what} is not a finite number: leave out its row")


def _words(column: Any) -> list[str]:
    """Labels that are strings."""
    words: list[str] = column.to_pylist()
    for row, word in enumerate(words):
        try:
            label_word(word)
        except ValueError as error:
            raise WrongRow(row, str(error)) from None
    return words


def _value_type(column: Any) -> Any:
    """The type of the values of a column or a field, also where they are dictionary-coded."""
    from pyarrow import types

    return column.type.value_type if types.is_dictionary(column.type) else column.type


def _is_number(kind: Any) -> bool:
    from pyarrow import types

    return bool(types.is_boolean(kind) or types.is_integer(kind) or types.is_floating(kind))


def _is_text(kind: Any) -> bool:
    from pyarrow import types

    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def _decoded(column: Any) -> Any:
    from pyarrow import types

    return column.dictionary_decode() if types.is_dictionary(column.type) else column


def _floats(column: Any) -> Any:
    """The numbers of a column, NaN where it is null; an array of its own."""
    import pyarrow

    column = _decoded(column)
    if pyarrow.types.is_boolean(column.type):
        column = column.cast(pyarrow.int8())
    return np.array(column.cast(pyarrow.float64(), safe=False).to_numpy(zero_copy_only=False), dtype=np.float64)


def _hashes(column: Any, seed: int, bits: int) -> Any:
    import pyarrow

    strings = _decoded(column).cast(pyarrow.large_string())
    n = len(strings)
    _, offsets, data = strings.buffers()
    ends = np.frombuffer(offsets, dtype=np.int64)[strings.offset : strings.offset + n + 1]
    first, last = int(ends[0]), int(ends[-1])
    # A copy of these rows alone: the buffers of a slice are those of the whole batch.
    text = np.frombuffer(bytearray(data[first:last] if data is not None else b""), dtype=np.uint8)
    out = np.empty(n, dtype=np.int64)
    hash_strings(text, ends - first, np.full(n, seed, dtype=np.int64), (1 << bits) - 1, out)
    out[np.asarray(strings.is_null())] = NO_HASH
    return out
