"""CSV text: the first block decides what each column holds, and every later line must agree.

A column is of numbers if its first cell that is not missing is a number, else of words, which are one-hot coded by
hashing. So is the label's column, the last unless another is named. The delimiter is the one of comma, semicolon and
tab that the first line has most of.
"""

import csv
from collections import Counter
from typing import Any

import numpy as np

from ..labels import label_word
from ..options import OF_NUMBERS, OF_WORDS, Options
from ..scan import reasons
from ..scan import table as scan
from ..scan.hashing import hash_name
from .blocks import SLACK, Origin, TextBlock
from .errors import LineError, WrongRow, after_return, token
from .onehot import with_one_hot_words
from .scanned_text import ScannedText

# A column with more words than this holds no labels: memory must stay bounded.
_MOST_LABELS = 1 << 20
# Where nobody said which column holds the labels, more words than these, in every second row a new one, are a question.
_LABELS_TO_ASK = 500
_KINDS = {scan.IGNORED: None, scan.NUMBER: OF_NUMBERS, scan.INFINITE: OF_NUMBERS, scan.TEXT: OF_WORDS}
_DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs"}


class Csv(ScannedText):
    """One example per line, one feature per column."""

    def __init__(self, origin: Origin, options: Options) -> None:
        super().__init__(origin, options)
        self._delimiter, self._numbers, self._hashes = ",", 0, 0
        self._cells: list[str] | None = None

    def describe(self) -> str:
        if self.n_features is None:
            return "CSV text"
        hashed = f" and {self._hashes} of words, hashed to {self.options.hash_bits} bits" if self._hashes else ""
        header = f"{'no' if self.header is None else 'a'} header{' (detected)' if self.options.header is None else ''}"
        return f"CSV text between {_DELIMITERS[self._delimiter]}, {header}, {self._numbers} columns of numbers{hashed}"

    def restart(self) -> None:
        self.n_features = self.columns = self.kinds = self.header = self.bits = self._cells = None

    def piece(self, block: TextBlock, out: scan.Cells, found: Any, rows: int) -> tuple[Any, Any, Any]:
        """Rows, labels (numbers, words, or None) and weights of a scan."""
        X, weights = out.numbers[:rows], None
        if self.options.weights is not None:
            X, weights = np.ascontiguousarray(X[:, :-1]), X[:, -1].copy()
        if self._hashes:
            X = with_one_hot_words(X, out.hashes[:rows], self.options.hash_bits)
        purposes = self._columns.purpose
        if scan.NUMBER_LABEL in purposes:
            return X, out.labels[:rows], weights
        return X, self._words(block, out.spans[:rows]) if scan.TEXT_LABEL in purposes else None, weights

    def _words(self, block: TextBlock, spans: Any) -> list[str]:
        raw, known = bytes(block.raw), self._known
        words: list[str] = []
        guessed = self.options.label is None and not known
        for begin, end in spans.tolist():
            cell = raw[begin:end]
            word = known.get(cell)
            if word is None:
                try:
                    word = label_word(cell.decode("utf-8", "backslashreplace").replace('""', '"'))
                    if len(known) == _MOST_LABELS:
                        most = f"more than {_MOST_LABELS} different words"
                        raise ValueError(f"the column of labels has {most}; is it the right column?")
                except ValueError as error:
                    raise WrongRow(len(words), str(error), 1 + raw.count(b"\n", 0, begin)) from None
                known[cell] = word
            words.append(word)
        if guessed and len(known) > max(_LABELS_TO_ASK, len(words) // 2):
            raise ValueError(
                f"{self.origin.name}: the last column holds {len(known)} different words in {len(words)} rows, which "
                "are hardly labels; name the column of the labels by label, or give labelled=False"
            )
        return words

    # -- the first block ---------------------------------------------------------------------------------------

    def begin(self, block: TextBlock) -> int:
        """Find out the header, then the columns, as far as this block shows them; returns where its rows begin."""
        position = 0
        while position < block.stop:
            end = block.raw.index(b"\n", position)
            line = bytes(block.raw[position:end]).decode("utf-8", "backslashreplace").strip("\r ")
            if line and self._cells is None:
                self._delimiter = max(_DELIMITERS, key=line.count)
                self._cells = self._split(line, block, position)
                if self._has_header(self._cells):
                    self.header = self._cells
                    line = ""
            if line and self._cells is not None:
                kinds = np.zeros(len(self._cells), dtype=np.int64)
                scan.classify(block.text, position, block.stop, ord(self._delimiter), kinds)
                self._assign(self.header, kinds)
                return position
            position = end + 1
        return block.stop

    def _split(self, line: str, block: TextBlock, position: int) -> list[str]:
        """The cells of the first line, which begins at a position."""
        try:
            return [cell.strip() for cell in next(csv.reader([line], delimiter=self._delimiter))]
        except csv.Error as error:
            what = f"a cell has more than {csv.field_size_limit():,} characters: shorten it, or leave out its column"
            if "limit" not in str(error):
                what = after_return(block, block.raw.index(b"\r", position))
            raise LineError(self.origin.name, 1 + block.raw.count(b"\n", 0, position), what) from None

    def _has_header(self, cells: list[str]) -> bool:
        if self.options.header is not None:
            return self.options.header
        features = cells[:-1] if self.options.labelled and len(cells) > 1 else cells
        # After a table without a header, a word is a name only in one of its columns of numbers.
        known = self.options.kinds or {}
        return any(
            known.get(str(j), OF_NUMBERS) == OF_NUMBERS and not _number_or_missing(cell)
            for j, cell in enumerate(features)
        )

    def _assign(self, names: list[str] | None, found: Any) -> None:
        """Give each column its purpose; ``found`` is what its cells show, which counts where no option decides."""
        options, width = self.options, len(found)
        if names is not None and len(set(names)) < width and (options.label or options.weights or options.columns):
            raise ValueError(f"{self.origin.name} has two columns of one name: {', '.join(names)}")
        label = self._find(names, options.label, "label") if options.label is not None else width - 1
        chosen = list(range(width))
        if options.columns is not None:
            chosen = [self._find(names, name, "columns") for name in options.columns]
        weights = None if options.weights is None else self._find(names, options.weights, "weights")
        chosen = [j for j in chosen if j != weights]
        keys = [str(j) for j in range(width)] if names is None else names
        counts = Counter(keys)
        keys = [f"{key} ({j})" if counts[key] > 1 else key for j, key in enumerate(keys)]
        kinds = [(options.kinds or {}).get(key) or _KINDS[found[j]] for j, key in enumerate(keys)]
        is_text = np.array([kind == OF_WORDS for kind in kinds])
        if options.labelled:
            own = f"column {label + 1}" if names is None else repr(names[label])
            self.label_column = f"column {own}" if options.label is not None else f"the last column, {own},"
            # As a label, an infinity is a word.
            asked = options.word_labels
            is_text[label] = is_text[label] or found[label] == scan.INFINITE if asked is None else asked
        purpose = np.full(width, scan.IGNORED)
        purpose[chosen] = np.where(is_text, scan.TEXT, scan.NUMBER)[chosen]
        if options.labelled:
            purpose[label] = scan.TEXT_LABEL if is_text[label] else scan.NUMBER_LABEL
        elif options.label is not None:
            purpose[label] = scan.IGNORED
        self.kinds = {keys[j]: kinds[j] for j in chosen if purpose[j] in (scan.NUMBER, scan.TEXT)}
        place = np.zeros(width, dtype=np.int64)
        for kind in (scan.NUMBER, scan.TEXT):
            of_kind = [j for j in chosen if purpose[j] == kind]
            place[of_kind] = np.arange(len(of_kind))
            if names is not None and kind == scan.NUMBER:
                self.columns = [names[j] for j in of_kind]
        seed = np.array([hash_name(names[j] if names else str(j)) for j in range(width)], dtype=np.int64)
        self._columns = scan.TableColumns(purpose, place, seed)
        # A byte a column: the delimiter or the line feed after an empty cell.
        self.shortest_row = width
        self._hashes = int((purpose == scan.TEXT).sum())
        self.bits = options.hash_bits if self._hashes else None
        self._numbers = int((purpose == scan.NUMBER).sum())
        if weights is not None:
            options.refuse_labels_as_weights(self.origin.name, weights == label)
            if is_text[weights]:
                raise ValueError(
                    f"{self.origin.name}: the column {options.weights!r} holds no numbers, so it "
                    "cannot weight the rows; name another"
                )
            # After the numbers of the features.
            purpose[weights], place[weights] = scan.NUMBER, self._numbers
        self._known: dict[bytes, str] = {}
        if self._numbers + self._hashes == 0:
            raise ValueError(f"{self.origin.name} has no column of features besides the label")
        self.n_features = self._numbers + (1 << options.hash_bits if self._hashes else 0)

    def _find(self, names: list[str] | None, name: str, option: str) -> int:
        if names is None:
            raise ValueError(
                f"{self.origin.name} has no header line, so no column is called {name!r}; the last one is the label"
            )
        if name not in names:
            raise ValueError(f"{self.origin.name} has no column {name!r} for {option}; it has {', '.join(names)}")
        return names.index(name)

    # -- lines -------------------------------------------------------------------------------------------------

    def buffers(self, rows: int, values: int, hard: int) -> scan.Cells:
        words = rows if scan.TEXT_LABEL in self._columns.purpose else 0
        columns = self._numbers + (self.options.weights is not None)
        return scan.Cells(
            np.empty((rows, columns)),
            np.empty((rows, self._hashes), dtype=np.int64),
            np.empty(rows),
            np.empty((words, 2), dtype=np.int64),
            np.empty((hard, 4), dtype=np.int64),
        )

    def scan_lines(self, text: Any, position: int, stop: int, out: scan.Cells) -> scan.TableStop:
        rules = scan.TableRules(ord(self._delimiter), (1 << self.options.hash_bits) - 1, self.options.missing == "zero")
        return scan.TableStop(*scan.scan_table(text, position, stop, self._columns, rules, out))

    def place(self, out: scan.Cells, found: Any, where: list[int]) -> tuple[int, Any, Any, float]:
        row, column = where
        return (row, out.labels, row, 1.0) if column < 0 else (row, out.numbers, (row, column), 1.0)

    def flaw(self, block: TextBlock, found: scan.TableStop) -> str:
        width = len(self._columns.purpose)
        if found.reason == reasons.TOO_FEW:
            return f"{found.column} columns, but the first line has {width}"
        if found.reason == reasons.TOO_MANY:
            return f"more than the {width} columns of the first line"
        if found.reason == reasons.BAD_QUOTE:
            return f"the quotation marks of column {found.column + 1} do not enclose all of it on this line"
        cell = token(block, found.position, b"\r\n" + self._delimiter.encode())
        if found.reason == reasons.MISSING:
            shown = f": {cell} stands for that" if cell.strip("' ") else ""
            if self._columns.purpose[found.column] > scan.TEXT:
                return f"the label (column {found.column + 1}) is missing{shown}"
            advice = "give missing='zero' to open_stream to read that as zero"
            return f"column {found.column + 1} is missing{shown}; {advice}"
        if cell.strip("'\" +-").lower() in ("inf", "infinity"):
            return f"{cell} is not a finite number: leave out its line, or leave the cell empty"
        if self.options.kinds is None:
            return f"{cell} is not a number, as the first cell of column {found.column + 1} is"
        return f"{cell} is not a number, and column {found.column + 1} holds numbers, as kinds or the first table says"


def _number_or_missing(cell: str) -> bool:
    text = np.frombuffer(bytearray(cell.encode() + b"\n" + bytes(SLACK)), dtype=np.uint8)
    kinds = np.zeros(1, dtype=np.int64)
    # The delimiter is a byte that no line of text has: the cell may hold the real one between quotation marks.
    scan.classify(text, 0, len(text) - SLACK, 0, kinds)
    return bool(kinds[0] != scan.TEXT)
