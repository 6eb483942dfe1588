"""Checks of rows for a kernel: the kernel value of a row with itself must be finite, and overflow no score."""

import numpy as np
from numpy.typing import NDArray

from ellipsoid.ellipsoids.tables.kernel import KernelTable
from ellipsoid.representation.kernel.expansion import ExpansionTable
from ellipsoid.representation.kernel.functions import Function, Poly
from ellipsoid.representation.kernel.patterns import DensePatterns, SparsePatterns

from ..inputs.rows import RowSource

# Kernel values beyond this could overflow a score.
LARGEST_KERNEL_VALUE = 1e150

# The number of rows for which a kernel function is called at once.
NEIGHBOURS = 32


def check_values(table: ExpansionTable | KernelTable, source: RowSource) -> None:
    """Raise ``ValueError`` for the first row whose kernel value with itself is not finite or could overflow.

    ``table`` is a new one: only its kernel is used.
    """
    table.width = source.width
    kernel = table.make_kernel()
    for start, stop in source.blocks():
        if isinstance(kernel, Poly):
            check_powers(kernel, source.squared_norms(start, stop), start)
        elif isinstance(kernel, Function):
            # A user's function must be called; a few rows at once cost no more than a few rows of the run.
            rows = source.rows(start, stop)
            patterns = (SparsePatterns if source.sparse else DensePatterns)(source.width)
            for begin in range(0, stop - start, NEIGHBOURS):
                few = patterns.matrix_of(rows, slice(begin, min(stop - start, begin + NEIGHBOURS)))
                kernel.values(few, few)


def check_powers(kernel: Poly, norms: NDArray[np.float64], first: int) -> None:
    """Raise ``ValueError`` naming the first row, counted from ``first``, whose power is too large."""
    with np.errstate(over="ignore"):
        own = np.abs(kernel.gamma * norms + kernel.coef0) ** kernel.degree
    large = np.flatnonzero(~(own < LARGEST_KERNEL_VALUE))
    if len(large):
        row = first + int(large[0])
        raise ValueError(f"row {row} of X is too large (inf): its kernel value overflows; rescale the features")
