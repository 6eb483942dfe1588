"""Fits one binary ellipsoidal SVM: chooses the solver, prepares kernel matrix or features, and calls the solver.

| data | solver |
|---|---|
| linear kernel, few points | pair or block steps on K = XX' |
| linear kernel, many points | coordinate ascent, the columns of X as features |
| another kernel, up to ``EXACT_LIMIT`` points | pair or block steps on K |
| another kernel, more points | coordinate ascent on ``n_components`` features of the kernel |
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from .device import DEVICE_LIMIT, DeviceKernel
from .exact import solve_exact
from .features import FeatureRows, LandmarkMap, incomplete_cholesky, nystroem
from .kernels import Kernel, check_kernel
from .posterior import cholesky_of_kernel
from .problem import Matrix, NotSeparable, Problem, Solution, Vector, balanced, make_problem
from .proof import WIDEST_PROOF, has_contradiction, proves_inseparable, reach_in_features
from .proximal import PLAIN_LIMIT, Report, SolverOptions, solve_kernel
from .scalable import solve_features

# The solvers on the kernel matrix keep two N x N matrices; with more points than this, features of the kernel are used.
EXACT_LIMIT = 6000
# Up to this many points the solvers on the kernel matrix are faster than coordinate ascent even for few features.
KERNEL_FIRST = 500
# P = M^{-1} is a dense m x m matrix.
WIDEST_INVERSE = 2000
# nu = "auto": the margin at which every multiplier is at its bound, r nu rank/N, becomes a fiftieth of r.
SATURATION = 0.02
# Small problems are polished after the tolerance is met: for this many passes on the kernel matrix, and for this many
# operations in features, where a pass gains less.
POLISH, POLISH_WORK = 50, 2e7
SOLVERS = ("auto", "smo", "block", "features")


@dataclass
class Prepared:
    """The training points in the form the chosen solver needs, shared by all binary problems of a multiclass one."""

    solver: str
    points: Any
    squared_norms: Vector
    rank: int
    kernel_matrix: Matrix | DeviceKernel | None = None
    rows: FeatureRows | None = None
    feature_map: LandmarkMap | None = None


@dataclass(frozen=True)
class Settings:
    """The parameters of the problem and of the solver, as the user gave them."""

    nu: float | str
    r: float
    hard: bool
    scaling: str
    exact: bool
    tol: float
    max_iter: int
    n_components: int
    features: str
    seed: int


def choose_solver(asked: str, kernel: Kernel, n: int, width: int, device: bool = False) -> str:
    if asked not in SOLVERS:
        raise ValueError(f"solver must be one of {', '.join(SOLVERS)}, got {asked!r}")
    if asked != "auto":
        return asked
    if device:
        return "block" if n <= DEVICE_LIMIT else "features"
    linear = kernel.name == "linear"
    if (linear and n > KERNEL_FIRST and width <= min(n, WIDEST_INVERSE)) or n > EXACT_LIMIT:
        return "features"
    return "smo" if n <= PLAIN_LIMIT else "block"


def prepare(X: Any, kernel: Kernel, solver: str, settings: Settings, device: bool = False) -> Prepared:
    """Kernel matrix or features of the training points; the matrix on a GPU with ``device``."""
    n, width = X.shape
    linear, exact = kernel.name == "linear", settings.exact
    if exact or solver == "features":
        solver = "exact" if exact else solver
        if linear and (exact or width <= WIDEST_INVERSE):
            rows = FeatureRows(X)
            rank = width if exact else min(n, width)
            return Prepared(solver, X, rows.squared_norms(), rank, rows=rows)
        count, method = (n, "cholesky") if exact else (settings.n_components, settings.features)
        rows, feature_map = _kernel_features(X, kernel, count, method, settings.seed)
        return Prepared(solver, X, rows.squared_norms(), rows.shape[1], rows=rows, feature_map=feature_map)
    if device:
        matrix = DeviceKernel(X, kernel)
        return Prepared(solver, X, matrix.diagonal(), n, kernel_matrix=matrix)
    K = kernel(X, X)
    check_kernel(kernel, K)
    rows_or_none = FeatureRows(X) if linear else None
    rank = min(n, width) if linear else n
    return Prepared(solver, X, np.diag(K).copy(), rank, kernel_matrix=np.ascontiguousarray(K), rows=rows_or_none)


def _kernel_features(X: Any, kernel: Kernel, width: int, method: str, seed: int) -> tuple[FeatureRows, LandmarkMap]:
    def columns(which: NDArray[np.int64]) -> Matrix:
        return X[:, which] if kernel.name == "precomputed" else kernel(X, X[which])

    if kernel.name == "precomputed":
        check_kernel(kernel, X)
    if method == "nystroem":
        phi, feature_map = nystroem(columns, X.shape[0], width, np.random.default_rng(seed))
    elif method == "cholesky":
        diagonal = np.diag(X) if kernel.name == "precomputed" else kernel.diagonal(X)
        phi, feature_map = incomplete_cholesky(lambda j: columns(np.array([j]))[:, 0], diagonal, width)
    else:
        raise ValueError(f"features must be 'cholesky' or 'nystroem', got {method!r}")
    return FeatureRows(phi), feature_map


def fit_binary(
    prepared: Prepared,
    y: Vector,
    settings: Settings,
    weights: Vector | None = None,
    previous: Solution | None = None,
    report: Report | None = None,
) -> Solution:
    """Solve one binary problem, starting from the previous solution where there is one of the same size."""
    n = len(y)
    nu = SATURATION * n / prepared.rank if settings.nu == "auto" else float(settings.nu)
    problem = make_problem(
        y,
        prepared.squared_norms,
        nu=nu,
        r=settings.r,
        rank=prepared.rank,
        hard=settings.hard,
        scaling=settings.scaling,
        weights=weights,
    )
    fit = _fit_features if prepared.solver == "features" else _fit_kernel
    try:
        if settings.exact:
            assert prepared.rows is not None
            found = solve_exact(prepared.rows.dense(), problem, nu, weights)
            found.converged = found.gap <= settings.tol * max(1.0, abs(found.dual))
            found.dual -= problem.constant
            return found
        found = fit(prepared, problem, settings, previous, report)
        if problem.hard and np.isinf(found.gap):
            detail = f"max_iter={settings.max_iter} passes found no separating hyperplane; raise max_iter"
            raise NotSeparable(detail, alpha=found.alpha)
    except NotSeparable as error:
        reason = _why_inseparable(prepared, y, error.alpha)
        raise NotSeparable(reason, proven=True, alpha=error.alpha) if reason else error from None
    return found


def _why_inseparable(prepared: Prepared, y: Vector, alpha: Vector | None) -> str | None:
    """Why no hyperplane separates the classes, where that can be proven."""
    if has_contradiction(prepared.points, y):
        return "a row of X has both labels"
    rows = prepared.rows
    # Features of a kernel are an approximation: a proof for them says nothing about the kernel itself.
    if rows is None or alpha is None or prepared.feature_map is not None or not rows.shape[1] <= WIDEST_PROOF:
        return None
    proven = proves_inseparable(rows.dense(), y, alpha)
    return "the convex hulls of the classes meet" if proven else None


def _warm_alpha(previous: Solution, problem: Problem) -> Vector:
    """The previous multipliers made feasible for the new problem; new points start at zero."""
    old = np.zeros(len(problem.y))
    old[: len(previous.alpha)] = previous.alpha
    return balanced(np.minimum(old, problem.C), problem.y)


def _fit_kernel(
    prepared: Prepared, problem: Problem, settings: Settings, previous: Solution | None, report: Report | None
) -> Solution:
    K, n = prepared.kernel_matrix, len(problem.y)
    assert K is not None
    start = None
    if previous is not None and previous.coef is not None and len(previous.alpha) <= n:
        coef = np.zeros(n)
        coef[: len(previous.coef)] = previous.coef
        start = (_warm_alpha(previous, problem), coef)
    options = SolverOptions(settings.tol, settings.max_iter * n, seed=settings.seed)
    options.polish = POLISH * n if n <= PLAIN_LIMIT else 0
    if prepared.solver == "smo":
        options.block = 0
    found = solve_kernel(K, problem, options, start, report, prepared.rows)
    found.dual -= problem.constant
    found.iterations = -(-found.iterations // n)
    if prepared.rows is not None:
        found.w = prepared.rows.combine(found.coef)
        if prepared.rows.shape[1] <= WIDEST_INVERSE:
            # The small determinant in features keeps digits that the large one of the kernel loses (r near 1).
            reach = reach_in_features(prepared.rows, problem, found.alpha)
            norm = float(np.linalg.norm(prepared.rows.combine(problem.y * found.alpha)))
            found.inverse, found.dual = reach.inverse, problem.r * reach.log_determinant - norm
    return found


def _fit_features(
    prepared: Prepared, problem: Problem, settings: Settings, previous: Solution | None, report: Report | None
) -> Solution:
    rows = prepared.rows
    assert rows is not None
    start = None
    old = None if previous is None else previous.w
    if previous is not None and old is not None and len(old) == rows.shape[1] and len(previous.alpha) <= len(problem.y):
        start = (_warm_alpha(previous, problem), old, previous.bias)
    n, m = rows.shape
    polish = int(POLISH_WORK / (n * m * (m + 30))) if n <= PLAIN_LIMIT else 0
    options = SolverOptions(settings.tol, settings.max_iter, -1, settings.seed, polish)
    found = solve_features(rows, problem, options, start, report)
    found.norm_w = float(np.linalg.norm(found.w))
    return found


def feature_width(model: Solution, rows: FeatureRows) -> Vector:
    """phi'B phi of the rows, from B in features."""
    if model.shape is not None:
        return rows.quadratic(model.shape)
    assert model.inverse is not None
    return model.scale * model.problem.r * rows.quadratic(model.inverse)


def kernel_width(model: Solution, K: Matrix | DeviceKernel, cross: Matrix, diagonal: Vector) -> Vector:
    """phi'B phi = r/(1-r) (k(x,x) - v'((1-r)I + S K S)^{-1} v), S = diag(sqrt(alpha c)), v = S k(X, x)."""
    r = model.problem.r
    support = np.flatnonzero(model.alpha > 0)
    weight = model.alpha[support] * model.problem.c[support]
    lower = cholesky_of_kernel(weight, K[np.ix_(support, support)], r)
    v = np.sqrt(weight)[:, None] * cross[:, support].T
    half = solve_triangular(lower, v, lower=True, check_finite=False)
    inside = diagonal - np.einsum("ij,ij->j", half, half)
    return model.scale * r / (1.0 - r) * np.maximum(inside, 0.0)
