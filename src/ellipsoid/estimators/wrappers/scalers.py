"""Preprocessing that streams: running standardisation and unit length, as scikit-learn transformers."""

from functools import cache
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import validate_data

from ellipsoid.engine import call, entry
from ellipsoid.representation.tables import widened

from ..inputs.frames import frame_rows, table_of
from ..inputs.rows import RowSource, check_memory, writable
from . import moments as running
from .moments import COUNT, MEAN, SQUARE_SUM

NOTHING = np.zeros(0), np.zeros((0, 0))


class Scaler(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """What the scalers share: input, width, and the four ways to be called."""

    grow_features: bool

    def fit(self, X: Any, y: Any = None) -> Self:
        """Forget everything, then learn from the rows of X; y is ignored."""
        self._run(self._opened(X, first=True), learn=True, write=False)
        return self

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Learn from the rows of X in addition to those before; y is ignored."""
        self._run(self._opened(X), learn=True, write=False)
        return self

    def transform(self, X: Any) -> Any:
        """Scale the rows of X by what was learned so far."""
        return self.scaled(X)

    def scaled(self, X: Any, known_only: bool = False) -> Any:
        """The same as an array or CSR matrix, whatever ``set_output`` says; ``known_only`` leaves out new features."""
        if not self.__sklearn_is_fitted__():
            raise NotFittedError(f"This {type(self).__name__} has seen no row yet; call fit or partial_fit")
        self._names(X, reset=False)
        source = self._source(X, fresh=False, learning=known_only)
        source = source if source.width <= self.n_features_in_ else source.narrowed(self.n_features_in_)
        return self._run(source, learn=False, write=True)

    def learn_transform(self, X: Any) -> Any:
        """``partial_fit`` that returns each row scaled by what is known of the rows up to and including it.

        This is what a learner of a stream is given: no row profits from those after it, and no cutting of the stream
        into calls changes a bit.
        """
        return self._run(self._opened(X), learn=True, write=True)

    def learn_transform_both(self, X: Any, named: bool = False) -> tuple[Any, Any]:
        """``learn_transform``, and before it each row as ``transform`` would have scaled it before it was learned.

        That is without the features that it brings; ``named``: columns are names, and each row may bring some.
        """
        known, rows = getattr(self, "n_features_in_", 0 if named else None), self.learn_transform(X)
        if known in (None, self.n_features_in_):  # the first rows, without names, or no row brings new features
            return rows, rows
        source = self._source(X, fresh=False).without_new_features(known, named)
        return self._run(source, learn=False, write=True), rows

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "n_features_in_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    # -- single sparse rows ------------------------------------------------------------------------------------

    @property
    def scales_in_place(self) -> bool:
        """Can a sparse row be scaled in place?"""
        return True

    def scale_in_place(self, data: Any, indices: Any, ends: Any, learn: bool) -> None:
        """Scale one sparse row of known columns, which is learned before if ``learn``."""
        raise NotImplementedError

    # -- what a subclass gives ---------------------------------------------------------------------------------

    def _forget(self, source: RowSource) -> None:
        self.n_features_in_ = source.width

    def _run(self, source: RowSource, learn: bool, write: bool) -> Any:
        raise NotImplementedError

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[np.float64]]]:
        """Scalars and arrays of a model file."""
        return {"width": self.n_features_in_}, {}

    def restore(self, scalars: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        """Restore what ``state`` returned."""
        self.n_features_in_ = int(scalars["width"])

    def reserve(self, width: int) -> None:
        """Make room for so many columns."""
        self.n_features_in_ = max(self.n_features_in_, width)

    def remember(self, X: Any, columns: Any = None) -> Any:
        """What ``learn_transform(X)`` is about to change, or ``scale_in_place`` of a row with these columns."""
        return self.n_features_in_

    def recall(self, before: Any) -> None:
        """Undo the change before which ``remember`` returned this."""
        self.n_features_in_ = before

    def again(self, X: Any, count: int) -> None:
        """``learn_transform`` of the first rows of X alone."""
        self._run(self._opened(X).first(count), learn=True, write=False)

    # -- input -------------------------------------------------------------------------------------------------

    def _opened(self, X: Any, first: bool = False) -> RowSource:
        """Rows that are about to be learned; the first ones fix width and names, unless they are refused."""
        first = first or not self.__sklearn_is_fitted__()
        source, before = self._source(X, fresh=first), self.__dict__.copy()
        try:
            if first:
                self._forget(source)
            self._names(X, reset=first)
        except BaseException:
            self.__dict__ = before
            raise
        return source

    def _source(self, X: Any, fresh: bool, learning: bool = True) -> RowSource:
        source = RowSource(frame_rows(X, []) if hasattr(X, "columns") else X, 0.0)
        if source.n == 0:
            raise ValueError(
                f"Found array with 0 sample(s) (shape={(source.n, source.width)}): X must hold at least one example"
            )
        if source.width == 0 and not source.sparse:
            raise ValueError(f"0 feature(s) (shape={(source.n, 0)}) while a minimum of 1 is required.")
        if not fresh and source.width != self.n_features_in_:
            narrow = source.width < self.n_features_in_
            if not self.grow_features or (narrow and not source.sparse) or not (narrow or learning):
                helps = not self.grow_features and (source.sparse or not narrow)
                advice = "; grow_features=True lets the width change" if helps else ""
                raise ValueError(
                    f"X has {source.width} features, but {type(self).__name__} is expecting {self.n_features_in_} "
                    f"features as input{advice}"
                )
        source.check()
        return source

    def _names(self, X: Any, reset: bool) -> None:
        if hasattr(X, "columns") or hasattr(self, "feature_names_in_"):
            validate_data(self, table_of(X), reset=reset, skip_check_array=True)


class StandardStream(Scaler):
    """Running standardisation: each feature minus its mean, divided by its deviation, over all rows seen so far.

    The moments are updated row by row (Welford), so that they do not depend, to the last bit, on how a stream is cut
    into calls. Features that never change are divided by 1.

    Parameters
    ----------
    with_mean : bool
        Subtract means. Sparse rows are only divided, because a shift would fill them: a scaler started on CSR
        rows never subtracts.
    grow_features : bool
        Whether a wider X adds columns; a narrower CSR matrix is then read as one without the last features.

    Attributes
    ----------
    mean_, var_, scale_ : arrays of shape (n_features,)
        Over all rows seen; ``scale_`` is what features are divided by.
    n_samples_seen_ : int

    Examples
    --------
    >>> import numpy as np
    >>> from ellipsoid import StandardStream
    >>> scaler = StandardStream()
    >>> for row in np.array([[1.0, 5.0], [3.0, 5.0], [5.0, 5.0]]):
    ...     scaler = scaler.partial_fit([row])
    >>> scaler.mean_, scaler.transform([[3.0, 5.0], [5.0, 5.0]]).round(3)
    (array([3., 5.]), array([[0.   , 0.   ], [1.225, 0.   ]]))

    References
    ----------
    Chan, Golub and LeVeque, "Algorithms for computing the sample variance", The American Statistician 37 (1983).
    """

    def __init__(self, *, with_mean: bool = True, grow_features: bool = False) -> None:
        self.with_mean = with_mean
        self.grow_features = grow_features

    @property
    def mean_(self) -> NDArray[np.float64]:
        """Means of the features."""
        count, mean, _ = self._used()
        return np.asarray(mean * (count / max(1, self.n_samples_seen_)))

    @property
    def var_(self) -> NDArray[np.float64]:
        """Variances of the features."""
        count, mean, squares = self._used()
        n = max(1, self.n_samples_seen_)
        return np.asarray((squares + mean * mean * (count * ((n - count) / n))) / n)

    @property
    def scale_(self) -> NDArray[np.float64]:
        """What features are divided by."""
        deviation = np.sqrt(self.var_)
        return np.where(deviation <= running.EQUAL * np.abs(self.mean_), 1.0, deviation)

    def _used(self) -> NDArray[np.float64]:
        if not self.__sklearn_is_fitted__():
            raise AttributeError("StandardStream has no moments before it has seen a row")
        return self._moments[:, : self.n_features_in_]

    def _forget(self, source: RowSource) -> None:
        check_memory(3 * source.width, f"the moments of {source.width} features")
        super()._forget(source)
        self.n_samples_seen_ = 0
        self._centre = bool(self.with_mean) and not source.sparse
        self._moments = np.zeros((3, source.width))

    def _source(self, X: Any, fresh: bool, learning: bool = True) -> RowSource:
        source = super()._source(X, fresh, learning)
        if not fresh and source.sparse and self._centre:
            raise ValueError(
                "this StandardStream subtracts means, which would fill sparse rows: give dense rows, or start it with "
                "with_mean=False or on sparse rows"
            )
        return source

    def learn_transform_both(self, X: Any, named: bool = False) -> tuple[Any, Any]:
        known = getattr(self, "n_features_in_", 0 if named else None)
        source = self._opened(X)
        all_rows: Any = source.rows(0, source.n if source.sparse else 0)
        early = np.empty(len(all_rows.data) if source.sparse else (source.n, source.width))
        rows = self._run(source, learn=True, write=True, early=early)
        if not source.sparse:
            return early, rows
        seen = sp.csr_matrix((early, rows.indices, rows.indptr), shape=rows.shape)
        if known not in (None, self.n_features_in_):
            old: Any = RowSource(seen, 0.0).without_new_features(known, named).rows(0, source.n)
            seen = sp.csr_matrix((old.data, old.indices, old.indptr), shape=rows.shape)
        return seen, rows

    def _run(self, source: RowSource, learn: bool, write: bool, early: Any = None) -> Any:
        if learn:
            self.reserve(source.width)
        table, seen = writable(self._moments), float(self.n_samples_seen_)
        if source.sparse:
            rows: Any = source.rows(0, source.n)
            data = np.ascontiguousarray(rows.data, dtype=np.float64)
            out = np.empty(len(data)) if write else NOTHING[0]
            args = (data, rows.indices, rows.indptr, table, seen, learn, out, NOTHING[0] if early is None else early)
            seen = call(running.scale_sparse_rows, *args)
            parts = (out, rows.indices, rows.indptr)
            answer: Any = sp.csr_matrix(parts, shape=(source.n, source.width)) if write else None
        else:
            answer = np.empty((source.n, source.width)) if write else None
            for start, stop in source.blocks():
                rows = source.rows(start, stop)
                place = NOTHING[1] if answer is None else answer[start:stop]
                X = np.ascontiguousarray(rows.X, dtype=np.float64)
                ahead = NOTHING[1] if early is None else early[start:stop]
                dense = (X, table, seen, learn, self._centre, place, ahead)
                seen = call(running.scale_dense_rows, *dense)
        self.n_samples_seen_ = int(seen)
        return answer

    @property
    def scales_in_place(self) -> bool:
        """Not if means are subtracted, nor if the table belongs to a file."""
        return not self._centre and bool(self._moments.flags.writeable)

    def scale_in_place(self, data: Any, indices: Any, ends: Any, learn: bool) -> None:
        moments, count = self._moments, ends[1]
        if count and indices[count - 1] >= moments.shape[1]:
            raise RuntimeError("another thread has just taken back features of this row; learn it again")
        args = (data, indices, ends, moments, float(self.n_samples_seen_), learn, data, NOTHING[0])
        self.n_samples_seen_ = int(_scale_sparse_row()(*args))

    def reserve(self, width: int) -> None:
        """Make room for so many columns: it doubles, so that few of the names that come one by one cause a copy."""
        if not self._moments.flags.writeable:
            self._moments = self._moments.copy()
        if width > self._moments.shape[1]:
            columns = max(width, 2 * self._moments.shape[1])
            check_memory(3 * columns, f"the moments of {width} features")
            self._moments = widened(self._moments, columns)
        super().reserve(width)

    def remember(self, X: Any, columns: Any = None) -> Any:
        width = self.n_features_in_
        if columns is None:
            columns = slice(width)
            if sp.issparse(X) and X.format == "csr":
                # Indices that are no columns are refused later.
                columns = np.unique(X.indices[(X.indices >= 0) & (X.indices < width)])
        return width, self.n_samples_seen_, self._moments, columns, self._moments[:, columns].copy()

    def recall(self, before: Any) -> None:
        self.n_features_in_, self.n_samples_seen_, moments, columns, values = before
        if self._moments is moments and moments.flags.writeable:  # otherwise nothing was learned
            moments[:, self.n_features_in_ :] = 0.0
            moments[:, columns] = values
        self._moments = moments  # a wider table took its place before anything was written

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[np.float64]]]:
        scalars = {"width": self.n_features_in_, "rows": self.n_samples_seen_, "centre": self._centre}
        return scalars, {"moments": self._used().copy()}

    def restore(self, scalars: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        table, rows = arrays["moments"], int(scalars["rows"])
        if table.shape != (3, int(scalars["width"])) or rows < 0:
            raise ValueError("its moments have the wrong shape")
        if (
            (table[[COUNT, SQUARE_SUM]] < 0.0).any()
            or (table[COUNT] > rows).any()
            or not np.isfinite(table[MEAN]).all()
        ):
            raise ValueError("its moments are not those of a stream")
        super().restore(scalars, arrays)
        self.n_samples_seen_, self._centre = rows, bool(scalars["centre"])
        self._moments = np.array(table, dtype=np.float64)


class UnitNorm(Scaler):
    """Each row divided by its 2-norm; a row of zeros stays as it is. Only the width is learned.

    Parameters
    ----------
    grow_features : bool
        Whether a wider X adds columns.

    Examples
    --------
    >>> from ellipsoid import UnitNorm
    >>> UnitNorm().fit_transform([[3.0, 4.0], [0.0, 0.0]])
    array([[0.6, 0.8],
           [0. , 0. ]])
    """

    def __init__(self, *, grow_features: bool = False) -> None:
        self.grow_features = grow_features

    def scale_in_place(self, data: Any, indices: Any, ends: Any, learn: bool) -> None:
        _unit_row()(data, ends.astype(np.int64), data)

    def _run(self, source: RowSource, learn: bool, write: bool) -> Any:
        if learn:
            self.reserve(source.width)
        if not write:
            return None
        if source.sparse:
            rows: Any = source.rows(0, source.n)
            data = np.ascontiguousarray(rows.data, dtype=np.float64)
            out = np.zeros(len(data))
            call(running.unit_rows, data, rows.indptr.astype(np.int64), out)
            return sp.csr_matrix((out, rows.indices, rows.indptr), shape=(source.n, source.width))
        answer = np.empty((source.n, source.width))
        for start, stop in source.blocks():
            rows = source.rows(start, stop)
            values = np.ascontiguousarray(rows.X, dtype=np.float64).reshape(-1)
            call(running.unit_rows, values, np.arange(stop - start + 1) * source.width, answer[start:stop].reshape(-1))
        return answer


@cache
def _scale_sparse_row() -> Any:
    """The compiled function for the arrays of a single row, whose types never change."""
    row, columns = np.zeros(1), np.zeros(2, dtype=np.int32)
    return entry(running.scale_sparse_rows, row, columns, columns, np.zeros((3, 1)), 0.0, True, row, row)


@cache
def _unit_row() -> Any:
    return entry(running.unit_rows, np.zeros(1), np.zeros(2, dtype=np.int64), np.zeros(1))


# By the names that the command line, the service and `distributed.fit` have for them.
SCALES: dict[str, Any] = {"standard": StandardStream, "unit": UnitNorm}
SCALERS: dict[str, Any] = {scaler.__name__: scaler for scaler in SCALES.values()}
