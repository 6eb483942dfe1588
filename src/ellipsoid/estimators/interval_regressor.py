"""Intervals that hold every future number while a stated assumption holds; and proof where it does not."""

from math import inf
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from ellipsoid.certificates import Certificate
from ellipsoid.ellipsoids import state as slots
from ellipsoid.engine import NO_WEIGHTS
from ellipsoid.representation.table_protocol import Floats
from ellipsoid.rules import cellip
from ellipsoid.rules.slab import SlabRule

from .inputs.frames import table_of
from .inputs.rows import RowSource
from .inputs.weights import learn_between_zero_weights
from .parameters.declaration import declared
from .parameters.validation import LARGEST_SIZE, one_of, positive
from .shell.regression import NumberLearner, OnlineRegressor
from .slabs import POLICIES, CutBySlabs, VersionSpaceAttributes, half_widths, interval, refuse_words


class SlabLearner(CutBySlabs, NumberLearner):
    """A learner of numbers that keeps every function which fits."""

    score_columns = 2

    @property
    def learns_single_rows(self) -> bool:
        """Not by a rule that halts: the ellipsoid must be looked at after each row."""
        return bool(self.rule.policy < cellip.RESTART)

    def scalars(self) -> dict[str, Any]:
        return {**super().scalars(), "form": self.table.form_name}  # type: ignore[attr-defined]

    def restore_table(self, scalars: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        self.table.check(arrays, scalars["form"])  # type: ignore[attr-defined]
        self.table.restore(arrays)


@declared
class IntervalRegressor(VersionSpaceAttributes, OnlineRegressor):
    """Bounded-error regression: an ellipsoid with every function that fits all rows to within the noise.

    The assumption: some u with ``|u|`` <= ``radius`` has ``|y - <u, x>|`` <= ``noise`` on every row; with a
    ``drift``, u may move by at most that much from row to row. Then every single interval of ``predict_interval``
    holds its number, even if an adversary chooses the rows. If rows contradict the assumption, this is proved: see
    ``infeasible_round_`` and ``changes_``. Nothing is assumed about the distribution of rows or noise.

    Intervals widen with the number of features: with ten they may be twice as wide as the noise, with twenty three
    times. Use it where the noise is known, as for sensors with a data sheet, tolerances and budgets; otherwise use
    ``Conformal``.

    Parameters
    ----------
    noise : float
        The largest difference between a number and the function.
    radius : float
        The largest length of the function.
    drift : float
        The most that the function moves between two rows.
    on_infeasible : {"skip", "freeze", "restart", "raise"}
        After a proof that no function fits: skip that row, stop learning, start again, or raise
        :class:`~ellipsoid.EmptyVersionSpace`, a ``ValueError``.

    Examples
    --------
    >>> from ellipsoid import IntervalRegressor, datasets
    >>> X, y = datasets.stream("walk", rows=500)
    >>> model = IntervalRegressor(noise=0.1, drift=0.005, fit_intercept=False)
    >>> predicted, low, high = model.learn_predict_interval(X, y)
    >>> bool(((low <= y) & (y <= high)).all()), model.infeasible_
    (True, 0)

    References
    ----------
    Fogel and Huang, "On the value of information in system identification: bounded noise case", Automatica 18 (1982);
    Bland, Goldfarb and Todd, "The ellipsoid method: a survey", Operations Research 29 (1981).
    """

    _counts_features = True  # they are dimensions of the ellipsoid

    noise: float = 0.1
    radius: float = 1.0
    drift: float = 0.0
    on_infeasible: str = "skip"

    def _start(self) -> SlabLearner:
        if self.average:
            raise ValueError("average must be False, because the mean of centres need not lie in the ellipsoid")
        noise = positive("noise", self.noise, zero=True)
        drift = positive("drift", self.drift, zero=True, most=LARGEST_SIZE)
        policy = one_of("on_infeasible", self.on_infeasible, POLICIES)
        rule = SlabRule(inf, noise, drift, positive("radius", self.radius, most=LARGEST_SIZE), policy)
        learner = SlabLearner(rule, intercept=self._constant, average=False)
        learner.tube = noise
        return learner

    def _source(self, X: Any, core: Any, learning: bool = True) -> RowSource:
        if core is None:
            refuse_words(X)
        return super()._source(X, core, learning)

    # -- intervals ---------------------------------------------------------------------------------------------

    def predict_interval(self, X: Any) -> NDArray[np.float64]:
        """The low and the high end between which each row's number lies."""
        return self._interval(X, self._learned().rule.reach)

    def function_interval(self, X: Any) -> NDArray[np.float64]:
        """The same for the function itself, without noise."""
        return self._interval(X, 0.0)

    def predict_interval_one(self, x: Any) -> tuple[float, float]:
        """The interval of one example."""
        low, high = self.predict_interval(self._one_row(x)[0])[0].tolist()
        return low, high

    def _interval(self, X: Any, noise: float) -> NDArray[np.float64]:
        core = self._learned()
        centre, table = self.predict(X), core.table
        out = np.empty((len(centre), 2))
        source = self._source(X, core, learning=False)
        for start, stop in source.blocks():
            half = half_widths(table, source, start, stop, core.rule.drift)
            out[start:stop, 0], out[start:stop, 1] = interval(centre[start:stop], half, noise)
        return out

    def learn_predict_interval(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> tuple[Floats, Floats, Floats]:
        """``partial_fit`` that returns for each row the number predicted before, and the ends of its interval."""

        def learn(model: IntervalRegressor, _shown: Any, X: Any, y: Any, _classes: None, weight: Floats) -> Any:
            halves: list[Floats] = []

            def keep_half_widths(_learner: Any, scores: Floats, _values: Any) -> None:
                halves.append(scores[:, 1].copy())

            own = weight if len(weight) else None
            predicted = model._pass(X, y, None, watch=keep_half_widths, sample_weight=own)
            centre = model._cast_predictions(predicted)
            return np.stack([centre, *interval(centre, np.concatenate(halves), model._core.rule.reach)], axis=1)

        def ask(model: IntervalRegressor, row: Any, _number: Any) -> Any:
            if model.__sklearn_is_fitted__():
                return (model.predict(row)[0], *model.predict_interval(row)[0])
            # The prediction does not depend on the number that a copy learns after it.
            return learn(clone(model), row, row, [0.0], None, NO_WEIGHTS)[0]

        X = table_of(X)
        rows = X, X, y, None, sample_weight
        centre, low, high = np.array(learn_between_zero_weights(self, rows, learn, ask)).T.copy()
        return centre, low, high

    # -- what was learned --------------------------------------------------------------------------------------

    def certificates(self, comparator: ArrayLike | None = None) -> list[Certificate]:
        """Rows outside their interval: none, unless the assumption is wrong."""
        core = self._learned()
        if comparator is not None:
            raise ValueError("the bound of an IntervalRegressor needs no comparator; comparator must be None")
        rule, proof = core.rule, self.infeasible_round_
        moved = f", moving by at most {rule.drift:g} a row," if rule.drift else ""
        condition = f"a function of norm at most {rule.radius:g}{moved} is never off by more than {rule.reach:g}"
        condition = condition if proof is None else f"refuted in round {proof}: that {condition}"
        bound = 0.0 if proof is None else inf
        return [Certificate("rows outside their interval", float(core.table.numbers[slots.OUTSIDE]), bound, condition)]
