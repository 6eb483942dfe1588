"""The learner with a kernel: the engine runs over blocks of rows, whose scores are computed ahead."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ellipsoid.engine import CSR, NO_WEIGHTS, Dense, call, learn
from ellipsoid.engine.tasks import CODES, ORDER, ORDERED, PLAIN, PREDICTED, WATCHED
from ellipsoid.representation.kernel.budget import BudgetTable
from ellipsoid.representation.kernel.expansion import ExpansionTable, KernelSpec
from ellipsoid.representation.kernel.hindsight import Hindsight
from ellipsoid.representation.kernel.history import History
from ellipsoid.representation.kernel.lookahead import PENDING, Lookahead
from ellipsoid.representation.kernel.patterns import Block
from ellipsoid.representation.kernel.prefetch import prefetch_of, prefetch_pays
from ellipsoid.representation.kernel.score_cache import ScoreCache
from ellipsoid.representation.table_protocol import Floats

from ..inputs.labels import Codes
from ..inputs.rows import RowSource
from .device_learner import DeviceLearner
from .interruption import LearnerMark
from .kernel_values import check_values
from .learner import NO_LABELS
from .one_kernel_row import OneKernelRow

# Rows scored ahead of the loop: enough for a matrix product to run at full speed, and few enough that the Gram matrix
# of the block, half of which is not needed, costs little in comparison.
SCORED_AHEAD = 512
SCORED_AHEAD_WITHIN_BUDGET = 128
SCORED_AHEAD_ON_DEVICE = 1024

# The most scores that are kept from one pass of ``fit`` to the next: 256 MB.
CACHED_SCORES = 1 << 25

# Rows whose kernel values with all patterns are held at once to count votes.
ROWS_PER_VOTE = 64


def base_round(rounds: int) -> int:
    """The round up to which coefficients are summed for a row that follows ``rounds``; later updates are added singly.

    Blocks end where the number of rounds is a multiple of their size, wherever a chunk begins. A block may be scored
    while the one before it is learned: so this is the beginning of that one.
    """
    return (rounds // SCORED_AHEAD - 1) * SCORED_AHEAD


class ExpansionLearner(DeviceLearner):
    """A learner in the feature space of a kernel.

    ``average`` is True, False or "vote": predict by the votes of all hypotheses. ``passes`` is how often ``fit`` goes
    over its rows, ``budget`` the largest number of support patterns.
    """

    table: ExpansionTable
    table_class = ExpansionTable

    def __init__(
        self, rule: Any, kernel: KernelSpec, *, intercept: float, average: Any, passes: int = 1,
        budget: int | None = None, one_vs_rest: bool = False, half: float = 1.0,
    ) -> None:  # fmt: skip
        self.vote = average == "vote"
        super().__init__(
            rule, intercept=intercept, average=bool(average) and not self.vote, one_vs_rest=one_vs_rest, half=half
        )
        self.kernel, self.passes, self.budget = kernel, passes, budget
        self.cache: ScoreCache | None = None

    def new_table(self, by_class: bool) -> ExpansionTable:
        """Support patterns, which are dense or sparse like the first rows."""
        options: dict[str, Any] = {"average": self.average, "constant": self.constant, "sparse": not by_class}
        if self.budget is not None:
            return BudgetTable(self.kernel, budget=self.budget, **options)
        table = self.table_class(self.kernel, **options)
        if self.vote:
            table.history = History(1)
        return table

    def by_class(self, source: RowSource, classes: int = 0) -> bool:
        return not source.sparse

    def check(self, source: RowSource) -> None:
        """Refuse also rows whose kernel values would overflow, or that do not fit a precomputed kernel matrix."""
        super().check(source)
        check_values(self.new_table(not source.sparse), source)

    def check_learning(self, source: RowSource) -> None:
        """Refuse also more rows of a precomputed kernel matrix than it has columns."""
        super().check_learning(source)
        if self.kernel[0] == "precomputed" and source.n > (columns := max(self.width, source.width)):
            raise ValueError(f"X holds {source.n} rows of a precomputed kernel and {columns} columns: "
                             "there must be a column for every training example")  # fmt: skip

    # -- learning ----------------------------------------------------------------------------------------------

    def run(  # type: ignore[override]
        self, rows: Dense | CSR, ledger: Codes, mode: int, start: int, stop: int, Y: NDArray[np.uint8] = NO_LABELS
    ) -> None:
        """Learn rows start..stop in blocks: score ahead, run the loop, store the updates.

        A block is learned as a whole, or not at all; with a budget, up to the last update that was completed.
        """
        if self.knows_one_label:
            self.count_rows(ledger, mode, start, stop)
            return
        cache = self.score_cache(rows, stop)
        how = WATCHED if mode == WATCHED else PLAIN
        coming: Any = None
        ahead: Lookahead | None = None
        size = SCORED_AHEAD if self.budget is None else SCORED_AHEAD_WITHIN_BUDGET
        if self.table.device is not None:
            size = SCORED_AHEAD_ON_DEVICE
        begin, end = start, min(stop, start + size - self.rounds % size)

        def picks_of(begin: int, end: int) -> slice | Codes:
            return ledger[ORDER, begin:end].copy() if mode == ORDERED else slice(begin, end)

        def prepared(spare: NDArray[np.float64] | None = None) -> Any:
            if end == stop:
                return None
            block = self.table.block(rows, picks_of(end, min(stop, end + size)))
            return prefetch_of(self.table, block, self.scores, base_round(self.rounds + end - begin), coming, spare)

        while begin < stop:
            mark = self.mark(block=True)
            try:
                self.table.delayed.fold(base_round(self.rounds), mark)
                picks, following = picks_of(begin, end), None
                if coming is not None:
                    block = coming.block
                    following = prepared(ahead and ahead.gram)
                    coming.join()
                else:
                    ahead = None
                    block = self.table.block(rows, picks, self.own_columns(picks))
                    if cache is None and prefetch_pays(self.table, block):
                        ahead = self.look_ahead(block)
                        following = prepared()
                if coming is not None:
                    ahead = coming.finish(following)
                elif following is not None:
                    following.begin()
                small = np.empty((len(ledger) if mode == WATCHED else 1, len(block.norms)), dtype=np.int64)
                small[CODES] = ledger[CODES, picks]
                own = np.ascontiguousarray(self.row_weights[picks]) if len(self.row_weights) else NO_WEIGHTS
                before = None
                if mode == WATCHED and (self.average or self.vote):
                    before = Hindsight.begin(self.table, self.rounds, self.scores)
                    ahead = self.look_ahead(block) if ahead is None else ahead
                sets = np.ascontiguousarray(Y[picks]) if self.multilabel else NO_LABELS
                if cache is not None:
                    ahead = self.table.look_ahead(block, cache.scores_of(self.table, block, picks), keep=True)
                    self.run_block(self.task(small, how, sets), block, ahead, mark, own)
                    cache.keep(self.table, picks, ahead.scores.T)
                elif ahead is not None:
                    self.run_block(self.task(small, how, sets), block, ahead, mark, own)
                else:
                    self.learn_block(block, small, how, sets, mark, own)
                if before is not None and ahead is not None:
                    small[PREDICTED] = self.predicted_before(before, block, ahead)
                if mode == WATCHED:
                    ledger[PREDICTED:, picks] = small[PREDICTED:]
            except BaseException:
                if self.budget is None:
                    mark.bring_back(self)
                else:
                    self.undo(mark)  # updates up to the last completed one stay
                raise
            coming = following
            begin, end = end, min(stop, end + size)

    def look_ahead(self, block: Block) -> Lookahead:
        """The scores and Gram matrix of rows for the loop; with a budget scores are made later."""
        if self.budget is not None:
            return self.table.look_ahead(block, np.zeros((len(block.norms), self.scores)))
        return self.table.look_ahead(block, self.table.scores_ahead(block, self.scores))

    def learn_block(
        self, block: Block, ledger: Codes, mode: int, Y: NDArray[np.uint8], mark: LearnerMark, weights: Floats
    ) -> None:
        """Score a block of rows, which has a ledger of its own, and learn it."""
        self.run_block(self.task(ledger, mode, Y), block, self.look_ahead(block), mark, weights)

    def run_block(self, task: Any, block: Block, ahead: Lookahead, mark: LearnerMark, weights: Floats) -> None:
        """Run the loop over a block, and store the updates."""
        if self.budget is not None:
            self.run_block_within_budget(task, block, ahead, weights)
            return
        reached, stop = 0, len(ahead.when)
        rows = Dense(np.empty((stop, 0)), 0.0)
        while reached < stop:
            reached = call(learn, self.rule, task, ahead, rows, self.tally, self.work, reached, stop, weights)
        self.table.commit(block, ahead, mark)

    def run_block_within_budget(self, task: Any, block: Block, ahead: Lookahead, weights: Floats) -> None:
        """The same with a stop after each update, which may project a pattern onto the others."""
        reached, stop, step, table = 0, len(ahead.when), 1, self.table
        assert isinstance(table, BudgetTable)
        rows, values = Dense(np.empty((stop, 0)), 0.0), table.values(block)
        while reached < stop:
            mark = self.mark(block=True)
            try:
                # An update changes the scores of all later rows: the longer there was none, the more are made at once.
                end = min(stop, reached + step)
                table.rescore(ahead, values, reached, end)
                step *= 2
                reached = call(learn, self.rule, task, ahead, rows, self.tally, self.work, reached, end, weights)
                if table.numbers[PENDING]:
                    table.settle_update(block, ahead, reached - 1, values, mark)
                    step = 1
            except BaseException:
                mark.bring_back(self)
                raise

    def learn(self, *args: Any, **options: Any) -> None:
        """One pass over a stream, whose rows are not expected to come again."""
        self.passes = 1
        super().learn(*args, **options)

    def score_cache(self, rows: Dense | CSR, stop: int) -> ScoreCache | None:
        """The cached scores of these rows, if they are learned several times and memory allows."""
        if self.passes == 1 or self.budget is not None or stop * self.scores > CACHED_SCORES:
            return None
        if self.cache is None or self.cache.rows is not rows:
            self.cache = ScoreCache(rows, stop, self.scores)
            if self.table.history is None:
                self.table.history = History(self.table.coef.shape[1])
        return self.cache

    def forget_passes(self) -> None:
        """Forget what only another pass over the same rows would need."""
        self.cache, self.passes = None, 1
        if not self.vote:
            self.table.history = None

    def own_columns(self, picks: slice | Codes) -> Codes:
        """The columns of rows in a precomputed kernel matrix: on a stream their numbers, modulo its width."""
        if isinstance(picks, slice):
            return np.arange(self.rounds, self.rounds + picks.stop - picks.start) % max(1, self.width)
        return picks

    @property
    def predicts_in_loop(self) -> bool:
        """Can averages and votes be computed in hindsight? Not if coefficients change between updates."""
        return not (self.average or self.vote) or self.table.moves_by_updates

    @property
    def scores_in_loop(self) -> bool:
        """Does the loop note the scores that ``predict`` uses? It has those of the hypothesis that learns."""
        return self.predicts_in_loop and not (self.average or self.vote)

    def predicted_before(self, before: Hindsight, block: Block, ahead: Lookahead) -> Codes:
        """Indices of the labels that ``predict`` would have given to the rows of a block before each was learned."""
        if self.vote:
            votes = before.votes(block, len(self.labels), self.scores)
            return votes.argmax(axis=1)
        scores = before.averages(block, ahead)
        return (scores[:, 0] > 0.0).astype(np.int64) if len(self.labels) == 2 else scores.argmax(axis=1)

    def fast_row(self) -> Any:
        if self.fast is None:
            self.fast = OneKernelRow(self)
        return self.fast

    # -- prediction --------------------------------------------------------------------------------------------

    def decision(self, source: RowSource) -> NDArray[np.float64]:
        """Scores of every row, or each label's share of the votes; one column for two classes."""
        out = np.empty((source.n, self.scores))
        size = ROWS_PER_VOTE if self.vote else SCORED_AHEAD if self.device == "cpu" else SCORED_AHEAD_ON_DEVICE
        table = self.table.reading()
        coef = table.coefficients(self.scores, self.rounds)
        for first, last in source.blocks():
            rows = source.rows(first, last)
            for start in range(0, last - first, size):
                picks = slice(start, min(last - first, start + size))
                out[first + picks.start : first + picks.stop] = self.block_scores(table, table.block(rows, picks), coef)
        return out

    def block_scores(self, table: Any, block: Block, coef: NDArray[np.float64]) -> NDArray[np.float64]:
        """Scores of a block, or shares of the votes; for two labels the lead of the second."""
        if not self.vote:
            return table.scores(block, coef)
        shares: NDArray[np.float64] = table.votes(block, len(self.labels), self.rounds, self.scores)
        return shares[:, 1:] - shares[:, :1] if len(self.labels) == 2 else shares

    def weights(self) -> NDArray[np.float64]:
        raise AttributeError("a kernel model has no coef_ and no intercept_; use support_vectors_ and dual_coef_")

    # -- files -------------------------------------------------------------------------------------------------

    def scalars(self) -> dict[str, Any]:
        return {**super().scalars(), "by_class": not self.table.patterns.sparse, "width": self.width}

    def stored_width(self, scalars: dict[str, Any], arrays: dict[str, NDArray[Any]], functions: int) -> int:
        """The number of features of a file; the table checks the shapes of its arrays itself."""
        return int(scalars["width"])
