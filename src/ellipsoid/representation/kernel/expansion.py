"""A kernel expansion: support patterns with one coefficient row each; the Python side of the look-ahead.

    M_r = sum_i coef[i, r] phi(x_i),    B_r(x) = sum_i coef[i, r] K(x_i, x)

Kernel values are computed tile by tile, so that memory stays bounded whatever the number of patterns, and every score
is summed by the same compiled code in the order of the patterns: BLAS would give equal columns of coefficients unequal
scores, and a row other scores in another block. A constant feature of the rows is one of the feature space too, and
adds its square to every kernel value.

Averages: with U collecting (sum of the scales of the rounds before) x (the update), the mean of the hypotheses after
each of T rounds is (S_T coef - U) / T, S_T the sum of all scales; without rescaling S_T = T.
"""

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ellipsoid.engine.rows import CSR, Dense

from ..rollback import Mark
from ..table_protocol import Floats, StoredArrays, Table
from ..tables import doubled, widened
from .device import DevicePatterns
from .functions import KERNELS, Function, Precomputed
from .history import History, add_to
from .lookahead import EXPANSION_NUMBERS, KEEP, NORM2, PAUSE, PENDING, SCALE, Lookahead, elapsed
from .packing import GivenSums, PatternSums, Picker, picked_once
from .patterns import NO_COLUMNS, Block, DensePatterns, Patterns, Picks, SparsePatterns
from .precomputed import ColumnPatterns
from .threads import in_parts, together
from .tiles import PATTERNS_OF_TILE
from .update_log import Delayed

KernelSpec = tuple[str | Callable[[Any, Any], Any], float | None, float, float]

# Patterns whose kernel values with a block are made at once: with 512 rows, 4 MB that stay in the near caches.
PATTERNS_AT_ONCE = 16 * PATTERNS_OF_TILE


class ExpansionTable(Table):
    """Support patterns, coefficients and the numbers of a hypothesis in the feature space of a kernel.

    ``kernel`` is a name or a function with its parameters, gamma None for one over the number of features.
    """

    by_class = True
    rep: Any = None
    # Do coefficients change by updates alone? Then a device need not copy all of them again, and averages and votes can
    # be computed in hindsight.
    moves_by_updates = True

    def __init__(self, kernel: KernelSpec, *, average: bool, constant: float, sparse: bool) -> None:
        self.kernel, self.average, self.constant2 = kernel, average, constant * constant
        self.width = 0
        self.patterns: Patterns = (
            ColumnPatterns(0) if kernel[0] == "precomputed" else SparsePatterns(0) if sparse else DensePatterns(0)
        )
        self.coef: Floats = np.zeros((0, 1))
        self.late: Floats = np.zeros((0, 1))
        self.numbers: Floats = np.zeros(EXPANSION_NUMBERS)
        self.numbers[SCALE] = 1.0
        self.history: History | None = None
        self.delayed = Delayed(1)
        self.picker = Picker()
        self.device: DevicePatterns | None = None

    def make_kernel(self) -> Any:
        """The kernel for rows of the current width."""
        name, gamma, degree, coef0 = self.kernel
        if callable(name):
            return Function(name)
        if name == "precomputed":
            return Precomputed()
        return KERNELS[name](1.0 / max(1, self.width) if gamma is None else gamma, degree, coef0)

    # -- marks -------------------------------------------------------------------------------------------------

    def mutable_parts(self) -> list[Any]:
        logs = [self.delayed, self.delayed.log, *([] if self.history is None else [self.history])]
        return [self, self.patterns, self.patterns.pattern_index, *logs]

    def after_rollback(self) -> None:
        """Coefficients that were taken back may have been picked."""
        self.picker = Picker()
        self.patterns.after_rollback()
        if self.device is not None:
            self.device.shrink(self.used)

    # -- shape -------------------------------------------------------------------------------------------------

    @property
    def used(self) -> int:
        """Number of support patterns."""
        return self.patterns.used

    def reserve(self, scores: int, width: int) -> bool:
        wider, more = width > self.width, scores > self.coef.shape[1]
        if wider:
            self.patterns.widen(width)
            self.width = width
        if more:
            # The first reservation is exact; only growth in mid-stream doubles.
            columns = scores if self.coef.shape[1] == 1 else max(scores, 2 * self.coef.shape[1])
            self.coef, self.late = widened(self.coef, columns), widened(self.late, columns)
            self.delayed.widen(columns)
            if self.history is not None:
                self.history.widen(columns)
        return wider or more

    def split(self, factor: float) -> None:
        self.reserve(2, self.width)
        for array in (self.coef, self.late):
            array[:, 1] = factor * array[:, 0]
            array[:, 0] = 0.0 - array[:, 1]  # never -0.0
        self.delayed.rest(self.coef[: self.used])
        if self.device is not None:
            self.device.forget_coefficients()
        if self.history is not None:
            self.history.split(factor)
        self.numbers[NORM2] *= 2.0 * factor * factor

    # -- scores ------------------------------------------------------------------------------------------------

    def block(self, rows: Dense | CSR, picks: Picks, columns: NDArray[np.int64] = NO_COLUMNS) -> Block:
        """Rows of a chunk, ready for kernel values."""
        block = self.patterns.block(rows, picks, columns)
        return block if self.device is not None else self.patterns.lay_out(self.make_kernel(), block)

    def add_scores(self, block: Block, coef: Floats, out: Floats, slots: NDArray[np.int64] | None = None) -> None:
        """Add ``sum_i coef[i, r] K(x_i, x)`` to ``out[r]`` for the rows x of a block, over the given patterns."""
        # Patterns are stored before their coefficients: while another thread learns there may be fewer of these.
        kernel, n, count = self.make_kernel(), out.shape[1], min(self.used, len(coef)) if slots is None else len(slots)
        if not count:
            return
        if self.device is not None:
            self.device.add_scores(self.patterns, kernel, block, coef, self.constant2, out, slots)
            return
        picked = self.picker.pick(coef[:count]) if slots is None else picked_once(coef)
        block = self.patterns.lay_out(kernel, block)
        if block.tiles is not None:
            some = np.arange(count) if slots is None else slots
            work = PatternSums(kernel, self.patterns.stored(), some, picked, block.tiles, self.constant2)
            work.sums[:, :n] = out
            together(work.work, work.parts, work.effort)
            out[:] = work.sums[:, :n]
            return

        def job(start: int, stop: int) -> None:
            part = block if stop - start == n else block.part(slice(start, stop))
            found = GivenSums(picked, self.constant2, out[:, start:stop])
            for begin in range(0, count, PATTERNS_AT_ONCE):
                tile = slice(begin, min(count, begin + PATTERNS_AT_ONCE))
                found.add(self.patterns.values(kernel, part, tile if slots is None else slots[tile]))
            out[:, start:stop] = found.sums

        in_parts(job, n, float(n) * count * (self.width + len(out)))

    def scores(self, block: Block, coef: Floats) -> Floats:
        """Scores of a block by an expansion over all patterns."""
        out = np.zeros((coef.shape[1], len(block.norms)))
        self.add_scores(block, coef, out)
        return out.T

    def scores_ahead(self, block: Block, scores: int) -> Floats:
        """Scores of a block by the present hypothesis, summed in the order that ``delayed`` keeps."""
        if self.device is not None and self.moves_by_updates:
            return self.device.up(self.device.present_sums(self, self.device.of(block), scores))
        out = np.zeros((scores, len(block.norms)))
        self.add_scores(block, self.delayed.base[: self.delayed.settled, :scores], out)
        slots, moved = self.delayed.updates(scores)
        self.add_scores(block, moved, out, slots)
        return out.T

    def look_ahead(self, block: Block, scores: Floats, *, keep: bool = False) -> Lookahead:
        """What the loop runs on: a block, its scores by the kept coefficients, its Gram matrix."""
        kernel = self.make_kernel()
        if self.device is None:
            gram = self.patterns.gram(kernel, block, self.constant2, half=not keep)
        else:
            gram = self.device.up(self.device.gram(kernel, self.device.of(block), self.constant2))
        return self.ahead(scores, gram, keep=keep)

    def ahead(self, scores: Floats, gram: Floats, *, keep: bool = False) -> Lookahead:
        """The same from the kernel values of the block's rows with each other."""
        self.numbers[KEEP] = float(keep)
        late = np.zeros(scores.shape) if self.average else np.zeros((0, 0))
        by_class = np.ascontiguousarray(scores.T)
        return Lookahead(by_class, gram, np.zeros(scores.shape), late, np.zeros(len(scores)), self.numbers)

    def commit(self, block: Block, ahead: Lookahead, mark: Mark) -> None:
        """Store the block's updates, in the order of their rounds, which need not be that of the rows."""
        rows = np.flatnonzero(ahead.when)
        if not len(rows):
            return
        updates = rows[np.argsort(ahead.when[rows], kind="stable")]
        slots = self.patterns.place(block, updates)
        self.coef = doubled(self.coef, self.used)
        moved, changed = ahead.moved[updates], np.unique(slots)
        mark.save(self.coef, changed)
        add_to(self.coef, slots, moved)
        if self.device is not None:
            self.device.note(changed)
        if self.average:
            self.late = doubled(self.late, self.used)
            mark.save(self.late, changed)
            add_to(self.late, slots, ahead.late[updates])
        for log in (self.delayed, self.history):
            if log is not None:
                log.extend(slots, ahead.when[updates], moved)

    # -- reading -----------------------------------------------------------------------------------------------

    def reading(self) -> Any:
        """The hypothesis at this moment, for reading its patterns and coefficients: the table itself."""
        return self

    def coefficients(self, scores: int, rounds: int) -> Floats:
        """A row for each pattern, averaged over the rounds where averages are kept."""
        kept = self.coef[: self.used, :scores]
        if self.average and rounds:
            total, late = elapsed(self.numbers, float(rounds)), self.late[: len(kept), :scores]
            return (total / rounds) * kept[: len(late)] - late / rounds
        return float(self.numbers[SCALE]) * kept

    def votes(self, block: Block, labels: int, rounds: int, scores: int) -> Floats:
        """Each label's share of the votes of all hypotheses so far."""
        assert self.history is not None
        return self.history.votes(self.values_with_all(block), labels, rounds, scores) / max(1, rounds)

    def values_with_all(self, block: Block) -> Floats:
        """K + constant2 of the rows of a block with all patterns."""
        kernel = self.make_kernel()
        if self.device is not None:
            return self.device.up(self.device.values_with(self.patterns, kernel, block, self.constant2, self.used))
        values = np.empty((len(block.norms), self.used))
        for begin in range(0, self.used, PATTERNS_AT_ONCE):
            tile = slice(begin, min(self.used, begin + PATTERNS_AT_ONCE))
            values[:, tile] = self.patterns.values(kernel, block, tile)
        values += self.constant2
        return values

    def support(self) -> Any:
        """The support patterns as rows."""
        return self.patterns.rows(slice(0, self.used)).copy()

    def weights(self, scores: int, rounds: int) -> Floats:
        """The norm of the hypothesis, which is all that a bound needs."""
        return np.array([[np.sqrt(max(0.0, self.numbers[NORM2]))]])

    # -- files -------------------------------------------------------------------------------------------------

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "device": None}

    def twin(self) -> Self:
        found = super().twin()
        found.device = None if self.device is None else self.device.fresh()
        return found

    def state(self, scores: int) -> StoredArrays:
        arrays: StoredArrays = {"coef": self.coef[: self.used, :scores].copy(), "numbers": self.numbers.copy()}
        if self.average:
            arrays["late"] = self.late[: self.used, :scores].copy()
        if self.history is not None:
            end = self.history.count
            arrays["history_slots"], arrays["history_when"] = self.history.slots[:end], self.history.when[:end]
            arrays["history_moved"] = self.history.moved[:end, :scores]
        return {**arrays, **self.delayed.state(scores), **self.patterns.arrays()}

    def restore(self, arrays: StoredArrays) -> None:
        names = ("coef", "late", "numbers") if self.average else ("coef", "numbers")
        if not all(np.isfinite(arrays[name]).all() for name in names):
            raise ValueError("it holds NaN or inf")
        self.patterns.restore(arrays)
        numbers = arrays["numbers"]
        if numbers.shape != self.numbers.shape or not numbers[SCALE] > 0.0:
            raise ValueError("its numbers are damaged")
        # A loop that stops for an update which nothing then finishes would never end.
        if numbers[PAUSE] != self.numbers[PAUSE] or numbers[PENDING] != 0.0:
            raise ValueError("it was written in the middle of an update, or within another budget")
        self.numbers[:] = numbers
        for name in names[:-1]:
            if arrays[name].ndim != 2 or len(arrays[name]) != self.used or arrays[name].shape[1] > self.coef.shape[1]:
                raise ValueError("its coefficients have a wrong shape")
            setattr(self, name, widened(arrays[name], self.coef.shape[1]))
        self.delayed.restore(arrays, self.coef)
        if self.history is not None:
            slots, when, moved = (arrays[f"history_{name}"] for name in ("slots", "when", "moved"))
            inside = ((slots >= 0) & (slots < self.used)).all() and np.isfinite(moved).all()
            if not inside or len(moved) != len(slots) or len(when) != len(slots):
                raise ValueError("its history is damaged")
            self.history.extend(slots, when, moved)
