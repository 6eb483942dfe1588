"""The online SVM: the dual maximised over a window of examples on every round."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ellipsoid.certificates import Certificate, dual, run_rounding
from ellipsoid.certificates.certificate import unproved
from ellipsoid.certificates.mixed import DUAL, counted, roundings, sums_of_all
from ellipsoid.certificates.rounding import Span, length, relative_error
from ellipsoid.engine import Dense, call, learn
from ellipsoid.engine import tally as tallies
from ellipsoid.engine.tasks import PLAIN
from ellipsoid.links.functions import Link
from ellipsoid.representation.kernel.patterns import Block
from ellipsoid.representation.table_protocol import Floats
from ellipsoid.representation.tables import LinearTable
from ellipsoid.representation.window.kernel import WindowExpansion
from ellipsoid.representation.window.slots import ALL
from ellipsoid.representation.window.table import WindowTable
from ellipsoid.rules.dual_ascent import EXACT_STEP, DualAscent
from ellipsoid.rules.online_svm import WindowTask

from .dual_bounds import DualClassifier, best_multiple, comparator_of
from .inputs.rows import RowSource
from .parameters.declaration import declared
from .parameters.shared import WeightParameters
from .parameters.validation import is_count, positive
from .shell.kernelized import KernelClassifier
from .state.expansion import ExpansionLearner
from .state.interruption import LearnerMark
from .state.learner import NO_LABELS, Learner

EUCLIDEAN = Link()


class Windowed(Learner):
    """A learner with a window of examples, and the dual solution so far."""

    table: WindowTable | WindowExpansion

    def __init__(self, *args: Any, window: int, **options: Any) -> None:
        super().__init__(*args, half=0.5, **options)
        self.window = window

    def task(self, ledger: Any, mode: int = PLAIN, Y: Any = NO_LABELS) -> Any:
        """Every example is handed to the window."""
        return WindowTask(ledger, mode, super().task(ledger, mode, Y))

    def add_label(self, label: Any) -> None:
        """Add a class; the dual of the binary run becomes that of the run with two rows from the start."""
        before = self.split
        super().add_label(label)
        if self.split and not before:
            self.tally[[tallies.WEIGHT, tallies.LARGEST, tallies.GAIN]] *= self.half

    def theta(self) -> NDArray[np.float64]:
        """The sum of alpha z, one row per function; with a kernel its length, as it has no coordinates."""
        return self.table.weights(self.scores, 0)

    def solution(self) -> dual.Dual:
        """The dual solution so far: the alphas that are final, and those of the window."""
        alphas, off = self.table.slots.alphas(), self.rounding_loss()
        size = length(self.theta())
        if isinstance(self, ExpansionLearner):
            # The squared length is kept from round to round, as the dual is.
            error = 2.0 * off.lost + 4.0 * relative_error(self.rounds + 8) * self.rule.goal * float(
                self.tally[tallies.SWAY]
            )
            size = size.square().widened(error).root()
        norm = 0.5 * (size.low + size.high)
        apart = (size.high - size.low) + off.drift
        return dual.Dual(
            margin=self.rule.goal, C=self.rule.cap, weight=float(self.tally[tallies.WEIGHT] + alphas.sum()),
            largest=float(max(self.tally[tallies.LARGEST], alphas.max(initial=0.0))),
            conjugate=0.5 * norm * norm, norm=norm, terms=self.rounds + 4 + int(roundings(self)), drift=apart,
            blurred=apart * (norm + apart) + norm * norm * relative_error(4), lost=off.lost,
            weighed=bool(self.tally[tallies.WEIGHED]),
        )  # fmt: skip

    @property
    def longest(self) -> Span:
        """The largest |z|^2 of an example that was handed to the window while the hypothesis moved."""
        found = Span.about(float(self.tally[tallies.RADIUS2]), self.width + 4)
        return found * (2.0 if self.scores > 1 else 1.0)

    def rounding_loss(self) -> run_rounding.RunErrors:
        """What rounding can have done to the run."""
        tally = sums_of_all(self)
        path, steps = float(tally[tallies.PATH]), float(tally[tallies.STEPS])
        if not run_rounding.path_known(tally):
            return run_rounding.UNKNOWN_ERRORS
        # A score of an expansion sums a kernel value for every example that counts.
        terms = 2.0 + self.width + (self.rounds if isinstance(self, ExpansionLearner) else 0)
        sway = float(max(tally[tallies.SWAY], tally[tallies.WEIGHT]))
        way = run_rounding.RunPath(
            path=path, sway=sway, steps=steps, terms=terms, goal=self.rule.goal, held=float(tally[tallies.HELD]),
        )  # fmt: skip
        most = float(tally[tallies.FARTHEST]) * (1.0 + relative_error(2.0 * self.rounds))
        return run_rounding.quadratic(way, min(most, 2.0 * self.rule.goal * sway))


class WindowLearner(Windowed):
    """Weights, and the last ``window`` examples with their alphas."""

    table: WindowTable

    def by_class(self, source: RowSource, classes: int = 0) -> bool:
        """The window's rows are kept as the first ones came: dense beside class-wise weights."""
        return not source.sparse

    def new_table(self, by_class: bool) -> WindowTable:
        linear = LinearTable(by_class=by_class, average=self.average)
        return WindowTable(linear, window=self.window, constant=self.constant, cap=self.rule.cap)

    def predictor(self) -> Any:
        """The weights alone, which other learners' predictions share machine code with."""
        super().predictor()
        assert self._predictor is not None
        return self._predictor[1]


class KernelWindowLearner(Windowed, ExpansionLearner):
    """The same in the feature space of a kernel."""

    table: WindowExpansion
    # Predictions sum a row's kernel values in another order than the loop does, and a tie may fall otherwise.
    predicts_in_loop = False

    def new_table(self, by_class: bool) -> WindowExpansion:
        """Support patterns, dense or sparse as the first rows are, and a window of examples."""
        return WindowExpansion(
            self.kernel, average=self.average, constant=self.constant, sparse=not by_class,
            window=self.window, cap=self.rule.cap,
        )  # fmt: skip

    def learn_block(self, block: Block, ledger: Any, mode: int, Y: Any, mark: LearnerMark, weights: Floats) -> None:
        """Learn a block of rows, the window's rows in front of them."""
        table = self.table
        ahead, rows = table.window_ahead(block, self.scores)
        count, m = len(rows.norms), len(rows.norms) - len(block.norms)
        longer = np.zeros((len(ledger), count), dtype=np.int64)
        longer[:, m:] = ledger
        sets = np.zeros((count, Y.shape[1]), dtype=np.uint8)
        sets[m:] = Y if self.multilabel else 0
        task, no_rows = self.task(longer, mode, sets), Dense(np.empty((count, 0)), 0.0)
        longer_weights = np.concatenate([np.ones(m), weights]) if len(weights) else weights
        call(learn, self.rule, task, ahead, no_rows, self.tally, self.work, m, count, longer_weights)
        table.keep(ahead, rows, mark)
        ledger[:] = longer[:, m:]


@declared
class OnlineSVM(WeightParameters, KernelClassifier, DualClassifier):
    """The SVM's dual, maximised on every round over the alphas of the last ``window`` examples.

    Parameters
    ----------
    window : int or None
        How many examples may still change their alpha: 1 is passive-aggressive (PA-I); with ``None``, which means
        all, the weights are at any time those of the SVM of the stream so far.
    C : float
        The price of a loss and the cap of every alpha; infinity requires the margin without exception.
    margin : float
        The margin required of every example.
    average : bool
        Predict with the average of all hypotheses so far instead of the last one.

    Notes
    -----
    More than two classes: the right label against its highest rival at the time the example comes, as
    :class:`PassiveAggressive` does, so that an example has one alpha whatever the number of classes.

    A round without loss costs a score and a copy of the example. One with loss makes a row of products, O(k nnz), then
    sweeps of O(k) a moved alpha. With ``window=None`` k is the number of examples so far, and memory grows with the
    number of support vectors times k: for streams of thousands of examples, not millions.

    Examples
    --------
    >>> import numpy as np
    >>> from ellipsoid import OnlineSVM
    >>> X = np.array([[0.5, 0.8], [0.7, -0.6], [-0.7, 0.4], [0.1, 0.9], [0.3, -0.1], [0.2, 0.9]])
    >>> y = [1, 1, -1, 1, -1, -1]
    >>> model = OnlineSVM(window=3, C=0.4, margin=0.5, fit_intercept=False).partial_fit(X, y, classes=[-1, 1])
    >>> model.coef_.round(12)
    array([[ 0.6 , -0.04]])
    >>> round(model.dual_objective_, 12)
    1.0192

    References
    ----------
    Shalev-Shwartz and Singer, "Online learning meets optimization in the dual", COLT 2006.
    """

    _multilabel = True

    window: int | None = 16
    C: float = 1.0
    margin: float = 1.0

    def _start(self) -> Windowed:
        if self.window is not None and not (is_count(self.window) and self.window <= ALL):
            raise ValueError(f"window must be a positive integer, or None for all examples, got {self.window!r}")
        margin, cap = positive("margin", self.margin), positive("C", self.C, infinite=True)
        rule = DualAscent(margin, margin, cap, EXACT_STEP)
        if not isinstance(self.average, bool | np.bool_):
            raise ValueError(f"average must be True or False, got {self.average!r}")
        kernel = self._kernel_spec()
        shared: dict[str, Any] = {
            "intercept": self._constant, "average": bool(self.average), "window": int(self.window or ALL),
        }  # fmt: skip
        return WindowLearner(rule, **shared) if kernel[0] == "linear" else KernelWindowLearner(rule, kernel, **shared)

    def _bounds(self, learner: Any, comparator: NDArray[np.float64]) -> list[Certificate]:
        run, tally = learner.solution(), learner.tally
        if isinstance(learner, ExpansionLearner):
            # A kernel model is its own comparator, known by its length alone.
            held = dual.Comparator(run.length, run.length, 0.5 * run.length.square())
        else:
            held = comparator_of(EUCLIDEAN, learner.theta(), comparator)
        if learner.mixed is not None and learner.mixed.kind == DUAL:
            return [*dual.running(run, held), *dual.of_all_rows(run, learner.mixed, learner.rounds)]
        increase = dual.least_increase("best", run.margin, run.C, learner.longest)
        if learner.split and learner.scores > 1:
            # The binary rounds were rounds of two rows with half the cap.
            early = dual.least_increase("best", run.margin, run.C, learner.longest / 2.0)
            increase = min(increase, learner.half * early)
        if tally[tallies.ZEROS] > 0.0 and np.inf == run.C:
            increase = 0.0
        condition = "|z| at most the largest one of an update; no zero row where C is infinite"
        count = counted(learner)
        mistakes = [dual.mistakes(run, best_multiple(held), count, increase, condition)]
        bounds = [
            *dual.running(run, held),
            dual.gains(run, float(tally[tallies.GAIN]), count, never_falls=True),
            *(unproved(mistakes) if tally[tallies.WEIGHED] else mistakes),
        ]
        kernel = self._started_with("kernel")
        given = callable(kernel) or kernel == "precomputed"
        # No kernel does that: the values that were given are not symmetric, or belong to no inner product.
        refuted = given and any(bound.observed > bound.bound for bound in bounds)
        return unproved(bounds, "the given values are not those of a kernel") if refuted else bounds
