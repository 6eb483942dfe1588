"""The online ellipsoidal SVM as an estimator: streams, averaging, and a certificate after every epoch."""

import warnings
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from ellipsoid.batch.online import Machine, Terms
from ellipsoid.batch.problem import SOFT_MARGIN_R, Matrix, Vector, check_constants
from ellipsoid.certificates import Certificate
from ellipsoid.engine import CSR, Dense
from ellipsoid.engine import tally as tallies
from ellipsoid.engine.tasks import ASIDE, CODES, ORDERED, WATCHED
from ellipsoid.estimators.base import OnlineClassifier
from ellipsoid.estimators.inputs import Source
from ellipsoid.estimators.learner import NO_LABELS, Learner

FIELDS = ("Z", "Q", "w", "past", "pull", "scalars")
# Q and Z are dense n x n matrices, one pair a class.
WIDEST = 4000


class _Machines:
    """The binary learners of all classes: one for two labels, else one a class."""

    by_class = True

    def __init__(self) -> None:
        self.machines: list[Machine] = []
        self.width = 0

    def state(self, scores: int) -> dict[str, NDArray[np.float64]]:
        """The arrays of a model file."""
        return {f"{name}{k}": getattr(m.state, name) for k, m in enumerate(self.machines) for name in FIELDS}


class _Not:
    """Stands where single rows have no faster way."""

    shape = (-1,)


class EllipsoidLearner(Learner):
    """Labels, features and binary learners of one stream."""

    table: _Machines

    def __init__(self, terms: Terms, *, intercept: bool, average: bool, bias: float | None) -> None:
        super().__init__(None, intercept=intercept, average=average, one_vs_rest=True)
        self.terms = terms
        self.bias_given = bias
        self.bias = 0.0
        self.first_radius = 0.0

    @property
    def swift(self) -> bool:
        return False

    def one(self) -> Any:
        return _Not

    def open(self, width: int, *, by_class: bool, classes: int = 0) -> None:
        if width + 1 > WIDEST:
            raise ValueError(
                f"OnlineEllipsoidalSVC keeps dense matrices of the width of X: at most {WIDEST - 1} features, got "
                f"{width}; reduce X first, or use a linear learner"
            )
        if self.table is None:
            self.table = _Machines()
        if width > self.table.width:
            self.table.width = width
            for machine in self.table.machines:
                machine.widen(self.terms.offset + width)

    def know(self, label: Any) -> None:
        """Add a class. The learner of two labels serves both; a third gives each its own, the first one mirrored."""
        machines = self.table.machines
        self.labels.add(label)
        if len(self.labels) == 2:
            machines[0] = machines[0].mirrored()
        elif len(self.labels) == 3:
            self.split = self.rounds > 0
            machines.insert(0, machines[0].mirrored())
        if len(self.labels) != 2:
            machines.append(self._new())

    def _new(self) -> Machine:
        return Machine(self.terms._replace(bias=self.bias), self.terms.offset + self.table.width)

    def settle(self, norm: float, radius: float) -> None:
        """Fix the size of the constant feature, and the radius that the first steps assume."""
        if self.bias == 0.0 and self.constant:
            self.bias = self.bias_given if self.bias_given is not None else norm
        self.first_radius = float(np.hypot(radius, self.bias))
        for machine in self.table.machines:
            machine.terms = machine.terms._replace(bias=self.bias)

    def run(
        self,
        rows: Dense | CSR,
        ledger: NDArray[np.int64],
        mode: int,
        start: int,
        stop: int,
        Y: NDArray[np.uint8] = NO_LABELS,
    ) -> None:
        """Every binary learner over the rows start..stop, then the counts of the rows."""
        order = ledger[ASIDE, start:stop] if mode == ORDERED else np.arange(start, stop)
        if self.first_radius == 0.0:
            norms = _norms(rows, order)
            first = norms[norms > 0][:1]
            if len(first):
                self.settle(float(first[0]), float(first[0]))
        codes = ledger[CODES]
        parts = _parts(rows)
        machines = self.table.machines
        scores = np.empty((len(machines), len(order)))
        moved = np.zeros(len(order), dtype=np.bool_)
        for k, machine in enumerate(machines):
            positive = 1 if len(self.labels) == 2 else k
            signs = np.where(codes == positive, 1.0, -1.0)
            machine.learn(parts, np.ascontiguousarray(order), signs, scores[k], moved, self.first_radius)
        right = codes[order]
        if len(self.labels) == 2:
            mistakes, predicted = np.where(right == 1, scores[0], -scores[0]) <= 0.0, scores[0] > 0.0
        else:
            rivals = scores.copy()
            rivals[right, np.arange(len(order))] = -np.inf
            mistakes = scores[right, np.arange(len(order))] <= rivals.max(axis=0)
            predicted = scores.argmax(axis=0)
        if mode == WATCHED:
            ledger[ASIDE, start:stop] = predicted
        self.tally[tallies.ROUNDS] += len(order)
        self.tally[tallies.MISTAKES] += np.count_nonzero(mistakes)
        self.tally[tallies.UPDATES] += np.count_nonzero(moved)

    def foresee(self, source: Source, row: int) -> Any:
        if len(self.labels) == 0:
            return None
        rows = source.rows(row, row + 1)
        scores = self._scores(rows, self._table_of(averaged=False))[0]
        code = int(scores[0] > 0.0) if len(self.labels) == 2 else int(scores.argmax())
        return self.labels.values[code]

    def weights(self) -> NDArray[np.float64]:
        return self._table_of(averaged=self.average)

    def _table_of(self, averaged: bool) -> Matrix:
        """One row a score; the first column is what is added to it, the constant feature's size included."""
        offset = self.terms.offset
        table = np.zeros((len(self.table.machines), 1 + self.table.width))
        for row, machine in zip(table, self.table.machines, strict=True):
            row[1 - offset :] = machine.mean_weights() if averaged else machine.state.w
        table[:, 0] *= self.bias
        return table

    def decision(self, source: Source) -> NDArray[np.float64]:
        table = self.weights()
        blocks = [self._scores(source.rows(start, stop), table) for start, stop in source.blocks()]
        return np.vstack(blocks)

    @staticmethod
    def _scores(rows: Dense | CSR, table: Matrix) -> Matrix:
        product = _matrix(rows) @ table[:, 1:][:, : _matrix(rows).shape[1]].T
        return np.asarray(product, dtype=np.float64) + table[:, 0]

    # -- the certificate ---------------------------------------------------------------------------------------

    def gaps(self, rows: Dense | CSR, codes: NDArray[np.int64]) -> list[tuple[float, float]]:
        """(gap, dual) of every binary learner over points that it has seen equally often."""
        X = _matrix(rows)
        norms = np.sqrt(_norms(rows, np.arange(len(codes))) ** 2 + self.bias**2)
        found = []
        for k, machine in enumerate(self.table.machines):
            y = np.where(codes == (1 if len(self.labels) == 2 else k), 1.0, -1.0)
            B, w = machine.shape(), machine.mean_weights() if self.average else machine.state.w
            width = _quadratic(X, self.bias if machine.terms.offset else None, B)
            value = y * (X @ w[machine.terms.offset :] + (self.bias * w[0] if machine.terms.offset else 0.0))
            informative = norms > 0
            if machine.terms.r > 0:
                width[informative] /= norms[informative]
            slack = np.maximum(width - value, 0.0)[informative] / (machine.terms.nu * norms[informative])
            found.append((machine.gap(float(slack.sum()) / len(codes), B), machine.dual()))
        return found

    # -- files -------------------------------------------------------------------------------------------------

    def scalars(self) -> dict[str, Any]:
        return {
            "closed": self.closed,
            "split": self.split,
            "bias": self.bias,
            "first_radius": self.first_radius,
            "width": self.table.width,
        }

    def restore(self, scalars: dict[str, Any], arrays: dict[str, NDArray[Any]], labels: list[Any]) -> None:
        width, count = int(scalars["width"]), 1 if len(labels) == 2 else len(labels)
        full = self.terms.offset + width
        if any(arrays[f"Q{k}"].shape != (full, full) for k in range(count)):
            raise ValueError("its arrays have wrong shapes")
        if arrays["tally"].shape != self.tally.shape:
            raise ValueError("its arrays have wrong shapes")
        if not all(np.isfinite(array).all() for array in arrays.values()):
            raise ValueError("it holds NaN or inf")
        self.open(width, by_class=True)
        for label in labels:
            self.know(label)
        self.bias, self.first_radius = float(scalars["bias"]), float(scalars["first_radius"])
        self.settle(self.bias, 0.0)
        self.first_radius = float(scalars["first_radius"])
        for k, machine in enumerate(self.table.machines):
            for mine, name in zip(machine.state, FIELDS, strict=True):
                mine[...] = arrays[f"{name}{k}"]
        self.tally[:] = arrays["tally"]
        self.closed, self.split = bool(scalars["closed"]), bool(scalars["split"])


class OnlineEllipsoidalSVC(OnlineClassifier):
    """A linear ellipsoidal SVM learned one example at a time, O(n^2) each.

    Parameters
    ----------
    nu : float
        The price of a slack is ``1/(N nu |x|)``: the batch estimator's ``nu`` divided by the number of points. Search
        ``nu * n`` (n the number of features) on a grid from 1e-4 to 0.3.
    r : float in (0, 1)
        The weight of the ellipsoid's volume against its size ("relaxed" problem).
    problem : "relaxed" or "trace"
        The online form of the batch problem, or the paper's Problem 14, whose ellipsoid is bounded by its trace. The
        latter's ellipsoid is a ball unless ``nu`` is well below 1/n^2.
    tol : float
        ``fit`` stops after the epoch in which the certified gap is at most ``tol * max(1, |dual objective|)``.
    n_epochs : int
        The most passes of ``fit``; a ``ConvergenceWarning`` tells when they did not reach ``tol``.
    average : bool
        Predict with the average of all w, later ones weighing more; it is what the certificate speaks of.
    intercept_scaling : float, optional
        The size of the constant feature: by default the median length of the rows in ``fit``, and the length of the
        first row on a stream.
    fit_intercept, shuffle, random_state, grow_features
        As for every learner here.

    Attributes
    ----------
    duality_gap_, dual_objective_
        After ``fit``: how far the objective is from its optimum at most, and a lower bound on it; per class if there
        are more than two. On a stream ``dual_objective_`` holds for the examples so far.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import StandardScaler
    >>> from ellipsoid import OnlineEllipsoidalSVC
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X = StandardScaler().fit_transform(X)
    >>> model = OnlineEllipsoidalSVC(random_state=0)
    >>> for start in range(0, len(y), 50):
    ...     model = model.partial_fit(X[start : start + 50], y[start : start + 50])
    >>> model.t_
    569
    >>> bool(model.score(X, y) > 0.9)
    True
    """

    _multilabel = False

    def __init__(
        self,
        nu: float = 1e-3,
        r: float = SOFT_MARGIN_R,
        *,
        problem: str = "relaxed",
        tol: float = 1e-2,
        average: bool = True,
        fit_intercept: bool = True,
        intercept_scaling: float | None = None,
        n_epochs: int = 20,
        shuffle: bool = True,
        random_state: Any = None,
        grow_features: bool = False,
    ) -> None:
        self.nu = nu
        self.r = r
        self.problem = problem
        self.tol = tol
        self.average = average
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.n_epochs = n_epochs
        self.shuffle = shuffle
        self.random_state = random_state
        self.grow_features = grow_features

    def _start(self) -> EllipsoidLearner:
        check_constants(self.nu, self.r)
        if self.problem not in ("relaxed", "trace"):
            raise ValueError(f"problem must be 'relaxed' or 'trace', got {self.problem!r}")
        if not self.tol > 0:
            raise ValueError(f"tol must be positive, got {self.tol}")
        if self.intercept_scaling is not None and not self.intercept_scaling > 0:
            raise ValueError(f"intercept_scaling must be positive, got {self.intercept_scaling}")
        terms = Terms(
            float(self.nu), float(self.r) if self.problem == "relaxed" else 0.0, int(bool(self.fit_intercept)), 0.0
        )
        return EllipsoidLearner(terms, intercept=self.fit_intercept, average=self.average, bias=self.intercept_scaling)

    def _bounds(self, learner: Learner, comparator: NDArray[np.float64]) -> list[Certificate]:
        """None: the certificate of this learner is its duality gap, not a bound on mistakes."""
        return []

    def fit(self, X: Any, y: ArrayLike) -> Self:
        """Forget everything, then pass over the data until the certificate or ``n_epochs`` says stop."""
        if not isinstance(self.n_epochs, int | np.integer) or self.n_epochs < 1:
            raise ValueError(f"n_epochs must be a positive integer, got {self.n_epochs!r}")
        learner = self._start()
        random = check_random_state(self.random_state)
        source = self._source(X, None)
        labels = self._check_labels(y, source)
        source.check()
        known = np.unique(labels)
        if len(known) < 2:
            raise ValueError(f"fit needs at least two classes in y, got one class: {known[0]!r}")
        self._note_names(X, reset=True)
        learner.open(source.width, by_class=True)
        for label in known.tolist():
            learner.know(label)
        rows = source.rows(0, source.n)
        ledger = np.empty((2, source.n), dtype=np.int64)
        ledger[CODES] = learner.labels.encode(labels)[0]
        ledger[ASIDE] = np.arange(source.n)
        norms = _norms(rows, ledger[ASIDE])
        learner.settle(float(np.median(norms[norms > 0])) if (norms > 0).any() else 1.0, float(norms.max()))
        for epoch in range(self.n_epochs):
            if self.shuffle:
                ledger[ASIDE] = random.permutation(source.n)
            learner.run(rows, ledger, ORDERED, 0, source.n)
            found = learner.gaps(rows, ledger[CODES])
            self.n_iter_ = epoch + 1
            if all(gap <= self.tol * max(1.0, abs(dual)) for gap, dual in found):
                break
        else:
            worst = max(gap for gap, _ in found)
            warnings.warn(
                f"n_epochs={self.n_epochs} passes left a certified gap of {worst:.3g}, above tol={self.tol} of the "
                "objective; raise n_epochs or tol",
                ConvergenceWarning,
                stacklevel=2,
            )
        self._install(learner)
        self.duality_gap_ = found[0][0] if len(found) == 1 else np.array([gap for gap, _ in found])
        return self

    def _pass(self, X: Any, y: ArrayLike, classes: ArrayLike | None, watch: bool = False) -> NDArray[Any]:
        answer = super()._pass(X, y, classes, watch)
        # A gap is known for the data of a whole fit only.
        self.__dict__.pop("duality_gap_", None)
        return answer

    @property
    def dual_objective_(self) -> Any:
        """A lower bound on the optimum over the examples so far."""
        duals = [machine.dual() for machine in self._fitted("dual_objective_").table.machines]
        return duals[0] if len(duals) == 1 else np.array(duals)

    @property
    def shape_(self) -> Any:
        """The matrix B, the constant feature (if any) first; one a class if there are more than two."""
        shapes = [machine.shape() for machine in self._fitted("shape_").table.machines]
        return shapes[0] if len(shapes) == 1 else np.array(shapes)

    def certified_gap(self, X: Any, y: ArrayLike) -> Any:
        """The duality gap over X and y; valid if they are what was learned, each row equally often."""
        core = self._learned()
        assert isinstance(core, EllipsoidLearner)
        source = self._source(X, core, learning=False)
        source.check()
        codes, fresh = core.labels.encode(self._check_labels(y, source))
        if fresh:
            raise ValueError(f"row {fresh[0][0]} of y holds the label {fresh[0][1]!r}, which was never learned")
        gaps = [gap for gap, _ in core.gaps(source.rows(0, source.n), codes)]
        return gaps[0] if len(gaps) == 1 else np.array(gaps)


def _parts(rows: Dense | CSR) -> tuple[NDArray[Any], ...]:
    """The arrays of the rows in one type for all inputs: the loop is compiled once, and O(n^2) a row hides the copy."""
    if isinstance(rows, Dense):
        return (np.ascontiguousarray(rows.X, dtype=np.float64),)
    kinds = (np.float64, np.int64, np.int64)
    arrays = (rows.data, rows.indices, rows.indptr)
    return tuple(np.ascontiguousarray(array, dtype=kind) for array, kind in zip(arrays, kinds, strict=True))


def _matrix(rows: Dense | CSR) -> Any:
    if isinstance(rows, Dense):
        return rows.X
    from scipy.sparse import csr_array

    base = rows.indptr[0]
    parts = (rows.data[base : rows.indptr[-1]], rows.indices[base : rows.indptr[-1]], rows.indptr - base)
    return csr_array(parts, shape=(len(rows.indptr) - 1, rows.width))


def _norms(rows: Dense | CSR, order: NDArray[np.int64]) -> Vector:
    """Lengths of rows, the constant feature left out."""
    X = _matrix(rows)
    if isinstance(rows, Dense):
        return np.sqrt(np.einsum("ij,ij->i", X, X, dtype=np.float64))[order]
    return np.sqrt(np.asarray(X.multiply(X).sum(axis=1), dtype=np.float64).ravel())[order]


def _quadratic(X: Any, bias: float | None, B: Matrix, chunk: int = 8192) -> Vector:
    """x'Bx of the rows, with a constant feature of size ``bias`` in front unless it is None."""
    out = np.empty(X.shape[0])
    core = B if bias is None else B[1:, 1:]
    for start in range(0, X.shape[0], chunk):
        part = X[start : start + chunk]
        image = part @ core
        inner = part.multiply(image).sum(axis=1) if hasattr(part, "multiply") else np.einsum("ij,ij->i", part, image)
        out[start : start + chunk] = np.asarray(inner).ravel()
        if bias is not None:
            out[start : start + chunk] += 2.0 * bias * (part @ B[1:, 0]) + bias**2 * B[0, 0]
    return out
