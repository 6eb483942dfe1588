"""Squared norms of rows, with the same bits for a row alone, in a block, or read from a file."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from ellipsoid.engine.compile import call, compiled
from ellipsoid.engine.rows import CSR, energy

from ..table_protocol import Floats
from .packing import parts

# Partial sums of a dense row.
NORM_LANES = 8


def squared_row_norms(matrix: Any) -> Floats:
    """Squared norms of the rows of a matrix, dense or CSR; features of zeros that are added change no bit."""
    out = np.empty(matrix.shape[0])
    if sp.issparse(matrix):
        rows = CSR(*parts(matrix), 0.0, matrix.shape[1])
        call(_energies, rows, out)
    else:
        lanes = np.empty(NORM_LANES)
        call(_dense_norms, matrix, lanes, out)
    return out


@compiled
def _energies(rows, out):
    for t in range(out.shape[0]):
        out[t] = energy(rows, t)


@compiled
def _dense_norms(X, lanes, out):
    # Feature j belongs to the same partial sum however many there are.
    whole = X.shape[1] - X.shape[1] % NORM_LANES
    for t in range(out.shape[0]):
        for k in range(NORM_LANES):
            lanes[k] = 0.0
        for j in range(0, whole, NORM_LANES):
            for k in range(NORM_LANES):
                lanes[k] += np.float64(X[t, j + k]) * np.float64(X[t, j + k])
        for j in range(whole, X.shape[1]):
            lanes[j - whole] += np.float64(X[t, j]) * np.float64(X[t, j])
        out[t] = ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) + ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]))
    return np.int64(0)
