"""What the learners share that keep a Gaussian over weight vectors: AROW, SOP, CW, SCW and NHERD."""

from math import inf, log
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from ellipsoid.certificates import Certificate, second_order
from ellipsoid.certificates.rounding import length
from ellipsoid.ellipsoids import Ellipsoid
from ellipsoid.ellipsoids import state as slots
from ellipsoid.ellipsoids.assurance import assurances
from ellipsoid.ellipsoids.diagonal_table import DiagonalTable
from ellipsoid.ellipsoids.endless import EndlessTable, SketchTable
from ellipsoid.ellipsoids.forms.diagonal import DROP, EXACT, INVERSE
from ellipsoid.ellipsoids.kernel_table import KernelTable
from ellipsoid.engine import entry
from ellipsoid.engine import tally as tallies
from ellipsoid.representation.tables import LinearTable

from .base import OnlineClassifier
from .ellipsoidal import EllipsoidLearner, KernelLearner
from .inputs import RowSource
from .learner import EMPTY, Learner
from .parameters import one_of, positive, whole

# Up to so many weights the covariance is kept whole, where nobody has said how to keep it.
LARGEST_ROOT = 512
FORMS = {"auto": None, "dense": "full", "diagonal": "diagonal", "sketch": "product"}
KINDS = {"inverse": INVERSE, "drop": DROP, "exact": EXACT, "project": INVERSE}


class Halving(EllipsoidLearner):
    """A learner that starts with S = I, for one function or for several."""

    def add_label(self, label: Any) -> None:
        """Two opposite functions are as uncertain as one if each is half as much."""
        was = self.split
        super().add_label(label)
        if self.split and not was:
            self.table.numbers[slots.LOG_SCALE] -= log(2.0)

    def learn_new_label(self, rows: Any, ledger: Any, mode: int, row: int) -> None:
        """A label cannot be new to a learner that did not ask for it."""
        self.run(rows, ledger, mode, row, row + 1, rule=self.rule._replace(doubt=0.0))


class SecondOrderLearner(Halving):
    """Weights with a covariance in the form asked for; ``form`` None: whole while it is small, then its diagonal."""

    def __init__(self, rule: Any, *, intercept: bool, average: bool, form: str | None, kind: int, size: int) -> None:
        super().__init__(rule, intercept=intercept, average=average, table={})
        self.form, self.kind, self.size = form, kind, size
        self.chosen = form or "full"

    def by_class(self, source: RowSource, classes: int = 0) -> bool:
        """As for weights alone; the forms that need another layout take it."""
        return Learner.by_class(self, source, classes)

    def _outgrows(self, functions: int, width: int) -> bool:
        return self.form is None and functions * (width + self.constant) > LARGEST_ROOT

    def open(self, width: int, *, by_class: bool, classes: int = 0) -> None:
        """Make room for rows of this width and so many classes."""
        functions = max(1, self.scores, classes if classes > 2 else 1)
        if self._outgrows(functions, max(self.width, width)):
            self._take_diagonal()
        super().open(width, by_class=by_class, classes=classes)

    def add_label(self, label: Any) -> None:
        """Add a class."""
        if self._outgrows(self.functions(len(self.labels) + 1), self.width):
            self._take_diagonal()
        super().add_label(label)

    def _take_diagonal(self) -> None:
        """Go on with the diagonal of what is too large to be kept whole."""
        self.chosen = "diagonal"
        if isinstance(self.table, EndlessTable):
            self.table = self.table.diagonal(self.kind)
            self.fast = self._predictor = None

    def new_table(self, by_class: bool) -> Any:
        """Weights with a covariance."""
        form, constant = self.chosen, self.constant != 0.0
        by_class = by_class if form == "diagonal" else form != "sparse"
        linear = LinearTable(by_class=by_class, average=self.average)
        if form == "diagonal":
            return DiagonalTable(linear, kind=self.kind, constant=constant)
        if form == "product":
            return SketchTable(linear, size=self.size, constant=constant)
        return EndlessTable(linear, form=form, constant=constant)

    def restore_table(self, scalars: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        """Take back the representation."""
        if isinstance(self.table, DiagonalTable):
            if scalars["form"] != "diagonal":
                raise ValueError(f"its shape has the form {scalars['form']!r}, which is not one for its parameters")
            self.table.restore(arrays)
        else:
            super().restore_table(scalars, arrays)


class SecondOrderKernelLearner(Halving, KernelLearner):
    """The same in the feature space of a kernel, where the Gram form keeps the covariance."""

    def new_table(self, by_class: bool) -> KernelTable:  # type: ignore[override]
        """A kernel expansion with a covariance."""
        table = super().new_table(by_class)
        table.numbers[slots.GRAIN] = slots.COARSE
        return table


class SecondOrderClassifier(OnlineClassifier):
    """What AROW, SOP, CW, SCW and NHERD share."""

    _core: EllipsoidLearner
    _multilabel = True
    _counts_features = True  # they are dimensions of the Gaussian

    selective: bool
    certainty: float
    shape: str

    def _doubt(self) -> float:
        """In how many deviations a lead must be for a row to need no label."""
        if not 0.5 < positive("certainty", self.certainty) < 1.0:
            raise ValueError(f"certainty must lie between 0.5 and 1, got {self.certainty!r}")
        return float(ndtri(self.certainty)) if self.selective else 0.0

    def _covariance(self, rule: Any, diagonal: str, size: Any = 1, **more: str) -> SecondOrderLearner:
        """A learner for the rule; ``more`` are forms of the covariance beside the usual ones."""
        form = one_of("shape", self.shape, {**FORMS, **more})
        return SecondOrderLearner(
            rule, intercept=self.fit_intercept, average=self.average, form=form, kind=KINDS[diagonal],
            size=whole("size", size),
        )  # fmt: skip

    @property
    def asked_(self) -> int:
        """Labels asked for: all of them unless ``selective``."""
        return int(self._fitted("asked_").table.numbers[slots.ASKED])

    @property
    def ellipsoid_(self) -> Ellipsoid:
        """One deviation of the Gaussian, {q : (q - w)'S^{-1}(q - w) <= 1}; the intercept is its first coordinate."""
        table = self._fitted("ellipsoid_").table
        if isinstance(table, KernelTable):
            raise AttributeError("the Gaussian of a kernel model has no coordinates")
        return table.ellipsoid()

    @property
    def log_volume_(self) -> float:
        """log det S of the current covariance, as it is kept."""
        table = self._fitted("log_volume_").table
        if isinstance(table, KernelTable):
            raise AttributeError("the Gaussian of a kernel model has no volume")
        return float(table.log_det())

    @property
    def update_rounds_(self) -> NDArray[np.int64]:
        """The rounds (counted from 1) of the updates: the witnesses of the certificates. A diagonal keeps none."""
        table = self._fitted("update_rounds_").table
        if isinstance(table, DiagonalTable):
            raise AttributeError("a diagonal covariance keeps no list of its updates")
        rounds: NDArray[np.int64] = table.rounds[: int(table.numbers[slots.CUTS])].astype(np.int64)
        return rounds

    def confidence(self, X: Any) -> NDArray[np.float64]:
        """The probability under N(w, S) that the label with the highest score beats its first rival: 1/2 to 1.

        Label sets: that the label nearest to the line between right and wrong is on its side of it. An averaged model
        may predict another label than w, of which this speaks.
        """
        lead, variance = self._leads(X)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.where(lead > 0.0, lead / np.sqrt(variance), 0.0)
        found: NDArray[np.float64] = ndtr(ratio)
        return found

    def query(self, X: Any) -> NDArray[np.bool_]:
        """True where a label is worth asking for: where ``confidence`` is at most ``certainty``."""
        lead, variance = self._leads(X)
        asked: NDArray[np.bool_] = lead <= float(ndtri(self._started_with("certainty"))) * np.sqrt(variance)
        return asked

    def _leads(self, X: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        core = self._learned()
        source = self._source(X, core, learning=False)
        core.check(source)
        core.table.prepare()
        out = np.zeros((source.n, 2))
        for start, stop in source.blocks():
            args = (core.task(EMPTY), core.table.rep, source.rows(start, stop), core.work, out[start:stop])
            entry(assurances, *args)(*args)
        return out[:, 0], out[:, 1]

    # -- certificates ------------------------------------------------------------------------------------------

    def _bounds(self, learner: Learner, comparator: NDArray[np.float64]) -> list[Certificate]:
        table = learner.table
        if isinstance(table, DiagonalTable):
            return []  # no bound survives a diagonal: what it drops of S^{-1} is not known
        run = self._run(learner)
        first = 0 if table.constant else 1
        u, w = comparator[:, first:].ravel(), table.weights(table.scores, 0)[:, first:].ravel()
        scale = float(np.abs(u).max(initial=0.0)) or 1.0
        u = u / scale
        try:
            against = measured(table, u, w)
            pull = table.pulled()[:, first:].ravel() / np.exp(table.numbers[slots.LOG_SCALE])
            if isinstance(table, SketchTable):
                lost = table._lost()[:, first:].ravel() / np.exp(table.numbers[slots.LOG_SCALE])
                against = against._replace(inner=against.inner + float(u @ lost))
        except (ValueError, np.linalg.LinAlgError):
            # A covariance that has collapsed cannot be undone.
            against, pull, run = second_order.Against(inf, 0.0, inf), u, run._replace(uncertain=inf)
        norm, size = length(pull).high, length(u).high
        return self._list(learner, run, against._replace(scale=scale), norm, size)

    def _list(
        self, learner: Learner, run: second_order.Run, against: second_order.Against, norm: float, size: float
    ) -> list[Certificate]:
        """The bounds of this algorithm; ``norm`` is |h|, ``size`` |u|."""
        raise NotImplementedError

    def _run(self, learner: Learner) -> second_order.Run:
        numbers, tally, table = learner.table.numbers, learner.tally, learner.table
        cuts, logs, steep = (float(numbers[k]) for k in (slots.CUTS, slots.LOG_KEPT, slots.STEEP))
        uncertain = second_order.uncertainty(
            (learner.width + 1.0) * learner.scores, cuts, logs, 1.0 + steep, cancels=table.form in ("sparse", "kernel")
        )
        return second_order.Run(
            mistakes=int(tally[tallies.MISTAKES]), updates=int(cuts), narrow=int(numbers[slots.NARROW]), shrunk=-logs,
            fit=float(numbers[slots.FIT]), uncertain=uncertain,
        )  # fmt: skip

    def _margin(
        self, learner: Learner, run: second_order.Run, against: second_order.Against, norm: float, size: float
    ) -> Certificate:
        """The margin certificate of a rule that has summed its weights."""
        numbers = learner.table.numbers
        scale = float(np.exp(numbers[slots.LOG_SCALE]))
        return second_order.margin(
            run, against.inner / size if size > 0.0 else 0.0, norm, float(numbers[slots.WEIGHT]) / scale,
            (1.0 + float(numbers[slots.STEEP])) / scale, against.own, numbers[slots.UNSIGNED] == 0.0,
        )  # fmt: skip


def measured(table: EndlessTable, u: NDArray[np.float64], w: NDArray[np.float64]) -> second_order.Against:
    """u and w in the metric of S; their inner product is a difference of squares, of vectors of equal length."""
    shape = table.ellipsoid().shape
    with np.errstate(all="ignore"):
        squares = shape.inverse_quadratic(np.stack([u, w]), 0.0)
        ratio = float(np.sqrt(squares[0] / squares[1])) if squares[1] > 0.0 else 0.0
        if not 0.0 < ratio < inf:
            return second_order.Against(float(squares[0]), 0.0, float(squares[1]))
        above, below = shape.inverse_quadratic(np.stack([u + ratio * w, u - ratio * w]), 0.0)
    return second_order.Against(float(squares[0]), float(above - below) / (4.0 * ratio), float(squares[1]))
