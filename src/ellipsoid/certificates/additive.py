"""Bounds for learners that start at zero and add tau_r x to row r: the Perceptron family, PA and MIRA.

W is the hypothesis, U any comparator of the same shape (one row per score). Everything follows from sums kept while
learning and from the one product <U, W>, which is the sum over all updates of tau_y times U's margin on them (for a
shared blame: the mean margin over the blamed labels, which is no smaller than the margin). So ``<U, W> / sum tau_y`` is
U's average margin on the updates, and it may take the place of the least margin in every bound of

    Crammer & Singer (JMLR 2003), theorems 3 and 10; Crammer et al. (JMLR 2006), theorems 2, 4 and 5.

The proofs are those of the papers with "sum of margins" for "number x least margin", see docs/certificates.md.

Weights. An example of weight k has a step k times as long (Perceptron), or capped at C k (PA-I), or softened by
1 / (2 C k) (PA-II). The same proofs bound the weighted sum of the mistakes, with the largest k |x|^2 of an update in
place of R^2.

A run that saw its third class only later was, until then, a run of the two rows -w/2 and w/2 (PA), or -w and w, with
other constants: twice the margin of the Perceptron, half the cap of PA-I, twice the ridge of PA-II.

Rounding. Scores and weights are float64 numbers. A score is off by at most ``relative_error(terms) |W| |x|``, and an
update leaves ``relative_error(1) |W|`` behind; so the squared norm that the proofs follow from update to update is, in
all, off by at most ``Run.norm_error``, which is added where a proof uses it. The rest is arithmetic of spans, see
`rounding`.
"""

from math import inf, isnan, sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ellipsoid.engine import tally as tallies

from . import run_rounding
from .certificate import Certificate
from .mixed import MIX, Mixed, weighted_count
from .rounding import Number, Span, as_span, length, product, relative_error


class Run(NamedTuple):
    """What the bounds need of a run: its sums, its weights, a comparator.

    ``blocks`` is 2 where an example moves two rows (K > 2), else 1; ``split``: the run was binary at first. ``terms``
    is the number of products in a score. With a kernel (``expansion``) weights and comparator are both the length of
    the hypothesis, updated with it. ``mixed``: the weights of merged shards.
    """

    tally: NDArray[np.float64]
    weights: NDArray[np.float64]
    comparator: NDArray[np.float64]
    blocks: int
    split: bool
    terms: int = 0
    expansion: bool = False
    mixed: Mixed | None = None

    @property
    def updates(self) -> int:
        """Rounds that changed the hypothesis; merging adds as many roundings as so many further updates."""
        return int(self.tally[tallies.UPDATES] + (0.0 if self.mixed is None else self.mixed.operations))

    def count_of(self, slot: int) -> Span:
        """A count, weighted as the shards are."""
        if self.mixed is None or self.mixed.kind != MIX:
            return Span.exactly(float(self.tally[slot]))
        return weighted_count(self.mixed, self.tally, slot)

    @property
    def mistakes(self) -> float:
        """Rounds with margin <= 0."""
        return int(self.tally[tallies.MISTAKES]) if self.mixed is None else self.count_of(tallies.MISTAKES).low

    def steps(self, slot: int = tallies.UPDATES) -> float:
        """The number of unit steps: of updates, or of parts; rounded up where shards have weights."""
        return int(self.tally[slot]) if self.mixed is None else self.count_of(slot).high

    @property
    def shard_factor(self) -> float:
        """The largest ratio of a shard's sums to those of the mixture; 1 where nothing was merged."""
        if self.mixed is None:
            return 1.0
        whole = [(float(self.tally[k]), self.count_of(k).low) for k in (tallies.UPDATES, tallies.PARTS)]
        whole += [
            (float(self.tally[k] + self.mixed.apart[k]), float(self.tally[k])) for k in (tallies.PUSH, tallies.PATH)
        ]
        return max([1.0, *(far / own if own > 0.0 else inf for far, own in whole if far > 0.0)])

    @property
    def radius2(self) -> Span:
        """Largest squared norm of an update's row."""
        return Span.about(float(self.tally[tallies.RADIUS2]), self.terms + 2)

    @property
    def has_weights(self) -> bool:
        """Whether some example had another weight than 1."""
        return bool(self.tally[tallies.WEIGHED] > 0.0)

    @property
    def weighted_radius2(self) -> Span:
        """Largest weight times squared norm of an update's row."""
        if not self.has_weights:
            return self.radius2
        return Span.about(float(self.tally[tallies.HEAVY]), self.terms + 3)

    @property
    def weighted_mistakes(self) -> float:
        """Sum of the weights of the mistakes, rounded down."""
        if not self.has_weights:
            return self.mistakes
        mistakes, excess = float(self.tally[tallies.MISTAKES]), float(self.tally[tallies.EXCESS])
        # Each weight was added less 1: where weights are small, the rounded terms are far larger than the sum.
        mixings = 0.0 if self.mixed is None else self.mixed.operations
        error = (mistakes + abs(excess)) * relative_error(2.0 * mistakes + mixings + 2.0)
        return (Span.exactly(self.mistakes) + Span.within(excess, error)).at_least(0.0).low

    @property
    def push(self) -> Span:
        """Sum of tau_y over updates."""
        return Span.about(float(self.tally[tallies.PUSH]), self.updates + 2)

    @property
    def size(self) -> Span:
        """|U|, infinite where it overflows."""
        return length(self.comparator)

    @property
    def reach(self) -> Span:
        """|W|."""
        return length(self.weights)

    @property
    def along(self) -> Span:
        """<U, W> / |U|, the length of W in the direction of U."""
        scale = float(np.abs(self.comparator).max(initial=0.0))
        if scale == 0.0:
            return Span.exactly(0.0)
        # A comparator may be of any size, so it is divided by its largest entry.
        shape = self.comparator / scale
        return product(shape, self.weights, roundings=1) / length(shape)

    def path_length(self, push: float) -> float:
        """The sum of the lengths of all steps, whose sizes sum to ``push``."""
        longest = push * sqrt(2.0 * self.radius2.high)
        if run_rounding.path_known(self.tally):
            # Rows of the largest norm may be few.
            path = float(self.tally[tallies.PATH]) + (0.0 if self.mixed is None else self.mixed.apart[tallies.PATH])
            roundings = self.terms + self.updates + float(self.tally[tallies.STEPS])
            longest = min(longest, 2.0 * path * (1.0 + relative_error(roundings)))
        return longest

    def margin_error(self, reach: float, push: float) -> float:
        """The error of a computed margin, as a share of |X|, for weights no longer than ``reach``."""
        # An expansion sums coefficients times kernel values, which may cancel; only the path bounds their absolute sum.
        return 2.0 * relative_error(self.terms + 8) * (self.path_length(push) if self.expansion else reach)

    def norm_error(self, push: float, most: Span) -> tuple[float, float]:
        """The rounding error of the squared norm of W that the proofs add up over the updates, and max |W|.

        ``push`` is the sum of the steps; ``most`` bounds that squared norm but for rounding.
        """
        # No weights were ever longer than the sum of all steps; the bound is improved by substituting it into itself.
        farther = self.shard_factor
        push, most = push * farther, most * farther
        longest = self.path_length(push)
        reach, spilled = longest * (1.0 + 1e-9), inf
        for _ in range(4):
            spilled = 4.0 * (
                relative_error(3) * self.updates * reach * reach + longest * self.margin_error(reach, push)
            )
            reach = min(reach, (most + spilled).root().high)
        return (spilled, reach) if not isnan(spilled) else (inf, inf)

    def potential(self, margin: float, factor: Number) -> Span:
        """|U|^2 + 2 (margin sum tau - <U, W>), for a matrix that is ``factor`` times as long as the kept weights."""
        size, along, reach = self.size * factor, self.along * factor, self.push * (2.0 * margin)
        ground = size * (size - 2.0 * along) + reach
        if self.expansion:
            # The length of the hypothesis has a rounding error, and enters twice.
            ground = ground.widened(2.0 * self.norm_error(self.push.high, reach)[0])
        # Infinities that cancel leave no number, and no bound.
        return ground.widened(self.norm_error(self.push.high, reach)[0]).at_least(0.0)

    def if_all_updated(self, bound: float) -> float:
        """A bound on mistakes if each caused an update, else infinity: a mistake on a zero row causes none."""
        answered = self.tally[tallies.MISTAKES] <= self.tally[tallies.UPDATES]
        return bound if self.tally[tallies.ZEROS] == 0.0 and answered else inf


# By how much a step of MIRA may fall short of the exact one, as a share of the distance it gains.
UNEVEN = 1e-12

# With weights of examples the weighted sum of the mistakes is bounded.
MISTAKES_NAME = {False: "mistakes", True: "weighted mistakes"}

CONDITION = "U has a positive average margin on the updates; R is the largest norm of an update's row"


def perceptron(run: Run, margin: float, pushes: float, part: int = tallies.UPDATES) -> list[Certificate]:
    """Updates <= |U|^2 (c R^2 + 2 margin) / g^2, g the average margin of U on the updates; c = 1 binary, 2 multiclass.

    ``pushes`` is the number of unit steps: updates, or updates of single learners for one-vs-rest (``part`` is the slot
    of the tally), or the sum of weights.
    """
    # A one-vs-rest run was one before its third class too, with the same margin and a part for each of the two rows.
    split_factor = 2.0 * (2.0 if run.split and run.blocks == 2 else 1.0)
    most = float(pushes) * (run.weighted_radius2 * float(run.blocks) + split_factor * as_span(margin))
    spilled, reach = run.norm_error(2.0 * pushes, most)
    grown = most.widened(spilled)
    most_mistakes = 0.0 if run.mistakes == 0 else inf
    kept = 2.0 * spilled if run.expansion else 0.0
    squared = run.reach.square().widened(kept).at_least(0.0)
    average, bound = Span.exactly(0.0), inf
    if pushes:
        average = (squared.root() if run.expansion else run.along) / float(pushes)
        if average.low > 0.0:
            bound = ((grown / float(pushes)).root() / average).square().high
        most_mistakes = run.if_all_updated(bound)
    # The sum of the updates' rows is W up to the rounding of each update.
    strayed = 4.0 * relative_error(3) * (run.updates * reach + run.path_length(2.0 * pushes * run.shard_factor))
    counted = run.push.low if run.has_weights else pushes if run.mixed is None else run.count_of(part).low
    return [
        Certificate("weighted updates" if run.has_weights else "updates", counted, bound if pushes else 0.0, CONDITION),
        Certificate(MISTAKES_NAME[run.has_weights], run.weighted_mistakes, most_mistakes, CONDITION + "; no zero row"),
        Certificate("squared norm", squared.low, grown.high, "always"),
        Certificate("average margin of the unit comparator on the updates",
                    average.widened(strayed / pushes).low if pushes else 0.0,
                    (squared.root().widened(strayed) / float(pushes)).high if pushes else inf, "always"),
    ]  # fmt: skip


def passive_aggressive(run: Run, margin: float, cap: float, ridge: float) -> list[Certificate]:
    """Sum of squared losses and mistakes, from sum tau (2 l - c tau |x|^2) = 2 margin T - |W|^2 <= G.

    G = |U|^2 + 2 (margin T - <U, W>), T = sum tau; the last term is the sum of tau-weighted losses of U, negative
    where U has margin to spare. Each update gives tau (2 l - c tau |x|^2) >= tau l.
    """
    ground, split_factor = run.potential(margin, 1.0), 2.0 if run.split else 1.0
    energy = run.weighted_radius2 * float(run.blocks) + as_span(split_factor) * ridge
    # Steps are rounded, and so are the losses that follow from them.
    steps = Span.about(1.0, 8)
    squares = (energy * ground * steps).high if cap == inf and not run.has_weights else inf
    capped = Span.exactly(split_factor) / cap if cap < inf else Span.exactly(0.0)
    price = energy / margin
    price = Span(max(price.low, capped.low), max(price.high, capped.high)) / margin
    mistakes = (price * ground * steps).high
    most = run.push * (2.0 * margin)
    length = (run.radius2 * float(run.blocks) + as_span(split_factor) * ridge).root().high
    off = run.margin_error(run.norm_error(run.push.high, most)[1], run.push.high) * length
    losses = Span.about(float(run.tally[tallies.LOSS2]), run.updates + 4).root() - as_span(off) * sqrt(run.updates)
    condition = f"U any; smallest where its margins are >= {margin:g}; R is the largest norm of an update's row"
    return [
        Certificate("sum of squared losses", losses.at_least(0.0).square().low, squares,
                    condition + ("; no cap on the step" if cap < inf else "")),
        Certificate(MISTAKES_NAME[run.has_weights], run.weighted_mistakes, run.if_all_updated(mistakes),
                    condition + "; no zero row"),
    ]  # fmt: skip


def mira(run: Run, margin: float) -> list[Certificate]:
    """Mistakes and sum tau_y, in the matrix form: a binary w stands for the rows (-w, w).

    Each update lowers |W - U|^2 by -2 min Q - 2 margin tau_y + 2 <U, tau x'>, and a mistake has
    -2 min Q >= margin^2 / (2 R^2), or 2 (margin - R^2) where margin > 2 R^2.
    """
    factor = Span.exactly(2.0).root() if run.blocks == 1 else Span.exactly(1.0)
    radius2 = run.radius2
    # One over the fall of |W - U|^2 on a mistake.
    narrow = margin <= 2.0 * radius2.high
    price = 2.0 * radius2 / margin / margin if narrow else 0.5 / (as_span(margin) - radius2)
    most = run.push * (2.0 * margin)
    spilled, _ = run.norm_error(run.push.high, most)
    along = run.along * factor
    if run.expansion:
        along = (run.reach * factor).square().widened(2.0 * spilled).root()
    pushes = inf if run.push.high > 0.0 else 0.0
    if run.push.high > 0.0 and along.low > 0.0:
        # <U, W> <= |U| |W|, and |W|^2 is at most 2 margin sum tau.
        pushes = (most.widened(spilled) / run.push * (run.push / along).square()).high
    mistakes = (price * run.potential(margin, factor) * Span.within(1.0, UNEVEN)).high
    condition = "U any; R is the largest norm of an update's row; no zero row"
    return [
        Certificate("mistakes", run.mistakes, run.if_all_updated(mistakes), condition),
        Certificate("sum of tau", run.push.low, pushes, CONDITION),
    ]
