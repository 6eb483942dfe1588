"""Label sets for the Perceptron family and MIRA: every right label should score above every wrong one.

With right labels Y the error set is of pairs, and a step shares one unit, or less, among them:

    E = { (r, s) : r in Y, s not in Y, B_s >= B_r - margin },   tau = sum over E of alpha_rs (e_r - e_s),   alpha >= 0

The Perceptron's alphas sum to one, or to the weight of the example: all on the worst pair (``max``), equal
(``uniform``), or in proportion to the excesses B_s - (B_r - margin) (``proportional``). A comparator's margin over all
pairs is at most its mean over those of a step, and ``|tau|^2 <= 2``: the bounds of the multiclass family hold for the
number of rounds with a pair in the wrong order.

MIRA makes the smallest move: with A = |x|^2, and alphas that sum to at most one,

    tau_r = max(0, nu + margin - B_r) / A on Y,   tau_s = -max(0, B_s - nu) / A elsewhere,   sum tau = 0,

at the one threshold nu where both sides move by the same. Where that would be more than one, each side has a threshold
of its own at which it moves by one. With a single right label all of this is the multiclass rule.

Crammer and Singer, "A family of additive online algorithms for category ranking", JMLR 3 (2003).
"""

from ellipsoid.engine.generic import helper
from ellipsoid.engine.protocol import SCORES, SPARE, TAU, WHO, share_sets, worst_pair

from .blame import MAX, PROPORTIONAL
from .mira import UNEVEN_SUM, MIRARule
from .perceptron import PerceptronRule

# After so many halvings no float is left between the ends.
MOST_HALVINGS = 200


@share_sets.register(PerceptronRule)
def _(rule, n, Y, t, energy, work):
    scores, part = work[SCORES], work[SPARE]
    right, wrong = worst_pair(n, Y, t, scores)
    if scores[wrong] < scores[right] - rule.margin:
        return 0
    if rule.sharing == MAX:
        work[WHO, 0], work[TAU, 0] = right, rule.size
        work[WHO, 1], work[TAU, 1] = wrong, -rule.size
        return 2
    # Where all pairs tie exactly there are no excesses to be proportional to.
    even = rule.sharing != PROPORTIONAL or scores[wrong] - (scores[right] - rule.margin) == 0.0
    part[:n] = 0.0
    total = 0.0
    for r in range(n):
        if Y[t, r] == 0:
            continue
        floor = scores[r] - rule.margin
        for s in range(n):
            if Y[t, s] == 0 and scores[s] >= floor:
                blame = 1.0 if even else scores[s] - floor
                part[r] += blame
                part[s] -= blame
                total += blame
    for r in range(n):
        part[r] = part[r] / total * rule.size
    return listed(n, work)


@helper()
def listed(n, work):
    """Write the moves of all labels with a part in SPARE, the rising ones first; returns how many."""
    part, moves = work[SPARE], 0
    for rising in (True, False):
        for r in range(n):
            if (part[r] > 0.0) if rising else (part[r] < 0.0):
                work[WHO, moves], work[TAU, moves] = r, part[r]
                moves += 1
    return moves


@share_sets.register(MIRARule)
def _(rule, n, Y, t, energy, work):
    scores, part = work[SCORES], work[SPARE]
    right, wrong = worst_pair(n, Y, t, scores)
    # Excesses are over the lowest right label's score less the margin; labels below zero never move.
    floor = scores[right] - rule.margin
    if not scores[wrong] - floor > 0.0:
        return 0
    nu = common_threshold(n, Y, t, scores, floor, scores[right], scores[wrong] - floor)
    mu, capped = nu, 0.0
    for s in range(n):
        if Y[t, s] == 0:
            capped += max(0.0, scores[s] - floor - nu)
    if capped > energy:
        nu = own_threshold(n, Y, t, scores, floor, 0, energy, scores[wrong] - floor)
        mu = own_threshold(n, Y, t, scores, scores[right], 1, energy, 0.0)
    rise, fall = 0.0, 0.0
    for r in range(n):
        if Y[t, r] != 0:
            part[r] = max(0.0, mu - (scores[r] - scores[right])) / energy
            rise += part[r]
        else:
            part[r] = -max(0.0, scores[r] - floor - nu) / energy
            fall -= part[r]
    whole = 1.0 if capped > energy else fall
    if not (0.5 * whole < rise < 2.0 * whole and 0.5 * whole < fall < 2.0 * whole):
        # Rounding has destroyed the small moves of a small row; the worst pair is as good up to terms in |x|^2.
        part[:n] = 0.0
        whole = min(1.0, 0.5 * (scores[wrong] - floor) / energy)
        part[right], part[wrong] = whole, -whole
        rise = fall = whole
    if abs(rise - whole) > UNEVEN_SUM * whole or abs(fall - whole) > UNEVEN_SUM * whole:
        for r in range(n):
            part[r] *= whole / (rise if part[r] > 0.0 else fall)
    return listed(n, work)


@helper(inline=False)
def common_threshold(n, Y, t, scores, floor, lowest, top):
    """nu in [0, top] with as much of the wrong labels above it as of the right labels, less the margin, below."""
    low, high, nu = 0.0, top, 0.5 * top
    for _ in range(MOST_HALVINGS):
        above, below, many = 0.0, 0.0, 0
        for r in range(n):
            excess = scores[r] - (lowest if Y[t, r] != 0 else floor)
            if Y[t, r] != 0 and excess < nu:
                below += excess
                many += 1
            elif Y[t, r] == 0 and excess > nu:
                above += excess
                many += 1
        # Between two neighbouring scores both sides are straight lines, which meet here.
        met = (above + below) / many if many > 0 else nu
        if met == nu:
            break
        if met > nu:
            low = nu
        else:
            high = nu
        nu = met if low < met < high else 0.5 * (low + high)
        if not low < nu < high:
            break
    return nu


@helper(inline=False)
def own_threshold(n, Y, t, scores, floor, kind, whole, top):  # noqa: PLR0913 (a row of labels, and where they are)
    """The threshold that labels of a kind exceed by ``whole`` in all: the right ones (1) downwards, others upwards."""
    sign = -1.0 if kind == 1 else 1.0
    # Newton's method on a convex, piecewise linear sum, from the side where it is too large: it ends at the root.
    found = sign * top - whole
    for _ in range(n + 1):
        total, many = 0.0, 0
        for r in range(n):
            excess = sign * (scores[r] - floor)
            if (Y[t, r] != 0) == (kind == 1) and excess > found:
                total += excess
                many += 1
        better = (total - whole) / many if many > 0 else found
        if not better > found:
            break
        found = better
    return sign * found
