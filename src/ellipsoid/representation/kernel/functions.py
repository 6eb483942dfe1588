"""Kernels, with the parameters of ``sklearn.svm.SVC``: of two vectors in compiled code, and of blocks of rows.

linear  <a, b>        poly  (gamma <a, b> + coef0)^degree        rbf  exp(-gamma |a - b|^2)

A block of values is computed from one matrix product, in place, each value from its product and the norms of its two
rows alone: its bits do not depend on its place in the block. Integer powers are products of squares, since a call of
``pow`` for each value would cost more than the product of two rows of MNIST.
"""

from collections.abc import Callable
from math import exp
from typing import Any, NamedTuple

import numpy as np

from ellipsoid.engine.compile import call, compiled
from ellipsoid.engine.generic import SUM, generic
from ellipsoid.engine.native.vector_math import WIDE, exponential
from ellipsoid.engine.native.vector_sums import add_products, store_sums, zero_sums

from ..table_protocol import Floats


class Linear(NamedTuple):
    """<a, b>, with the parameters of the others so that they are interchangeable."""

    gamma: float = 1.0
    degree: float = 1.0
    coef0: float = 0.0


class Poly(NamedTuple):
    """(gamma <a, b> + coef0)^degree."""

    gamma: float
    degree: float = 3.0
    coef0: float = 0.0


class RBF(NamedTuple):
    """exp(-gamma |a - b|^2)."""

    gamma: float
    degree: float = 0.0
    coef0: float = 0.0


KERNELS: dict[str, Any] = {"linear": Linear, "poly": Poly, "rbf": RBF}


class BadKernel(ValueError):
    """A user's kernel has returned something other than a matrix of kernel values."""


class Function(NamedTuple):
    """A function of two matrices, rows against rows."""

    function: Callable[[Any, Any], Any]

    def values(self, A: Any, B: Any) -> Floats:
        """K(a, b) for all rows of A and B, or an error if the function gives anything else."""
        K = np.ascontiguousarray(self.function(A, B), dtype=np.float64)
        if K.shape != (A.shape[0], B.shape[0]):
            raise BadKernel(f"kernel must return a matrix of shape {(A.shape[0], B.shape[0])}, got {K.shape}")
        if not np.isfinite(K).all():
            raise BadKernel("kernel returned NaN or inf; its values must be finite")
        return K


class Precomputed(NamedTuple):
    """The values themselves are the input."""


@generic(1)
def kernel_value(kernel: Any, a: Any, b: Any) -> float:
    """K(a, b)."""


@kernel_value.register(Linear, fast=SUM)
def _(kernel, a, b):
    total = 0.0
    for j in range(a.shape[0]):
        total += a[j] * b[j]
    return total


@kernel_value.register(Poly, fast=SUM)
def _(kernel, a, b):
    total = 0.0
    for j in range(a.shape[0]):
        total += a[j] * b[j]
    return (kernel.gamma * total + kernel.coef0) ** kernel.degree


@kernel_value.register(RBF, fast=SUM)
def _(kernel, a, b):
    total = 0.0
    for j in range(a.shape[0]):
        total += (a[j] - b[j]) * (a[j] - b[j])
    return exp(-kernel.gamma * total)


def from_products(kernel: Any, products: Floats, left: Floats, right: Floats) -> None:
    """Turn inner products of rows, of squared norms ``left`` and ``right``, into kernel values, in place."""
    if isinstance(kernel, RBF):
        call(_exponentials, products, left, right, kernel.gamma, np.zeros((1, WIDE)))
    elif isinstance(kernel, Poly) and kernel.degree == int(kernel.degree):
        call(_powers, products, kernel.gamma, kernel.coef0, int(kernel.degree))
    elif isinstance(kernel, Poly):
        products *= kernel.gamma
        products += kernel.coef0
        np.power(products, kernel.degree, out=products)


def powers_of(kernel: Any, norms: Floats) -> Floats:
    """K(x, x) of rows with these squared norms."""
    if isinstance(kernel, RBF):
        return np.ones(len(norms))
    return (kernel.gamma * norms + kernel.coef0) ** kernel.degree


def kernel_matrix(kernel: Any, A: Floats, B: Floats) -> Floats:
    """K(a, b) for all rows of A and B.

    >>> kernel_matrix(Poly(1.0, 2.0, 1.0), np.array([[1.0, 2.0]]), np.array([[3.0, 0.0]]))
    array([[16.]])
    """
    products = np.ascontiguousarray(A @ B.T)
    from_products(kernel, products, np.einsum("ij,ij->i", A, A), np.einsum("ij,ij->i", B, B))
    return products


def kernel_matrix_by_rows(kernel: Any, A: Floats) -> Floats:
    """K(a, b) for all rows of A as `kernel_value` has it: far from the origin, differences keep what products lose.

    >>> far = np.array([[1e9, 0.0], [1e9, 1.0]])
    >>> kernel_matrix_by_rows(RBF(1.0, 0.0, 0.0), far)[0].round(3), kernel_matrix(RBF(1.0, 0.0, 0.0), far, far)[0]
    (array([1.   , 0.368]), array([1., 1.]))
    """
    if not isinstance(kernel, RBF):
        return kernel_matrix(kernel, A, A)
    with np.errstate(over="ignore"):
        return np.array([np.exp(-kernel.gamma * ((A - a) ** 2).sum(axis=1)) for a in A]).reshape(len(A), len(A))


@compiled(nogil=True)
def _exponentials(products, left, right, gamma, rest):
    # The last of a row go through a vector of their own: every value is made by the same operations.
    whole = products.shape[1] - products.shape[1] % rest.shape[1]
    for b in range(products.shape[0]):
        row = products[b : b + 1]
        for i in range(row.shape[1]):
            row[0, i] -= 0.5 * (left[b] + right[i])
        for i in range(0, whole, rest.shape[1]):
            store_sums(exponential(add_products(zero_sums(1, 8), row, 0, i, 1.0), 2.0 * gamma), row[0], i)
        for i in range(whole, row.shape[1]):
            rest[0, i - whole] = row[0, i]
        store_sums(exponential(add_products(zero_sums(1, 8), rest, 0, 0, 1.0), 2.0 * gamma), rest[0], 0)
        for i in range(whole, row.shape[1]):
            row[0, i] = rest[0, i - whole]


@compiled(nogil=True)
def _powers(products, gamma, coef0, degree):
    base = np.empty(products.shape[1])
    for b in range(products.shape[0]):
        row = products[b]
        for i in range(row.shape[0]):
            base[i] = gamma * row[i] + coef0
            row[i] = base[i] if degree & 1 else 1.0
        left = degree >> 1
        while left > 0:
            for i in range(row.shape[0]):
                base[i] *= base[i]
            if left & 1:
                for i in range(row.shape[0]):
                    row[i] *= base[i]
            left >>= 1
