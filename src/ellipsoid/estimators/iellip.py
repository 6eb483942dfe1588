"""IELLIP: steps to the margin in an ellipsoid's metric, linear and with kernels."""

from math import ceil, exp, inf, log, log1p, prod
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from ellipsoid.certificates import Certificate, ellipsoidal
from ellipsoid.certificates.certificate import unproved
from ellipsoid.certificates.mixed import counted, roundings
from ellipsoid.certificates.rounding import ZERO, Span, length, product, relative_error
from ellipsoid.ellipsoids import Ellipsoid
from ellipsoid.ellipsoids import state as slots
from ellipsoid.ellipsoids.forms.vector_forms import FullForm
from ellipsoid.ellipsoids.tables.kernel import KernelTable
from ellipsoid.engine import tally as tallies
from ellipsoid.rules import iellip

from .ellipsoidal import SHAPES, EllipsoidLearner, KernelEllipsoidalClassifier, KernelLearner, largest_of
from .parameters.declaration import declared
from .parameters.validation import one_of, positive


@declared
class IELLIP(KernelEllipsoidalClassifier):
    """Improved ellipsoid method online: a step to the margin in an ellipsoid's metric, for data of any kind.

    Its ellipsoid only grows and is not a version space: it shows which directions were learned early, not which
    classifiers remain. So ``query`` (and ``selective``) choose labels by a randomised margin rule instead.

    Parameters
    ----------
    margin : float
        The margin that a step restores. From a zero start it only scales the weights.
    b, c : float
        Step k shrinks the shape by c b^k along its direction; b in [0, 1], c in [0, 1).
    decay : {"update", "round"}
        Whether k counts earlier updates or earlier rounds.
    trigger : {"mistake", "margin"}
        Step on mistakes only, or on every margin below ``margin``.
    selective : bool
        Ask for a label with probability ``smoothing / (smoothing + lead)``, where the lead is that of the best score in
        units of the margin, and learn only from those labels.
    smoothing : float
        The parameter of that rule.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from ellipsoid import IELLIP
    >>> X, y = load_digits(return_X_y=True)
    >>> model = IELLIP(average=True).partial_fit(X[:1500], y[:1500])
    >>> model.score(X[1500:], y[1500:]) > 0.85
    True
    >>> all(c.observed <= c.bound for c in model.certificates())
    True

    References
    ----------
    Yang, Jin and Ye, "Online learning by ellipsoid method", ICML 2009; corrected as the errata page says.
    """

    margin: float = 1.0
    b: float = 0.3
    c: float = 0.1
    decay: str = "update"
    trigger: str = "mistake"
    selective: bool = False
    smoothing: float = 1.0

    def _start(self) -> EllipsoidLearner:
        margin = positive("margin", self.margin)
        b, c = positive("b", self.b, zero=True), positive("c", self.c, zero=True)
        if b > 1.0:
            raise ValueError(f"b must lie in [0, 1], got {self.b!r}")
        if c >= 1.0:
            raise ValueError(f"c must lie in [0, 1), got {self.c!r}")
        passive = one_of("trigger", self.trigger, {"mistake": 0.0, "margin": margin})
        by_round = one_of("decay", self.decay, {"update": False, "round": True})
        smoothing = positive("smoothing", self.smoothing) if self.selective else 0.0
        seed = int(check_random_state(self.random_state).randint(2**31)) if self.selective else 0
        rule = iellip.IELLIPRule(passive, margin, c, b, by_round, smoothing, seed)
        columns = downdates(c, b)
        options = self._kernel_options(columns)
        if options is not None:
            return KernelLearner(rule, intercept=self._constant, average=self.average, table=options)
        table = {
            "columns": columns,
            "kept": prod(1.0 - c * b**k for k in range(int(min(columns, 10_000)))) if b < 1.0 else float(c == 0.0),
            "log_scale": 0.0,
            "form": one_of("shape", self.shape, SHAPES),
            "raises": False,
        }
        return EllipsoidLearner(rule, intercept=self._constant, average=self.average, table=table)

    @property
    def ellipsoid_(self) -> Ellipsoid:
        """The current ellipsoid; the intercept is its first coordinate. A kernel's feature space has no coordinates."""
        table = self._fitted("ellipsoid_").table
        if isinstance(table, KernelTable):
            raise AttributeError("the ellipsoid of a kernel model has no coordinates")
        return table.ellipsoid()

    @property
    def log_volume_(self) -> float:
        """log det P of the current ellipsoid; infinite in a kernel's feature space."""
        return inf if isinstance(self._fitted("log_volume_").table, KernelTable) else super().log_volume_

    def _kernel_bounds(self, learner: EllipsoidLearner, table: KernelTable) -> list[Certificate]:
        try:
            products, uncancelled, off = table.preimage_products()
        except np.linalg.LinAlgError:
            return self._unknown(learner)
        share = off + relative_error(learner.width + 8.0 + 2.0 * float(table.numbers[slots.CUTS]))
        size2, inner, norm2 = map(Span.within, products, uncancelled * share)
        return self._from_pull(learner, size2.root(), norm2.root(), inner)

    def query(self, X: Any, random_state: Any = None) -> NDArray[np.bool_]:
        """True, at random, where a label is worth asking for: likelier the smaller the lead of the best score."""
        scores = np.atleast_2d(self.decision_function(X).T).T
        if scores.shape[1] == 1:
            lead = np.abs(scores[:, 0])
        elif self._core.multilabel:
            lead = np.abs(scores).min(axis=1)
        else:
            top = np.partition(scores, -2, axis=1)
            lead = top[:, -1] - top[:, -2]
        smoothing = positive("smoothing", self._started_with("smoothing"))
        draw = check_random_state(random_state).random_sample(len(lead))
        return draw * (smoothing + lead / self._core.rule.goal) <= smoothing

    def _bounds(self, learner: Any, comparator: NDArray[np.float64]) -> list[Certificate]:
        try:
            h, u = learner.table.pull().ravel(), comparator.ravel()
        except np.linalg.LinAlgError:
            return self._unknown(learner)
        # The bounds do not depend on the size of u, which may be anything.
        u = u / (np.abs(u).max() or 1.0)
        return self._from_pull(learner, length(u), length(h), product(u, h, roundings=1))

    def _unknown(self, learner: EllipsoidLearner) -> list[Certificate]:
        """Of a shape that rounding has made singular nothing is known."""
        return unproved(self._from_pull(learner, ZERO, ZERO, ZERO), "the shape can be inverted")

    def _from_pull(self, learner: EllipsoidLearner, size: Span, norm: Span, inner: Span) -> list[Certificate]:
        numbers, tally = learner.table.numbers, learner.tally
        weight, lifted = float(numbers[slots.MARGIN_WEIGHT]), float(numbers[slots.LIFTED])
        logs = float(numbers[slots.LOG_SCALE])
        cuts, rule, largest = float(numbers[slots.CUTS]), learner.rule, largest_of(learner)
        most, apart = logs, 0.0
        if learner.mixed is not None:
            # The shape of a shard has shrunk more, as -log(1 - c b^k) <= -b^k log(1 - c) for its updates k.
            most = max(logs, -log1p(-rule.c) * min(cuts, 1.0 / (1.0 - rule.b) if rule.b < 1.0 else inf))
        # |B^{-1}| is at most exp(most). But for the full form, which keeps a root of B, rounding of the terms that B is
        # made of is multiplied by it, and again where a system is solved.
        root = isinstance(getattr(learner.table, "form", None), FullForm)
        digits = ellipsoidal.DIGITS if root else max(ellipsoidal.DIGITS, exp(min(2.0 * most, 700.0)))
        known = ellipsoidal.after_cuts(1.0 + learner.width, cuts + roundings(learner), most, digits)
        # h is the solution of a system with the shape, and as uncertain as that.
        inner = inner.widened((size * norm).high * (known.high - 1.0))
        if learner.mixed is not None:
            # The h of shards, each no longer than its R A, may cancel; their errors do not.
            error = (largest * weight * (known.high - 1.0)).high
            inner, norm = inner.widened(size.high * error), norm.widened(error)
            if learner.table.offset is not None:
                apart = (length(learner.table.offset) + exp(min(lifted, 700.0)) * error).high
        offset = Span.exactly(apart) * known
        pull = ellipsoidal.Pull(inner, size, norm * known, Span.exactly(weight) * known, lifted, offset)
        return ellipsoidal.iellip(
            pull, mistakes=counted(learner), largest=largest,
            log_kept=-logs, goal=rule.goal, zeros=tally[tallies.ZEROS] > 0 or numbers[slots.UNBOUNDED] > 0.0,
            always=rule.margin > 0.0,
        )  # fmt: skip


def downdates(c: float, b: float) -> float:
    """How many updates change the shape before c b^k <= 2^-54."""
    if c <= iellip.NEGLIGIBLE:
        return 0
    if b == 1.0:
        return inf
    return 1 if b == 0.0 else ceil(log(iellip.NEGLIGIBLE / c) / log(b))
