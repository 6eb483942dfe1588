"""CELLIP: an ellipsoid that contains every classifier of the start ball with the wanted margin; for separable data.

    alpha = (threshold - n) / sqrt(z'Pz),   g = z / sqrt(z'Pz)
    w <- w + (alpha + rho) Pg,   P <- mu^2 P + (A^2 - mu^2) (Pg)(Pg)',   A = 1 - alpha - rho

``paper``: rho = 0, mu^2 = 1 - alpha^2. ``minvol`` is the deep cut of least volume: rho = (1 - alpha) / (dim + 1),
mu^2 = dim^2 (1 - alpha^2) / (dim^2 - 1). In the form P = s B:

    paper    s *= (1 - alpha)(1 + alpha)                    kappa = 2 alpha / (1 + alpha)
    minvol   s *= (1 - alpha^2) dim^2 / (dim^2 - 1)         kappa = 2 (1 + dim alpha) / ((1 + alpha)(dim + 1))

alpha > 1 means that the intersection is empty: a proof that no classifier of norm at most the radius has the margin on
the examples used. alpha = 1 leaves a point; where rounding cannot tell the two apart, what is left lies within
sqrt(1 - alpha^2) of alpha Pg, in the metric of P, and a ball of that metric covers it.

A proof must not depend on rounding. Its bounds (see `ellipsoids.forms.rounding`) reduce the depth of a cut, and the new
ellipsoid is widened until it contains the one that exact arithmetic would have made of the old one. A cut that gains
less than that is not made: an ellipsoid that stops shrinking is correct, one that has lost the truth is not.

Yang, Jin, Ye (ICML 2009), section 2.2, with the start, the outcomes and the bounds corrected.
"""

from math import exp, log, log1p, sqrt
from typing import NamedTuple

from ellipsoid.ellipsoids.disagreement import disagreement
from ellipsoid.ellipsoids.forms.rounding import FAINT, LOOSE, U, guaranteed_radius
from ellipsoid.ellipsoids.protocol import cut
from ellipsoid.ellipsoids.state import (
    ASKED,
    DIM,
    EMPTY_COUNT,
    EMPTY_ROUND,
    EXHAUSTED,
    HALT,
    INVERSE_NORM,
    LAST_PROOF,
    LEAST_SLICE,
    LOG_KEPT,
    LOG_SCALE,
    PARTS_BOUND,
    RELATIVE_EXCESS,
    TERM_SUM,
    TOTAL_EXCESS,
    UNBOUNDED,
    WIDENED,
)
from ellipsoid.engine.generic import helper
from ellipsoid.engine.protocol import on_zero_row, step, wants_label
from ellipsoid.engine.tally import ROUNDS

# What to do at an empty intersection.
SKIP, FREEZE, RESTART, RAISE = range(4)

TOLERANCE = 1e-9
# The largest accepted error, and a factor that covers its second-order terms.
SMALL_ERROR, SECOND = 0.05, 1.1
# Where a cut is too deep for rounding, one of this depth is tried.
GENTLE = 0.9


class CELLIPRule(NamedTuple):
    """``margin`` is where the rule becomes passive: 0 (mistakes), ``threshold`` (margin), huge (always).

    ``radius`` is that of the start ball.
    """

    margin: float
    threshold: float
    smallest: bool
    policy: int
    selective: bool
    radius: float


@step.register(CELLIPRule)
def _(rule, margin, energy):
    return 1.0 if margin <= 0.0 or margin < rule.margin else 0.0


@guaranteed_radius.register(CELLIPRule)
def _(rule):
    return rule.radius


@wants_label.register(CELLIPRule)
def _(rule, task, rep, rows, t, work, tally):
    if rule.selective and not disagreement(task, rep, rows, t, work, rule.radius):
        return False
    rep.state[ASKED] += 1.0
    return True


@on_zero_row.register(CELLIPRule)
def _(rule, rep, tally):
    # Every classifier has margin 0 on a zero row, and hardly more on one whose square underflows.
    if rule.threshold > 4.0 * FAINT * rule.radius and not (rule.policy == FREEZE and rep.state[EMPTY_COUNT] > 0.0):
        refute(rule, rep.state, tally[ROUNDS])


@helper()
def refute(rule, state, rounds):
    """Record an empty intersection."""
    if state[EMPTY_COUNT] == 0.0:
        state[EMPTY_ROUND] = rounds + 1.0
    state[EMPTY_COUNT] += 1.0
    state[LAST_PROOF] = rounds + 1.0
    if rule.policy >= RESTART:
        state[HALT] = 1.0


@cut.register(CELLIPRule)
def _(rule, margin, quadratic, norm2, state, rounds, errors):
    if rule.policy == FREEZE and state[EMPTY_COUNT] > 0.0:
        return 0.0, 0.0
    before = state[EMPTY_COUNT]
    step, kappa = cautious_cut(rule, margin, quadratic, norm2, state, rounds, errors)
    if step == 0.0 and margin <= 0.0 and state[EMPTY_COUNT] == before:
        state[UNBOUNDED] = 1.0
    return step, kappa


@helper()
def cautious_cut(rule, margin, quadratic, norm2, state, rounds, errors):
    """The step and kappa of a cut that loses no classifier to rounding; zeros for no cut."""
    error, direction_error = 1.01 * errors[0], 1.01 * errors[1]
    scale, root = exp(0.5 * state[LOG_SCALE]), sqrt(max(quadratic, 0.0))
    # The classifiers of the ellipsoid reach at most ``width`` along z; the wanted margin is at least ``short`` away.
    width = scale * (root + 2.0 * direction_error + FAINT) * (1.0 + LOOSE)
    short = (rule.threshold - margin) - error - 2.0 * U * (rule.threshold + abs(margin))
    if short > width * (1.0 + TOLERANCE):
        refute(rule, state, rounds)
        return 0.0, 0.0
    # No cut along a direction that is mostly rounding.
    if not (2000.0 * direction_error < root and root > 1e5 * FAINT):
        return 0.0, 0.0
    deep = short - scale * direction_error * (1.0 + LOOSE)
    alpha = deep / width if deep > 0.0 else deep / (scale * (root - 2.0 * direction_error) * (1.0 - LOOSE))
    if alpha <= (-1.0 / state[DIM] if rule.smallest else 0.0):
        return 0.0, 0.0
    slim = max(0.0, width - short) / (2.0 * sqrt(norm2))
    step, kappa = cut_at_depth(rule, alpha, direction_error, root, norm2, state, errors)
    if step == 0.0 and alpha > GENTLE:
        # Too deep for the precision: a cut that leaves more is correct too.
        step, kappa = cut_at_depth(rule, GENTLE, direction_error, root, norm2, state, errors)
    if step != 0.0:
        state[LEAST_SLICE] = min(state[LEAST_SLICE], slim)
    return step, kappa


@helper(inline=False)
def cut_at_depth(rule, alpha, direction_error, root, norm2, state, errors):
    """The step and kappa of a cut at this depth, whose ellipsoid is widened to cover rounding.

    The step is zero where the cut gains less than that.
    """
    dim, log_scale, inverse_norm = state[DIM], state[LOG_SCALE], 1.0 + state[INVERSE_NORM]
    scale = exp(0.5 * log_scale)
    exhausting = alpha >= 1.0 - TOLERANCE
    off = 2.04 * direction_error / root + LOOSE + 8.0 * U
    if exhausting:
        move, kappa, left, kept, loss = min(alpha, 1.0), 0.0, 1.0, 0.0, 0.0
        rest = max(1.0 - alpha, 8.0 * U)
        # An interval needs only its ends; an ellipsoid must also allow for the weights of later features.
        scaled = 2.0 * log((rest if dim == 1.0 and rule.smallest else sqrt(2.0 * rest)) + off)
    else:
        move, kappa, left, kept, scaled = proportions(alpha, dim, rule.smallest)
        loss = off * (kappa / left + abs(move) / (1.0 - move))
        ratio = (sqrt(norm2) + sqrt(inverse_norm) * direction_error) / (root - 2.0 * direction_error)
        inverse_norm += 1.2 * kappa / left * ratio**2
    step = move * scale / root
    _, _, weights_error, per_step, root_error, matrix_error = errors
    loss += sqrt(inverse_norm) * (weights_error + step * per_step) / exp(0.5 * (log_scale + scaled))
    if kappa > 0.0:
        loss += sqrt(inverse_norm) * root_error + 0.5 * inverse_norm * matrix_error
    growth = 2.0 * SECOND * loss + U * (8.0 + 8.0 * (abs(log_scale) + abs(scaled)))
    if not (loss < SMALL_ERROR and dim * growth < -0.5 * (dim * scaled + kept)):
        return 0.0, 0.0
    state[LOG_SCALE] += scaled + growth
    state[WIDENED] += growth
    state[TOTAL_EXCESS] += 1.01 * exp(state[LOG_SCALE]) * growth
    state[LOG_KEPT] += kept
    # Sparse rows: a bound on the parts that are added to w.
    state[PARTS_BOUND] += 1.01 * step * sqrt(norm2) * (1.0 + state[TERM_SUM])
    state[INVERSE_NORM] = inverse_norm * (1.0 + 2.0 * growth) - 1.0
    if alpha * (1.0 + state[RELATIVE_EXCESS]) >= 1.0 - TOLERANCE:
        state[EXHAUSTED] = 1.0
    state[RELATIVE_EXCESS] = state[RELATIVE_EXCESS] / max((1.0 - alpha) * (1.0 + alpha), TOLERANCE) + growth
    return step, kappa


@helper()
def proportions(alpha, dim, smallest):
    """(alpha + rho), kappa, 1 - kappa and its logarithm, and the logarithm of what P is multiplied by."""
    ahead, behind = log1p(-alpha), log1p(alpha)
    if not smallest:
        return alpha, 2.0 * alpha / (1.0 + alpha), (1.0 - alpha) / (1.0 + alpha), ahead - behind, ahead + behind
    if dim == 1.0:
        half = 0.5 * (1.0 - alpha)
        return alpha + half, 1.0 - half * half, half * half, 2.0 * log(half), 0.0
    kappa = 2.0 * (1.0 + dim * alpha) / ((1.0 + alpha) * (dim + 1.0))
    left = (1.0 - alpha) / (1.0 + alpha) * ((dim - 1.0) / (dim + 1.0))
    kept = ahead - behind + log((dim - 1.0) / (dim + 1.0))
    return (1.0 + dim * alpha) / (dim + 1.0), kappa, left, kept, ahead + behind - log1p(-1.0 / (dim * dim))
