"""The prediction methods of an online learner: labels and scores, of one example and of many."""

from threading import get_ident
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..inputs.checks import LabelArray
from ..inputs.rows import flaw_message
from ..state.one_row import FLOAT64, filled_row


class Predictions:
    """Predictions of the learner ``_core``, for an estimator that knows how to read rows."""

    _core: Any
    classes_: Any
    _learned: Any
    _source: Any
    _note_names: Any
    _one_row: Any

    def predict_one(self, x: Any) -> Any:
        """The label predicted for one example."""
        # Not ``_learned``, which looks for a device: a prepared call needs none.
        core = self._core if hasattr(self, "_core") else self._learned()
        fast = None
        if type(x) is dict:
            fast = filled_row(core, x, known_only=True)
        elif type(x) is np.ndarray and x.dtype is FLOAT64 and x.shape == (core.fast or core.fast_row()).shape:
            fast = core.fast if core.fast.owner == get_ident() else core.fast.sibling(core)
            fast.row[...] = x
        if fast is not None:
            code = fast.predict_averaged(core) if core.average else fast.decide(*fast.decide_args)
            if code < 0:
                raise ValueError(flaw_message(0, -1 - code))
            return core.labels.values[code]
        row = self._one_row(x)[0]
        if core.multilabel:
            return self.predict(row)[0]
        return core.labels.values[core.predicted_index(self.decision_function(row))]

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Scores: shape (n,) for two classes (positive means ``classes_[1]``), else (n, classes)."""
        core = self._learned()
        source = self._source(X, core, learning=False)
        core.check(source)
        self._note_names(X, reset=False)
        scores = core.decision(source)
        return scores[:, 0] if len(core.labels) == 2 and not core.multilabel else scores

    def predict(self, X: Any) -> LabelArray:
        """Predicted labels; a tie goes to the label of the smallest index.

        Label sets: 1 where the score is positive. The scores of a row sum to zero over the labels, so 0 separates
        those that were pushed up from those that were pushed down; for rankings use ``decision_function``.
        """
        scores = self.decision_function(X)
        if self._core.multilabel:
            return (scores > 0.0).astype(np.int64)
        return self._labels_of(scores)

    def _labels_of(self, scores: NDArray[np.float64]) -> LabelArray:
        two = len(self._core.labels) == 2
        return self.classes_[(scores.ravel() > 0.0).astype(np.int64) if two else scores.argmax(axis=1)]
