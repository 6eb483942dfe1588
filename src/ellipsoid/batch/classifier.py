"""Base class of the batch classifiers: the checks of X and y, and the choice of a label by scores."""

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from ellipsoid.estimators.inputs.frames import frame_rows
from ellipsoid.estimators.inputs.labels import Classifier
from ellipsoid.estimators.inputs.rows import InvalidInput
from ellipsoid.estimators.state.interruption import without_interrupts
from ellipsoid.streams.label_kinds import label_array, refuse_masked, with_integers

from .kernels import Kernel
from .problem import Matrix


class BatchClassifier(Classifier, BaseEstimator):
    """A classifier with a kernel, one-vs-rest where there are more than two classes."""

    kernel: Any
    kernel_: Kernel
    classes_: NDArray[Any]
    decision_function: Callable[[Any], NDArray[np.float64]]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.kernel != "precomputed"
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags

    @contextmanager
    def _restored_on_error(self) -> Iterator[None]:
        """Restore the attributes when a fit raises or is interrupted; fit only assigns new objects to them."""
        before = self.__dict__.copy()
        try:
            yield
        except BaseException:
            without_interrupts(lambda: setattr(self, "__dict__", before))
            raise

    def _training_rows(self, X: Any, y: ArrayLike) -> tuple[Any, NDArray[Any], NDArray[np.int64]]:
        """X, the classes in order, and each row's place among them."""
        accept = False if self.kernel == "precomputed" else "csr"
        _refuse_non_numbers(X)
        y = y if y is None else with_integers(label_array(y))
        X, y = validate_data(self, X, y, accept_sparse=accept, dtype=np.float64, ensure_min_samples=2)
        if self.kernel == "precomputed" and X.shape[0] != X.shape[1]:
            raise ValueError(f"a precomputed kernel must be square, got {X.shape[0]} rows and {X.shape[1]} columns")
        classes, codes = np.unique(y, return_inverse=True)
        if len(classes) < 2:
            raise ValueError(f"y holds 1 class only ({classes.tolist()[0]!r}); a classifier needs at least two classes")
        return X, classes, codes

    def _named(self, which: int) -> str:
        return f"class {self.classes_.tolist()[which]!r}"

    def _new_rows(self, X: Any) -> Any:
        check_is_fitted(self, ("intercept_", "dual_coef_"), all_or_any=any)
        accept = False if self.kernel_.name == "precomputed" else "csr"
        _refuse_non_numbers(X)
        return validate_data(self, X, accept_sparse=accept, dtype=np.float64, reset=False)

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of the largest value; of equals, the first in ``classes_``."""
        values = self.decision_function(X)
        return self.classes_[(values > 0).astype(int) if values.ndim == 1 else values.argmax(axis=1)]


def _refuse_non_numbers(X: Any) -> None:
    """Raise ``ValueError`` for values that scikit-learn would convert to numbers: dates, texts, masked entries."""
    refuse_masked(X, "X")
    if hasattr(X, "columns"):
        frame_rows(X, [])
    elif not hasattr(X, "tocsr") and (kind := np.asarray(X).dtype).kind in "mMSUV":
        raise InvalidInput(f"X must hold numbers, got an array of type {kind}; encode its columns first")


def warn_of_zero_rows(empty: NDArray[np.bool_], stacklevel: int) -> None:
    """Warn of the rows that say nothing, if there are any."""
    if empty.any():
        warnings.warn(
            f"{int(empty.sum())} rows lie at the origin of the feature space (the first is row "
            f"{int(np.argmax(empty))}): they are left out of training",
            stacklevel=stacklevel,
        )


def check_two_classes(codes: NDArray[np.int64]) -> None:
    """Raise where the informative rows are all of one class."""
    if len(np.unique(codes)) < 2:
        raise ValueError(
            "fewer than two classes are left without the rows at the origin of the feature space; "
            "give informative rows of two classes"
        )


def scores(rows: Any, weights: Matrix) -> Matrix:
    """The products of all rows with the weights of each class, one column per class (a vector for a single class).

    Class by class: a product of two matrices may sum its columns in different orders, and equal weights must score
    exactly equal.

    >>> scores(np.array([[1.0, 2.0]]), np.array([[0.5, 0.0], [0.0, 1.0]])).tolist()
    [[0.5, 2.0]]
    """
    columns = [np.asarray(rows @ each) for each in weights]
    return columns[0] if len(columns) == 1 else np.column_stack(columns)
