"""The learned state of a `Committee`: its members, their weights, and how all of them learn the same rows.

Every member learns a block of rows in a pass of its own, and records its votes on each row before that row was learned;
a compiled loop then goes over these votes and moves the weights. An interrupt is answered at the end of a block, so
that all members know the same rows. Members with a kernel, and those that raise when their version space is empty, may
fail in the middle of a block: then all members are copied before each block. Other members learn a block side by side,
each in one thread; the result does not depend on the number of threads. They too can fail, when memory is full. So all
members are pickled before any block that takes much longer than pickling them; and a committee whose members were left
at different rows refuses to go on.
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

from ..inputs.labels import Codes, Labels, labels_of_codes
from ..inputs.row_numbers import put_note
from ..inputs.rows import RowSource
from ..inputs.weights import weight_argument
from ..shell.base import OnlineClassifier
from ..state.predict_then_learn import Observer
from .mixture import Mixture

# The most rows of a block, and the most numbers.
BLOCK_ROWS, BLOCK_NUMBERS = 16384, 1 << 21
# Times are measured in multiplications. A member needs this many for a row beside those for the row's values.
ROW_EFFORT = 600.0
# Pickling takes so many for each member and for each byte (members of many bytes have matrices, and rows take longer
# than estimated here); and it may take this share of the time of the block that follows.
WRITING_EFFORT, BYTE_EFFORT, WRITING_SHARE = 60000.0, 0.25, 0.04
BROKEN = (
    "a member of the committee failed where the others did not, and they no longer know the same rows: "
    "load the last saved model, or fit again"
)


class Ballot:
    """An observer that collects the votes of one member: for each row, one for each label known when the row came."""

    def __init__(self, whole: bool) -> None:
        self.whole = whole
        self.parts: list[Floats] = []

    def __call__(self, learner: Any, scores: Floats, codes: Codes) -> None:
        self.parts.append(votes_of(scores, len(learner.labels), self.whole))

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


def votes_of(scores: Floats, known: int, whole: bool) -> Floats:
    """Votes for each label, from scores of rows: the highest score gets 1, others less, and nothing if ``whole``.

    Scores that overflowed have finite votes, too: beside one that is not a number, none of three or more gets anything.

    >>> votes_of(np.array([[0.0, 0.25, -3.0]]), 3, whole=False)
    array([[0.75, 1.  , 0.  ]])
    >>> votes_of(np.array([[0.5], [-0.5]]), 2, whole=True)
    array([[0., 1.],
           [1., 0.]])
    """
    if known < 2:
        return np.ones((len(scores), known))
    if known == 2:
        lead = scores.reshape(-1)
        high = lead > 0.0
        if not whole:
            with np.errstate(invalid="ignore"):
                other = np.fmax(0.0, 1.0 - np.abs(lead))
            return np.stack([np.where(high, other, 1.0), np.where(high, 1.0, other)], axis=1)
        found = np.empty((len(lead), 2))
        found[:, 1] = high
        found[:, 0] = 1.0 - found[:, 1]
        return found
    if not whole:
        with np.errstate(invalid="ignore", over="ignore"):
            top = scores.max(axis=1, keepdims=True)
            return np.asarray(np.fmax(0.0, 1.0 + np.where(scores == top, 0.0, scores - top)), dtype=np.float64)
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
    """Members, their weights, and the counts of the committee; and what wrappers use of a `Learner`."""

    # A single score is twice what it adds to the second label.
    half = 0.5
    average = False
    scores_in_loop = False
    fast = named = None

    def __init__(self, members: list[Any], mixture: Mixture, whole_votes: bool) -> None:
        self._members, self.mixture, self.whole_votes = members, mixture, whole_votes
        # Whether members are at different rows; and the bytes of all members when they were last pickled.
        self.broken, self.size = False, 0.0
        self.tally = np.zeros(tallies.SIZE)
        # Rows that a member has learned beyond those of the committee: in the passes of ``fit``.
        self.ahead = np.zeros(len(members), dtype=np.int64)
        self.started: dict[str, Any] = {}
        self.plain = all(isinstance(member, OnlineClassifier) for member in members)
        self.risky = any(map(_may_fail, members))

    @property
    def members(self) -> list[Any]:
        """The members; an error once they are at different rows."""
        if self.broken:
            raise RuntimeError(BROKEN)
        return self._members

    def named_row(self) -> None:
        """There is no prepared call for single examples."""
        return

    fast_row = named_row

    @property
    def first(self) -> Any:
        """The learned state of the first member, whose labels and features are those of all."""
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

    def check_call(self, X: Any, y: Any, classes: Any, weight: Floats) -> None:
        """Raise ``ValueError`` if a member would refuse the rows; of members that differ in numbers one is asked."""
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
        bring_back = self._snapshot(self._effort(X, len(y)))
        ballots = [Ballot(self.whole_votes) for _ in self.members]
        try:
            self._learn_members((shown, X, y, classes, names, weight), ballots)
            return self._weigh(ballots, codes, fresh, before, weight, observer)
        except BaseException as error:
            # Other members have learned the block, and the one that failed has not.
            try:
                self._members, self.mixture, self.tally = bring_back()
            finally:
                self.stop_if_out_of_step(error)
            raise

    def _effort(self, X: Any, n: int) -> float:
        """Multiplications that all members could do in the time that n rows take them."""
        return n * len(self.members) * (ROW_EFFORT + _values_in_row(X, n))

    def _snapshot(self, effort: float) -> Callable[[], tuple[list[Any], Mixture, Floats]]:
        """A function that returns members, weights and counts as they are now.

        If a copy takes too long for such a block it returns them as they are when it is called.
        """
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
        """After a failure: if members have learned different numbers of rows, refuse to go on."""
        rows = self.rounds + self.ahead
        if self.rounds and [member.t_ for member in self._members] != rows.tolist():
            self.broken = True
            put_note(error, BROKEN)

    def _learn_members(self, rows: tuple[Any, ...], ballots: list[Ballot]) -> None:
        """Let all members learn rows, on as many threads as BLAS would use; raise the error of the first failure."""
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
        """Let one member learn rows, and collect its votes on them."""
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
        predicted = np.empty(len(codes), dtype=object)
        start = 0
        for row, label in [*fresh, (len(codes), None)]:
            stop, known = min(row + 1, len(codes)), len(values)
            if start < stop:
                votes = np.stack([ballot.rows(start, stop, known) for ballot in ballots])
                own = weight[start:stop] if len(weight) else NO_WEIGHTS
                winners, scores = self.mixture.learn(votes, codes[start:stop], known, own, self.tally)
                predicted[start:stop] = labels_of_codes(values, winners)
                if observer is not None:
                    self._show(observer, scores, codes[start:stop], known)
            start = stop
            values.append(label)
        return predicted

    def _show(self, observer: Observer, scores: Floats, codes: Codes, known: int) -> None:
        """Hand scores to an observer; those of a row that brings a new label without its label."""
        if known == 2:
            scores = np.ascontiguousarray(scores[:, 1:] - scores[:, :1])
        elif known < 2:
            scores = np.zeros((len(codes), 1))
        old = len(codes) - int(len(codes) > 0 and codes[-1] >= known)
        if old:
            observer(_KnownLabels(known), scores[:old], codes[:old].copy())
        if old < len(codes):
            observer(_KnownLabels(known), scores[old:], np.zeros(0, dtype=np.int64))

    # -- prediction --------------------------------------------------------------------------------------------

    def decide(self, scores_of: Any) -> Floats:
        """The weighted votes for each label, from the scores that ``scores_of`` returns for a member."""
        known = len(self.labels)
        votes = np.stack([votes_of(scores_of(member), known, self.whole_votes) for member in self.members])
        return self.mixture.scores(votes)

    def votes_for_one(self, x: Any) -> Floats:
        """The votes of all members on one example."""
        index = self.labels.index
        votes = np.zeros((len(self.members), 1, len(index)))
        for i, member in enumerate(self.members):
            votes[i, 0, index[member.predict_one(x)]] = 1.0
        return votes

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(owning(state))


class _KnownLabels:
    """Stands for the learner before an observer: it knows as many labels as were known when a row came."""

    half = Council.half
    numbers = False

    def __init__(self, known: int) -> None:
        self.labels = range(known)


def _values_in_row(X: Any, n: int) -> int:
    """Numbers in a row of X, which has n of them, on average."""
    return int(X.nnz // max(1, n) if hasattr(X, "nnz") else np.shape(X)[1] if np.ndim(X) == 2 else 1)


def _may_fail(member: Any) -> bool:
    """Can a member fail in the middle of rows that it has accepted?"""
    params = getattr(member, "learner", member).get_params(deep=False)
    kernel = params.get("kernel", "linear")
    linear = isinstance(kernel, str) and kernel == "linear"
    return not linear or params.get("on_infeasible") == "raise"
