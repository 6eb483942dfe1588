"""Online learners as river's estimators: for its pipelines, its evaluators and its metrics.

river asks a classifier for ``learn_one`` that returns nothing, for ``predict_one`` that answers None before anything
was learned, and for a class of its own above it.
"""

from typing import Any

from sklearn.base import clone, is_regressor
from sklearn.exceptions import NotFittedError

try:
    from river import base
except ImportError as error:
    raise ImportError("ellipsoid.river needs river; install it with: pip install river") from error


class Adapted(base.MiniBatchClassifier):
    """A learner as a classifier of river; see `adapt`."""

    def __init__(self, model: Any) -> None:
        if is_regressor(model):
            raise TypeError(
                f"adapt takes classifiers, got {type(model).__name__}; measure a regressor with prequential"
            )
        self.model = model
        self.learner = clone(model)

    def learn_one(self, x: dict[Any, Any], y: Any, w: float = 1.0) -> None:
        """Learn one example of weight ``w``."""
        self.learner.learn_one(x, y, weight=w)

    def predict_one(self, x: dict[Any, Any], **kwargs: Any) -> Any:
        """The label predicted for one example; None before anything was learned."""
        try:
            return self.learner.predict_one(x)
        except NotFittedError:
            return None

    def predict_proba_one(self, x: dict[Any, Any], **kwargs: Any) -> dict[Any, float]:
        """The probabilities of the labels of one example, from a `Calibrated` learner; none before it has learned."""
        if not hasattr(self.learner, "predict_proba_one"):
            raise NotImplementedError(f"for probabilities, give adapt a Calibrated({type(self.learner).__name__}(...))")
        try:
            chances: dict[Any, float] = self.learner.predict_proba_one(x)
        except NotFittedError:
            return {}
        return chances

    def learn_many(self, X: Any, y: Any) -> None:
        """Learn the rows of a frame in their order, or, where one is refused, none; its columns name features."""
        if len(X):
            self.learner.partial_fit(X.to_dict("records"), y.tolist())

    def predict_many(self, X: Any) -> Any:
        """The labels predicted for the rows of a frame, as a series with its index."""
        import pandas as pd

        return pd.Series([self.predict_one(x) for x in X.to_dict("records")], index=X.index, dtype=object)

    @property
    def _multiclass(self) -> bool:
        return True


def adapt(model: Any) -> Adapted:
    """A learner for river: in a pipeline, in ``evaluate.progressive_val_score``, beside its own classifiers.

    ``model`` itself is not touched; what learns is ``learner`` of the result, which can be saved, or asked for its
    certificates.

    >>> from ellipsoid import PassiveAggressive
    >>> from ellipsoid.river import adapt
    >>> from river import preprocessing
    >>> pipeline = preprocessing.StandardScaler() | adapt(PassiveAggressive())
    >>> for x, y in [({"rain": 3.0}, "wet"), ({"rain": 0.0}, "dry"), ({"rain": 2.0}, "wet")]:
    ...     pipeline.learn_one(x, y)
    >>> pipeline.predict_one({"rain": 3.0})
    'wet'
    """
    return Adapted(model)
