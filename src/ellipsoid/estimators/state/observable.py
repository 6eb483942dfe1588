"""Learning with an observer, a function that is called with the scores each row had before it was learned."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..inputs.examples import is_named
from .predict_then_learn import Observer


class Observable:
    """The private methods of an online learner that wrappers call."""

    _pass: Any
    _one_row: Any
    _learned: Any
    decision_function: Any

    def _learn_observed(
        self, X: Any, y: Any, classes: ArrayLike | None, observer: Observer, sample_weight: ArrayLike | None = None
    ) -> None:
        """``partial_fit`` that calls ``observer`` with the scores that every row had before it was learned."""
        self._pass(X, y, classes, watch=observer, sample_weight=sample_weight)

    def _learn_one_observed(self, x: Any, y: Any, observer: Observer, weight: float = 1.0) -> None:
        """``learn_one`` that does so."""
        X, own = [x] if is_named(x) else self._one_row(x)[0], None if weight == 1.0 else [weight]
        self._pass(X, [y], None, watch=observer, sample_weight=own)

    def _decision_of_one(self, x: Any) -> NDArray[np.float64]:
        """The scores of one example."""
        self._learned()
        return self.decision_function(self._one_row(x)[0])
