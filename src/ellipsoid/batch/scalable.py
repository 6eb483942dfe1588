"""The scalable solver of the ellipsoidal SVM: a proximal loop around dual coordinate ascent in features.

Each proximal step is one pass over the points in a new random order; then w = v/(2 max(|v|/2, mu)) and
b_k += sig/(2 mu_b). The certificate follows: the heavier class is scaled down until y'alpha = 0, M is built anew, and
the duality gap with the best bias bounds the error. The solution with the smallest gap is kept.
"""

import numpy as np
from scipy.linalg import LinAlgError, cho_solve
from scipy.linalg.lapack import dgesv

from .ascent import Points, Weights, block_sweeps, point_pass
from .features import FeatureRows
from .problem import Problem, Solution, Vector, balanced, check_diverged, unseparated
from .proof import gap_in_features, reach_in_features
from .proximal import MOST_CHANGE, PROXIMAL_SHARE, Report, SolverOptions

# With more features than this a rank-one change of P is limited by memory bandwidth, and blocks are faster.
PLAIN_FEATURES = 60
BLOCK_SWEEPS = 5
# Every so many passes the shrunk points, which rest at a bound, are visited too.
FULL_PASS_EVERY = 5
# Every so many certificates P is computed anew from alpha.
RENEW_EVERY = 4
# Small problems are solved to this share of the dual, since decision values change by the square root of a gap.
POLISHED_GAP = 1e-10
BADLY_SCALED = "the features differ so much in scale that M has no Cholesky factor; rescale X"


class _Ascent:
    """The present proximal problem: the multipliers alpha, the inverse P of M, and the proximal centre (w, bias)."""

    def __init__(self, rows: FeatureRows, problem: Problem, options: SolverOptions) -> None:
        self.rows, self.problem, self.options = rows, problem, options
        self.norms = rows.squared_norms()
        self.points = Points(problem.y, problem.c, problem.C, self.norms)
        self.rng = np.random.default_rng(options.seed)
        n, m = rows.shape
        self.alpha, self.w, self.bias = np.zeros(n), np.zeros(m), 0.0
        self.shrunk = np.zeros(n, dtype=np.bool_)
        self.threshold = np.inf
        self.inverse = np.eye(m) / (1.0 - problem.r)
        self.mean_norm = float(self.norms.mean())
        self.plain = m <= PLAIN_FEATURES if options.block < 0 else options.block == 0
        self.size = 64 if options.block <= 0 else options.block

    def run_pass(self, mu: float, full: bool) -> None:
        """One pass, and the proximal step of w and of the bias."""
        mu_b = mu / self.mean_norm
        weights = Weights(self.problem.r, mu, mu_b, self.bias)
        beta = self.problem.y * self.alpha
        v = 2.0 * mu * self.w + self.rows.combine(beta)
        state = np.array([v @ v, beta.sum(), 0.0])
        order = np.arange(len(self.alpha)) if full else np.flatnonzero(~self.shrunk)
        order = self.rng.permutation(order)
        if self.plain:
            phi, shrunk = self.rows.dense(), self.shrunk
            point_pass(order, phi, self.points, self.alpha, self.inverse, v, state, weights, shrunk, self.threshold)
        else:
            for start in range(0, len(order), self.size):
                self._block(np.sort(order[start : start + self.size]), v, state, weights)
        self.threshold = state[2]
        self.share = len(order) / len(self.alpha)
        self.two_gamma = max(float(np.linalg.norm(v)), 2.0 * mu)
        self.w = v / self.two_gamma
        self.bias += state[1] / (2.0 * mu_b)

    def _block(self, which: np.ndarray, v: Vector, state: Vector, weights: Weights) -> None:
        phi = self.rows.block(which)
        image = phi @ self.inverse
        gram = image @ phi.T
        points = Points(*[field[which] for field in self.points])
        before = self.alpha[which]
        alpha = before.copy()
        shrunk = np.empty(len(which), dtype=np.bool_)
        products = (gram.copy(), phi @ phi.T, phi @ v)
        block_sweeps(points, alpha, products, state, weights, shrunk, self.threshold, BLOCK_SWEEPS)
        self.shrunk[which] = shrunk
        delta = alpha - before
        (moved,) = delta.nonzero()
        if not len(moved):
            return
        self.alpha[which] = alpha
        v += (points.y * delta) @ phi
        # P - image' (I + D G)^{-1} D image, D the change of the moved points' weights and G their Gram matrix.
        change = (points.c * delta)[moved, None]
        system = change * gram[moved[:, None], moved]
        system.flat[:: len(moved) + 1] += 1.0
        image = image[moved]
        solved = dgesv(system, change * image, overwrite_a=True, overwrite_b=True)[2]
        self.inverse -= image.T @ solved

    def renew(self) -> None:
        """Compute P anew from alpha."""
        lower = self.rows.factor(self.alpha * self.problem.c, 1.0 - self.problem.r)
        inverse = cho_solve((lower, True), np.eye(len(lower)), overwrite_b=True, check_finite=False)
        self.inverse = 0.5 * (inverse + inverse.T)

    def certify(self) -> tuple[Solution, float]:
        """The solution at the present alpha and w with its gap, and sum_i alpha_i omega_i."""
        problem = self.problem
        alpha = balanced(self.alpha, problem.y)
        reach = reach_in_features(self.rows, problem, alpha)
        assert reach.inverse is not None
        w = self.w / max(1.0, float(np.linalg.norm(self.w)))
        gap, norm = gap_in_features(self.rows, problem, alpha, w, reach)
        dual = problem.r * reach.log_determinant - norm
        found = Solution(problem, alpha, gap.bias, gap.value, dual, gap.scale, w=w, inverse=reach.inverse)
        return found, float(alpha @ reach.omega)


def solve_features(
    rows: FeatureRows,
    problem: Problem,
    options: SolverOptions,
    start: tuple[Vector, Vector, float] | None = None,
    report: Report | None = None,
) -> Solution:
    """Solve (D) in explicit features; ``start`` = (alpha, w, bias) of a neighbouring problem."""
    ascent = _Ascent(rows, problem, options)
    if start is not None:
        ascent.alpha, ascent.w, ascent.bias = start[0].copy(), start[1].copy(), start[2]
        ascent.renew()
    try:
        return _solve(ascent, report)
    except LinAlgError:
        raise unseparated(ascent.alpha) if problem.hard else ValueError(BADLY_SCALED) from None


def _solve(ascent: _Ascent, report: Report | None) -> Solution:
    problem, options = ascent.problem, ascent.options
    mu = PROXIMAL_SHARE * problem.r * problem.rank
    best: Solution | None = None
    done = rounds = 0
    converged, limit = False, options.max_iter
    while True:
        now, spent = ascent.certify()
        if best is None or now.gap <= best.gap:
            best = now
        target = options.tol * max(1.0, abs(now.dual + problem.constant))
        if report is not None:
            report(best.gap, target, done)
        if best.gap <= target:
            converged = True
            limit = min(limit, done + options.polish)
            target = min(target, POLISHED_GAP * max(1.0, abs(now.dual + problem.constant)))
        if best.gap <= target or done >= limit:
            best.iterations, best.converged = done, converged
            return best
        work = 0.0
        while work < 1.0 and done < limit:
            size = float(np.linalg.norm(ascent.w))
            if size > 0:
                mu = float(np.clip(PROXIMAL_SHARE * spent / size**2, mu / MOST_CHANGE, MOST_CHANGE * mu))
            ascent.run_pass(mu, full=done % FULL_PASS_EVERY == 0)
            work += max(ascent.share, 0.1)
            done += 1
        check_diverged(problem, ascent.alpha, ascent.norms)
        rounds += 1
        # The certificate builds its own M. P drifts by rounding alone, and least where r is far from one.
        if rounds % RENEW_EVERY == 0 or problem.hard:
            ascent.renew()
