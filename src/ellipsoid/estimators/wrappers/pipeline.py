"""A scaler in front of a learner, as one learner of a stream."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg.blas import ddot
from sklearn.base import clone
from sklearn.utils.metaestimators import available_if

from ellipsoid.engine import NO_WEIGHTS
from ellipsoid.engine.rows import HUGE
from ellipsoid.representation.table_protocol import Floats
from ellipsoid.streams.label_kinds import LABEL_TYPES

from ..inputs.examples import Encoded, are_named, checked_name, encoded, is_named, one_row, rows_of
from ..inputs.frames import refuse_columns
from ..inputs.row_numbers import row_numbers_before_dropping
from ..inputs.weights import drop_zero_weights, weight_argument
from ..state.interruption import without_interrupts
from ..state.new_names import learn_with_new_names
from ..state.one_row import filled_row
from ..state.one_thread import one_thread_at_a_time
from ..state.predict_then_learn import Observer
from .scalers import SCALES, Scaler, StandardStream
from .wrapper import Wrapper


class Scaled(Wrapper):
    """A scaler and a learner as one learner: it learns one example at a time, and is saved in one file.

    On a stream each row is scaled by the statistics of the rows up to and including it, and then learned. So no row
    profits from later ones, and the model does not depend on how the stream is cut into calls. Predictions, also those
    of ``learn_predict``, scale a row by the rows before it. ``fit`` works like a pipeline: it scales all rows by the
    statistics of all rows.

    Parameters
    ----------
    learner : an online learner; it is cloned when learning starts
    scaler : ``StandardStream()`` (the default, None) or ``UnitNorm()``; cloned likewise
    random_state : the learner's seed in place of its own, unless None

    Attributes
    ----------
    learner_, scaler_
        The clones that have learned. ``coef_``, ``intercept_`` and the certificates are about scaled features.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from ellipsoid import MIRA, Scaled
    >>> X, y = load_wine(return_X_y=True)
    >>> bool(Scaled(MIRA()).partial_fit(X[::2], y[::2]).score(X[1::2], y[1::2]) > 0.9)
    True
    >>> bool(MIRA().partial_fit(X[::2], y[::2]).score(X[1::2], y[1::2]) > 0.9)
    False
    """

    _companion = "scaler_"

    def __init__(self, learner: Any, *, scaler: Any = None, random_state: Any = None) -> None:
        self.learner = learner
        self.scaler = scaler
        self.random_state = random_state

    # -- learning ----------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Forget everything, learn the scale of all rows, then make the learner's passes over them.

        Weights are for the learner: for the scale each row counts once, unless its weight is 0.
        """
        learner, scaler = self._fresh()
        X, y, weight = drop_zero_weights(learner, X, y, sample_weight, must_keep_some=True)
        X, names = rows_of(X, {}) if are_named(X) else (X, None)
        # The learner checks labels and widths before anything is forgotten.
        with row_numbers_before_dropping(sample_weight):
            learner.fit(scaler.fit(X).scaled(X), y, **weight_argument(weight))
        learner._core.name(names)
        self._keep(learner, scaler)
        return self

    def _learn_predict_positive(self, shown: Any, X: Any, y: Any, classes: Any, weight: Floats) -> NDArray[Any]:
        return self._learn_rows(X, y, classes, weight, watch=True)

    def _learn_rows(self, X: Any, y: Any, classes: Any, weight: Floats, watch: bool | Observer = False) -> Any:
        return self._learn_named_rows(*self._unnamed(X), y, classes, weight, watch)

    def _learn_named_rows(
        self, X: Any, names: dict[Any, int] | None, y: Any, classes: Any, weight: Floats, watch: bool | Observer
    ) -> Any:
        """Scale and learn rows that bring features of these names; ``watch`` as ``_pass`` of a learner takes it."""
        early = bool(watch) or self._needs_early_rows

        def learn(learner: Any, scaled: Any) -> Any:
            if not early and names is None:
                return learner.partial_fit(scaled, y, classes=classes, **weight_argument(weight))
            shown, rows = scaled if early else (None, scaled)
            shown = None if shown is rows else shown
            return learner._pass(rows, y, classes, watch=watch, shown=shown, names=names, **weight_argument(weight))

        return self._scale_and_learn(X, learn, growing=names is not None, early=early)

    def _learn_quickly(self, x: Any, y: Any) -> bool:
        """Learn a dict of known names and label by prepared calls; False if this is not one."""
        core = self.learner_._core if type(x) is dict and self.__sklearn_is_fitted__() else None
        if core is None or type(y) not in LABEL_TYPES or y not in core.labels.index:
            return False
        fast, scaler = self._filled(x), self.scaler_
        if fast is None:
            return scaler.scales_in_place and self._learn_new_names(x, y)
        fast.code[0] = fast.index[y]
        rounds, before = core.rounds, scaler.remember(None, fast.indices[: fast.ends[1]].copy())
        try:
            scaler.scale_in_place(fast.data, fast.indices, fast.ends, learn=True)
            learned: bool = fast.learn(*fast.learn_args) == 1
        except BaseException:
            if core.rounds == rounds:
                without_interrupts(lambda: scaler.recall(before))
            raise
        if not learned:
            scaler.recall(before)
        return learned

    @one_thread_at_a_time
    def _learn_new_names(self, x: Any, y: Any) -> bool:
        """The same for a dict with new names, for which the scaler needs room too."""
        return learn_with_new_names(self.learner_, x, lambda: self._learn_quickly(x, y), self.scaler_)

    @one_thread_at_a_time
    def _learn_example(self, x: Any, y: Any, weight: float) -> None:
        own = {} if weight == 1.0 else {"weight": weight}
        named, early = is_named(x), self._needs_early_rows
        if named:
            x = encoded(x)
        row, columns = self._named(x) if named else (one_row(x, self._features, self)[0], {})

        def example(rows: Any) -> Any:
            return _values(x, columns, rows) if named else _single(rows)

        def learn(learner: Any, scaled: Any) -> None:
            if early:
                shown, learned = map(example, scaled)
                learner._learn_shown(shown, learned, y, **own)
            else:
                learner.learn_one(example(scaled), y, **own)

        self._scale_and_learn(row, learn, growing=named, early=early)

    @property
    def _needs_early_rows(self) -> bool:
        """Does the learner always need rows as they were scaled before the scaler knew them?"""
        return getattr(self._current_learner, "_needs_early_rows", False)

    @one_thread_at_a_time
    def _learn_observed(
        self, X: Any, y: ArrayLike, classes: ArrayLike | None, observer: Observer, sample_weight: Floats = NO_WEIGHTS
    ) -> None:
        """``partial_fit`` that shows to ``observer`` the scores of every row before it was learned."""
        self._learn_rows(X, y, classes, sample_weight, watch=observer)

    def _learn_one_observed(self, x: Any, y: Any, observer: Observer, weight: float = 1.0) -> None:
        row, names = one_row(x, self._features, self)
        own = NO_WEIGHTS if weight == 1.0 else np.array([weight])
        self._learn_named_rows(row, names if is_named(x) else None, [y], None, own, observer)

    def _filled(self, x: dict[Any, Any], known_only: bool = False) -> Any:
        """The learner's prepared call with the example, not scaled yet, in its buffer; None where it has none."""
        if not (self.__sklearn_is_fitted__() and self.scaler_.scales_in_place):
            return None
        core = self.learner_._core
        fast = filled_row(core, x, known_only)
        if fast is None:
            return None
        fast.in_buffer = None  # it is about to be scaled
        # Rows are refused by their size before they are scaled: the long way does it. NumPy would warn of an overflow.
        return fast if ddot(fast.data, fast.data, fast.ends[1]) < HUGE else None

    def _scale_and_learn(self, X: Any, learn: Any, growing: bool, early: bool) -> Any:
        """Scale and learn; rows that the learner has not learned the scaler has not seen either.

        ``growing``: features have names, and rows may bring some. ``early``: ``learn`` is also given each row as it was
        scaled before it was known.
        """
        started = self.__sklearn_is_fitted__()
        learner, scaler = (self.learner_, self.scaler_) if started else self._fresh()
        if not started:
            self._knowing_labels(learner)
        if growing:
            scaler.grow_features = True
        before, seen = (scaler.remember(X), learner.t_) if started else (None, 0)

        def learned() -> None:
            """Let the scaler know the rows that the learner knows."""
            count = getattr(learner, "t_", 0) - seen
            agreed = scaler
            if before is not None:
                scaler.recall(before)
            elif count:
                agreed = self._fresh()[1]
                agreed.grow_features = scaler.grow_features
            if count:
                agreed.again(X, count)
                self._keep(learner, agreed)

        try:
            scaled = scaler.learn_transform_both(X, growing) if early else scaler.learn_transform(X)
            answer = learn(learner, scaled)
            self._keep(learner, scaler)
        except BaseException:
            without_interrupts(learned)
            raise
        return answer

    def _new_scaler(self) -> Any:
        return StandardStream() if self.scaler is None else clone(self.scaler)

    def _fresh(self) -> tuple[Any, Any]:
        if not isinstance(self.scaler, Scaler | None):
            raise ValueError(f"scaler must be StandardStream() or UnitNorm(), got {self.scaler!r}")
        learner, scaler = self._seeded(), self._new_scaler()
        if isinstance(learner, Scaled):
            raise ValueError(f"{learner!r} is already in Scaled, which scales only once: give it the learner inside")
        if isinstance(learner, Wrapper):
            kind = type(learner).__name__
            raise ValueError(f"Scaled must be inside {kind}: write {kind}(Scaled(learner))")
        if not hasattr(learner, "_learn_observed"):
            taken = "Scaled takes an online learner of this library; for others use scikit-learn's"
            raise ValueError(f"{taken} make_pipeline; got {learner!r}")
        if any(hasattr(member, "scaler") for member in getattr(learner, "learners", None) or ()):
            raise ValueError(
                "Scaled scales for all members of a Committee: give the Committee learners that are not in Scaled"
            )
        if getattr(learner, "grow_features", False):
            scaler.grow_features = True
        return learner, scaler

    # -- prediction --------------------------------------------------------------------------------------------

    @available_if(lambda self: hasattr(self._current_learner, "decision_function"))
    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Scores of the learner for the scaled rows."""
        return self._learned().decision_function(self._scaled(X))

    def _decision_of_one(self, x: Any) -> NDArray[np.float64]:
        learner, scaler = self._learned(), self.scaler_
        if is_named(x):
            known = self._known_part(x)
            row, columns = self._named(known)
            return learner._decision_of_one(_values(known, columns, scaler.scaled(row)))
        return self.decision_function(one_row(x, self._features, self)[0])

    def predict(self, X: Any) -> NDArray[Any]:
        """Labels of the learner for the scaled rows."""
        return self._learned().predict(self._scaled(X))

    def predict_one(self, x: Any) -> Any:
        """The label predicted for one example."""
        learner, scaler = self._learned(), self.scaler_
        fast = self._filled(x, known_only=True) if type(x) is dict else None
        if fast is not None:
            scaler.scale_in_place(fast.data, fast.indices, fast.ends, learn=False)
            core = learner._core
            code = fast.predict_averaged(core) if core.average else fast.decide(*fast.decide_args)
            if code >= 0:
                return core.answer(code, fast)
        if is_named(x):
            known = self._known_part(x)
            row, columns = self._named(known)
            return learner.predict_one(_values(known, columns, scaler.scaled(row)) if known else {})
        return learner.predict_one(_single(self._scaled(one_row(x, self._features, self)[0])))

    def _known_part(self, x: dict[Any, Any]) -> dict[Any, Any]:
        """The features of an example that are known from earlier rows."""
        features = self.learner_._core.features or {}
        known = encoded(x)
        if type(known) is not Encoded:
            known = {checked_name(name): value for name, value in known.items()}
        return Encoded((name, value) for name, value in known.items() if name in features)

    def _scaled(self, X: Any) -> Any:
        # Features that no row has had yet have no weight.
        return self.scaler_.scaled(self._unnamed(X)[0], known_only=True)

    def _unnamed(self, X: Any) -> tuple[Any, dict[Any, int] | None]:
        """Rows in place of a list of dicts, and the columns of the names that they bring; None where X is no such."""
        if not are_named(X):
            refuse_columns(X, self._features if self.__sklearn_is_fitted__() else None)
            return X, None
        return rows_of(X, self._features)

    @property
    def _features(self) -> dict[Any, int] | None:
        """The columns of names in dicts; None where arrays are learned."""
        return self.learner_._core.features if self.__sklearn_is_fitted__() else {}

    def _named(self, x: dict[Any, Any]) -> tuple[Any, dict[Any, int]]:
        known = self._features
        if known is None:
            raise ValueError("this learner was started on arrays; give x as an array, or start a new one on dicts")
        row, fresh = rows_of([x], known)
        return row, {name: known[name] if name in known else fresh[name] for name in x}

    # -- what was learned --------------------------------------------------------------------------------------

    @property
    def feature_names_in_(self) -> Any:
        """The names of the columns, where rows came in a frame; they are kept by the scaler."""
        if not self.__sklearn_is_fitted__():
            raise AttributeError("Scaled has no feature_names_in_ before it has learned something")
        return self.scaler_.feature_names_in_


def scaled_as(learner: Any, scale: str | None) -> Any:
    """The learner behind a scaler of `SCALES`; for None, or "none", the learner itself."""
    return learner if scale in (None, "none") else Scaled(learner, scaler=SCALES[scale]())


def _single(rows: Any) -> Any:
    return rows if hasattr(rows, "tocsr") else rows[0]


def _values(x: dict[Any, Any], columns: dict[Any, int], scaled: Any) -> Encoded:
    values = dict(zip(scaled.indices.tolist(), scaled.data.tolist(), strict=True))
    return Encoded((name, values[columns[name]]) for name in x if columns[name] in values)
