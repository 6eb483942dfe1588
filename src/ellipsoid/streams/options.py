"""The options of a stream; on the command line they have the same names, with dashes."""

from dataclasses import dataclass

from .threads import IN_FLIGHT, default_threads

FORMATS = ("svmlight", "csv", "vw", "jsonl", "parquet", "arrow", "npy", "npz")
CELL_KINDS = OF_NUMBERS, OF_WORDS = "numbers", "words"
DEFAULT_BITS = 18
MOST_BITS = 30


@dataclass(frozen=True)
class Options:
    """``format``
        how the bytes are to be read, one of `FORMATS`; None: as the file's name or its first bytes show;
    ``label``
        the label's column of a table, by name (default: the last), or member of JSON lines (default: ``label``);
    ``weights``
        the column of a table with the weights of its rows, by name (default: none);
    ``labelled``
        False: the stream has no labels, or they are not wanted;
    ``columns``
        the names of a table's columns to use as features, in this order (default: all but the label, in theirs);
    ``header``
        whether a CSV file begins with a line of names; None: it does if that line has a feature that is no number;
    ``kinds``
        what columns of CSV text hold, ``"numbers"`` or ``"words"``, by their names, without a header by their numbers
        from 0 as text (default, and where it is None: what the first cell that is not missing is);
    ``word_labels``
        whether the labels of CSV text are words, such as ``"7"``; None: whether the first one is;
    ``n_features``
        the width of the rows, such as a model's ``n_features_in_``;
    ``extra``
        what to do with a sparse feature beyond ``n_features``: ``"error"`` or ``"drop"``;
    ``bits``
        hash the names of features to ``2**bits`` columns;
    ``dicts``
        what becomes of examples that are dicts: ``"hash"`` makes rows of ``2**bits`` columns of them, ``"keep"`` hands
        them on for ``learn_one``, where a learner gives each name a column of its own;
    ``zero_based``
        whether the features of svmlight text count from 0; None: as the first block shows;
    ``missing``
        what to do with an empty cell, or None: ``"error"`` or ``"zero"`` (no value, no one-hot column);
    ``device``
        where the rows of ``mnist-deformed`` are made, as for `datasets.stream`; other streams are read;
    ``skip``
        rows to leave out at the beginning; they are read, and counted;
    ``chunk_rows``
        most rows of a chunk (default: what one block of text holds);
    ``threads``
        threads that scan text (default: one a processor, at most four, fewer for a short file; 0: the thread that
        asks for rows scans them); no result depends on it.

    >>> Options(bits=99)
    Traceback (most recent call last):
    ValueError: bits must be from 1 to 30, got 99
    """

    format: str | None = None
    label: str | None = None
    weights: str | None = None
    labelled: bool = True
    columns: tuple[str, ...] | None = None
    header: bool | None = None
    kinds: dict[str, str | None] | None = None
    word_labels: bool | None = None
    n_features: int | None = None
    extra: str = "error"
    bits: int | None = None
    dicts: str = "hash"
    zero_based: bool | None = None
    missing: str = "error"
    device: str = "cpu"
    skip: int = 0
    chunk_rows: int | None = None
    threads: int | None = None

    def __post_init__(self) -> None:
        if self.format not in (None, *FORMATS):
            raise ValueError(f"format must be one of {', '.join(FORMATS)}, got {self.format!r}")
        choices = (("extra", ("error", "drop")), ("missing", ("error", "zero")), ("dicts", ("hash", "keep")))
        for name, allowed in choices:
            if getattr(self, name) not in allowed:
                raise ValueError(f"{name} must be {' or '.join(allowed)}, got {getattr(self, name)!r}")
        for column, kind in (self.kinds or {}).items():
            if kind not in (None, *CELL_KINDS):
                raise ValueError(f"kinds must be {' or '.join(CELL_KINDS)} for a column, got {kind!r} for {column!r}")
        if self.bits is not None and not 1 <= self.bits <= MOST_BITS:
            raise ValueError(f"bits must be from 1 to {MOST_BITS}, got {self.bits}")
        if self.bits is not None and self.dicts == "keep":
            raise ValueError("bits hashes the names in dicts, and dicts='keep' keeps them: give one of the two")
        if self.n_features is not None and self.n_features < 1:
            raise ValueError(f"n_features must be positive, got {self.n_features}")
        twice = [name for name in self.columns or () if (self.columns or ()).count(name) > 1]
        if twice:
            raise ValueError(f"columns must not name {twice[0]!r} twice")
        if self.skip < 0:
            raise ValueError(f"skip must not be negative, got {self.skip}")
        if self.chunk_rows is not None and self.chunk_rows < 1:
            raise ValueError(f"chunk_rows must be positive, got {self.chunk_rows}")
        if self.threads is not None and self.threads < 0:
            raise ValueError(f"threads must not be negative, got {self.threads}")

    @property
    def hash_bits(self) -> int:
        """The bits to hash to where names must be hashed."""
        return DEFAULT_BITS if self.bits is None else self.bits

    def refuse_labels_as_weights(self, name: str, same: bool) -> None:
        """Raise ``ValueError`` where the column that weighs the rows of a table is the ``same`` as their labels'."""
        if self.labelled and same:
            raise ValueError(
                f"{name}: the column {self.weights!r} holds the labels, and cannot hold the weights too: name "
                "another column for the weights, or for the label"
            )

    def scan_threads(self, blocks: int | None) -> int:
        """How many threads scan text of so many blocks (None: unknown)."""
        return default_threads(blocks) if self.threads is None else min(self.threads, IN_FLIGHT)
