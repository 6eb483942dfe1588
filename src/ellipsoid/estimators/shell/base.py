"""The scikit-learn estimator that every online learner is a subclass of; a subclass adds parameters and a rule."""

from collections.abc import Callable
from dataclasses import field
from functools import partial
from threading import get_ident
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_feature_names, validate_data

from ellipsoid.certificates import Certificate
from ellipsoid.engine import NO_WEIGHTS
from ellipsoid.engine.tasks import CODES, ORDER, ORDERED, PLAIN
from ellipsoid.representation.table_protocol import Floats
from ellipsoid.streams.label_kinds import LABEL_DTYPE_KINDS, LABEL_TYPES, label_array, refuse_masked

from ..files import saving
from ..inputs import checks, weights
from ..inputs.checks import LabelArray
from ..inputs.examples import are_named, is_named, one_row, rows_of
from ..inputs.frames import frame_rows, refuse_columns, refuse_unnamed_columns, table_of, word_columns
from ..inputs.labels import Classifier, Codes, cast_labels
from ..inputs.row_numbers import add_progress_note, original_row_numbers, row_numbers_before_dropping
from ..inputs.rows import RowSource, check_memory, flaw_message
from ..parameters.declaration import declared
from ..parameters.shared import OnlineParameters
from ..parameters.validation import check_flags, check_kinds, comparator_rows, is_count
from ..state.interruption import LearnerMark, without_interrupts
from ..state.learner import NO_LABELS, Learner
from ..state.new_names import learn_with_new_names
from ..state.observable import Observable
from ..state.one_row import FLOAT64, of_this_thread
from ..state.one_thread import learn_row_alone, one_thread_at_a_time
from ..state.predict_then_learn import Observer, predict_without_new_features
from .early_stopping import HeldOut, Patience, hold_out
from .learned_attributes import LearnedAttributes
from .predictions import Predictions


@declared
class OnlineClassifier(Observable, Predictions, LearnedAttributes, OnlineParameters, Classifier, BaseEstimator):
    """What every online learner can do. Parameters are read when learning starts: by ``fit`` or the first example."""

    _core: Learner = field(init=False)
    _multilabel: ClassVar[bool] = False
    # Does what is learned depend on how many columns a row has, empty ones included? A number n: only beyond n columns.
    _counts_features: ClassVar[bool | int] = False

    # -- what a subclass gives ---------------------------------------------------------------------------------

    def _start(self) -> Learner:
        """A new learner for the parameters, or ``ValueError`` for a bad one."""
        raise NotImplementedError

    def _bounds(self, learner: Learner, comparator: NDArray[np.float64]) -> list[Certificate]:
        """Certificates of this algorithm against a comparator (one row per score, the constant feature first)."""
        raise NotImplementedError

    def _weighs(self, learner: Learner) -> bool:
        """Does the step of a row depend on its weight? If not, only the weights 0 and 1 are taken."""
        return False

    def _new_learner(self) -> Learner:
        """A new learner, after a check that the parameters are valid and can be written to a file."""
        parameters = self.get_params(deep=False)
        check_kinds(parameters)
        check_flags(self)
        learner = self._start()
        learner.class_weight = weights.class_weight_of(parameters.get("class_weight"))
        for name, value in parameters.items():
            if isinstance(value, float) and value != value:
                raise ValueError(f"{name} must be a number, got {value!r}")
        return learner

    # -- learning ----------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Forget everything, then make ``n_epochs`` passes, each in a new random order if ``shuffle``.

        ``sample_weight``: the weight of each row, 1 by default; rows of weight 0 are left out. If ``fit`` raises or is
        interrupted, the model stays as it was before.
        """
        before = self.__dict__.copy()
        try:
            rows = weights.drop_zero_weights(self, X, y, sample_weight, must_keep_some=True)
            with row_numbers_before_dropping(sample_weight):
                learned, held = hold_out(self, *rows)
                with original_row_numbers(lambda: held and held.order):
                    self._fit(*learned, held)
            self.__dict__.pop("stream_", None)  # it belonged to what is forgotten
        except BaseException:
            without_interrupts(lambda: self._restore_attributes(before))
            raise
        return self

    def _fit(self, X: Any, y: ArrayLike, weight: Floats, held: HeldOut | None) -> None:
        if not is_count(self.n_epochs):
            raise ValueError(f"n_epochs must be a positive integer, got {self.n_epochs!r}")
        learner = self._new_learner()
        random = check_random_state(self.random_state)
        X, names = rows_of(X, {}) if are_named(X) else (X, None)
        source = self._source(X, None)
        labels = self._targets(y, source.n)
        learner.check_learning(source)
        known = checks.all_labels(learner, labels)
        weight = weights.times_class_weight(weight, labels, learner.class_weight, None)
        learner.row_weights = weights.weights_for_loop(weight, self, learner)
        self._note_names(X, reset=True)
        _make_room(learner, source, labels, known, names)
        held = held and held.known_to(self, learner)
        ledger = np.empty((2 if self.shuffle else 1, source.n), dtype=np.int64)
        if not learner.multilabel:
            ledger[CODES] = learner.encode(labels)[0]
        sets = labels if learner.multilabel else NO_LABELS
        rows, mode = source.rows(0, source.n), ORDERED if self.shuffle else PLAIN

        def make_pass() -> None:
            if self.shuffle:
                ledger[ORDER] = random.permutation(source.n)
            learner.run(rows, ledger, mode, 0, source.n, sets)

        self._make_passes(learner, rows, ledger[CODES], make_pass, held)
        if learner.class_weight == "balanced":
            values, counts = np.unique(labels, return_counts=True)
            counts *= learner.rounds // source.n
            learner.counted = dict(zip(values.tolist(), counts.tolist(), strict=True)), learner.rounds, []
        learner.row_weights = NO_WEIGHTS
        self._install(learner)

    def _targets(self, y: Any, rows: int) -> LabelArray:
        """The targets of the rows, checked: a label each, or a set of labels."""
        return checks.labels_of(y, rows, sets=self._takes_sets)

    def _make_passes(
        self, learner: Any, rows: Any, codes: Codes, make_pass: Callable[[], None], held: HeldOut | None
    ) -> None:
        """Make the passes of ``fit``: ``n_epochs``, or fewer with early stopping."""
        patience = Patience(self.tol, self.n_iter_no_change)
        for epoch in range(self.n_epochs):
            make_pass()
            self.n_iter_ = epoch + 1
            if held is not None and patience.is_over(held.score(learner)):
                break

    def _restore_attributes(self, before: dict[str, Any]) -> None:
        """Go back to attributes that were saved."""
        self.__dict__ = before.copy()

    def _install(self, learner: Learner) -> None:
        self._core = learner
        if not learner.started:
            learner.started = self.get_params(deep=False)
            if learner.class_weight is not None:
                learner.started["class_weight"] = learner.class_weight
        self.n_features_in_ = learner.width

    def partial_fit(
        self, X: Any, y: ArrayLike, classes: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """One pass in the given order. A new label adds a class, unless ``classes`` were fixed.

        ``classes``, on the first call, fixes the labels and their order; on a later call it must hold the known labels,
        in any order, and from then on no other label is learned. ``sample_weight``: the weight of each row. After an
        interrupt, or an error in the middle, the model is that of its first ``t_`` rows.
        """
        plain = classes is None and sample_weight is None and "_core" in self.__dict__
        if plain and type(X) is np.ndarray and X.ndim == 2 and len(X) == 1:
            label = y if type(y) is np.ndarray else label_array(y)
            if label.shape == (1,) and label.dtype.kind in LABEL_DTYPE_KINDS and self._learn_row(X[0], label.item()):
                return self
        self._pass(X, y, classes, sample_weight=sample_weight)
        return self

    def learn_predict(
        self, X: Any, y: ArrayLike, classes: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> LabelArray:
        """``partial_fit`` that returns for each row what ``predict`` would have returned before the row was learned.

        Averages and votes predict as averages and votes. Where no label was known yet it is None, for a regressor 0.
        """
        return self._learn_predict(X, X, y, classes, sample_weight)

    def _learn_predict(
        self, shown: Any, X: Any, y: ArrayLike, classes: ArrayLike | None, sample_weight: ArrayLike | None = None
    ) -> LabelArray:
        """Learn the rows of X, and predict each from the same row of ``shown``, which has the same shape and type."""
        return weights.learn_predict_any_weight(self, shown, X, y, classes, sample_weight)

    def _learn_predict_positive(self, shown: Any, X: Any, y: ArrayLike, classes: Any, weight: Floats) -> LabelArray:
        """The same where no weight is 0; an empty ``weight`` means that each is 1."""
        given = weight if len(weight) else None
        return self._pass(X, y, classes, watch=True, shown=None if shown is X else shown, sample_weight=given)

    @one_thread_at_a_time
    def _pass(
        self, X: Any, y: ArrayLike, classes: ArrayLike | None, watch: bool | Observer = False, shown: Any = None,
        names: dict[Any, int] | None = None, sample_weight: ArrayLike | None = None,
    ) -> LabelArray:  # fmt: skip
        X, y, weight = weights.drop_zero_weights(self, X, y, sample_weight)
        if sample_weight is not None and len(weight) == 0:
            weights.declare_classes(self, classes)
            return np.empty(0)
        core = self.__dict__.get("_core")
        if core is None:
            classes = weights.classes_declared_before(self, classes)
        if are_named(X):
            X, names = rows_of(X, {} if core is None else core.features)
        with row_numbers_before_dropping(sample_weight):
            learner, source, labels, known, weight = self._check_call(X, y, classes, weight, bool(watch))
        if core is not None:
            refuse_unnamed_columns(source, core, names)
            self._note_names(X, reset=False)
        predictions = np.empty(source.n, dtype=object) if watch else None
        shown_rows = None if shown is None else RowSource(shown, learner.constant)
        if watch and shown is None and names and hasattr(learner, "kernel"):
            # A new feature has no weight yet, but it changes kernel values.
            old = source.without_new_features(0 if core is None else core.width, named=True)
            shown_rows = None if old is source else old
        first, learner.first_scores = predict_without_new_features(core, source, shown_rows) if watch else (None, None)
        if learner.class_weight == "balanced":
            learner.counted = learner.counts, learner.rounds, labels.tolist()
        before, mark = self.__dict__.copy(), learner.mark()
        try:
            if core is None:
                self._note_names(X, reset=True)
            _make_room(learner, source, labels, known, names)
            learner.closed |= bool(known) or classes is not None
            learner.observer = watch if callable(watch) else None
            learner.learn(source, labels, predictions=predictions, shown=shown_rows, weights=weight)
            self._install(learner)
            if predictions is None:
                return labels
            if first is not None:
                predictions[0] = first
            return predictions if callable(watch) else self._cast_predictions(predictions)
        except BaseException as error:
            without_interrupts(lambda: self._keep_learned(learner, before, mark, names))
            add_progress_note(error, learner.rounds - mark.rounds, source.n, learner.rounds, sample_weight)
            raise
        finally:
            learner.observer = learner.first_scores = None
            learner.row_weights = NO_WEIGHTS

    def _check_call(self, X: Any, y: ArrayLike, classes: Any, weight: Floats, watch: bool) -> tuple[Any, ...]:
        """The learner, rows, labels, new labels and weights of a call; if a check raises, nothing has changed."""
        core = self.__dict__.get("_core")
        learner = core if core is not None else self._new_learner()
        source = self._source(X, core)
        labels = self._targets(y, source.n)
        learner.check_learning(source)
        known = checks.new_labels(learner, labels, classes, watch)
        if labels.ndim == 1:
            self._check_growth(learner, known, labels)
        weight = weights.times_class_weight(weight, labels, learner.class_weight, learner.counts)
        weight = weights.weights_for_loop(weight, self, learner)
        if source.width > learner.width:
            # Three times: the weights, their average, and the old weights while they are copied.
            functions = learner.functions(max(1, len(learner.labels) + len(known)))
            check_memory(3 * functions * (1 + source.width), f"the weights of {source.width} features")
        return learner, source, labels, known, weight

    def _cast_predictions(self, predictions: LabelArray) -> LabelArray:
        """Predictions in the type of the labels, or of the numbers, that are learned."""
        return cast_labels(predictions, self.classes_.dtype)

    def _keep_learned(self, learner: Learner, before: dict[str, Any], mark: LearnerMark, names: Any) -> None:
        """After an exception: keep the rows that were learned, and no trace of the others."""
        if learner.rounds > mark.rounds:
            self._install(learner)
            return
        for name in names or ():
            (learner.features or {}).pop(name, None)
        mark.bring_back(learner)
        self._restore_attributes(before)

    def learn_one(self, x: Any, y: Any, weight: float = 1.0) -> Self:
        """Learn one example of this weight: a 1-D array, a dict of feature name to value, or a sparse row."""
        weight = weight if type(weight) is float else weights.one_weight(weight)
        if weight == 1.0 and hasattr(self, "_core") and self._learn_row(x, y):
            return self
        sets = self._takes_sets and ("_core" not in self.__dict__ or self._core.multilabel)
        if isinstance(y, np.ndarray | list | tuple) and not sets:
            raise ValueError(f"y must be one label, got {y!r}")
        refuse_masked(y, "y")
        self._pass([x] if is_named(x) else self._one_row(x)[0], [y], None, sample_weight=[weight])
        return self

    def _learn_row(self, x: Any, y: Any, alone: bool = False) -> bool:
        """Learn a dense row of float64, or a dict, if width, names and label are known; returns whether it did."""
        core = self._core
        if core.single_rows_wait and not alone:
            return learn_row_alone(self, x, y)
        if type(y) not in LABEL_TYPES or (code := core.labels.index.get(y)) is None:
            return False
        if type(x) is dict:
            fast = of_this_thread(core.named or core.named_row(), core)
            if fast is None or not fast.fill(x):
                return learn_with_new_names(self, x, partial(self._learn_row, x, y, alone))
        elif type(x) is not np.ndarray or x.dtype is not FLOAT64 or x.shape != (core.fast or core.fast_row()).shape:
            return False
        else:
            fast = core.fast if core.fast.owner == get_ident() else core.fast.sibling(core)
            fast.row[...] = x
        fast.code[0] = code
        reached: int = fast.learn(*fast.learn_args)
        if reached < 0:
            raise ValueError(flaw_message(0, -1 - reached))
        return reached == 1

    # -- what was learned --------------------------------------------------------------------------------------

    def _learned(self) -> Any:
        """The learner; ``NotFittedError`` before it has learned something."""
        if "_core" not in self.__dict__:
            kind = type(self).__name__
            raise NotFittedError(f"This {kind} has learned nothing yet; call fit, partial_fit or learn_one")
        return self._core

    def _started_with(self, name: str) -> Any:
        """A parameter as it was when learning started: a value that is set later holds for the next start."""
        return (self._core.started if "_core" in self.__dict__ else {}).get(name, getattr(self, name))

    @property
    def _takes_sets(self) -> bool:
        """May y be a 0/1 matrix?"""
        return self._multilabel

    def __sklearn_is_fitted__(self) -> bool:
        return "_core" in self.__dict__

    def certificates(self, comparator: ArrayLike | None = None) -> list[Certificate]:
        """The bounds that hold for this run so far.

        ``comparator`` is a weight vector (or a matrix, one row per class), with or without a first column for the
        intercept; by default the learner's own current weights.
        """
        core = self._learned()
        if comparator is None:
            own = np.array(core.table.weights(core.scores, 0))
        else:
            rows = 1 if core.numbers else Learner.functions(core, len(core.labels))
            own = comparator_rows(comparator, rows, core.width)
        found = self._bounds(core, own)
        return found if core.mixed is None else core.mixed.restate(found, core.tally)

    def save(self, path: Any) -> None:
        """Write the model to a file that ``ellipsoid.load`` reads: no pickle, so loading never runs code."""
        saving.save(self, path)

    # -- input -------------------------------------------------------------------------------------------------

    def _source(self, X: Any, core: Learner | None, learning: bool = True) -> RowSource:
        """X as rows of the width that the learner knows."""
        if are_named(X):
            X = rows_of(X, {} if core is None else core.features)[0]
        elif hasattr(X, "columns"):
            refuse_columns(X, None if core is None else core.features)
            X = frame_rows(X, None if core is None else self.__dict__.get("word_columns_", []))
        source = RowSource(X, self._constant if core is None else core.constant)
        growing = core is not None and (core.features is not None or self._started_with("grow_features"))
        return checks.rows_that_fit(source, core, type(self).__name__, growing=growing, learning=learning)

    def _check_growth(self, learner: Learner, known: list[Any], labels: LabelArray) -> None:
        """Raise ``ValueError`` for labels that this learner cannot add in mid-stream; most learners can add any."""

    def _note_names(self, X: Any, reset: bool) -> None:
        """Keep (``reset``) or compare column names, as scikit-learn does."""
        X = table_of(X)
        if reset:
            self.__dict__.pop("word_columns_", None)
            if hasattr(X, "columns") and (words := word_columns(X)):
                self.word_columns_ = words
        if hasattr(self, "word_columns_"):
            _check_feature_names(self, X, reset=reset)
        elif hasattr(X, "columns") or hasattr(self, "feature_names_in_"):
            validate_data(self, X, reset=reset, skip_check_array=True)

    def _one_row(self, x: Any) -> tuple[Any, dict[Any, int]]:
        """One example as a matrix of one row, and the columns of its new feature names."""
        return one_row(x, self._core.features if "_core" in self.__dict__ else {}, self)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.multi_label = self._takes_sets
        return tags


def _make_room(learner: Learner, source: RowSource, labels: LabelArray, known: list[Any], names: Any) -> None:
    """Make room for rows, and make labels and names of features known."""
    learner.multilabel = labels.ndim == 2
    learner.open(source.width, by_class=learner.by_class(source, len(known)), classes=len(known))
    for label in known:
        learner.add_label(label)
    learner.name(names)
