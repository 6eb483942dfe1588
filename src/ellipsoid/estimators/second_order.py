"""What the learners share that keep a Gaussian over weight vectors: AROW, SOP, CW, SCW and NHERD."""

from math import inf, log, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from ellipsoid.certificates import Certificate, second_order
from ellipsoid.certificates.mixed import roundings
from ellipsoid.certificates.rounding import length
from ellipsoid.ellipsoids import Ellipsoid
from ellipsoid.ellipsoids import state as slots
from ellipsoid.ellipsoids.confidence import measure_leads
from ellipsoid.ellipsoids.tables.diagonal import DiagonalTable
from ellipsoid.ellipsoids.tables.drift import DriftDiagonalTable, DriftTable
from ellipsoid.ellipsoids.tables.gaussian import GaussianTable, SketchTable
from ellipsoid.ellipsoids.tables.kernel import KernelTable
from ellipsoid.engine import call
from ellipsoid.engine import tally as tallies
from ellipsoid.representation.tables import LinearTable

from .ellipsoidal import EllipsoidalClassifier, EllipsoidLearner, KernelLearner
from .inputs.rows import RowSource
from .parameters.declaration import declared
from .parameters.shared import InterceptParameters
from .parameters.validation import one_of, positive, whole
from .state.learner import NO_CODES, Learner

# With shape="auto" the covariance is kept whole up to so many weights.
LARGEST_WHOLE = 512
COVARIANCES = {"auto": None, "dense": "full", "diagonal": "diagonal", "sketch": "sketch"}


class GaussianLearner(EllipsoidLearner):
    """A learner that starts with S = I, for one function or for several."""

    def add_label(self, label: Any) -> None:
        """Two opposite functions are as uncertain as one if each is half as much."""
        was = self.split
        super().add_label(label)
        if self.split and not was:
            self.table.numbers[slots.LOG_SCALE] -= log(2.0)

    def learn_new_label(self, rows: Any, ledger: Any, mode: int, row: int) -> None:
        self.run(rows, ledger, mode, row, row + 1, rule=self.rule._replace(doubt=0.0))


class LinearGaussianLearner(GaussianLearner):
    """Weights with a covariance in the form asked for; ``form`` None: whole while it is small, then its diagonal."""

    table: GaussianTable | DiagonalTable  # type: ignore[assignment]

    def __init__(
        self, rule: Any, *, intercept: float, average: bool, form: str | None, kind: int, size: int,
        walk: tuple[float, float] | None = None,
    ) -> None:  # fmt: skip
        super().__init__(rule, intercept=intercept, average=average, table={})
        # By how much variances grow a round, and up to what; None: they never do.
        self.form, self.kind, self.size, self.walk = form, kind, size, walk
        self.chosen = form or "full"

    def by_class(self, source: RowSource, classes: int = 0) -> bool:
        """As for weights alone; the forms that need another layout take it."""
        return Learner.by_class(self, source, classes)

    def _outgrows(self, functions: int, width: int) -> bool:
        return self.form is None and functions * (width + (self.constant != 0.0)) > LARGEST_WHOLE

    def open(self, width: int, *, by_class: bool, classes: int = 0) -> None:
        functions = max(1, self.scores, classes if classes > 2 else 1)
        if self._outgrows(functions, max(self.width, width)):
            self._take_diagonal()
        super().open(width, by_class=by_class, classes=classes)

    def add_label(self, label: Any) -> None:
        if self._outgrows(self.functions(len(self.labels) + 1), self.width):
            self._take_diagonal()
        super().add_label(label)

    def _take_diagonal(self) -> None:
        """Go on with the diagonal of what is too large to be kept whole."""
        self.chosen = "diagonal"
        if isinstance(self.table, GaussianTable | DriftTable):
            self.table = self.table.diagonal(self.kind)
            self.fast = self.named = self._predictor = None

    def new_table(self, by_class: bool) -> GaussianTable | DiagonalTable:  # type: ignore[override]
        form, constant = self.chosen, self.constant != 0.0
        by_class = by_class if form == "diagonal" else form != "sparse"
        linear = LinearTable(by_class=by_class, average=self.average)
        if self.walk is not None:
            drift, ceiling = self.walk
            if form == "diagonal":
                return DriftDiagonalTable(linear, kind=self.kind, constant=constant, drift=drift, ceiling=ceiling)
            return DriftTable(linear, constant=constant, drift=drift, ceiling=ceiling)
        if form == "diagonal":
            return DiagonalTable(linear, kind=self.kind, constant=constant)
        if form == "sketch":
            return SketchTable(linear, size=self.size, constant=constant)
        return GaussianTable(linear, form=form, constant=constant)


class KernelGaussianLearner(GaussianLearner, KernelLearner):
    """The same in the feature space of a kernel, where the Gram form keeps the covariance."""

    def new_table(self, by_class: bool) -> KernelTable:  # type: ignore[override]
        table = super().new_table(by_class)
        table.numbers[slots.RESOLUTION], table.numbers[slots.FACTORED] = slots.COARSE_RESOLUTION, 1.0
        return table

    def leads_on_device(self, source: RowSource) -> NDArray[np.float64]:
        """By how much the winner leads, and the variance of that, like `measure_leads`, by values of the device."""
        table, found, several = self.table, list[NDArray[np.float64]](), not self.multilabel and self.scores > 1
        coef, shape = table.coefficients(0)[:, : self.scores], table.shape_on_device()
        for block in self.blocks(source):
            scores = table.scores_on_device(block, coef)
            # Ties go to the label of the smallest index.
            order = -scores if several else np.abs(scores)
            who = np.argsort(order, axis=1, kind="stable")[:, : 2 if several else 1]
            signs = np.array([1.0, -1.0])[: who.shape[1]]
            lead = np.abs(np.take_along_axis(scores, who, axis=1) @ signs)
            found.append(np.column_stack([lead, table.variances(shape, block, who, signs)]))
        return np.concatenate(found) * (1.0, np.exp(table.numbers[slots.LOG_SCALE]))


@declared
class SecondOrderClassifier(InterceptParameters, EllipsoidalClassifier):
    """What AROW, SOP, CW, SCW and NHERD share.

    Parameters
    ----------
    shape : {"auto", "dense", "diagonal", "sketch"}
        How the covariance is kept: whole; as a variance for each weight; as its largest directions. "auto" is whole
        for up to 512 weights and diagonal beyond.
    size : int
        The number of directions that a sketch keeps.
    selective : bool
        Ask for a label only where ``confidence`` is at most ``certainty``, and learn only from those labels.
    certainty : float
        The threshold of that rule and of ``query``, between 0.5 and 1.
    """

    shape: str = "auto"
    size: int = 20
    selective: bool = False
    certainty: float = 0.9

    def _doubt(self) -> float:
        """In how many deviations a lead must be for a row to need no label."""
        if not 0.5 < positive("certainty", self.certainty) < 1.0:
            raise ValueError(f"certainty must lie between 0.5 and 1, got {self.certainty!r}")
        return float(ndtri(self.certainty)) if self.selective else 0.0

    def _covariance(
        self, rule: Any, kind: int, walk: tuple[float, float] | None = None, **more: str
    ) -> LinearGaussianLearner:
        """A learner for the rule; ``kind`` is that of a diagonal, ``more`` are further forms."""
        form = one_of("shape", self.shape, {**COVARIANCES, **more})
        return LinearGaussianLearner(
            rule, intercept=self._constant, average=self.average, form=form, kind=kind,
            size=whole("size", self.size), walk=walk,
        )  # fmt: skip

    def _table_now(self, name: str) -> Any:
        """The table, with the drift of the rounds since its last update."""
        core = self._fitted(name)
        walks = isinstance(core.table, DriftTable | DriftDiagonalTable)
        return core.table.at(core.rounds) if walks else core.table

    @property
    def ellipsoid_(self) -> Ellipsoid:
        """One deviation of the Gaussian, {q : (q - w)'S^{-1}(q - w) <= 1}; the intercept is its first coordinate."""
        table = self._table_now("ellipsoid_")
        if isinstance(table, KernelTable):
            raise AttributeError("the Gaussian of a kernel model has no coordinates")
        try:
            return table.ellipsoid()
        except ValueError as error:
            problem = "the covariance is a difference of nearly equal numbers here and no longer positive"
            raise AttributeError(f"{problem}; use shape='dense', which keeps it positive") from error

    @property
    def log_volume_(self) -> float:
        """log det S of the current covariance, as it is kept."""
        if isinstance(self._fitted("log_volume_").table, KernelTable):
            raise AttributeError("the Gaussian of a kernel model has no volume")
        return float(self._table_now("log_volume_").log_det())

    @property
    def update_rounds_(self) -> NDArray[np.int64]:
        """The rounds (counted from 1) of the updates; a diagonal covariance, or one with a drift, keeps none."""
        if isinstance(self._fitted("update_rounds_").table, DiagonalTable):
            raise AttributeError("a diagonal covariance, or one with a drift, keeps no list of its updates")
        if self._core.mixed is not None:
            raise AttributeError("a model of several shards keeps no list of their updates")
        return super().update_rounds_

    def confidence(self, X: Any) -> NDArray[np.float64]:
        """The probability under N(w, S) that the label with the highest score beats its first rival: 1/2 to 1.

        For label sets: the probability that the label nearest to the line between right and wrong is on its side.
        This is about w; an averaged model may predict another label.
        """
        lead, variance = self._leads(X)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.where(lead > 0.0, lead / np.sqrt(variance), 0.0)
        return ndtr(ratio)

    def query(self, X: Any) -> NDArray[np.bool_]:
        """True where a label is worth asking for, that is where ``confidence`` is at most ``certainty``."""
        lead, variance = self._leads(X)
        return lead <= float(ndtri(self._started_with("certainty"))) * np.sqrt(variance)

    def _leads(self, X: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        core = self._learned()
        source = self._source(X, core, learning=False)
        core.check(source)
        if isinstance(core, KernelGaussianLearner) and core.table.device is not None and len(core.labels) > 1:
            out = core.leads_on_device(source)
            return out[:, 0], out[:, 1]
        core.table.prepare()
        out, table = np.zeros((source.n, 2)), self._table_now("confidence")
        for start, stop in source.blocks():
            call(measure_leads, core.task(NO_CODES), table.rep, source.rows(start, stop), core.work, out[start:stop])
        return out[:, 0], out[:, 1]

    # -- certificates ------------------------------------------------------------------------------------------

    def _bounds(self, learner: Any, comparator: NDArray[np.float64]) -> list[Certificate]:
        table = learner.table
        if isinstance(table, DiagonalTable):
            return []  # no bound survives a diagonal: what it drops of S^{-1} is not known
        run = self._sums(learner)
        first = 0 if table.constant else 1
        u = comparator[:, first:].ravel()
        scale = float(np.abs(u).max(initial=0.0)) or 1.0
        try:
            measured = measure_comparator(table, u / scale, first)
        except (ValueError, np.linalg.LinAlgError):
            # A covariance that has collapsed cannot be undone.
            size = length(u / scale).high
            measured, run = second_order.MeasuredComparator(inf, 0.0, inf, size, size), run._replace(uncertain=inf)
        return self._bounds_of(learner, run, measured._replace(scale=scale))

    def _bounds_of(
        self, learner: Any, run: second_order.GaussianRun, u: second_order.MeasuredComparator
    ) -> list[Certificate]:
        """The bounds of this algorithm; by default the largest margin, where a sketch has not changed it by itself."""
        if isinstance(learner.table, SketchTable):
            return []
        numbers = learner.table.numbers
        weight = float(numbers[slots.MARGIN_WEIGHT] / np.exp(numbers[slots.LOG_SCALE]))
        return [second_order.gaussian_margin(run, u, weight, positive=numbers[slots.NEGATIVE_WEIGHT] == 0.0)]

    def _sums(self, learner: EllipsoidLearner) -> second_order.GaussianRun:
        numbers, table = learner.table.numbers, learner.table
        cuts, logs, steep = (float(numbers[k]) for k in (slots.CUTS, slots.LOG_KEPT, slots.INVERSE_NORM))
        uncertain = second_order.uncertainty(
            (learner.width + 1.0) * learner.scores, cuts, logs, 1.0 + steep,
            cancels=table.form_name in ("sparse", "kernel"),
        )  # fmt: skip
        if learner.mixed is not None:
            # The shapes of shards were inverted, added and factored: their condition counts whole, not its root.
            uncertain *= (1.0 + roundings(learner)) * sqrt(1.0 + steep)
        return second_order.GaussianRun(
            mistakes=int(learner.tally[tallies.MISTAKES]), updates=int(cuts),
            margin_updates=int(numbers[slots.MARGIN_UPDATES]), log_shrunk=-logs,
            squares=float(numbers[slots.SQUARED_LOSS]), steep=(1.0 + steep) / float(np.exp(numbers[slots.LOG_SCALE])),
            uncertain=uncertain,
        )  # fmt: skip


def measure_comparator(table: GaussianTable, u: NDArray[np.float64], first: int) -> second_order.MeasuredComparator:
    """u in the metric of S; its inner product with w is a difference of squares, of vectors of equal length."""
    with np.errstate(all="ignore"):
        shape, w = table.ellipsoid().shape, table.weights(table.scores, 0)[:, first:].ravel()
        square, own = (float(value) for value in shape.inverse_quadratic(np.stack([u, w]), 0.0))
        ratio, inner = float(np.sqrt(square / own)) if own > 0.0 else 0.0, 0.0
        if 0.0 < ratio < inf:
            above, below = shape.inverse_quadratic(np.stack([u + ratio * w, u - ratio * w]), 0.0)
            inner = float(above - below) / (4.0 * ratio)
        scale = np.exp(table.numbers[slots.LOG_SCALE])
        inner += float(u @ (table.lost_preimage()[:, first:].ravel() / scale))
        pull = table.preimage()[:, first:].ravel() / scale
    return second_order.MeasuredComparator(square, inner, own, length(u).high, length(pull).high)
