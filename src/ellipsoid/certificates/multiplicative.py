"""Bounds for Winnow, from the relative entropy of a comparator to the weights.

With theta the sum of eta tau_r x over all updates, U >= 0 a comparator whose weights sum to one where the learner's do,
F(U) its relative entropy to the uniform start, and kappa the curvature of the link along an update's row,

    <U, theta> - F(U) <= G(theta) <= n eta (margin + eta c kappa / 2)

after n updates: on an update sum tau_r B_r <= margin, and sum tau_r^2 <= 2 where rows are normalised one by one (c = 2,
version 1), while the matrix as a whole has entries tau_r x_i (c = 1, version 2). Let g = <U, theta> / (n eta), the
average margin of U on the updates; then

    n <= F(U) / (eta (g - margin - eta c kappa / 2)).

Smallest at eta = g / c for margin 0 and |x_i| <= 1: 4 k log(n) / g^2 (version 1), 2 log(n k) / g^2 (version 2).

Crammer and Singer (JMLR 2003), theorem 11, corrected: U must not be negative; for signed U double the features.
"""

from math import inf

from .certificate import Certificate
from .dual import SLACK, Comparator


def winnow(
    comparator: Comparator, *, updates: int, mistakes: int, zeros: bool, eta: float, margin: float, growth: float
) -> list[Certificate]:
    """``growth`` is c kappa; the comparator lies in the domain of F, or its complexity is infinite."""
    average = comparator.size * comparator.along / (updates * eta) if updates and comparator.size < inf else 0.0
    spare = eta * (average - margin - 0.5 * eta * growth)
    bound = 0.0
    if updates:
        fits = comparator.complexity < inf and spare > 0.0
        bound = (comparator.complexity + SLACK) / spare * (1.0 + SLACK) if fits else inf
    condition = (
        "U in the domain (scaled into it where that is enough), with average margin above margin + eta c kappa / 2"
    )
    sure = not zeros and mistakes <= updates
    return [
        Certificate("updates", updates, bound, condition),
        Certificate("mistakes", mistakes, bound if sure else inf, condition + "; no zero row"),
    ]


def growth_of_normaliser(G: float, *, updates: int, eta: float, margin: float, growth: float) -> Certificate:
    """A running check that needs no comparator: how far the normaliser has come."""
    bound = updates * eta * (margin + 0.5 * eta * growth)
    return Certificate("log of the normaliser", G, bound * (1.0 + SLACK) + SLACK, "always")
