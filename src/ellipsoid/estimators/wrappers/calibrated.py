"""Probabilities for a learner of scores, learned along with it."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_regressor

from ellipsoid.engine import entry
from ellipsoid.engine.protocol import SCORES
from ellipsoid.engine.tasks import CODES, PREDICTED_SCORES, WATCHED
from ellipsoid.streams.label_kinds import LABEL_TYPES

from ..inputs.labels import Codes
from ..inputs.rows import flaw_message
from ..state.learner import NO_LABELS, Learner
from ..state.new_names import learn_with_new_names
from ..state.one_row import filled_row
from ..state.one_thread import one_thread_at_a_time
from .calibration import MEAN_SPREAD, PARAMETERS, Calibration, calibrate, log_probabilities
from .wrapper import ObservingWrapper, score_matrix


class Calibrated(ObservingWrapper):
    """A learner with probabilities: ``predict_proba`` is the softmax of its scores with a slope and biases.

    Slope and biases are learned by Newton's steps on the log loss, row by row, from the score that a row had before
    the learner saw it, because scores of rows that were already learned are too confident. They are part of the model
    and of its file, they do not depend on how a stream is cut into calls, and scores may have any scale.

    ``predict`` gives the most probable label, and ``decision_function`` the logits, so that all three agree. With two
    labels the order of scores stays as it is, since the slope is positive. But a bias may move the border between the
    labels; the learner's own prediction is ``learner_.predict``. Counts and certificates are the learner's. So are
    weights: for the probabilities, a row of any weight other than 0 counts once.

    ``fit`` learns the calibration in a separate pass, with a copy of the learner that starts from nothing, and then
    adapts it to the scale of the scores that the learner has after all its passes.

    Parameters
    ----------
    learner : an online learner, or one in ``Scaled``; it is cloned when learning starts
    forget : float in (0, 1]
        The factor on the weight of older rows at each new row: 0.999 follows the last thousand or so, 1 forgets
        nothing.
    random_state : the learner's seed in place of its own, unless None

    Attributes
    ----------
    learner_
        The clone that has learned.
    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from ellipsoid import PassiveAggressive, Calibrated, Scaled
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = Calibrated(Scaled(PassiveAggressive())).partial_fit(X[:400], y[:400])
    >>> model.predict_proba(X[400:403]).round(2).shape
    (3, 2)
    """

    _companion = "calibration_"
    _refusal = "Calibrated gives probabilities of single labels: y must be 1-D, one label per example"

    def __init__(self, learner: Any, *, forget: float = 1.0, random_state: Any = None) -> None:
        self.learner = learner
        self.forget = forget
        self.random_state = random_state

    # -- learning ----------------------------------------------------------------------------------------------

    def _fresh(self) -> Any:
        learner = super()._fresh()
        if is_regressor(learner):
            raise ValueError(
                f"Calibrated gives probabilities of labels, but this learner predicts numbers: {learner!r}"
            )
        return learner

    def _new_companion(self) -> Calibration:
        if not isinstance(self.forget, float | int | np.number) or not 0.0 < self.forget <= 1.0:
            raise ValueError(f"forget must be above 0 and at most 1, got {self.forget!r}")
        return Calibration(self.forget)

    def _new_observer(self, companion: Calibration) -> "_CalibrationObserver":
        return _CalibrationObserver(companion)

    def _trial_order(self, learner: Any, rows: int) -> NDArray[np.int64]:
        shuffles = getattr(getattr(learner, "learner", learner), "shuffle", True)
        return super()._trial_order(learner, rows) if shuffles else np.arange(rows)

    def _end_fit(self, learner: Any, companion: Calibration, X: Any) -> None:
        companion.rescale(score_matrix(learner.decision_function(X)), _core(learner).half)

    @property
    def calibration_(self) -> Calibration:
        """Slope and biases, of all rows and labels that the learner knows."""
        return self._calibration("calibration_")

    def _learn_quickly(self, x: Any, y: Any) -> bool:
        """Learn a dense row of float64, or a dict, of known width, names and label; False if this is not one."""
        core = self.learner_.__dict__.get("_core") if "learner_" in self.__dict__ else None
        if core is None or type(y) not in LABEL_TYPES or y not in core.labels.index:
            return False
        fast = self._filled(x)
        if fast is None:
            return self._learn_new_names(x, y)
        fast.ledger[CODES, 0] = fast.fast.index[y]
        calibration = self.__dict__["calibration_"]
        calibration.expect(fast.core, fast.scores, fast.ledger[CODES])
        reached: int = fast.fast.learn(*fast.learn_args)
        if reached < 0:
            raise ValueError(flaw_message(0, -1 - reached))
        if reached == 1:
            fast.calibrate(*fast.calibrate_args)
        calibration.expected = None
        return reached == 1

    @one_thread_at_a_time
    def _learn_new_names(self, x: Any, y: Any) -> bool:
        """The same for a dict with new names."""
        return learn_with_new_names(self.learner_, x, lambda: self._learn_quickly(x, y))

    def _filled(self, x: Any, known_only: bool = False) -> "_WatchedRow | None":
        """The learner's prepared call, with the example in its buffer; None where it has none."""
        core = self.learner_.__dict__.get("_core")
        if core is None or type(core).fast_row is not Learner.fast_row or not core.scores_in_loop:
            return None
        fast = filled_row(core, x, known_only)
        if fast is None:
            return None
        row, calibration = self.__dict__.get("_row"), self.calibration_
        if row is None or row.fast is not fast or row.table is not calibration.table:
            row = self._row = _WatchedRow.of(core, fast, calibration)
        return row

    # -- prediction --------------------------------------------------------------------------------------------

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Logits: of the second label against the first where there are two, else of all labels."""
        logits = self._logits(X)
        return logits[:, 1] - logits[:, 0] if logits.shape[1] == 2 else logits

    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable labels; a tie goes to the label of the smallest index."""
        return self._learned().classes_[self._logits(X).argmax(axis=1)]

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """The probability of every label, in the order of ``classes_``."""
        return np.exp(self.predict_log_proba(X))

    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """The logarithms of the probabilities, never below -700."""
        return log_probabilities(self._logits(X))

    def predict_one(self, x: Any) -> Any:
        """The most probable label of one example."""
        return _core(self._learned()).labels.values[int(self._logits_of_one(x).argmax())]

    def predict_proba_one(self, x: Any) -> dict[Any, float]:
        """The probability of every label for one example, by label."""
        chances = np.exp(log_probabilities(self._logits_of_one(x)))[0].tolist()
        return dict(zip(_core(self._learned()).labels.values, chances, strict=True))

    def _logits(self, X: Any) -> NDArray[np.float64]:
        learner = self._learned()
        return self.calibration_.logits(score_matrix(learner.decision_function(X)), _core(learner).half)

    def _logits_of_one(self, x: Any) -> NDArray[np.float64]:
        learner = self._learned()
        prepared, core = self._filled(x, known_only=True), _core(learner)
        if prepared is None:
            return self.calibration_.logits(score_matrix(learner._decision_of_one(x)), core.half)
        fast = prepared.fast
        code = fast.predict_averaged(core) if core.average else fast.decide(*fast.decide_args)
        if code < 0:
            raise ValueError(flaw_message(0, -1 - code))
        scores = fast.decide_args[-1][SCORES : SCORES + 1, : core.scores]
        if core.score_columns < core.scores:
            scores = scores[:, 1:] - scores[:, :1]
        return self.calibration_.logits(score_matrix(scores), core.half)

    # -- what was learned --------------------------------------------------------------------------------------

    @property
    def slope_(self) -> float:
        """What scores, divided by ``scale_``, are multiplied by."""
        return float(self._calibration("slope_").table[PARAMETERS, 0])

    @property
    def biases_(self) -> NDArray[np.float64]:
        """What is added for each label; they sum to zero."""
        return self._calibration("biases_").table[PARAMETERS, 1:].copy()

    @property
    def scale_(self) -> float:
        """What scores are divided by: the mean of half the distance between a row's highest and its lowest."""
        return float(self._calibration("scale_").spread[MEAN_SPREAD])

    def _calibration(self, name: str) -> Calibration:
        if "calibration_" not in self.__dict__:
            raise AttributeError(f"Calibrated has no {name} before it has learned something")
        found: Calibration = self.__dict__["calibration_"]
        found.reserve(len(_core(self.learner_).labels))
        found.settle()
        return found

    def __getstate__(self) -> dict[str, Any]:
        if self.__sklearn_is_fitted__():
            self.calibration_.settle()
        return {name: value for name, value in super().__getstate__().items() if name != "_row"}


class _CalibrationObserver:
    """The calibration as an observer of its learner's scores, with the labels that it predicts from them."""

    def __init__(self, calibration: Calibration) -> None:
        self.companion = calibration
        self.predicted: list[Codes] = []

    def expect(self, learner: Learner, scores: NDArray[np.float64], codes: Codes) -> None:
        """With one label there is nothing to learn."""
        known = len(learner.labels)
        self.companion.reserve(known)
        if known > 1:
            self.companion.expect(learner, scores, codes)
        else:
            self.predicted.append(np.full(len(codes), known - 1))

    def deliver(self) -> None:
        if self.companion.expected is not None:
            self.predicted.append(self.companion.settle().argmax(axis=1))

    def __call__(self, learner: Any, scores: NDArray[np.float64], codes: Codes) -> None:
        """Learn rows that were learned; one that is about to bring a new label is predicted without it."""
        known = len(learner.labels)
        self.companion.reserve(known)
        if known < 2:
            self.predicted.append(np.full(len(scores), known - 1))
        else:
            self.predicted.append(self.companion.learn(scores, codes, learner.half).argmax(axis=1))


class _WatchedRow(NamedTuple):
    """A learner's prepared call for single rows, with a place for the scores, and the call that learns from these."""

    core: Any
    fast: Any
    table: Any
    ledger: Codes
    scores: NDArray[np.float64]
    learn_args: Any
    calibrate: Any
    calibrate_args: Any

    @classmethod
    def of(cls, core: Any, fast: Any, calibration: Calibration) -> "_WatchedRow":
        """Prepare both."""
        ledger = np.zeros((PREDICTED_SCORES + core.score_columns, 1), dtype=np.int64)
        rule, _, *others = fast.learn_args
        task = core.task(ledger, WATCHED, NO_LABELS)
        scores = ledger.view(np.float64)[PREDICTED_SCORES:]
        args = calibration.arguments(scores.reshape(1, -1), ledger[CODES], core.half)
        learn_args = (rule, task, *others)
        return cls(core, fast, calibration.table, ledger, scores, learn_args, entry(calibrate, *args), args)


def _core(learner: Any) -> Learner:
    """What the learner knows, also behind a scaler."""
    return getattr(learner, "learner_", learner)._core
