"""CELLIP: a version space held as an ellipsoid."""

from fractions import Fraction
from math import inf, log, nextafter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ellipsoid.certificates import Certificate, ellipsoidal
from ellipsoid.certificates.rounding import Span
from ellipsoid.ellipsoids import state as slots
from ellipsoid.ellipsoids.disagreement import mark_disagreements
from ellipsoid.ellipsoids.forms.rounding import U
from ellipsoid.ellipsoids.tables.slab import SlabTable
from ellipsoid.engine import call
from ellipsoid.engine import tally as tallies
from ellipsoid.rules import cellip
from ellipsoid.rules.slab import SlabRule

from .ellipsoidal import SHAPES, EllipsoidalClassifier, EllipsoidLearner, largest_of
from .inputs.rows import RowSource
from .parameters.declaration import declared
from .parameters.validation import LARGEST_SIZE, one_of, positive
from .slabs import POLICIES, CutBySlabs, VersionSpaceAttributes, half_widths, refuse_words
from .state.learner import NO_CODES, Learner

# Beyond every margin, and finite: the running sum of squared losses must stay a number.
ALWAYS = 1e140


def _rounded(exact: Fraction, towards: float) -> float:
    """The nearest float on one side of a number."""
    near = float(exact)
    beyond = Fraction(near) > exact if towards < 0.0 else Fraction(near) < exact
    return nextafter(near, towards) if beyond else near


class VersionSpaceLearner(EllipsoidLearner):
    """A version space; its bounds need to know where it started."""

    start: ellipsoidal.Start


class DriftingLearner(CutBySlabs, VersionSpaceLearner):
    """A version space of binary classifiers that may move: its ellipsoid grows a little before every row."""

    learn_new_label = Learner.learn_new_label

    def add_label(self, label: Any) -> None:
        if len(self.labels) == 2:
            raise ValueError(f"{label!r} is a third label: a version space with a drift takes two labels only")
        super().add_label(label)


@declared
class CELLIP(VersionSpaceAttributes, EllipsoidalClassifier):
    """Classical ellipsoid method online: a version space held as an ellipsoid, for separable data.

    Every classifier of norm at most ``radius`` that has margin ``a * margin`` on the examples used lies in
    ``version_space_``. So where all of that space agrees (``certain``), every such classifier agrees; and if it is
    empty, no such classifier exists. This holds despite rounding: cuts are made shallower, and ellipsoids larger, by
    as much as rounding may have changed them.

    Parameters
    ----------
    margin : float
        The margin gamma that some classifier of norm 1 is assumed to have.
    a : float
        Share of that margin that is required, in [0, 1]; 0 only with ``cut="minvol"``.
    radius : float or None
        Radius of the start ball; None is ``1 + (1 - a) * margin``. Only ``a * margin / radius`` matters.
    cut : {"paper", "minvol"}
        The cut whose mistake bound does not depend on the dimension, or the one of least volume.
    trigger : {"mistake", "margin", "always"}
        Which rounds cut: mistakes, margins below ``a * margin``, or any cut that shrinks the volume.
    on_infeasible : {"skip", "freeze", "restart", "raise"}
        After a proof that the version space is empty: skip such cuts, stop cutting, start again, or raise
        :class:`~ellipsoid.EmptyVersionSpace`, a ``ValueError``. With "restart" ``changes_`` are the rounds of all
        proofs: a detector of change without false alarms while the margin holds. It is useless if labels are noisy,
        because each wrong label may then be a proof.
    selective : bool
        Ask for a label only where the version space disagrees, and learn only from those labels.
    drift : float
        By how much, in norm, the true classifier may move from one row to the next; the promises about ``certain``,
        ``version_space_`` and proofs then hold for a truth that moves. For two labels, with ``cut="minvol"``.

    Examples
    --------
    >>> import numpy as np
    >>> from ellipsoid import CELLIP
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(2000, 3)); X /= np.linalg.norm(X, axis=1, keepdims=True)
    >>> X = X[abs(X[:, 0]) > 0.1]; y = X[:, 0] > 0
    >>> model = CELLIP(margin=0.1, cut="minvol", trigger="always", selective=True, fit_intercept=False)
    >>> model = model.partial_fit(X, y, classes=[False, True])
    >>> model.asked_ < 0.2 * model.t_, model.version_space_.contains([[1.0, 0.0, 0.0]])
    (True, array([ True]))
    >>> sure = model.certain(X)
    >>> bool((model.predict(X[sure]) == y[sure]).all())
    True

    References
    ----------
    Yang, Jin and Ye, "Online learning by ellipsoid method", ICML 2009; corrected as the errata page says.
    """

    margin: float = 0.1
    a: float = 1.0
    radius: float | None = None
    cut: str = "paper"
    trigger: str = "mistake"
    on_infeasible: str = "skip"
    selective: bool = False
    drift: float = 0.0

    def _geometry(self) -> tuple[float, float, float, float]:
        """margin, a, radius, threshold, checked."""
        smallest = one_of("cut", self.cut, {"paper": False, "minvol": True})
        margin = positive("margin", self.margin, zero=True, most=LARGEST_SIZE)
        a = positive("a", self.a, zero=True)
        if a > 1.0:
            raise ValueError(f"a must lie in [0, 1], got {self.a!r}")
        if a * margin == 0.0 and not smallest:
            raise ValueError(
                f"a * margin must be positive for cut='paper', because it never moves otherwise; got a={a:g}, "
                f"margin={margin:g}"
            )
        # What is promised is meant with these very numbers: round so that more is held, not less.
        threshold = _rounded(Fraction(a) * Fraction(margin), -inf)
        wide = _rounded(1 + (1 - Fraction(a)) * Fraction(margin), inf)
        radius = wide if self.radius is None else positive("radius", self.radius, most=LARGEST_SIZE)
        return margin, a, radius, threshold

    def _start(self) -> VersionSpaceLearner:
        margin, a, radius, threshold = self._geometry()
        passive = one_of("trigger", self.trigger, {"mistake": 0.0, "margin": threshold, "always": ALWAYS})
        policy = one_of("on_infeasible", self.on_infeasible, POLICIES)
        if positive("drift", self.drift, zero=True, most=LARGEST_SIZE):
            return self._moving(SlabRule(passive, threshold, float(self.drift), radius, policy), margin, a)
        rule = cellip.CELLIPRule(passive, threshold, self.cut == "minvol", policy, bool(self.selective), radius)
        log_scale = 2.0 * log(radius)
        table = {
            "columns": inf,
            "kept": 1.0,
            # A logarithm is rounded, but for that of 1.
            "log_scale": log_scale + 4.0 * U * (1.0 + abs(log_scale)) if radius != 1.0 else 0.0,
            "form": one_of("shape", self.shape, SHAPES),
            "raises": policy == cellip.RAISE,
            "radius": radius,
            "least_volume": rule.smallest,
        }
        halts = policy >= cellip.RESTART
        learner = VersionSpaceLearner(rule, intercept=self._constant, average=self.average, table=table, halts=halts)
        learner.start = ellipsoidal.Start(margin, a, radius)
        return learner

    def _moving(self, rule: SlabRule, margin: float, a: float) -> Any:
        """A learner for a classifier that moves."""
        for name, needed in (("cut", "minvol"), ("shape", "auto"), ("selective", False), ("average", False)):
            if getattr(self, name) != needed:
                raise ValueError(f"a drift needs {name}={needed!r}, got {getattr(self, name)!r}")
        learner = DriftingLearner(
            rule, intercept=self._constant, average=False, table={}, halts=rule.policy >= cellip.RESTART
        )
        learner.start = ellipsoidal.Start(margin, a, rule.radius)
        return learner

    def _source(self, X: Any, core: Any, learning: bool = True) -> RowSource:
        if core is None and self.drift:
            refuse_words(X)
        return super()._source(X, core, learning)

    @property
    def exhausted_(self) -> bool:
        """Has a cut left a single point, as far as rounding can tell? The ellipsoid around it is small and not zero."""
        return bool(self._fitted("exhausted_").table.numbers[slots.EXHAUSTED])

    @property
    def update_rounds_(self) -> NDArray[np.int64]:
        """The rounds (counted from 1) whose examples made the ellipsoid; with a drift none are kept."""
        if isinstance(self._fitted("update_rounds_").table, SlabTable):
            raise AttributeError("a version space with a drift keeps no list of its updates")
        return super().update_rounds_

    def _check_growth(self, learner: Learner, known: list[Any], labels: Any) -> None:
        before, all_labels = len(learner.labels) + len(known), {*learner.labels.values, *known, *labels.tolist()}
        if isinstance(learner, DriftingLearner) and len(all_labels) > 2:
            raise ValueError("a version space with a drift takes two labels only, but y brings more")
        if before <= 2 < len(all_labels):
            raise ValueError(
                f"y brings {len(all_labels)} labels, but without classes= the version space would start with "
                "binary classifiers and could not go on with multiclass classifiers; pass classes= with all labels"
            )

    def certain(self, X: Any) -> NDArray[np.bool_]:
        """True where every classifier of the version space gives the row the same label, the one that is predicted.

        An averaged model predicts with the mean of all centres, which need not lie in the version space itself.
        """
        sure: NDArray[np.bool_] = ~self._doubtful(X)
        if self._core.average:
            source = self._source(X, self._core, learning=False)
            sure &= self._labels_of(self._core.scored(source, self._core.table.rep)) == self.predict(X)
        return sure

    def query(self, X: Any) -> NDArray[np.bool_]:
        """True where a label is worth asking for: where the version space disagrees."""
        return self._doubtful(X)

    def _doubtful(self, X: Any) -> NDArray[np.bool_]:
        core = self._learned()
        source = self._source(X, core, learning=False)
        core.check(source)
        core.table.prepare()
        out = np.zeros(source.n, dtype=np.bool_)
        if isinstance(core.table, SlabTable):
            scores = np.abs(core.decision(source)[:, 0])
            for start, stop in source.blocks():
                wide = half_widths(core.table, source, start, stop, core.rule.drift)
                out[start:stop] = scores[start:stop] <= wide * (1.0 + 1e-12)
            return out
        for start, stop in source.blocks():
            rows, radius = source.rows(start, stop), core.rule.radius
            call(mark_disagreements, core.task(NO_CODES), core.table.rep, rows, core.work, radius, out[start:stop])
            # Classifiers may differ in what they think of a feature that no row had yet.
            out[start:stop] |= source.dropped_sizes(start, stop) > 0.0
        return out

    def _bounds(self, learner: Any, comparator: NDArray[np.float64]) -> list[Certificate]:
        if isinstance(learner.table, SlabTable):
            return []  # nothing bounds the mistakes against a truth that moves all the time
        start, radius, threshold = learner.start, learner.start.radius, learner.rule.threshold
        table, numbers, tally = learner.table, learner.table.numbers, learner.tally
        largest = largest_of(learner)
        logs = abs(float(numbers[slots.LOG_KEPT])) + abs(float(numbers[slots.LOG_SCALE]))
        known = ellipsoidal.after_cuts(table.dim, float(numbers[slots.CUTS]), logs if logs < inf else 0.0)
        # The stored shape may be larger than the sum of logarithms says, by as much as it was widened.
        log_det = table.log_det() + table.dim * float(numbers[slots.WIDENED])
        refuted = self.infeasible_ > 0 or tally[tallies.ZEROS] > 0 or numbers[slots.UNBOUNDED] == 1.0
        widened = float(numbers[slots.WIDENED])
        if learner.rule.smallest:
            bound, remaining = ellipsoidal.minvol_bound(
                start, largest=largest, dim=table.dim, log_det=log_det, widened=widened, known=known
            )
            bound = inf if numbers[slots.UNBOUNDED] == slots.GREW_LATE else bound
        else:
            s = Span.about(float(np.exp(numbers[slots.LOG_SCALE])), 8) * known
            bound, remaining = ellipsoidal.cellip_bound(
                start, threshold=threshold, largest=largest, s=s, gained=float(numbers[slots.TOTAL_EXCESS]), known=known
            )
        if self.infeasible_ > 0:
            best = ellipsoidal.refuted_margin(radius, threshold)
        else:
            best = ellipsoidal.margin_of_updates(
                radius=radius, threshold=threshold, largest=largest, slim=float(numbers[slots.LEAST_SLICE]),
                log_det=log_det, dim=table.dim, known=known,
            )  # fmt: skip
        return [*ellipsoidal.cellip_mistakes(self.mistakes_, remaining, bound, refuted), best]
