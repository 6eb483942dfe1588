"""The kernel solver of the ellipsoidal SVM: pair or block steps inside a proximal-point loop.

Where the constraint |w| <= 1 is inactive, sum alpha_i y_i phi_i = 0 at the optimum and the dual no longer determines
w: a coordinate method stalls. That is common (any non-separable problem of low rank with a small nu), so every solve
is a sequence of proximal problems, (P) with mu |w - w_k|^2 added, whose duals are smooth everywhere. They differ from
the plain dual in z, q and h only (see ``smo``); w_{k+1} = (2 mu w_k + sum alpha_i y_i phi_i)/(2 gamma),
gamma = max(sqrt(q)/2, mu).

The certificate splits: gap = (what the inner problem still lacks) + (|v| - v.w), v = sum alpha_i y_i phi_i. The inner
solve stops when its own part is the smaller one, and the loop when the sum is small enough.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .device import DeviceKernel, DevicePosterior
from .features import FeatureRows
from .posterior import DRIFT, Posterior
from .problem import (
    ROUNDING,
    Matrix,
    NotSeparable,
    Problem,
    Solution,
    Vector,
    balanced,
    check_diverged,
    duality_gap,
    unseparated,
)
from .proof import Reach, gap_in_features, gap_in_kernel, reach_in_features, reach_in_kernel
from .smo import Box, Curvature, PairState, pair_steps

# The proximal weight as a share of the reach that is spent; anything from 0.03 to 0.3 works.
PROXIMAL_SHARE = 0.1
# With more points than this a step on all of Omega is limited by memory bandwidth, and blocks are faster.
PLAIN_LIMIT = 200
# The largest change of mu from one proximal step to the next.
MOST_CHANGE = 4.0
# An inner solve ends when its own part of the gap is no larger than the proximal part, or after this share of N steps.
INNER_STEPS = 0.5
# Blocks (or bundles of pair steps) between two checks of Omega against its definition.
CHECK_DRIFT_EVERY = 50
# Gaps below this share of the dual are noise.
ROUNDED_GAP = 1e-13
# How often a gap far below its target may fail to be certified before rounding is held responsible, not the solver.
MOST_FAILS = 4

Report = Callable[[float, float, int], None]


@dataclass
class SolverOptions:
    """Limits of a solver. ``block`` is the size of a block; 0 means pair steps on all points.

    After the tolerance is met, up to ``polish`` further steps are made while the gap is above rounding.
    """

    tol: float = 1e-3
    max_iter: int = 100_000
    block: int = 64
    seed: int = 0
    polish: int = 0


class _DualPoint:
    """The dual point of one proximal problem and the moves that improve it."""

    def __init__(self, kernel: Any, problem: Problem, alpha: Vector, block: int, rows: FeatureRows | None) -> None:
        narrow = rows if rows is not None and rows.shape[1] <= rows.shape[0] else None
        if narrow is not None and not narrow.sparse:
            # Since sum_i alpha_i y_i = 0, v and w are the same for shifted points, but K loses digits to a shift.
            centred = narrow.phi - narrow.phi.mean(axis=0)
            kernel = centred @ centred.T
        self.kernel = kernel
        self.problem = problem
        self.alpha = alpha
        self.rows, self.narrow = rows, narrow
        on_device = isinstance(kernel, DeviceKernel)
        self.posterior: Posterior = (
            DevicePosterior(kernel, problem, alpha) if on_device else Posterior(kernel, problem, alpha, narrow)
        )
        self.block = block
        self.box = Box(problem.y, problem.C)
        self.omega = self.posterior.full() if block == 0 else None

    @property
    def diagonal(self) -> Vector:
        return self.posterior.diagonal if self.omega is None else np.diag(self.omega).copy()

    def recentre(self, coef: Vector, mu: float) -> None:
        """Start the proximal problem around w = sum coef_j phi_j."""
        self.mu = mu
        self.centre = 2.0 * mu * coef
        self.base = self.posterior.kernel_times(self.centre)
        self.renew()

    def renew(self) -> None:
        """Compute z and q anew from the multipliers, free of accumulated rounding."""
        beta = self.problem.y * self.alpha
        self.z = self.base + self.posterior.kernel_times(beta)
        self.q = max(float((self.centre + beta) @ self.z), 0.0)

    @property
    def two_gamma(self) -> float:
        return max(float(np.sqrt(self.q)), 2.0 * self.mu)

    def advance(self, budget: int) -> tuple[int, float]:
        """One block (or a bundle of pair steps); returns the steps taken and the violation before (after)."""
        terms = Curvature(self.problem.r, self.mu)
        if self.omega is not None:
            state = PairState(self.alpha, self.z, self.omega, self.kernel)
            bundle = min(budget, max(20, len(self.alpha) // 2))
            self.q, growth, steps, violation = pair_steps(state, self.box, terms, self.q, 0.0, bundle)
            self.posterior.log_determinant += growth
            return steps, violation
        return self._block(terms, budget)

    def _block(self, terms: Curvature, budget: int) -> tuple[int, float]:
        diagonal = self.posterior.diagonal
        violation, which = self._choose(diagonal)
        if len(which) < 2:
            return 0, 0.0
        columns = self.posterior.columns(which)
        square = self.posterior.take_square(columns, which)
        part = PairState(self.alpha[which], self.z[which], square.copy(), self.posterior.kernel_block(which))
        box = Box(self.box.y[which], self.box.C[which])
        limit = min(budget, 20 * len(which))
        self.q, growth, steps, _ = pair_steps(part, box, terms, self.q, 0.1 * violation, limit)
        delta = part.alpha - self.alpha[which]
        moved = np.flatnonzero(delta)
        self.alpha[which] = part.alpha
        if len(moved):
            weights = self.problem.y[which[moved]] * delta[moved]
            self.z += self.posterior.kernel_rows_times(which[moved], weights)
            self.posterior.move(self.posterior.take_columns(columns, moved), square[np.ix_(moved, moved)], delta[moved])
            self.posterior.log_determinant += growth
        return steps, violation

    def _choose(self, diagonal: Vector) -> tuple[float, np.ndarray]:
        """The violation, and the points of the next block: the lowest H that may rise and the highest that may fall."""
        y, C = self.box
        h = self.z / self.two_gamma - y * diagonal
        can_grow, can_shrink = self.alpha < C, self.alpha > 0
        up = np.flatnonzero(np.where(y > 0, can_grow, can_shrink))
        low = np.flatnonzero(np.where(y > 0, can_shrink, can_grow))
        if not len(up) or not len(low):
            return 0.0, np.empty(0, np.int64)
        violation = float(h[low].max() - h[up].min())
        half = self.block // 2
        up = up[np.argsort(h[up], kind="stable")[:half]]
        low = low[np.argsort(-h[low], kind="stable")[:half]]
        return violation, np.union1d(up, low)

    def correct_drift(self, rng: np.random.Generator) -> None:
        if self.omega is not None:
            self.posterior.refresh(self.alpha)
            self.omega = self.posterior.full()
        elif self.posterior.drift(self.alpha, rng) > DRIFT:
            self.posterior.refresh(self.alpha)
        self.renew()

    def certified(self, alpha: Vector, coef: Vector) -> Solution:
        """A solution whose gap is computed from alpha and coef alone, and includes rounding."""
        problem, rows = self.problem, self.rows
        alpha = balanced(alpha, problem.y)
        if isinstance(self.posterior, DevicePosterior):
            self.posterior.refresh(alpha)
            omega = self.posterior.diagonal.copy()
            error = ROUNDING * np.sqrt(len(alpha)) * problem.r / (1.0 - problem.r) * problem.c * self.kernel.diagonal()
            reach = Reach(omega, error, self.posterior.log_determinant)
        elif self.narrow is not None:
            reach = reach_in_features(self.narrow, problem, alpha)
        else:
            reach = reach_in_kernel(self.kernel, problem, alpha)
        if rows is not None:
            size = float(np.linalg.norm(rows.combine(coef)))
            coef = coef / max(1.0, size)
            gap, norm = gap_in_features(rows, problem, alpha, rows.combine(coef), reach)
        else:
            image = self.posterior.kernel_times(coef)
            size = float(np.sqrt(max(float(coef @ image), 0.0)))
            coef, image = coef / max(1.0, size), image / max(1.0, size)
            other = self.posterior.kernel_times(problem.y * alpha)
            gap, norm = gap_in_kernel(self.kernel, problem, alpha, (coef, image, other), reach)
        dual = problem.r * reach.log_determinant - norm + problem.constant
        return Solution(problem, alpha, gap.bias, gap.value, dual, gap.scale, min(1.0, size), coef=coef)


def solve_kernel(
    kernel: Matrix | DeviceKernel,
    problem: Problem,
    options: SolverOptions,
    start: tuple[Vector, Vector] | None = None,
    report: Report | None = None,
    rows: FeatureRows | None = None,
) -> Solution:
    """Solve (D) for a kernel matrix; ``rows`` (where K = rows rows') make tiny norms exact."""
    n = len(problem.y)
    alpha, coef = (np.zeros(n), np.zeros(n)) if start is None else (start[0].copy(), start[1].copy())
    work = _DualPoint(kernel, problem, alpha, options.block, rows)
    try:
        return _solve(work, coef, kernel.diagonal(), options, report)
    except ValueError as error:
        # The kernel was checked before; only multipliers that grow without limit make a factorisation fail.
        if problem.hard and not isinstance(error, NotSeparable):
            raise unseparated(work.alpha) from None
        raise


def _solve(
    work: _DualPoint, coef: Vector, squared_norms: Vector, options: SolverOptions, report: Report | None
) -> Solution:
    problem, n = work.problem, len(work.alpha)
    rng = np.random.default_rng(options.seed)
    mu = PROXIMAL_SHARE * problem.r * problem.rank
    done, stale, begun, rounds, next_proof, fails = 0, 0, 0, 0, 0, 0
    limit, polishing = options.max_iter, False
    # The least gap so far is only an estimate until it is certified; ``sure`` is the best certified solution.
    best_gap, best = np.inf, (work.alpha.copy(), coef)
    sure = None
    # With a kernel squared distances are off by eps, and distances by its square root: a smaller separation may come
    # from contradictory labels on one point.
    separation = 1e-7 if work.narrow is None else 1e-12
    work.recentre(coef, mu)
    while True:
        if not (work.diagonal > 0).all():
            work.correct_drift(rng)
        scores = work.z / work.two_gamma
        beta = problem.y * work.alpha
        norm = _norm(beta, work.z - work.base, work.rows)
        gap = duality_gap(problem, work.alpha, work.diagonal, scores, norm, separation=separation)
        slack = max(norm - float(beta @ scores), 0.0)
        dual = problem.r * work.posterior.log_determinant - norm + problem.constant
        target = options.tol * max(1.0, abs(dual))
        new_coef = (work.centre + beta) / work.two_gamma
        if gap.value < best_gap or not np.isfinite(best_gap):
            best_gap, best = gap.value, (work.alpha.copy(), new_coef)
        if report is not None:
            report(best_gap, target, done)
        if best_gap <= target and not polishing and rounds >= next_proof:
            # A certificate costs as much as a hundred steps: there is one, after polishing.
            polishing, limit = True, min(limit, done + options.polish)
        aim = min(target, ROUNDED_GAP * max(1.0, abs(dual))) if polishing else target
        if (polishing and best_gap <= aim) or done >= limit:
            found = work.certified(*best)
            found.converged = found.gap <= options.tol * max(1.0, abs(found.dual))
            sure = found if sure is None or found.gap < sure.gap else sure
            # Rounding, or drift: begin again from the multipliers, and certify less and less often.
            fails += best_gap <= 0.1 * target
            if found.converged or done >= options.max_iter or fails > MOST_FAILS:
                break
            polishing, limit, best_gap, next_proof = False, options.max_iter, np.inf, 2 * rounds + 1
            work.correct_drift(rng)
        stuck = stale >= 3
        if (
            gap.value - slack <= max(slack, 0.3 * aim)
            or stuck
            or (slack > 0.1 * aim and done - begun >= INNER_STEPS * n)
        ):
            spent, size = float(work.alpha @ work.diagonal), float(np.sqrt(work.q)) / work.two_gamma
            if size > 0:
                mu = float(np.clip(PROXIMAL_SHARE * spent / size**2, mu / MOST_CHANGE, MOST_CHANGE * mu))
            work.correct_drift(rng)
            work.recentre(new_coef, mu)
            stale, begun = 0, done
        steps, _ = work.advance(limit - done)
        done += max(steps, 1)
        stale = stale + 1 if steps == 0 else 0
        check_diverged(problem, work.alpha, squared_norms)
        rounds += 1
        # The first moves reduce Omega from r/(1-r) times the kernel, which costs most of its digits.
        if rounds % CHECK_DRIFT_EVERY == 0 or (rounds == 1 and work.narrow is not None):
            work.correct_drift(rng)
    sure.iterations = done
    return sure


def _norm(beta: Vector, image: Vector, rows: FeatureRows | None) -> float:
    """|sum_i beta_i phi_i|, from K beta or, to the last digit, from the features."""
    if rows is not None:
        return float(np.linalg.norm(rows.combine(beta)))
    return float(np.sqrt(max(float(beta @ image), 0.0)))
