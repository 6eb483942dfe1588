"""The shadow of a learner's ellipsoid on its two longest axes, which shows how doubtful labels of examples still are.

The length of an axis depends on the unit of every feature, and directions in which no example lies keep their first
length. So lengths are measured by examples: with z the coefficients of the weights in the lead of a recent example's
label over its rival, ``sqrt(z'Pz)`` is half the range of this lead over the ellipsoid. Along the longest axis

    max over |a| = 1 of  a' (Z P Z' / n) a,   Z the n rows z,

these ranges are widest together; the square of its half-length is an eigenvalue of that matrix, and the shadow on the
first two axes an ellipse with these half-lengths. All eigenvalues add up to the mean square of the half-ranges.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from ..models.learning import without_scaler

# The examples by which lengths are measured, and the most weights for which a shadow is computed.
MEASURED_ROWS = 96
MOST_WEIGHTS = 1 << 16


class Shadow(NamedTuple):
    """Half-lengths of the two axes, the ``share`` of all doubt that they hold, and the axes as weights, a row for each
    score; the first column is the constant feature.
    """

    half_lengths: tuple[float, float]
    share: float
    axes: Any


def ellipsoid_of(model: Any) -> Any:
    """The ellipsoid that a learner keeps around its weights, None if it keeps none that has coordinates."""
    for name in ("ellipsoid_", "version_space_"):
        try:
            return getattr(model, name)
        except AttributeError:
            continue
    return None


def shadow_of(model: Any, X: Any) -> Shadow | None:
    """The shadow of the ellipsoid of a model, measured by the rows X; None where there is none to be shown."""
    inner, rows = without_scaler(model, X)
    scores = np.asarray(model.decision_function(X))
    functions = 1 if scores.ndim == 1 else scores.shape[1]
    if (model.n_features_in_ + 1) * functions > MOST_WEIGHTS or functions > scores.size:
        return None
    solid = ellipsoid_of(inner)
    if solid is None:
        return None
    source = inner._source(rows, inner._core, learning=False)
    values = source._X
    values = sparse.csr_matrix((values.data, values.indices, values.indptr), values.shape) if source.sparse else values
    width = solid.dim // functions
    found = np.zeros((len(scores), width))
    known = values[:, : inner.n_features_in_]
    found[:, width - known.shape[1] :] = known.toarray() if source.sparse else known
    if width > known.shape[1]:
        found[:, 0] = source.constant
    Z = _leads(found, scores)
    doubt = solid.shape.apply(Z) @ Z.T / len(Z)
    lengths, vectors = np.linalg.eigh(0.5 * (doubt + doubt.T))
    lengths = np.maximum(lengths[::-1], 0.0)
    if len(lengths) < 2 or not np.isfinite(lengths[0]) or lengths[0] <= 0.0:
        return None
    axes = (vectors[:, ::-1][:, :2].T @ Z).reshape(2, functions, width)
    if width == known.shape[1]:
        axes = np.concatenate([np.zeros((2, functions, 1)), axes], axis=2)
    half = np.sqrt(lengths[:2])
    return Shadow((float(half[0]), float(half[1])), float(lengths[:2].sum() / lengths.sum()), axes)


def _leads(rows: Any, scores: Any) -> Any:
    """The coefficients of the weights in the leads: the row, or of several scores the highest minus the second."""
    if scores.ndim == 1:
        return rows
    every = np.arange(len(rows))
    best, rival = np.argsort(-scores, axis=1, kind="stable")[:, :2].T
    Z = np.zeros((len(rows), scores.shape[1], rows.shape[1]))
    Z[every, best], Z[every, rival] = rows, -rows
    return Z.reshape(len(rows), -1)
