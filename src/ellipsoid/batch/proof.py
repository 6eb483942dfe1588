"""Verifies a solver's result with bounds on rounding: its duality gap, or that no classifier separates the rows.

A solver keeps Omega up to date move by move; with r near one its first values are a million times its last, and
cancellation may leave nothing but noise. Here the reach ``omega_i = c_i phi_i'B phi_i`` is computed from the
multipliers alone, each with a bound on its error. A Cholesky factor L of M is off by ``|dM| <= g sqrt(M_jj M_kk)``, g
the unit of rounding times the length of the sums, so a form y'y of M's inverse, y = L^{-1} x, is off by ``g (|y| .
|L^{-1}| sqrt(diag M))^2``, whatever the scale of the features (Higham, Accuracy and Stability of Numerical Algorithms,
section 10.1).
"""

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.linalg.lapack import dtrtri

from .features import FeatureRows
from .posterior import cholesky_of_kernel, log_determinant
from .problem import ROUNDING, Gap, Matrix, Problem, Vector, balanced, duality_gap

# Beyond this many features the search for a proof that no hyperplane separates would take longer than the solver.
WIDEST_PROOF = 300


class Reach(NamedTuple):
    """``omega_i`` and its error, log|M/(1-r)| and, in features, M's inverse."""

    omega: Vector
    error: Vector
    log_determinant: float
    inverse: Matrix | None = None


def root_of_inverse(lower: Matrix) -> tuple[Matrix, Vector]:
    """L^{-1}, and ``l = |L^{-1}| sqrt(diag LL')``: forms y'y, y = L^{-1} x, are off by (|y|.l)^2 times rounding."""
    root = dtrtri(lower, lower=1)[0]
    return root, np.abs(root) @ np.sqrt(np.einsum("ij,ij->i", lower, lower))


def reach_in_features(rows: FeatureRows, problem: Problem, alpha: Vector) -> Reach:
    """The reach by the m x m matrix M, whose only cancellation is inside M."""
    r, m = problem.r, rows.shape[1]
    lower = rows.factor(alpha * problem.c, 1.0 - r)
    root, loss = root_of_inverse(lower)
    inverse = root.T @ root
    unit, size = ROUNDING * (rows.depth + m + 10), float(loss @ loss)
    if rows.parts is None:
        length, lost = rows.squared_images(root, loss)
        # The factor's error, and that of its inverse and of the products.
        error = unit * lost + 3.0 * ROUNDING * m * np.sqrt(lost * length)
    else:
        length = rows.quadratic(inverse)
        # Products with the inverse itself may cancel; |P_jk| <= sqrt(P_jj P_kk) bounds by how much.
        bulk = rows.absolute_times(np.sqrt(np.diag(inverse))) ** 2
        error = unit * size * length + 3.0 * ROUNDING * m * np.sqrt(size) * bulk
    scale = r * problem.c
    return Reach(scale * length, scale * error, log_determinant(lower, r), inverse)


def gap_in_features(rows: FeatureRows, problem: Problem, alpha: Vector, w: Vector, reach: Reach) -> tuple[Gap, float]:
    """The gap at a classifier w of norm at most one, rounding included, and the norm in the dual."""
    beta = problem.y * alpha
    unit = ROUNDING * (rows.shape[1] + 10)
    blur = unit * rows.absolute_times(w)
    scores = rows.times(w)
    # The bias is about as large as the scores to which it is added.
    blur += 4.0 * ROUNDING * np.abs(scores).max(initial=0.0)
    norm = float(np.linalg.norm(rows.combine(beta)))
    lost = ROUNDING * (len(alpha) + 10) * float(np.linalg.norm(rows.absolute_sum(alpha)))
    return duality_gap(problem, alpha, reach.omega, scores, norm + lost, (reach.error, blur)), norm


def gap_in_kernel(
    kernel: Any, problem: Problem, alpha: Vector, expansion: tuple[Vector, Vector, Vector], reach: Reach
) -> tuple[Gap, float]:
    """The gap at w = sum coef_j phi_j; ``expansion`` = (coef, K coef, K (y alpha))."""
    coef, scores, image = expansion
    lengths = np.sqrt(kernel.diagonal())
    unit = ROUNDING * (len(alpha) + 10)
    blur = unit * lengths * float(lengths @ np.abs(coef)) + 4.0 * ROUNDING * np.abs(scores).max(initial=0.0)
    squared = max(float((problem.y * alpha) @ image), 0.0)
    lost = 2.0 * unit * float(lengths @ alpha) ** 2
    upper = float(np.sqrt(squared + lost))
    return duality_gap(problem, alpha, reach.omega, scores, upper, (reach.error, blur)), float(np.sqrt(squared))


def reach_in_kernel(kernel: Matrix, problem: Problem, alpha: Vector) -> Reach:
    """The reach by ``S = (1-r) I + A^{1/2} Kc A^{1/2}`` of the n points with a multiplier.

    There ``alpha_i omega_i = r (1 - (1-r) (S^{-1})_ii)``, without the factor 1/(1-r) that the general form
    ``omega = r/(1-r) (Kc_jj - g'S^{-1}g)`` multiplies rounding by. Points with a small multiplier need an upper bound,
    and ``Kc_jj - 2 u'g + u'Su`` is one for every u.
    """
    r, diagonal = problem.r, np.diag(kernel)
    support = np.flatnonzero(alpha > 0)
    weight = alpha[support] * problem.c[support]
    unit = ROUNDING * (len(support) + 10)
    omega = r / (1.0 - r) * problem.c * diagonal
    error = 4.0 * ROUNDING * omega
    if not len(support):
        return Reach(omega, error, 0.0)
    lower = cholesky_of_kernel(weight, kernel[np.ix_(support, support)], r)
    root, loss = root_of_inverse(lower)
    length, lost = np.einsum("ij,ij->j", root, root), (loss @ np.abs(root)) ** 2
    omega[support] = r * (1.0 - (1.0 - r) * length) / alpha[support]
    error[support] = (1.0 - r) * (unit * lost + 3.0 * ROUNDING * len(support) * np.sqrt(lost * length)) + 8.0 * ROUNDING
    error[support] *= r / alpha[support]
    others = np.flatnonzero(alpha * problem.c * diagonal < 1.0 - r)
    if len(others):
        cross = np.sqrt(weight)[:, None] * kernel[np.ix_(support, others)]
        u = root.T @ (root @ cross)
        image = lower.T @ u
        inside = diagonal[others] - 2.0 * np.einsum("ij,ij->j", u, cross) + np.einsum("ij,ij->j", image, image)
        bulk = np.sqrt(diagonal[others]) + np.sqrt(weight * diagonal[support] + 1.0 - r) @ np.abs(u)
        scale = r / (1.0 - r) * problem.c[others]
        omega[others], error[others] = scale * np.maximum(inside, 0.0), scale * unit * bulk**2
    return Reach(omega, error, log_determinant(lower, r))


def proves_inseparable(X: Matrix, y: Vector, alpha: Vector) -> bool:
    """Whether nonnegative multipliers near ``alpha``, not all zero, have sum alpha_i y_i (x_i, 1) = 0 exactly.

    Then ``sum alpha_i y_i (w.x_i + b) = 0`` for every w and b, and none separates. alpha itself leaves a residual; an
    approximate right inverse R of the matrix A of the y_i (x_i, 1) removes it by a change of at most
    ``sum_j |R_ij| |A alpha| / (1 - |I - A R|)`` (largest entries, every product rounded upwards), and that must be
    smaller than alpha_i wherever it is needed.
    """
    # Features that do not vary are covered by the constant.
    X = X[:, np.ptp(X, axis=0) > 0]
    n, m = X.shape
    if not (0 < m < n and m <= WIDEST_PROOF and np.isfinite(alpha).all() and alpha.max(initial=0.0) > 0):
        return False
    # Powers of two scale without rounding.
    A = np.vstack([X.T, np.ones(n)]) * y
    A = np.ldexp(A, -np.frexp(np.abs(A).max(axis=1))[1][:, None])
    alpha = balanced(alpha, y)
    weight = np.ldexp(alpha, -np.frexp(alpha.max())[1])
    R = weight[:, None] * np.linalg.pinv(A * weight)
    up = 1.0 + 4.0 * ROUNDING * (n + m + 10)
    noise = ROUNDING * (n + 4)
    residual = np.max(np.abs(A @ weight) + noise * (np.abs(A) @ weight)) * up
    lacking = np.abs(np.eye(m + 1) - A @ R) + noise * (np.abs(A) @ np.abs(R)) + ROUNDING
    share = float(lacking.sum(axis=1).max()) * up
    change = np.abs(R).sum(axis=1) * residual * up
    moved = (weight > 0) | (change > 0)
    return bool(share < 0.5 and (change[moved] * 2.0 < weight[moved]).all())


def has_contradiction(X: Any, y: Vector) -> bool:
    """Whether two identical rows of X have different labels: then no kernel separates them."""
    seen: dict[bytes, float] = {}
    for i, label in enumerate(y):
        row = X[[i]].toarray() if sparse.issparse(X) else X[i]
        # Adding zero turns -0.0 into 0.0.
        if seen.setdefault((row + 0.0).tobytes(), label) != label:
            return True
    return False
