"""Kernels of two dense vectors, with the parameters of ``sklearn.svm.SVC``.

linear  <a, b>        poly  (gamma <a, b> + coef0)^degree        rbf  exp(-gamma |a - b|^2)
"""

from math import exp
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ellipsoid.engine.generic import SUM, generic


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


@generic(1)
def value(kernel: Any, a: Any, b: Any) -> float:
    """K(a, b)."""


@value.register(Linear, fast=SUM)
def _(kernel, a, b):
    total = 0.0
    for j in range(a.shape[0]):
        total += a[j] * b[j]
    return total


@value.register(Poly, fast=SUM)
def _(kernel, a, b):
    total = 0.0
    for j in range(a.shape[0]):
        total += a[j] * b[j]
    return (kernel.gamma * total + kernel.coef0) ** kernel.degree


@value.register(RBF, fast=SUM)
def _(kernel, a, b):
    total = 0.0
    for j in range(a.shape[0]):
        total += (a[j] - b[j]) * (a[j] - b[j])
    return exp(-kernel.gamma * total)


def kernel_matrix(kernel: Any, A: NDArray[np.float64], B: NDArray[np.float64]) -> NDArray[np.float64]:
    """K(a, b) for all rows of A and B.

    >>> kernel_matrix(Poly(1.0, 2.0, 1.0), np.array([[1.0, 2.0]]), np.array([[3.0, 0.0]]))
    array([[16.]])
    """
    products = A @ B.T
    if isinstance(kernel, RBF):
        distances = (A * A).sum(axis=1)[:, None] + (B * B).sum(axis=1) - 2.0 * products
        return np.exp(-kernel.gamma * np.maximum(distances, 0.0))
    if isinstance(kernel, Poly):
        powers: NDArray[np.float64] = (kernel.gamma * products + kernel.coef0) ** kernel.degree
        return powers
    return products
