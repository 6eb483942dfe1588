"""The ellipsoidal SVM learned online: each step takes one point in O(n^2), and a lower bound on the optimum is known.

Two problems over the points so far, weights C_i = 1/(nu |x_i|):

    "relaxed"  min  -r ln|B| + (1-r) tr B + (1/N) sum C_i (x_i'B x_i/|x_i| - y_i x_i.w)_+     |w| <= 1
    "trace"    min  -ln|B|                + (1/N) sum C_i (x_i'B x_i - y_i x_i.w)_+           |w| <= 1,  tr B <= 1/R

The first is Problem 6 of Momma, Hatano and Nakayama with nu_batch = N nu; the second is their Problem 14. Both keep the
running mean S of the active points' outer products (exactly, with steps 1/t: the paper's 1/(2t) does not telescope), so
B = r((1-r)I + S)^{-1} or (S + l I)^{-1} with the smallest l >= 0 that fits the trace, and move w by 0.3/sqrt(t).

Instead of one projection per step, Z = t S and Q = (Z + rho I)^{-1} are kept: an active point is a rank-one change, and
x'B_t x = (t-1) x'Qx up to the growth of t since rho was set; rho is renewed whenever t has grown by five per cent.
"""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import cho_solve, cholesky, eigh, eigvalsh

from ellipsoid.certificates.rounding import relative_error
from ellipsoid.engine.compile import compiled
from ellipsoid.engine.generic import generic, helper
from ellipsoid.engine.rows import CSR, Dense
from ellipsoid.representation.table_protocol import Floats

from ..parameters.validation import positive

SOFT_MARGIN_R = 0.9
STEP = 0.3
# How much t may grow before rho is renewed, and the fewest steps between two renewals.
GROWTH, LEAST_STEPS = 0.05, 10
# Up to this width the eigenvalues that sharpen the skip test cost less than they save.
EIGEN_WIDTH = 200

CLOCK, RHO, TOP, RADIUS, WAITING, DUE, MOVES = range(7)


def check_constants(nu: float, r: float) -> None:
    """Refuse constants for which neither problem has a solution."""
    if positive("nu", nu, infinite=True) == np.inf:
        raise ValueError(f"nu must be positive and finite, got {nu}")
    if not 0 < positive("r", r, zero=True) < 1:
        raise ValueError(f"r must lie strictly between 0 and 1, got {r}")


class Terms(NamedTuple):
    """The problem's constants; r = 0 stands for the trace problem.

    ``offset`` columns (0 or 1) in front belong to the constant feature, whose size is ``bias``.
    """

    nu: float
    r: float
    offset: int
    bias: float


class BinaryState(NamedTuple):
    """Arrays of one binary learner: Z's lower triangle, Q, w, the weighted sum of past w, sum C y x, and scalars."""

    Z: np.ndarray
    Q: np.ndarray
    w: np.ndarray
    past: np.ndarray
    pull: np.ndarray
    scalars: np.ndarray


@generic(1)
def load_row(rows: Any, row: int, terms: Terms, x: Any, which: Any) -> Any:
    """Copy a row into the dense scratch x, the constant feature first, and the places of its nonzeros into ``which``.

    Returns their number and the squared norm.
    """


@load_row.register(Dense)
def _(rows, row, terms, x, which):
    count, norm2 = _load_constant(terms, x, which)
    for j in range(rows.X.shape[1]):
        value = rows.X[row, j]
        x[terms.offset + j] = value
        if value != 0.0:
            which[count] = terms.offset + j
            count += 1
            norm2 += value * value
    return count, norm2


@load_row.register(CSR)
def _(rows, row, terms, x, which):
    x[:] = 0.0
    count, norm2 = _load_constant(terms, x, which)
    for k in range(rows.indptr[row], rows.indptr[row + 1]):
        value = rows.data[k]
        if value != 0.0:
            j = terms.offset + rows.indices[k]
            x[j] = value
            which[count] = j
            count += 1
            norm2 += value * value
    return count, norm2


@helper()
def _load_constant(terms, x, which):
    if not terms.offset:
        return 0, 0.0
    which[0] = 0
    x[0] = terms.bias
    return 1, terms.bias * terms.bias


@helper(inline=False)
def _learn(x, which, count, norm2, y, state, terms, u):
    """One step on the loaded point; returns its score before the step and whether it was active."""
    Z, Q, w, past, pull, scalars = state
    n = w.shape[0]
    score = 0.0
    for k in range(count):
        score += w[which[k]] * x[which[k]]
    scalars[CLOCK] += 1.0
    t = scalars[CLOCK]
    if norm2 < 1e-300:
        scalars[WAITING] += t
        return score, False
    norm = np.sqrt(norm2)
    scalars[RADIUS] = max(scalars[RADIUS], norm)
    # Old S, so t - 1 points; the unit margin weight 1/|x| belongs to the relaxed problem only.
    scale = max(t - 1.0, 1.0)
    weight = 1.0 / (terms.nu * norm)
    if terms.r > 0.0:
        scale *= terms.r / norm
        weight /= norm
    active = False
    if y * score <= scale * scalars[TOP] * norm2:
        u[:] = 0.0
        for k in range(count):
            value = x[which[k]]
            line = Q[which[k]]
            for j in range(n):
                u[j] += value * line[j]
        quadratic = 0.0
        for k in range(count):
            quadratic += u[which[k]] * x[which[k]]
        active = scale * quadratic - y * score >= 0.0
    if active:
        for k in range(count):
            a = which[k]
            value = weight * x[a]
            line = Z[a]
            for j in range(a + 1):
                line[j] += value * x[j]
        shrink = weight / (1.0 + weight * quadratic)
        for a in range(n):
            value = shrink * u[a]
            line = Q[a]
            for j in range(n):
                line[j] -= value * u[j]
        cost = y / (terms.nu * norm)
        move = STEP / np.sqrt(t) * y / norm
        waiting = scalars[WAITING]
        total = 0.0
        for j in range(n):
            past[j] += waiting * w[j]
            pull[j] += cost * x[j]
            w[j] += move * x[j]
            total += w[j] * w[j]
        scalars[WAITING] = 0.0
        if total > 1.0:
            total = np.sqrt(total)
            for j in range(n):
                w[j] /= total
        scalars[MOVES] += 1.0
    # Past vectors are averaged with weights 1, 2, 3, ...: the weights of a vector that stays are summed up in WAITING.
    scalars[WAITING] += t
    return score, active


@compiled(error_model="numpy")
def learn_rows(rows, order, signs, state, terms, scores, moved):
    """Learn the rows in the given order: their scores before each step, and which of them were active."""
    n = state.w.shape[0]
    x, u, which = np.zeros(n), np.empty(n), np.empty(n, np.int64)
    for p in range(order.shape[0]):
        count, norm2 = load_row(rows, order[p], terms, x, which)
        scores[p], active = _learn(x, which, count, norm2, signs[order[p]], state, terms, u)
        moved[p] |= active


# The largest number whose square is finite, and the smallest whose inverse is.
LARGEST_SQUARED, LEAST_RHO = 1e150, 1e-300


def smallest_shift(values: Floats, radius: float) -> float:
    """The smallest l >= 0 with sum 1/(values + l) <= 1/radius, by Newton on the concave 1/sum: monotone from below."""
    values = np.maximum(values, 0.0)
    # The largest term alone needs this much.
    shift = max(0.0, radius - float(values.min()))
    for _ in range(200):
        inverse = 1.0 / (values + shift)
        total = inverse.sum()
        missing = radius - 1.0 / total
        if missing <= 1e-14 * radius:
            break
        unit = total if total > LARGEST_SQUARED else 1.0
        shift += missing * (total / unit) ** 2 / float((inverse / unit) @ (inverse / unit))
    return shift


@dataclass
class BinaryESVM:
    """One binary learner: its arrays, and the renewals of rho between compiled stretches."""

    terms: Terms
    width: int
    state: BinaryState = field(init=False)

    def __post_init__(self) -> None:
        n = self.width
        scalars = np.zeros(MOVES + 1)
        self.state = BinaryState(np.zeros((n, n)), np.zeros((n, n)), np.zeros(n), np.zeros(n), np.zeros(n), scalars)

    @property
    def clock(self) -> int:
        return int(self.state.scalars[CLOCK])

    @property
    def radius(self) -> float:
        return float(self.state.scalars[RADIUS])

    def mirrored(self) -> "BinaryESVM":
        """The learner of the opposite class: activity does not depend on which class is called positive."""
        twin = BinaryESVM(self.terms, self.width)
        s = self.state
        twin.state = BinaryState(s.Z.copy(), s.Q.copy(), -s.w, -s.past, -s.pull, s.scalars.copy())
        return twin

    def widen(self, width: int) -> None:
        """Add features: until rho is renewed, Q is 1/rho on their diagonal."""
        old, s = self.width, self.state
        grown = BinaryESVM(self.terms, width)
        g = grown.state
        g.Z[:old, :old], g.Q[:old, :old] = s.Z, s.Q
        for new, known in zip(g[2:5], s[2:5], strict=True):
            new[:old] = known
        g.scalars[:] = s.scalars
        if s.scalars[RHO] > 0:
            extra = np.arange(old, width)
            g.Q[extra, extra] = 1.0 / s.scalars[RHO]
            g.scalars[TOP] = max(s.scalars[TOP], 1.0 / s.scalars[RHO])
        self.width, self.state = width, g

    def mean_outer(self) -> Floats:
        """S, the mean over all steps of the active points' weighted outer products."""
        lower = self.state.Z / max(self.clock, 1)
        return lower + np.tril(lower, -1).T

    def shift(self, S: Floats, radius: float) -> float:
        """What is added to S before it is inverted: 1 - r, or the projection's l."""
        return 1.0 - self.terms.r if self.terms.r > 0 else smallest_shift(eigvalsh(S), radius)

    def shape(self, radius: float | None = None) -> Floats:
        """B, exactly."""
        radius = self.radius if radius is None else radius
        if self.terms.r == 0 and radius == 0:
            raise ValueError("B has no bound yet, because all rows so far are zero; learn a row that is not zero")
        S = self.mean_outer()
        S[np.diag_indices_from(S)] += self.shift(S, radius)
        factor = cholesky(S, lower=True, overwrite_a=True)
        return (self.terms.r or 1.0) * cho_solve((factor, True), np.eye(self.width))

    def renew(self, first_radius: float) -> None:
        """rho, Q and the skip test's bound for the steps until t has grown by a twentieth."""
        s = self.state.scalars.copy()
        t = s[CLOCK]
        ahead = max(float(LEAST_STEPS), np.floor(GROWTH * t))
        Z = self.state.Z + np.tril(self.state.Z, -1).T
        narrow = self.width <= EIGEN_WIDTH
        values, vectors = eigh(Z) if narrow and t > 0 else (np.zeros(self.width), np.eye(self.width))
        if self.terms.r > 0:
            rho = (1.0 - self.terms.r) * (max(t, 1.0) + ahead / 2.0)
        elif t == 0:
            rho = self.width * first_radius
        else:
            # After zero rows alone there is no other radius than the assumed one.
            values_of_mean = values / t if narrow else eigvalsh(Z) / t
            rho = smallest_shift(values_of_mean, self.radius or first_radius) * (t + ahead / 2.0)
        # Where the trace constraint is slack, l = 0 and rounding may make Z singular.
        rho = max(rho, 1e-12 * float(np.trace(Z)), LEAST_RHO)
        if narrow:
            Q = (vectors / (np.maximum(values, 0.0) + rho)) @ vectors.T
            s[TOP] = 1.0 / (max(values[0], 0.0) + rho)
        else:
            factor = cholesky(Z + rho * np.eye(self.width), lower=True)
            Q = cho_solve((factor, True), np.eye(self.width))
            s[TOP] = 1.0 / rho
        s[RHO], s[DUE] = rho, t + ahead
        # A new array instead of new content: a run that is interrupted here can still go back to the old Q.
        self.state = self.state._replace(Q=np.ascontiguousarray(Q), scalars=s)

    @property
    def rows_left(self) -> int:
        """How many rows can be learned before rho is due."""
        return max(0, int(np.ceil(self.state.scalars[DUE] - self.state.scalars[CLOCK])))

    def skip_rows(self, rows: int) -> None:
        """Count so many rows from which nothing can be learned."""
        s = self.state.scalars.copy()
        s[WAITING] += rows * s[CLOCK] + 0.5 * rows * (rows + 1)
        s[CLOCK] += rows
        self.state = self.state._replace(scalars=s)

    def learn(self, rows: Dense | CSR, order: Any, signs: Floats, scores: Floats, moved: Any) -> None:
        """Learn the rows in the given order, no more than are ``rows_left``: all of them at once, without a stop."""
        learn_rows(rows, order, signs, self.state, self.terms, scores, moved)

    def mean_weights(self) -> Floats:
        """The average of all w so far with weights 1, 2, 3, ..."""
        t = self.clock
        if t == 0:
            return self.state.w.copy()
        return (self.state.past + self.state.scalars[WAITING] * self.state.w) / (0.5 * t * (t + 1))

    def dual(self, radius: float | None = None) -> float:
        """A lower bound on the optimum over the points learned so far (each as often as it was seen)."""
        radius = self.radius if radius is None else radius
        if self.terms.r == 0 and radius == 0:
            return -np.inf
        S = self.mean_outer()
        with np.errstate(over="ignore"):
            norm = float(np.linalg.norm(self.state.pull)) / max(self.clock, 1)
        try:
            shift = self.shift(S, radius)
            S[np.diag_indices_from(S)] += shift
            log_determinant = 2.0 * float(np.log(np.diag(cholesky(S, lower=True, overwrite_a=True))).sum())
        except ValueError:
            # Infinite, or flatter than rounding (a LinAlgError is a ValueError): nothing is known.
            return -np.inf
        n, r = self.width, self.terms.r
        if r > 0:
            return r * (log_determinant - n * np.log(1.0 - r)) - norm
        return log_determinant + n - shift / radius - norm

    def rounding_error(self) -> float:
        """By how much rounding can have changed ``dual()`` or ``ball_objective()``.

        A determinant by Cholesky is that of a matrix whose entries are off by n roundings, relative to its largest
        eigenvalue; the sums behind it are off by one rounding a step, of terms that have one sign.
        """
        n, roundings = self.width, relative_error(self.clock + 8.0 * self.width + 16.0)
        size = 1.0
        if self.clock and self.radius > 0.0:
            S = self.mean_outer()
            if not np.isfinite(S).all():
                return np.inf
            values, shift = eigvalsh(S), self.shift(S, self.radius)
            size += float(values[-1]) / max(shift + max(float(values[0]), 0.0), 1e-12 * float(values.sum()), 1e-300)
        pulled = 2.0 / self.terms.nu
        return roundings * (n * size + abs(self.ball_objective() if self.radius > 0.0 else 0.0) + pulled)

    def ball_objective(self) -> float:
        """The objective of the best ball around the origin, an upper bound on the optimum that needs no data.

        At w = 0 and B = s I a point costs s/nu (relaxed), or s |x|/nu <= s R/nu (trace, where s <= 1/(nR)).
        """
        n, nu, r = self.width, self.terms.nu, self.terms.r
        if r > 0:
            return r * n * float(np.log1p(1.0 / (nu * n * (1.0 - r))))
        if self.radius == 0:
            return np.inf
        s = min(1.0 / n, n * nu) / self.radius
        return -n * float(np.log(s)) + s * self.radius / nu

    def gap(self, average_slack: float, B: Floats) -> float:
        """Primal minus dual, given (1/N) sum C_i (...)_+ of the same points at B and the weights to be judged."""
        S = self.mean_outer()
        norm = float(np.linalg.norm(self.state.pull)) / max(self.clock, 1)
        if self.terms.r > 0:
            spent = float(np.einsum("ij,ij->", S, B))
        else:
            # tr(BS) = n - l tr B, and the dual charges l/R: they differ where the trace constraint is slack.
            spent = self.width - self.shift(S, self.radius) / self.radius
        return average_slack - spent + norm
