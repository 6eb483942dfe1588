"""Compiled code that puts rows and patterns into the layout of `tiles`: rows in lanes, patterns without zeros."""

from ellipsoid.engine.compile import compiled

from .tiles import PATTERNS_OF_TILE


@compiled
def mark_changes(coef, before, whole, differ):
    """Find out in which of the first ``whole`` tiles a coefficient has changed."""
    for tile in range(whole):
        first, end = tile * PATTERNS_OF_TILE, min(coef.shape[0], (tile + 1) * PATTERNS_OF_TILE)
        changes = 0
        for k in range(first, end):
            for r in range(coef.shape[1]):
                changes += int(coef[k, r] != before[k, r])
        differ[tile] = changes > 0


@compiled
def pick(coef, tiles, end, picked):
    """Store the coefficients of some tiles that are not zero, from place ``end`` on; returns where they end.

    There must be room for one more.
    """
    for tile in tiles:
        for r in range(coef.shape[1]):
            picked.ends[tile, r] = end
            for k in range(tile * PATTERNS_OF_TILE, min(coef.shape[0], (tile + 1) * PATTERNS_OF_TILE)):
                picked.members[end], picked.coefficients[end] = k - tile * PATTERNS_OF_TILE, coef[k, r]
                end += int(coef[k, r] != 0.0)
        picked.ends[tile, coef.shape[1]] = end
    return end


@compiled
def fill_lanes(matrix, X):
    """Lay the rows of a matrix into the lanes of tiles."""
    lanes = X.shape[2]
    for t in range(matrix.shape[0]):
        for j in range(matrix.shape[1]):
            X[t // lanes, j, t % lanes] = matrix[t, j]


@compiled
def spread_compressed(data, indices, indptr, X):
    """Lay compressed rows into the lanes of tiles; X holds zeros."""
    lanes = X.shape[2]
    for t in range(indptr.shape[0] - 1):
        for q in range(indptr[t], indptr[t + 1]):
            X[t // lanes, indices[q], t % lanes] += data[q]


@compiled
def squeeze(matrix, data, indices, indptr):
    """Append rows without their zeros to what the arrays hold; there must be room for one entry more."""
    n = indptr[0]
    for t in range(matrix.shape[0]):
        for j in range(matrix.shape[1]):
            data[n], indices[n] = matrix[t, j], j
            n += int(matrix[t, j] != 0.0)
        indptr[t + 1] = n
