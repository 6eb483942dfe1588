"""A scaler in front of a learner, as one learner of a stream."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.exceptions import NotFittedError

from ellipsoid.certificates import Certificate
from ellipsoid.representation.table_protocol import Floats
from ellipsoid.streams.label_kinds import QUICK, refuse_masked

from . import persist
from .examples import row_of
from .interruption import without_interrupts
from .scalers import StandardStream
from .weights import around_zeros, present, present_some, weights_of


class Scaled(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """A scaler and a learner as one learner: it learns one example at a time, and is saved in one file.

    On a stream each row is scaled by what is known of the rows up to and including it, and then learned, so that no
    row profits from later ones and no cutting of the stream into calls changes the model. It is predicted, also by
    ``learn_predict``, as the rows before it scale it. ``fit`` does as a pipeline does: it scales all rows by the
    statistics of all.

    Parameters
    ----------
    learner : an online learner; it is cloned when learning starts
    scaler : ``StandardStream()`` (the default, None) or ``UnitNorm()``; cloned likewise
    random_state : the learner's seed in place of its own, unless None

    Attributes
    ----------
    learner_, scaler_
        The clones that have learned. ``coef_``, ``intercept_`` and the certificates speak of scaled features.

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

    def __init__(self, learner: Any, *, scaler: Any = None, random_state: Any = None) -> None:
        self.learner = learner
        self.scaler = scaler
        self.random_state = random_state

    # -- learning ----------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Forget everything, learn the scale of all rows, then make the learner's passes over them.

        Weights are the learner's: a row of any weight but 0 counts once for the scale.
        """
        learner, scaler = self._fresh()
        X, y, weight = present_some(learner, X, y, sample_weight)
        # Labels and widths are the learner's to judge, before anything is forgotten.
        learner.fit(scaler.fit(X).transform(X), y, **_if_any(weight))
        self._keep(learner, scaler)
        return self

    def partial_fit(
        self, X: Any, y: ArrayLike, classes: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """One pass in the given order, as the learner has it; broken off, both know the same rows."""
        X, y, weight = present(self.learner, X, y, sample_weight)
        if sample_weight is None or len(weight):
            self._pass(X, lambda learner, rows: learner.partial_fit(rows, y, classes=classes, **_if_any(weight)))
        return self

    def learn_predict(
        self, X: Any, y: ArrayLike, classes: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> NDArray[Any]:
        """``partial_fit`` that returns the label predicted for each row before scaler and learner had learned it."""
        return around_zeros(self, X, X, y, classes, sample_weight)

    def _learn_predict_present(
        self, shown: Any, X: Any, y: ArrayLike, classes: ArrayLike | None, weight: Floats
    ) -> NDArray[Any]:
        def learn(learner: Any, both: tuple[Any, Any]) -> Any:
            if both[0] is both[1]:
                return learner.learn_predict(both[1], y, classes=classes, **_if_any(weight))
            return learner._learn_predict(*both, y, classes, weight if len(weight) else None)

        # Features that a first row brings are left out of what is predicted of it, and so of its scale.
        first = self.predict(X[:1])[0] if self._brings_features(X) else None
        answer: NDArray[Any] = self._pass(X, learn, watch=True)
        if first is not None:
            answer[0] = first
        return answer

    def learn_one(self, x: Any, y: Any, weight: float = 1.0) -> Self:
        """Learn one example, which counts ``weight``: a 1-D array, a dict of feature name to value, or a sparse row."""
        if weight != 1.0:
            if weights_of([weight], 1)[0] == 0.0:
                return self
        elif type(x) is dict and self._learn_named(x, y):
            return self
        own = {} if weight == 1.0 else {"weight": weight}
        if isinstance(x, dict):
            row, columns = self._named(x)

            def learn(learner: Any, scaled: Any) -> None:
                learner.learn_one(_values(x, columns, scaled), y, **own)

            self._pass(row, learn, growing=True)
        else:
            self._pass(_row(x), lambda learner, rows: learner.learn_one(_single(rows), y, **own))
        return self

    def _learn_named(self, x: dict[Any, Any], y: Any) -> bool:
        """Learn a dict of known names and label by prepared calls; False if this is not one."""
        fast = self._filled(x)
        if fast is None or type(y) not in QUICK or y not in fast.index:
            return False
        core, scaler = self.learner_._core, self.scaler_
        fast.code[0] = fast.index[y]
        rounds, before = core.rounds, scaler.remember_columns(fast.indices[: fast.ends[1]])
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

    def _filled(self, x: dict[Any, Any]) -> Any:
        """The learner's prepared call with the example, not scaled yet, in its buffer; None where it has none."""
        if not (self.__sklearn_is_fitted__() and self.scaler_.scales_in_place):
            return None
        core = self.learner_._core
        fast = core.named or core.named_row()
        return fast if fast is not None and fast.fill(x) else None

    def _pass(self, X: Any, learn: Any, growing: bool = False, watch: bool = False) -> Any:
        """Scale and learn; rows that the learner has not learned the scaler has not seen either."""
        started = self.__sklearn_is_fitted__()
        learner, scaler = (self.learner_, self.scaler_) if started else self._fresh()
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
            answer = learn(learner, scaler.learn_transform_both(X) if watch else scaler.learn_transform(X))
            self._keep(learner, scaler)
        except BaseException:
            without_interrupts(learned)
            raise
        return answer

    def _fresh(self) -> tuple[Any, Any]:
        learner, scaler = self._seeded(), StandardStream() if self.scaler is None else clone(self.scaler)
        if getattr(learner, "grow_features", False):
            scaler.grow_features = True
        return learner, scaler

    def _seeded(self) -> Any:
        """A new learner, with the seed that it is to have."""
        learner = clone(self.learner)
        return learner if self.random_state is None else learner.set_params(random_state=self.random_state)

    def _keep(self, learner: Any, scaler: Any) -> None:
        kept = {"learner_": learner, "scaler_": scaler, "n_features_in_": learner.n_features_in_}
        if hasattr(scaler, "feature_names_in_"):
            kept["feature_names_in_"] = scaler.feature_names_in_
        # At once: an interrupt must not find the one without the other.
        self.__dict__.update(kept)

    # -- prediction --------------------------------------------------------------------------------------------

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Scores of the learner for the scaled rows."""
        scores: NDArray[np.float64] = self._learned_pair()[0].decision_function(self._scaled(X))
        return scores

    def predict(self, X: Any) -> NDArray[Any]:
        """Labels of the learner for the scaled rows."""
        labels: NDArray[Any] = self._learned_pair()[0].predict(self._scaled(X))
        return labels

    def predict_one(self, x: Any) -> Any:
        """The label predicted for one example."""
        learner, scaler = self._learned_pair()
        fast = self._filled(x) if type(x) is dict else None
        if fast is not None:
            scaler.scale_in_place(fast.data, fast.indices, fast.ends, learn=False)
            core = learner._core
            code = fast.predict_averaged(core) if core.average else fast.decide(*fast.decide_args)
            if code >= 0:
                return fast.values[code]
        if isinstance(x, dict):
            known = {name: value for name, value in x.items() if name in (learner._core.features or {})}
            row, columns = self._named(known)
            return learner.predict_one(_values(known, columns, scaler.transform(row)) if known else {})
        return learner.predict_one(_single(self._scaled(_row(x))))

    def _scaled(self, X: Any) -> Any:
        scaler = self._learned_pair()[1]
        if self._brings_features(X):
            X = X[:, : scaler.n_features_in_]  # features that were never met have no weight
        return scaler.transform(X)

    def _brings_features(self, X: Any) -> bool:
        """Is there a row, in an array that can be sliced, with features that were never met?"""
        arrays = isinstance(X, np.ndarray) or getattr(X, "format", "") in ("csr", "csc", "lil", "dok")
        if not (arrays and X.ndim == 2 and X.shape[0] and self.__sklearn_is_fitted__()):
            return False
        return bool(self.scaler_.grow_features and X.shape[1] > self.scaler_.n_features_in_)

    def _named(self, x: dict[Any, Any]) -> tuple[Any, dict[Any, int]]:
        core = self.learner_._core if self.__sklearn_is_fitted__() else None
        if core is not None and core.features is None:
            raise ValueError("this learner was started on arrays; give x as an array, or start a new one on dicts")
        known = {} if core is None else core.features
        row, fresh = row_of(x, known)
        return row, {name: known[name] if name in known else fresh[name] for name in x}

    # -- what was learned --------------------------------------------------------------------------------------

    def _learned_pair(self) -> tuple[Any, Any]:
        if not self.__sklearn_is_fitted__():
            raise NotFittedError(f"This {type(self).__name__} has learned nothing yet; call fit or partial_fit")
        return self.learner_, self.scaler_

    def __sklearn_is_fitted__(self) -> bool:
        return "learner_" in self.__dict__

    def __getattr__(self, name: str) -> Any:
        # classes_, coef_, t_, mistakes_, version_space_, ...: what the learner has learned.
        if name.endswith("_") and not name.startswith("_") and "learner_" in self.__dict__:
            return getattr(self.__dict__["learner_"], name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def certificates(self, comparator: ArrayLike | None = None) -> list[Certificate]:
        """The learner's bounds, for the stream of scaled rows that it saw."""
        bounds: list[Certificate] = self._learned_pair()[0].certificates(comparator)
        return bounds

    def save(self, path: Any) -> None:
        """Write scaler and learner to one file that ``ellipsoid.load`` reads."""
        self._learned_pair()
        persist.save(self, path)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.multi_label = self.learner.__sklearn_tags__().classifier_tags.multi_label
        return tags


def _row(x: Any) -> Any:
    if hasattr(x, "tocsr"):
        return (x.reshape(1, -1) if x.ndim == 1 else x).tocsr()
    refuse_masked(x, "x")
    array = np.asarray(x)
    if array.ndim != 1:
        raise ValueError(f"x must be one example (1-D), got shape {array.shape}; use partial_fit for several rows")
    return array.reshape(1, -1)


def _if_any(weight: Floats) -> dict[str, Floats]:
    return {"sample_weight": weight} if len(weight) else {}


def _single(rows: Any) -> Any:
    return rows if hasattr(rows, "tocsr") else rows[0]


def _values(x: dict[Any, Any], columns: dict[Any, int], scaled: Any) -> dict[Any, float]:
    values = dict(zip(scaled.indices.tolist(), scaled.data.tolist(), strict=True))
    return {name: values[columns[name]] for name in x}
