"""The ellipsoidal SVM solved exactly, as a conic programme (Problem 5 of the paper), for small dimensions.

    min  -r log|E| + (1-r) tr E + (1/nu) sum_i zeta_i
    s.t. y_i (x_i.w + b) + t_i zeta_i >= |E x_i|,   |w| <= 1,   zeta >= 0,   E positive semi-definite

Momma, Hatano, Nakayama, Problem 5 (with t_i zeta_i where the paper prints t_i^2 zeta_i). The log-determinant needs
exponential cones, the rest second-order and semi-definite ones, so the work grows with the sixth power of the
dimension: in practice the relaxation of ``problem`` is solved, and this formulation is what it is compared with.
"""

import warnings

import numpy as np
from scipy.optimize import linprog

from .problem import Matrix, NotSeparable, Problem, Solution, Vector, balanced

MOST_DIMENSIONS = 60
# Tried one after another: on separable rows with a high price of slack the solver may stop with insufficient accuracy,
# and succeeds with shorter steps or without rescaling.
SETTINGS: tuple[dict[str, float], ...] = ({}, {"max_step_fraction": 0.9}, {"equilibrate_enable": False})


def solve_exact(X: Matrix, problem: Problem, nu: float, weights: Vector | None = None) -> Solution:
    """Problem 5 by a conic solver; every point has its own second-order cone."""
    try:
        import cvxpy as cp
    except ImportError:
        raise ImportError('formulation="exact" needs the conic solvers: pip install "ellipsoid[exact]"') from None
    y, r, hard = problem.y, problem.r, problem.hard
    n, d = X.shape
    if d > MOST_DIMENSIONS:
        raise ValueError(f'formulation="exact" is for at most {MOST_DIMENSIONS} dimensions, got {d}; use "relaxed"')
    if hard and not _separable(X, y):
        raise NotSeparable("a linear programme finds no separating hyperplane; rescale X")
    norms = np.linalg.norm(X, axis=1)
    E = cp.Variable((d, d), PSD=True)
    w, b = cp.Variable(d), cp.Variable()
    # Scaling x_i to length one and its margin by 1/t_i does not change the constraint, and helps the solver.
    unit = X / norms[:, None]
    margins = cp.multiply(y, unit @ w + b / norms)
    lengths = cp.norm(unit @ E, axis=1)
    volume = -r * cp.log_det(E) + (1.0 - r) * cp.trace(E)
    holds = margins >= lengths
    objective = volume
    cost = np.full(n, np.inf) if hard else np.ones(n) / nu if weights is None else weights / nu
    if not hard:
        zeta = cp.Variable(n, nonneg=True)
        objective = volume + cost @ zeta
        holds = margins + zeta >= lengths
    programme = cp.Problem(cp.Minimize(objective), [holds, cp.norm(w) <= 1])
    with warnings.catch_warnings():
        # The certificate measures the accuracy; the solver's warning adds nothing.
        warnings.filterwarnings("ignore", message="Solution may be inaccurate")
        for settings in SETTINGS:
            try:
                programme.solve(solver=cp.CLARABEL, **settings)
                break
            except cp.error.SolverError:
                continue
    if programme.status not in (cp.OPTIMAL, cp.OPTIMAL_INACCURATE):
        raise RuntimeError(f"the conic solver stopped with status {programme.status!r}; rescale X, or raise nu")
    multipliers = np.clip(np.asarray(holds.dual_value), 0.0, cost) / norms
    return _certify(X, problem, cost / norms, (np.asarray(w.value), float(b.value), np.asarray(E.value), multipliers))


def _separable(X: Matrix, y: Vector) -> bool:
    """Whether y_i (x_i.w + b) >= 1 has a solution, by a linear programme."""
    rows = -y[:, None] * np.column_stack([X, np.ones(len(y))])
    found = linprog(np.zeros(rows.shape[1]), A_ub=rows, b_ub=-np.ones(len(y)), bounds=(None, None))
    return bool(found.status == 0)


def _certify(X: Matrix, problem: Problem, C: Vector, point: tuple[Vector, float, Matrix, Vector]) -> Solution:
    """The solver's answer made feasible, with its primal and dual values computed anew.

    |E x| is the largest s'E x over unit vectors s, so any choice of s_i gives a lower bound on Problem 5:
    r log|G/r| + r d - |sum alpha_i y_i x_i| with G = (1-r) I + sum alpha_i (s_i x_i' + x_i s_i')/2, if G is positive.
    The natural choice is s_i along E x_i.
    """
    w, bias, E, alpha = point
    y, r, d = problem.y, problem.r, X.shape[1]
    w = w / max(1.0, float(np.linalg.norm(w)))
    E = 0.5 * (E + E.T)
    images = X @ E
    lengths = np.linalg.norm(images, axis=1)
    margins = y * (X @ w + bias)
    penalty = 0.0
    if np.isinf(C[0]):
        shrink = min(1.0, float(np.min(margins / lengths)))
        if shrink <= 0:
            raise NotSeparable("the conic solver found no separating hyperplane; rescale X")
        E, lengths = E * shrink, lengths * shrink
    else:
        penalty = float(C @ np.maximum(lengths - margins, 0.0))
    primal = -r * float(np.linalg.slogdet(E)[1]) + (1.0 - r) * float(np.trace(E)) + penalty
    alpha = balanced(alpha, y)
    half = (images / np.linalg.norm(images, axis=1)[:, None] * alpha[:, None]).T @ X
    G = (1.0 - r) * np.eye(d) + 0.5 * (half + half.T)
    sign, log_determinant = np.linalg.slogdet(G / r)
    bounded = sign > 0 and float(np.linalg.eigvalsh(G)[0]) > 0
    dual = r * (float(log_determinant) + d) - float(np.linalg.norm((alpha * y) @ X)) if bounded else -np.inf
    return Solution(problem, alpha, bias, primal - dual, dual, norm_w=float(np.linalg.norm(w)), w=w, shape=E)
