"""The learner to start with: large-margin steps in a learned ellipsoid, at several speeds at once."""

from dataclasses import field
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ellipsoid.certificates import Certificate
from ellipsoid.certificates import ellipsoid_classifier as bounds
from ellipsoid.engine import tally as tallies
from ellipsoid.engine.rows import HUGE
from ellipsoid.representation.speeds import copies as slots
from ellipsoid.representation.speeds.table import NARROW, CopiesTable
from ellipsoid.rules.learned_ellipsoid import LearnedEllipsoidRule, learn_copies

from .parameters.declaration import declared
from .parameters.validation import one_of, positive
from .shell.base import OnlineClassifier
from .state.interruption import without_interrupts
from .state.learner import Learner
from .state.predict_then_learn import rows_to_learn

SPEEDS = ("usual", "careful", "bold")


class CopiesLearner(Learner):
    """A learner in several copies, which share a metric."""

    loop = staticmethod(learn_copies)
    table: CopiesTable

    def __init__(self, rule: LearnedEllipsoidRule, *, intercept: float, heads: int, form: str) -> None:
        super().__init__(rule, intercept=intercept, average=False, half=0.5)
        self.heads, self.form = heads, form

    def new_table(self, by_class: bool) -> CopiesTable:
        return CopiesTable(copies=len(self.rule.settings), heads=self.heads, form=self.form)

    def by_class(self, source: Any, classes: int = 0) -> bool:
        """All weights of a feature lie together."""
        return False

    def count_rows(self, ledger: Any, mode: int, start: int, stop: int) -> None:
        """The clock of the averages runs also where there is no rival."""

        def count() -> None:
            self.tally[tallies.STEPS] += rows_to_learn(mode, start, stop)
            super(CopiesLearner, self).count_rows(ledger, mode, start, stop)
            self.table.shared[slots.COPY_ROUNDS] = self.rounds

        without_interrupts(count)

    def finish(self) -> None:
        """Set that clock to the rows that were counted, if the count was interrupted before it did."""
        super().finish()
        if self.knows_one_label:
            self.table.shared[slots.COPY_ROUNDS] = self.rounds

    def stored_width(self, scalars: dict[str, Any], arrays: dict[str, NDArray[Any]], functions: int) -> int:
        columns = arrays["M"].shape[0]
        if columns < 1 or arrays["W"].shape != (2 * len(self.rule.settings) * functions, columns):
            raise ValueError("its arrays have wrong shapes")
        if arrays["tally"].shape != self.tally.shape:
            raise ValueError("its sums have a wrong shape")
        return int(columns - 1)


@declared
class EllipsoidClassifier(OnlineClassifier):
    """Large-margin steps in a learned ellipsoid: no scaling of features, no tuning, low error on nearly every stream.

    Every step is MIRA's exact step, the smallest that puts all rivals a margin behind, but measured in an ellipsoid
    that earlier steps have formed: a full one for narrow rows, otherwise one with an axis for each feature. Steps do
    not shrink with time. Two heads, the last weights and an average that favours late rounds, compete, and the one
    with fewer recent mistakes predicts. Three copies of different speeds learn in the same pass and compete in the
    same way. Features may have any scale: multiplying one by a constant changes nothing.

    Parameters
    ----------
    speeds : {3, 1}
        Three copies, *usual*, *careful* (ten times the damping, the same margin for all rows) and *bold* (no cap, three
        tenths of the damping), or the usual one alone, in 40 to 75 % of the time.
    C : float
        Cap of the usual and the careful speed: no row moves its score by more than C margins. Larger values follow
        changes faster, smaller ones withstand noise.
    damping : float
        Share of the mean energy that is added to the energy of a row: smaller steps for rows of few or well-known
        features.
    margin : {"length", "unit"}
        The lead required of the right label: in proportion to the length of the row, or one.
    shape : {"auto", "full", "diagonal"}
        The form of the ellipsoid; "auto" is full up to 64 features and diagonal beyond, even if features come late.
    average : {"auto", True, False}
        Predict with the better of average and last weights, always with the average, or with the last weights.

    Notes
    -----
    ``mistakes_`` and the certificates are about the last weights of each speed. ``updates_`` counts the rows from which
    at least one speed learned. Values below 1e-100 in size count as zero.

    Examples
    --------
    Features of any scale, in one pass:

    >>> from sklearn.datasets import load_digits
    >>> from ellipsoid import EllipsoidClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> model = EllipsoidClassifier().partial_fit(X[:1500], y[:1500])
    >>> model.score(X[1500:], y[1500:]) > 0.87
    True
    >>> model.speed_, model.head_
    ('bold', 'last')
    """

    _core: CopiesLearner = field(init=False)

    speeds: int = 3
    C: float = 1.0
    damping: float = 0.1
    margin: str = "length"
    shape: str = "auto"
    average: Any = "auto"

    @property
    def _counts_features(self) -> bool | int:  # type: ignore[override]
        """Features that no row has had yet do not matter but for the choice of the form."""
        return NARROW if self._started_with("shape") == "auto" else False

    def _start(self) -> CopiesLearner:
        if self.speeds not in (1, 3) or isinstance(self.speeds, bool):
            raise ValueError(f"speeds must be 1 or 3, got {self.speeds!r}")
        cap, damping = positive("C", self.C, infinite=True), positive("damping", self.damping, zero=True)
        by_length = one_of("margin", self.margin, {"length": 1.0, "unit": 0.0})
        form = one_of("shape", self.shape, {"auto": "auto", "full": "full", "diagonal": "diagonal"})
        if isinstance(self.average, bool | np.bool_):
            heads = slots.AVERAGE_HEAD if self.average else slots.LAST_HEAD
        elif self.average == "auto":
            heads = slots.EITHER_HEAD
        else:
            raise ValueError(f"average must be 'auto', True or False, got {self.average!r}")
        settings = [[cap, damping, by_length], [cap, 10.0 * damping, 0.0], [inf, 0.3 * damping, by_length]]
        rule = LearnedEllipsoidRule(np.array(settings[: int(self.speeds)]))
        return CopiesLearner(rule, intercept=self._constant, heads=heads, form=form)

    @property
    def speed_(self) -> str:
        """The speed that predicts now: "usual", "careful" or "bold"."""
        return SPEEDS[self._fitted("speed_").table.head()[0]]

    @property
    def head_(self) -> str:
        """Whether it predicts by its "last" weights or by their "average"."""
        return ("last", "average")[self._fitted("head_").table.head()[1]]

    def _bounds(self, learner: Any, comparator: NDArray[np.float64]) -> list[Certificate]:
        # Those of the usual speed are the learner's own, as ``mistakes_`` counts them.
        names = ("mistakes", *(f"mistakes, {speed} speed" for speed in SPEEDS[1:]))
        found = []
        for name, settings, own in zip(names, learner.rule.settings, learner.table.own, strict=False):
            counted = (slots.COPY_MISTAKES, slots.UNANSWERED, slots.COPY_GAIN, slots.PRICE, slots.COPY_STEPS)
            mistakes, unanswered, gain, price, steps = (float(own[slot]) for slot in counted)
            run = bounds.CopyRun(
                name, int(mistakes), unanswered, gain, price, steps, float(settings[0]), many=len(learner.labels) > 2
            )  # fmt: skip
            found.append(bounds.mistakes_of_last(run, HUGE))
        return found
