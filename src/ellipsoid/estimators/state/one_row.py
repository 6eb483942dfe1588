"""Learning and prediction of one example, a dense row or a dict, by a call whose arguments are prepared once."""

from functools import lru_cache
from itertools import chain
from operator import itemgetter
from struct import Struct, error
from threading import get_ident
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ellipsoid.engine import CSR, NO_WEIGHTS, Dense, compiled, decide, entry
from ellipsoid.engine.tasks import PLAIN

from ..inputs.examples import Encoded, encoded

FLOAT64 = np.dtype(np.float64)
# Sets of names whose columns are kept in mind; beyond that the next examples begin a new collection.
MOST_LAYOUTS = 256
# Kinds of values that nobody can change in place, and of which equal ones are the same float64, unlike a float32 and a
# float: where all are such, equal examples are the same row.
UNCHANGING = frozenset({float, int, bool, str, type(None), np.float64, np.int64})
# Kinds of names that are looked up as they are; a pair (name, word) is the column of a word, and no name of an example.
NAME_KINDS = frozenset({str, np.str_, int})
COLUMN_KINDS = NAME_KINDS | {tuple}


class NoOneRow:
    """Stands where every row must take the long way: no row has this shape."""

    shape = (-1,)


class OfOneThread:
    """A buffer for single rows that one thread uses: another would lay its row there before this one's is read."""

    def __init__(self) -> None:
        self.owner = get_ident()
        self._siblings: dict[int, Self] = {}

    def sibling(self, learner: Any) -> Self:
        """The like for the thread that asks."""
        thread = get_ident()
        if thread not in self._siblings:
            self._siblings[thread] = type(self)(learner)  # type: ignore[call-arg]
        return self._siblings[thread]


def of_this_thread(row: Any, learner: Any) -> Any:
    """What is prepared for single rows, with a buffer of this thread's; None where nothing is."""
    return row if row is None or row.owner == get_ident() else row.sibling(learner)


def filled_row(learner: Any, x: Any) -> Any:
    """What is prepared for single rows, with the example in its buffer; None where it must take the long way."""
    if type(x) is dict:
        row = of_this_thread(learner.named or learner.named_row(), learner)
        return row if row is not None and row.fill(x) else None
    if type(x) is not np.ndarray or x.dtype is not FLOAT64 or x.shape != (learner.fast or learner.fast_row()).shape:
        return None
    row = of_this_thread(learner.fast, learner)
    row.row[...] = x
    return row


class _Prepared(OfOneThread):
    """Learning and prediction of the row in a buffer with every argument prepared: about a microsecond per call."""

    def __init__(self, learner: Any, rows: Dense | CSR) -> None:
        super().__init__()
        self.index = learner.labels.index
        ledger = np.zeros((1, 1), dtype=np.int64)
        self.code = ledger[0]
        task = learner.task(ledger, PLAIN, np.zeros((1, len(learner.labels.values)), dtype=np.uint8))
        table, work = learner.table, learner.work
        self.learn_args = (learner.rule, task, table.rep, rows, learner.tally, work, 0, 1, NO_WEIGHTS)
        self.learn = entry(learner.loop, *self.learn_args)
        # Averaged weights may come in another representation than the one that learns. Scores stay for who reads them.
        self.decide_args = (task, learner.predictor(), rows, np.zeros_like(work))
        self.decide = entry(decide, *self.decide_args)

    def predict_averaged(self, learner: Any) -> int:
        """Index of the label that the averaged hypothesis gives to the row in the buffer."""
        task, _, rows, work = self.decide_args
        return int(self.decide(task, learner.predictor(), rows, work))


class OneRow(_Prepared):
    """Single rows given as dense float64 arrays."""

    def __init__(self, learner: Any) -> None:
        row = np.zeros((1, learner.width))
        self.row = row[0]
        self.shape = self.row.shape
        super().__init__(learner, Dense(row, learner.constant))


class _Layout(NamedTuple):
    """Where the values of an example with certain names go."""

    values: Any
    """Takes them out, in the order of their columns."""
    write: Any
    columns: NDArray[np.int32]


class OneNamedRow(_Prepared):
    """Single examples given as dicts, of names that are all known.

    Many streams of dicts have few sets of names: what is to be done with the values of a set is worked out when it
    comes for the second time. Where sets hardly ever come again, as with the words of a text, none is looked for. An
    example that is learned right after its prediction lies in the buffer already.
    """

    def __init__(self, learner: Any) -> None:
        self.columns: dict[Any, int] = learner.features
        self.layouts: dict[tuple[Any, ...], _Layout | None] = {}
        self.present: _Layout | None = None
        self.in_buffer: dict[Any, Any] | None = None
        self.hits = 0
        room = len(self.columns)
        self.data, self.indices = np.zeros(room), np.zeros(room, dtype=np.int32)
        self.ends = np.zeros(2, dtype=np.int32)
        self.places: Any = memoryview(self.data), memoryview(self.indices)  # type: ignore[arg-type]
        self.sort = entry(sort_by_column, self.indices, self.data, 0)
        # Was an integer among the names so far? Only then must those of a known set be looked at, of which 1.0 is none.
        self.whole_numbers = False
        super().__init__(learner, CSR(self.data, self.indices, self.ends, learner.constant, learner.width))

    def fill(self, example: dict[Any, Any]) -> bool:
        """Put an example into the buffer; False where a name is not known, or a value no number."""
        if self.whole_numbers and not NAME_KINDS.issuperset(map(type, example)):
            return False
        try:
            if self.in_buffer == example and self._is_same_row(example):
                return True
            self.in_buffer = None
            if self.hits < 0:
                return self._fill_by_columns(example, example)
            names = tuple(example)
            layout = self.layouts.get(names)
            if layout is None:
                return self._fill_by_columns(example, example) and self._note(names)
            if layout is not self.present:
                self.indices[: len(names)] = layout.columns
                self.ends[1] = len(names)
                self.present = layout
                self.hits += 1
            layout.write(self.data, 0, *layout.values(example))
        except (KeyError, TypeError, ValueError, OverflowError, error):
            return self._fill_words(example)
        return True

    def _is_same_row(self, example: dict[Any, Any]) -> bool:
        """Are two equal examples the same row?"""
        return UNCHANGING.issuperset(map(type, chain(example.values(), (self.in_buffer or {}).values())))

    def _fill_words(self, example: dict[Any, Any]) -> bool:
        """Put an example with words, or with values that are missing, into the buffer."""
        try:
            numbers = encoded(example)
            return type(numbers) is Encoded and self._fill_by_columns(numbers, example)
        except (KeyError, TypeError, OverflowError, error):
            return False

    def _fill_by_columns(self, numbers: dict[Any, Any], example: dict[Any, Any]) -> bool:
        count, kinds = len(numbers), {*map(type, numbers)}
        if not kinds <= (COLUMN_KINDS if type(numbers) is Encoded else NAME_KINDS):
            return False
        self.whole_numbers |= int in kinds
        self.present = None
        write_values, write_columns = _writers(count)
        write_columns(self.places[1], 0, *map(self.columns.__getitem__, numbers))
        write_values(self.places[0], 0, *numbers.values())
        self.sort(self.indices, self.data, count)
        self.ends[1] = count
        self.in_buffer = example.copy() if count else None
        return count > 0

    def _note(self, names: tuple[Any, ...]) -> bool:
        """Work out a layout for names that came together before; remember those that did not."""
        layout = None
        if names in self.layouts:
            count, order = len(names), itemgetter(*sorted(names, key=self.columns.__getitem__))
            take = order if count > 1 else lambda one: (order(one),)
            layout = _Layout(take, _writers(count)[0], self.indices[:count].copy())
        elif len(self.layouts) >= MOST_LAYOUTS:
            self.hits = 0 if self.hits else -1
            self.layouts.clear()
        self.layouts[names] = layout
        return True


@compiled
def sort_by_column(columns: Any, values: Any, count: int) -> None:
    """Order the first ``count`` columns, and their values with them: Shell's sort, which no order makes slow."""
    gap = count
    while gap > 1:
        gap = (4 * gap + 2) // 9 if gap > 3 else 1
        for i in range(gap, count):
            column, value, k = columns[i], values[i], i
            while k >= gap and columns[k - gap] > column:
                columns[k], values[k] = columns[k - gap], values[k - gap]
                k -= gap
            columns[k], values[k] = column, value


@lru_cache(maxsize=1024)
def _writers(count: int) -> tuple[Any, Any]:
    """What writes so many numbers, and so many columns, into a buffer."""
    return Struct(f"{count}d").pack_into, Struct(f"{count}i").pack_into
