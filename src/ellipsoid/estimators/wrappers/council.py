"""The learned state of a `Committee`: its members and their weights, and how all of them learn the same rows.

Every member sees the rows in one pass of its own, and notes what it would have said of each before; a small loop then
goes over these notes and moves the weights. That is done for a block of rows at a time. An interrupt waits for the end
of the block, so that all members know the same rows. Some members may fail in the middle of one, because of a kernel or
a version space that is to raise: then all members are copied before each block. Others learn a block side by side, each
in one thread; no bit depends on how many threads there are. They too can fail, where memory is full. So where a block
takes much longer than to write all members down, that is done before it; and a committee whose members were left at
different rows goes no further.
"""

import copy
import pickle
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ellipsoid.engine import NO_WEIGHTS, without_lock
from ellipsoid.engine import tally as tallies
from ellipsoid.representation.kernel.threads import threads_for, together
from ellipsoid.representation.table_protocol import Floats, owning

from ..inputs.labels import Codes, Labels
from ..inputs.rows import RowSource
from ..inputs.weights import weight_argument
from ..shell.base import OnlineClassifier
from ..state.interruption import put_note
from ..state.predict_then_learn import Observer
from .mixture import Mixture

# Rows of a block, where they are short and labels are few, and numbers that it may hold.
BLOCK_ROWS, BLOCK_NUMBERS = 16384, 1 << 21
# Multiplications that a member could do in the time of a short row.
ROW_EFFORT = 600.0
# Multiplications in the time of writing down a member of no size, and a byte of one: members of many bytes have
# matrices, and take longer for a row than was said. And what part of its block's time all the writing may take.
WRITING_EFFORT, BYTE_EFFORT, WRITING_SHARE = 60000.0, 0.25, 0.04
BROKEN = (
    "a member of the committee failed where the others did not, and they no longer know the same rows: "
    "load the last model that was saved, or fit again"
)


class Ballot:
    """What one member says of rows: a number from 0 to 1 for each label that was known when a row came."""

    def __init__(self, votes: bool) -> None:
        self.votes = votes
        self.parts: list[Floats] = []

    def __call__(self, learner: Any, scores: Floats, codes: Codes) -> None:
        self.parts.append(opinions(scores, len(learner.labels), self.votes))

    def rows(self, start: int, stop: int, known: int) -> Floats:
        """The rows of a range in which so many labels were known."""
        if not known:
            return np.zeros((stop - start, 0))
        if len(self.parts) == 1:
            return self.parts[0][start:stop]
        found, at = np.empty((stop - start, known)), 0
        for part in self.parts:
            low, high = max(start, at), min(stop, at + len(part))
            if low < high:
                found[low - start : high - start] = part[low - at : high - at]
            at += len(part)
        return found


def opinions(scores: Floats, known: int, votes: bool) -> Floats:
    """Scores of rows as numbers from 0 to 1, of which the highest is 1.

    >>> opinions(np.array([[0.0, 0.25, -3.0]]), 3, votes=False)
    array([[0.75, 1.  , 0.  ]])
    >>> opinions(np.array([[0.5], [-0.5]]), 2, votes=True)
    array([[0., 1.],
           [1., 0.]])
    """
    if known < 2:
        return np.ones((len(scores), known))
    if known == 2:
        lead = scores.reshape(-1)
        high = lead > 0.0
        if not votes:
            with np.errstate(invalid="ignore"):
                other = np.maximum(0.0, 1.0 - np.abs(lead))
            return np.stack([np.where(high, other, 1.0), np.where(high, 1.0, other)], axis=1)
        found = np.empty((len(lead), 2))
        found[:, 1] = high
        found[:, 0] = 1.0 - found[:, 1]
        return found
    if not votes:
        with np.errstate(invalid="ignore", over="ignore"):
            return np.maximum(0.0, 1.0 + (scores - scores.max(axis=1, keepdims=True)))
    found = np.zeros((len(scores), known))
    found[np.arange(len(scores)), scores.argmax(axis=1)] = 1.0
    return found


def default_family() -> list[Any]:
    """Seven passive-aggressive learners and six of AROW that forget: factors of 3, and of 10, between their rates."""
    from ..arow import AROW
    from ..linear import PassiveAggressive

    steps = [PassiveAggressive(C=C) for C in (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)]
    return [*steps, *(AROW(drift=drift) for drift in (1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1))]


class Council:
    """Members, their weights, and the counts of the committee; beside it what other estimators ask of a learner."""

    # A single score is twice what it adds to the second label.
    half = 0.5
    average = False
    scores_in_loop = False
    fast = named = None

    def __init__(self, members: list[Any], mixture: Mixture, votes: bool) -> None:
        self._members, self.mixture, self.votes = members, mixture, votes
        # Are members at different rows? And bytes of all of them, when they were last written down.
        self.broken, self.size = False, 0.0
        self.tally = np.zeros(tallies.SIZE)
        # Rows that a member has learned beyond those of the committee: in the passes of ``fit``.
        self.ahead = np.zeros(len(members), dtype=np.int64)
        self.started: dict[str, Any] = {}
        self.plain = all(isinstance(member, OnlineClassifier) for member in members)
        self.risky = any(map(_may_fail, members))

    @property
    def members(self) -> list[Any]:
        """Those that learn; nobody gets at them once they have fallen out of step."""
        if self.broken:
            raise RuntimeError(BROKEN)
        return self._members

    def named_row(self) -> None:
        """There is no prepared call for single examples."""
        return

    fast_row = named_row

    @property
    def first(self) -> Any:
        """What the first member knows: the same labels and features as all."""
        member = self.members[0]
        return getattr(member, "learner_", member).__dict__.get("_core")

    @property
    def labels(self) -> Labels:
        """The labels that are known."""
        return Labels() if self.first is None else self.first.labels

    @property
    def scores(self) -> int:
        """Number of scores of a row."""
        return 1 if len(self.labels) == 2 else len(self.labels)

    @property
    def features(self) -> dict[Any, int] | None:
        """Names of features and their columns."""
        return {} if self.first is None else self.first.features

    def name(self, fresh: dict[Any, int] | None) -> None:
        """Let every member know the names of columns."""
        for member in self.members:
            getattr(member, "learner_", member)._core.name(fresh)

    @property
    def rounds(self) -> int:
        """Rows that were learned."""
        return int(self.tally[tallies.ROUNDS])

    # -- learning ----------------------------------------------------------------------------------------------

    def examine(self, X: Any, y: Any, classes: Any, weight: Floats) -> None:
        """Raise ``ValueError`` where a member would refuse the rows; members that differ in numbers only, ask one."""
        asked: set[Any] = set()
        for member in self.members:
            if not isinstance(member, OnlineClassifier):
                RowSource(X, 0.0).check()
                continue
            parts = member.get_params(deep=False).items()
            kind = (type(member), *((name, repr(value)) for name, value in parts if not isinstance(value, float)))
            if kind not in asked:
                asked.add(kind)
                member._check_call(X, y, classes, weight, True)

    def blocks(self, X: Any, n: int) -> Iterator[slice]:
        """Ranges of rows that are learned together."""
        each = max(1, 4 * _values_in_row(X, n), len(self.members) * (2 + len(self.labels)))
        size = max(64, min(BLOCK_ROWS, BLOCK_NUMBERS // each))
        return (slice(start, min(n, start + size)) for start in range(0, n, size))

    def learn_block(
        self, shown: Any, X: Any, y: NDArray[Any], classes: Any, names: Any, weight: Floats, observer: Observer | None
    ) -> NDArray[Any]:
        """Let all members learn rows, then weigh them; returns the label that each row was given before."""
        announced = [] if classes is None or self.first is not None else np.asarray(classes).tolist()
        before = Labels([*self.labels.values, *announced])
        codes, fresh = before.encode(y)
        bring_back = self._mark(self._effort(X, len(y)))
        ballots = [Ballot(self.votes) for _ in self.members]
        try:
            self._learn_members((shown, X, y, classes, names, weight), ballots)
            return self._weigh(ballots, codes, fresh, before, weight, observer)
        except BaseException as error:
            # Those before the one that failed have learned the block, which nobody shall have.
            try:
                self._members, self.mixture, self.tally = bring_back()
            finally:
                self.stop_if_out_of_step(error)
            raise

    def _effort(self, X: Any, n: int) -> float:
        """Multiplications that all members could do in the time that n rows take them."""
        return n * len(self.members) * (ROW_EFFORT + _values_in_row(X, n))

    def _mark(self, effort: float) -> Callable[[], tuple[list[Any], Mixture, Floats]]:
        """What brings back members, weights and counts; as they then are, where a copy is too dear for such a block."""
        now = self.members, self.mixture, self.tally
        if self.risky:
            kept = copy.deepcopy(now)
            return lambda: kept
        if BYTE_EFFORT * self.size + WRITING_EFFORT * len(self.members) > WRITING_SHARE * effort:
            return lambda: now
        try:
            written = pickle.dumps(now, pickle.HIGHEST_PROTOCOL)
        except Exception:
            # A user's own class may refuse.
            self.size = inf
            return lambda: now
        self.size = len(written)
        return lambda: pickle.loads(written)

    def stop_if_out_of_step(self, error: BaseException) -> None:
        """After a failure: each member is that of whole rows; if these are not the same for all, refuse to go on."""
        rows = self.rounds + self.ahead
        if self.rounds and [member.t_ for member in self._members] != rows.tolist():
            self.broken = True
            put_note(error, BROKEN)

    def _learn_members(self, rows: tuple[Any, ...], ballots: list[Ballot]) -> None:
        """Let all members learn rows, on as many threads as BLAS would use; the first that fails is the one to tell."""
        waiting, failed, count = iter(range(len(ballots))), {}, 1 if self.risky else len(ballots)
        effort = self._effort(rows[1], len(rows[2]))
        several = threads_for(count, effort) > 1

        def work() -> None:
            with without_lock() if several else nullcontext():
                for i in waiting:
                    try:
                        self.learn_member(self.members[i], rows, ballots[i])
                    except BaseException as error:
                        failed[i] = error
                        return

        together(work, count, effort)
        if failed:
            raise failed[min(failed)]

    def learn_member(self, member: Any, rows: tuple[Any, ...], ballot: Ballot) -> None:
        """Let one member learn rows, and note what it said of them."""
        shown, X, y, classes, names, weight = rows
        if isinstance(member, OnlineClassifier):
            own = weight if len(weight) else None
            member._pass(X, y, classes, watch=ballot, shown=shown, names=names, sample_weight=own)
            return
        member._learn_observed(X, y, classes, ballot, **weight_argument(weight))

    def _weigh(
        self, ballots: list[Ballot], codes: Codes, fresh: list[tuple[int, Any]], before: Labels, weight: Floats,
        observer: Observer | None,
    ) -> NDArray[Any]:  # fmt: skip
        values: list[Any] = list(before.values)
        told = np.empty(len(codes), dtype=object)
        start = 0
        for row, label in [*fresh, (len(codes), None)]:
            stop, known = min(row + 1, len(codes)), len(values)
            if start < stop:
                said = np.stack([ballot.rows(start, stop, known) for ballot in ballots])
                own = weight[start:stop] if len(weight) else NO_WEIGHTS
                foretold, scores = self.mixture.learn(said, codes[start:stop], known, own, self.tally)
                told[start:stop] = np.array([*values, None], dtype=object)[foretold]
                if observer is not None:
                    self._show(observer, scores, codes[start:stop], known)
            start = stop
            values.append(label)
        return told

    def _show(self, observer: Observer, scores: Floats, codes: Codes, known: int) -> None:
        """Show scores to who asks for them; of a row that brings a label, without its label."""
        if known == 2:
            scores = np.ascontiguousarray(scores[:, 1:] - scores[:, :1])
        elif known < 2:
            scores = np.zeros((len(codes), 1))
        old = len(codes) - int(len(codes) > 0 and codes[-1] >= known)
        if old:
            observer(_Seen(known), scores[:old], codes[:old].copy())
        if old < len(codes):
            observer(_Seen(known), scores[old:], np.zeros(0, dtype=np.int64))

    # -- prediction --------------------------------------------------------------------------------------------

    def decide(self, scores_of: Any) -> Floats:
        """What the committee gives to each label, by the scores that ``scores_of`` a member."""
        known = len(self.labels)
        said = np.stack([opinions(scores_of(member), known, self.votes) for member in self.members])
        return self.mixture.scores(said)

    def votes_on(self, x: Any) -> Floats:
        """The votes of all members on one example."""
        index = self.labels.index
        said = np.zeros((len(self.members), 1, len(index)))
        for i, member in enumerate(self.members):
            said[i, 0, index[member.predict_one(x)]] = 1.0
        return said

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(owning(state))


class _Seen:
    """As many labels as were known to a row that is shown."""

    half = Council.half
    numbers = False

    def __init__(self, known: int) -> None:
        self.labels = range(known)


def _values_in_row(X: Any, n: int) -> int:
    """Numbers in a row of X, which has n of them, on average."""
    return int(X.nnz // max(1, n) if hasattr(X, "nnz") else np.shape(X)[1] if np.ndim(X) == 2 else 1)


def _may_fail(member: Any) -> bool:
    """Can it fail in the middle of rows that it has accepted?"""
    params = getattr(member, "learner", member).get_params(deep=False)
    kernel = params.get("kernel", "linear")
    linear = isinstance(kernel, str) and kernel == "linear"
    return not linear or params.get("on_infeasible") == "raise"
