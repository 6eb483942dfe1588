"""CELLIP and IELLIP: learners that keep an ellipsoid around their weights."""

from math import ceil, inf, log, prod
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from ellipsoid.certificates import Certificate, ellipsoidal
from ellipsoid.engine import entry
from ellipsoid.engine import tally as tallies
from ellipsoid.geometry import Ellipsoid
from ellipsoid.geometry import state as slots
from ellipsoid.geometry.doubt import doubts
from ellipsoid.geometry.kernel_table import KernelTable
from ellipsoid.geometry.table import EllipsoidTable
from ellipsoid.representation.kernels import KERNELS
from ellipsoid.representation.tables import LinearTable
from ellipsoid.rules import cellip, iellip

from .base import OnlineClassifier
from .inputs import Source
from .learner import EMPTY, Learner
from .linear import one_of, positive

# Beyond every margin, and finite: the running sum of squared losses must stay a number.
ALWAYS = 1e140

# Kernel values beyond this could overflow a score.
HUGE = 1e150

SHAPES = {"auto": None, "column": "column", "product": "product", "gram": "gram", "dense": "full"}


class EllipsoidLearner(Learner):
    """A learner whose table keeps an ellipsoid."""

    def __init__(
        self, rule: Any, *, intercept: bool, average: bool, table: dict[str, Any], halts: bool = False
    ) -> None:
        super().__init__(rule, intercept=intercept, average=average, half=0.5)
        self.table_options = table
        self.halts = halts

    def new_table(self, by_class: bool) -> EllipsoidTable:
        """Linear weights with an ellipsoid around them."""
        forced = self.table_options["form"]
        linear = LinearTable(by_class=by_class or forced is not None, average=self.average)
        return EllipsoidTable(linear, constant=self.constant != 0.0, **self.table_options)

    @property
    def swift(self) -> bool:
        """A rule that halts wants to be looked after, row by row."""
        return super().swift and not self.halts

    def greet(self, rows: Any, ledger: Any, mode: int, row: int) -> None:
        """A label cannot be new to a learner that did not ask for it."""
        rule = self.rule
        self.rule = rule._replace(**({"selective": False} if isinstance(rule, cellip.CELLIP) else {"smoothing": 0.0}))
        try:
            super().greet(rows, ledger, mode, row)
        finally:
            self.rule = rule

    def scalars(self) -> dict[str, Any]:
        """What a model file must hold beside arrays and labels."""
        # The seed is drawn when learning starts; what follows must not depend on whether a file lies between.
        return {**super().scalars(), "form": self.table.form, "seed": getattr(self.rule, "seed", 0)}

    def restore_table(self, scalars: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        """Take back the representation."""
        self.table.restore(arrays, scalars["form"])
        if isinstance(self.rule, iellip.IELLIP):
            self.rule = self.rule._replace(seed=int(scalars["seed"]))

    @property
    def numbers(self) -> NDArray[np.float64]:
        """The scalars of the ellipsoid."""
        numbers: NDArray[np.float64] = self.table.numbers
        return numbers


class KernelLearner(EllipsoidLearner):
    """The same in the feature space of a kernel."""

    def new_table(self, by_class: bool) -> KernelTable:  # type: ignore[override]
        """A kernel expansion with an ellipsoid around it."""
        return KernelTable(
            self.table_options["kernel"], columns=self.table_options["columns"], average=self.average,
            constant=self.constant != 0.0,
        )  # fmt: skip

    def weights(self) -> NDArray[np.float64]:
        """There is no weight vector to hand out."""
        raise AttributeError("a kernel model has no coef_; use support_vectors_ and dual_coef_")

    def restore(self, scalars: dict[str, Any], arrays: dict[str, NDArray[Any]], labels: list[Any]) -> None:
        """Take back what a model file holds."""
        if not all(np.isfinite(arrays[name]).all() for name in ("SV", "coef", "S", "tally")):
            raise ValueError("it holds NaN or inf")
        self.multilabel = bool(scalars["multilabel"])
        self.open(arrays["SV"].shape[1] - 1, by_class=True, classes=len(labels))
        for label in labels:
            self.know(label)
        self.table.restore(arrays)
        self.tally[:] = arrays["tally"]
        self.closed, self.split = bool(scalars["closed"]), bool(scalars["split"])

    def check(self, source: Source) -> None:
        """Refuse also a row whose kernel value with itself overflows."""
        super().check(source)
        kind = self.new_table(True)
        kind.width = source.width
        kernel = kind.make_kernel()
        for start, stop in source.blocks():
            with np.errstate(over="ignore"):
                own = np.abs(kernel.gamma * source.squared_norms(start, stop) + kernel.coef0) ** max(kernel.degree, 1.0)
            large = np.flatnonzero(~(own < HUGE))
            if len(large):
                row = start + int(large[0])
                raise ValueError(f"row {row} of X is too large (inf): its kernel value overflows; rescale the features")


class EllipsoidClassifier(OnlineClassifier):
    """What CELLIP and IELLIP share."""

    _core: EllipsoidLearner
    _multilabel = True

    @property
    def asked_(self) -> int:
        """Labels asked for: all of them unless ``selective``."""
        return int(self._fitted("asked_").table.numbers[slots.ASKED])

    @property
    def log_volume_(self) -> float:
        """log det P of the current ellipsoid."""
        return float(self._fitted("log_volume_").table.log_det())

    @property
    def update_rounds_(self) -> NDArray[np.int64]:
        """The rounds (counted from 1) whose examples made the ellipsoid: the witnesses of its certificates."""
        table = self._fitted("update_rounds_").table
        rounds: NDArray[np.int64] = table.rounds[: int(table.numbers[slots.CUTS])].astype(np.int64)
        return rounds


class CELLIP(EllipsoidClassifier):
    """Classical ellipsoid method online: a version space held as an ellipsoid, for separable data.

    Every classifier of norm at most ``radius`` that has margin ``a * margin`` on the examples used lies in
    ``version_space_``. So where all of it agrees (``certain``), so does every such classifier; and where it has become
    empty, none exists.

    Parameters
    ----------
    margin : float
        The margin gamma that some classifier of norm 1 is hoped to have.
    a : float
        Share of the margin that is asked, in (0, 1].
    radius : float or None
        Radius of the start ball; None is ``1 + (1 - a) * margin``. Only ``a * margin / radius`` matters.
    cut : {"paper", "minvol"}
        The cut whose mistake bound is free of the dimension, or the one of least volume.
    trigger : {"mistake", "margin", "always"}
        Which rounds cut: mistakes, margins below ``a * margin``, or any cut that shrinks the volume.
    on_infeasible : {"skip", "freeze", "restart", "raise"}
        After a proof that the version space is empty: skip such cuts, cut no more, start again, or raise
        :class:`EmptyVersionSpace`.
    selective : bool
        Ask for a label only where the version space disagrees, and learn from asked labels only.
    shape : {"auto", "column", "product", "gram", "dense"}
        The form in which the ellipsoid is kept.
    fit_intercept, average, n_epochs, shuffle, random_state, grow_features
        As for every learner here, see :class:`Perceptron`.

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

    def __init__(
        self,
        margin: float = 0.1,
        a: float = 1.0,
        radius: float | None = None,
        cut: str = "paper",
        trigger: str = "mistake",
        on_infeasible: str = "skip",
        selective: bool = False,
        shape: str = "auto",
        fit_intercept: bool = True,
        average: bool = False,
        n_epochs: int = 5,
        shuffle: bool = True,
        random_state: Any = None,
        grow_features: bool = False,
    ) -> None:
        self.margin = margin
        self.a = a
        self.radius = radius
        self.cut = cut
        self.trigger = trigger
        self.on_infeasible = on_infeasible
        self.selective = selective
        self.shape = shape
        self.fit_intercept = fit_intercept
        self.average = average
        self.n_epochs = n_epochs
        self.shuffle = shuffle
        self.random_state = random_state
        self.grow_features = grow_features

    def _geometry(self) -> tuple[float, float, float, float]:
        """margin, a, radius, threshold, checked."""
        smallest = one_of("cut", self.cut, {"paper": False, "minvol": True})
        margin = positive("margin", self.margin, zero=True)
        a = positive("a", self.a, zero=True)
        if a > 1.0:
            raise ValueError(f"a must lie in (0, 1], got {self.a!r}")
        if a * margin == 0.0 and not smallest:
            raise ValueError(
                f"a * margin must be positive for cut='paper', which never moves otherwise; got a={a:g}, "
                f"margin={margin:g}"
            )
        radius = 1.0 + (1.0 - a) * margin if self.radius is None else positive("radius", self.radius)
        return margin, a, radius, a * margin

    def _start(self) -> EllipsoidLearner:
        _, _, radius, threshold = self._geometry()
        passive = one_of("trigger", self.trigger, {"mistake": 0.0, "margin": threshold, "always": ALWAYS})
        policies = {
            "skip": cellip.SKIP, "freeze": cellip.FREEZE, "restart": cellip.RESTART, "raise": cellip.RAISE,
        }  # fmt: skip
        policy = one_of("on_infeasible", self.on_infeasible, policies)
        rule = cellip.CELLIP(passive, threshold, self.cut == "minvol", policy, bool(self.selective))
        table = {
            "columns": inf,
            "kept": 1.0,
            "log_scale": 2.0 * log(radius),
            "form": one_of("shape", self.shape, SHAPES),
            "raises": policy == cellip.RAISE,
        }
        halts = policy >= cellip.RESTART
        return EllipsoidLearner(rule, intercept=self.fit_intercept, average=self.average, table=table, halts=halts)

    @property
    def version_space_(self) -> Ellipsoid:
        """The ellipsoid that covers every classifier with the asked margin; the intercept is its first coordinate."""
        return self._fitted("version_space_").table.ellipsoid()

    @property
    def infeasible_(self) -> int:
        """Empty intersections met (zero rows count): more than 0 is a proof that no classifier has the margin."""
        return int(self._fitted("infeasible_").table.numbers[slots.EMPTY])

    @property
    def infeasible_round_(self) -> int | None:
        """The round (counted from 1) of the first empty intersection; with ``update_rounds_`` before it, a proof."""
        return int(self._fitted("infeasible_round_").table.numbers[slots.EMPTY_ROUND]) or None

    @property
    def exhausted_(self) -> bool:
        """Has the version space become a single point?"""
        return bool(self._fitted("exhausted_").table.numbers[slots.EXHAUSTED])

    def _check_growth(self, learner: Learner, known: list[Any], labels: Any) -> None:
        before = len(learner.labels) + len(known)
        seen = {*learner.labels.values, *known}
        fresh = [label for label in np.unique(labels).tolist() if label not in seen]
        if before <= 2 < before + len(fresh):
            raise ValueError(
                f"y brings {before + len(fresh)} labels, but without classes= the version space would start as one of "
                "binary classifiers, which cannot become one of multiclass classifiers; pass classes= with all labels"
            )

    def certain(self, X: Any) -> NDArray[np.bool_]:
        """True where every classifier of the version space gives the row the same label."""
        return ~self._doubtful(X)

    def query(self, X: Any) -> NDArray[np.bool_]:
        """True where a label is worth asking for: where the version space disagrees."""
        return self._doubtful(X)

    def _doubtful(self, X: Any) -> NDArray[np.bool_]:
        core = self._learned()
        source = self._source(X, core, learning=False)
        core.check(source)
        core.table.prepare()
        out = np.zeros(source.n, dtype=np.bool_)
        for start, stop in source.blocks():
            args = (core.task(EMPTY), core.table.rep, source.rows(start, stop), core.work, out[start:stop])
            entry(doubts, *args)(*args)
        return out

    def _bounds(self, learner: Learner, comparator: NDArray[np.float64]) -> list[Certificate]:
        margin, a, radius, threshold = self._geometry()
        table, numbers, tally = learner.table, learner.table.numbers, learner.tally
        largest = float(np.sqrt(tally[tallies.RADIUS2] * (1.0 if learner.scores == 1 else 2.0)))
        refuted = self.infeasible_ > 0 or tally[tallies.ZEROS] > 0
        if self.cut == "minvol":
            bound, remaining = ellipsoidal.minvol_bound(
                radius=radius, margin=margin, a=a, largest=largest, dim=table.dim, log_det=table.log_det()
            )
        else:
            pi = float(np.exp(numbers[slots.LOG_SCALE])) / radius**2
            bound, remaining = ellipsoidal.cellip_bound(
                radius=radius, threshold=threshold, margin=margin, a=a, largest=largest, pi=pi
            )
        best = ellipsoidal.best_margin(
            radius=radius, threshold=threshold, largest=largest, slim=float(numbers[slots.SLIM]),
            log_det=table.log_det(), dim=table.dim, empty=self.infeasible_ > 0,
        )  # fmt: skip
        return [*ellipsoidal.cellip_mistakes(self.mistakes_, remaining, bound, refuted), best]


class IELLIP(EllipsoidClassifier):
    """Improved ellipsoid method online: a step to the margin in an ellipsoid's metric, for data of any kind.

    Its ellipsoid only grows and is no version space: it says which directions were learned from early, not which
    classifiers remain. So ``query`` (and ``selective``) ask by a randomised margin rule instead.

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
        Ask for a label with probability ``smoothing / (smoothing + lead)``, the lead of the best score in units of the
        margin, and learn from asked labels only.
    smoothing : float
        Of that rule.
    kernel : {"linear", "rbf", "poly"}
        The space in which the ellipsoid lives; other kernels than the linear one keep the update examples
        (``support_vectors_``, ``dual_coef_``) and need the Gram form.
    gamma, degree, coef0 : float
        Of the kernel, as in ``sklearn.svm.SVC``; gamma "auto" is one over the number of features.
    shape : {"auto", "column", "product", "gram", "dense"}
        The form in which the ellipsoid is kept.
    fit_intercept, average, n_epochs, shuffle, random_state, grow_features
        As for every learner here, see :class:`Perceptron`.

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

    def __init__(
        self,
        margin: float = 1.0,
        b: float = 0.3,
        c: float = 0.1,
        decay: str = "update",
        trigger: str = "mistake",
        selective: bool = False,
        smoothing: float = 1.0,
        kernel: str = "linear",
        gamma: float | str = "auto",
        degree: float = 3,
        coef0: float = 0.0,
        shape: str = "auto",
        fit_intercept: bool = True,
        average: bool = False,
        n_epochs: int = 5,
        shuffle: bool = True,
        random_state: Any = None,
        grow_features: bool = False,
    ) -> None:
        self.margin = margin
        self.b = b
        self.c = c
        self.decay = decay
        self.trigger = trigger
        self.selective = selective
        self.smoothing = smoothing
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.shape = shape
        self.fit_intercept = fit_intercept
        self.average = average
        self.n_epochs = n_epochs
        self.shuffle = shuffle
        self.random_state = random_state
        self.grow_features = grow_features

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
        rule = iellip.IELLIP(passive, margin, c, b, by_round, smoothing, seed)
        columns = downdates(c, b)
        one_of("kernel", self.kernel, KERNELS)
        if self.kernel != "linear":
            one_of("shape", self.shape, {"auto": None, "gram": None})
            gamma = None if self.gamma == "auto" else positive("gamma", self.gamma)
            spec = (self.kernel, gamma, positive("degree", self.degree), positive("coef0", self.coef0, zero=True))
            options = {"kernel": spec, "columns": columns}
            return KernelLearner(rule, intercept=self.fit_intercept, average=self.average, table=options)
        table = {
            "columns": columns,
            "kept": prod(1.0 - c * b**k for k in range(int(min(columns, 10_000)))) if b < 1.0 else float(c == 0.0),
            "log_scale": 0.0,
            "form": one_of("shape", self.shape, SHAPES),
            "raises": False,
        }
        return EllipsoidLearner(rule, intercept=self.fit_intercept, average=self.average, table=table)

    @property
    def ellipsoid_(self) -> Ellipsoid:
        """The current ellipsoid; the intercept is its first coordinate. A kernel's feature space has no coordinates."""
        table = self._fitted("ellipsoid_").table
        if isinstance(table, KernelTable):
            raise AttributeError("the ellipsoid of a kernel model has no coordinates")
        return table.ellipsoid()

    @property
    def support_vectors_(self) -> NDArray[np.float64]:
        """Kernel models: the examples of the updates."""
        return self._kernel_table("support_vectors_").patterns()

    @property
    def dual_coef_(self) -> NDArray[np.float64]:
        """Kernel models: coefficients of the update examples, one row a score."""
        return self._kernel_table("dual_coef_").coefficients(self.t_).T

    def _kernel_table(self, name: str) -> KernelTable:
        table = self._fitted(name).table
        if not isinstance(table, KernelTable):
            raise AttributeError(f"{name} belongs to kernel models; a linear one has coef_ and intercept_")
        return table

    @property
    def log_volume_(self) -> float:
        """log det P of the current ellipsoid; infinite in a kernel's feature space, where only its ratios mean something."""
        return inf if isinstance(self._fitted("log_volume_").table, KernelTable) else super().log_volume_

    def certificates(self, comparator: Any = None) -> list[Certificate]:
        """The bounds that hold for this run so far; a kernel model is its own comparator."""
        core = self._learned()
        if not isinstance(core.table, KernelTable):
            return super().certificates(comparator)
        if comparator is not None:
            raise ValueError("a kernel model has no coordinates to compare with; comparator must be None")
        size2, inner, norm2 = core.table.pulled()
        return self._from_pull(core, np.sqrt(max(0.0, size2)), inner, np.sqrt(max(0.0, norm2)))

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
        smoothing = positive("smoothing", self.smoothing)
        draw = check_random_state(random_state).random_sample(len(lead))
        asked: NDArray[np.bool_] = draw * (smoothing + lead / self._core.rule.goal) <= smoothing
        return asked

    def _bounds(self, learner: Learner, comparator: NDArray[np.float64]) -> list[Certificate]:
        h, u = learner.table.unshaped().ravel(), comparator.ravel()
        # The bounds do not depend on the size of u, which may be anything.
        u = u / (np.abs(u).max() or 1.0)
        return self._from_pull(learner, float(np.linalg.norm(u)), float(u @ h), float(np.linalg.norm(h)))

    def _from_pull(self, learner: Learner, size: float, inner: float, norm: float) -> list[Certificate]:
        numbers, tally = learner.table.numbers, learner.tally
        weight = float(numbers[slots.WEIGHT])
        pull = ellipsoidal.Pull(inner / weight if weight else 0.0, float(size), float(norm), weight)
        return ellipsoidal.iellip(
            pull, mistakes=self.mistakes_,
            largest=float(np.sqrt(tally[tallies.RADIUS2] * (1.0 if learner.scores == 1 else 2.0))),
            log_kept=-float(numbers[slots.LOG_SCALE]), goal=learner.rule.goal, zeros=tally[tallies.ZEROS] > 0,
            always=self.trigger == "margin", lifted=float(numbers[slots.LIFTED]),
        )  # fmt: skip


def downdates(c: float, b: float) -> float:
    """How many updates change the shape before c b^k <= 2^-54."""
    if c <= iellip.NEGLIGIBLE:
        return 0
    if b == 1.0:
        return inf
    return 1 if b == 0.0 else ceil(log(iellip.NEGLIGIBLE / c) / log(b))
