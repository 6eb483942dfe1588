"""Learning with an observer, the *witness*, that is shown the scores each row had before it was learned."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..inputs.examples import is_named
from .predict_then_learn import Witness


class Witnessed:
    """What a wrapper asks of an online learner beside the calls that everybody has."""

    _pass: Any
    _one_row: Any
    _learned: Any
    decision_function: Any

    def _learn_watched(
        self,
        X: Any,
        y: ArrayLike,
        classes: ArrayLike | None,
        witness: Witness,
        sample_weight: ArrayLike | None = None,
    ) -> None:
        """``partial_fit`` that shows to ``witness`` the scores of every row before it was learned."""
        self._pass(X, y, classes, watch=witness, sample_weight=sample_weight)

    def _learn_one_watched(self, x: Any, y: Any, witness: Witness, weight: float = 1.0) -> None:
        """``learn_one`` that does so."""
        X, fresh = self._one_row(x)
        own = None if weight == 1.0 else [weight]
        self._pass(X, [y], None, watch=witness, names=fresh if is_named(x) else None, sample_weight=own)

    def _decision_of_one(self, x: Any) -> NDArray[np.float64]:
        """The scores of one example."""
        self._learned()
        scores: NDArray[np.float64] = self.decision_function(self._one_row(x)[0])
        return scores
