"""Fast learning and prediction of one example, a dense row or a dict: all arguments of the call are prepared once."""

from copy import copy
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
from .one_thread import one_thread_at_a_time

FLOAT64 = np.dtype(np.float64)
# The number of sets of names whose columns are cached; beyond it the cache is emptied.
MOST_LAYOUTS = 256
# Room in the buffer of a new model of named features; it is made anew, and larger, when that does not suffice.
SPARE_COLUMNS = 64
# Values up to this size cannot make a row too large.
MODEST = 1e100
# Types of immutable values for which equality means that they are the same float64, unlike a float32 and a float:
# equal examples with such values only are the same row.
UNCHANGING = frozenset({float, int, bool, str, type(None), np.float64, np.int64})
# Types of names that are looked up as they are; a pair (name, word) names the column of a word, not of an example.
NAME_KINDS = frozenset({str, np.str_, int})
COLUMN_KINDS = NAME_KINDS | {tuple}
# Types of new names that are columns as they are, in an example of numbers and in one with words.
TEXT_NAMES, WORD_NAMES = frozenset({str}), frozenset({str, tuple})


class NoOneRow:
    """In place of `OneRow` where rows must be learned by the slow path: no row has this shape."""

    shape = (-1,)


class OfOneThread:
    """A buffer for single rows that belongs to one thread: others would overwrite the row before it is read."""

    def __init__(self) -> None:
        self.owner = get_ident()
        self._siblings: dict[int, Self] = {}

    def sibling(self, learner: Any) -> Self:
        """The buffer for the calling thread."""
        thread = get_ident()
        if thread not in self._siblings:
            self._siblings[thread] = _prepare_alone(learner, type(self))
        return self._siblings[thread]


@one_thread_at_a_time
def _prepare_alone(learner: Any, kind: Any) -> Any:
    """A prepared call of this kind; the learner is not widened meanwhile, which would let rows be wider than arrays."""
    return kind(learner)


def of_this_thread(row: Any, learner: Any) -> Any:
    """The prepared call with a buffer for the calling thread; None if ``row`` is None."""
    return row if row is None or row.owner == get_ident() else row.sibling(learner)


def filled_row(learner: Any, x: Any, known_only: bool = False) -> Any:
    """The prepared call with the example in its buffer; None if the example needs the slow path.

    ``known_only``: features that are not known are left out.
    """
    if type(x) is dict:
        row = of_this_thread(learner.named or learner.named_row(), learner)
        return row if row is not None and (row.fill(x) or (known_only and row.fill_known(x))) else None
    if type(x) is not np.ndarray or x.dtype is not FLOAT64 or x.shape != (learner.fast or learner.fast_row()).shape:
        return None
    row = of_this_thread(learner.fast, learner)
    row.row[...] = x
    return row


class _Prepared(OfOneThread):
    """Learning and prediction of the row in a buffer, at about a microsecond per call."""

    def __init__(self, learner: Any, rows: Dense | CSR) -> None:
        super().__init__()
        self.index = learner.labels.index
        ledger = np.zeros((1, 1), dtype=np.int64)
        self.code = ledger[0]
        task = learner.task(ledger, PLAIN, np.zeros((1, len(learner.labels.values)), dtype=np.uint8))
        table, work = learner.table, learner.work
        self.learn_args = (learner.rule, task, table.rep, rows, learner.tally, work, 0, 1, NO_WEIGHTS)
        self.learn = entry(learner.loop, *self.learn_args)
        # Averaged weights may have another representation than those that learn. The last argument keeps the scores.
        self.decide_args = (task, learner.predictor(), rows, np.zeros_like(work))
        self.decide = entry(decide, *self.decide_args)

    def predict_averaged(self, learner: Any) -> int:
        """Index of the label that the averaged hypothesis predicts for the row in the buffer."""
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
    """How the values of an example with certain names are written to the buffer."""

    values: Any
    """Takes the values of an example, in the order of their columns."""
    write: Any
    columns: NDArray[np.int32]


class OneNamedRow(_Prepared):
    """Single examples given as dicts whose names are all known.

    Many streams of dicts have few sets of names: a layout is made for a set when it comes for the second time. If sets
    hardly ever repeat, as with the words of a text, no layouts are made. An example that is learned right after its
    prediction is in the buffer already.
    """

    def __init__(self, learner: Any) -> None:
        self.columns: dict[Any, int] = learner.features
        self.layouts: dict[tuple[Any, ...], _Layout | None] = {}
        self.present: _Layout | None = None
        self.in_buffer: dict[Any, Any] | None = None
        self.hits = 0
        room = SPARE_COLUMNS + 2 * len(self.columns)
        self.data, self.indices = np.zeros(room), np.zeros(room, dtype=np.int32)
        self.ends = np.zeros(2, dtype=np.int32)
        self.places: Any = memoryview(self.data), memoryview(self.indices)  # type: ignore[arg-type]
        self.sort = entry(sort_by_column, self.indices, self.data, 0)
        # Has a name been an integer? Then the types of names must be checked: 1.0 equals 1, and is no name.
        self.integer_names = False
        super().__init__(learner, CSR(self.data, self.indices, self.ends, learner.constant, learner.width))

    def widened(self, learner: Any) -> "OneNamedRow | None":
        """This call for rows of more features, for which the arrays of the learner have room; None if it has none.

        A thread that is about to use the call as it was keeps its width: it may also keep arrays that end there.
        """
        # A thread that learns without the lock may have left a call for arrays of the past.
        if learner.width > len(self.data) or self.learn_args[2] is not learner.table.rep:
            return None
        wider, rows = copy(self), CSR(self.data, self.indices, self.ends, learner.constant, learner.width)
        wider.learn_args = (*self.learn_args[:3], rows, *self.learn_args[4:])
        wider.decide_args = (*self.decide_args[:2], rows, self.decide_args[3])
        wider._siblings = {}
        return wider

    def fill(self, example: dict[Any, Any]) -> bool:
        """Put an example into the buffer; False if a name is not known, or a value is not a number."""
        if self.integer_names and not NAME_KINDS.issuperset(map(type, example)):
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

    def fill_known(self, example: dict[Any, Any]) -> bool:
        """Put the known features of an example into the buffer; False if the others need a closer look, or are all."""
        try:
            numbers, columns = encoded(example), self.columns
            new = [name for name in numbers if name not in columns]
            if not self._are_names(numbers, new) or not all(-MODEST < float(numbers[name]) < MODEST for name in new):
                return False
            known = type(numbers)((name, value) for name, value in numbers.items() if name in columns)
            if not self._fill_by_columns(known, known):
                return False
            self.in_buffer = None
        except (KeyError, TypeError, ValueError, OverflowError, error):
            return False
        return True

    def new_columns(self, example: dict[Any, Any]) -> dict[Any, int]:
        """The columns that the new names of an example will get; none if there is something else to look at."""
        numbers, columns = encoded(example), self.columns
        new = [name for name in numbers if name not in columns]
        return {name: len(columns) + i for i, name in enumerate(new)} if self._are_names(numbers, new) else {}

    @staticmethod
    def _are_names(numbers: dict[Any, Any], new: list[Any]) -> bool:
        """Are these names that need no change, those of words being pairs?"""
        return {*map(type, new)} <= (WORD_NAMES if type(numbers) is Encoded else TEXT_NAMES)

    def _is_same_row(self, example: dict[Any, Any]) -> bool:
        """Are two equal examples the same row?"""
        return UNCHANGING.issuperset(map(type, chain(example.values(), (self.in_buffer or {}).values())))

    def _fill_words(self, example: dict[Any, Any]) -> bool:
        """Put an example with words, or with missing values, into the buffer."""
        try:
            numbers = encoded(example)
            return type(numbers) is Encoded and self._fill_by_columns(numbers, example)
        except (KeyError, TypeError, OverflowError, error):
            return False

    def _fill_by_columns(self, numbers: dict[Any, Any], example: dict[Any, Any]) -> bool:
        count, kinds = len(numbers), {*map(type, numbers)}
        if not kinds <= (COLUMN_KINDS if type(numbers) is Encoded else NAME_KINDS):
            return False
        self.integer_names |= int in kinds
        # Nothing may pass for what is in the buffer if this fails halfway.
        self.present = self.in_buffer = None
        write_values, write_columns = _writers(count)
        write_columns(self.places[1], 0, *map(self.columns.__getitem__, numbers))
        write_values(self.places[0], 0, *numbers.values())
        self.sort(self.indices, self.data, count)
        self.ends[1] = count
        self.in_buffer = example.copy() if count else None
        return count > 0

    def _note(self, names: tuple[Any, ...]) -> bool:
        """Make a layout for a set of names that came before; remember one that did not."""
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
    """Functions that write so many values, and so many columns, into a buffer."""
    return Struct(f"{count}d").pack_into, Struct(f"{count}i").pack_into
