"""ROMMA, the relaxed online maximum margin: the shortest W that satisfies this example and a relaxation of all others.

    min_W |W|^2   s.t.  <W, X> >= 1,  <W, M> >= |M|^2

The second half-space contains every hypothesis that satisfies all earlier constraints, so W is never longer than the
shortest of those. With a = |X|^2, b = |M|^2, m = <M, X>, and f = a - m^2 / b what of X is not along M,

    W = X / a                                       if M = 0 or m >= a b (the first constraint alone suffices)
    W = c M + d X,  c = (a - m / b) / f,  d = (1 - m) / f     otherwise;   then |W|^2 = c b + d.

f = 0 with m <= 0 is a contradiction, M = -lambda X: the round is skipped and counted. Multiclass: X_r = tau_r x, tau
as the Perceptron family divides it. The aggressive version learns wherever <M, X> < 1, not on mistakes only.

On data that no hypothesis fits |M| grows without end. So the 1 above is a number in the state, GOAL, which is lowered
together with M: a change of units.

Li & Long (Machine Learning 2002), section 3; Crammer & Singer (JMLR 2003), section 6, for the multiclass form.
"""

from math import inf, sqrt
from typing import NamedTuple

from ellipsoid.engine.protocol import share, step
from ellipsoid.engine.tally import HELD
from ellipsoid.representation.kernel.lookahead import NORM2
from ellipsoid.representation.scaled.weights import GOAL, SKIPPED, blend

from .blame import share_blame

# If at most this share of |X|^2 is orthogonal to M, the two constraints count as parallel.
PARALLEL = 1e-12


class ROMMARule(NamedTuple):
    """``sharing`` is UNIFORM, MAX or PROPORTIONAL; ``margin`` is 0, or 1 for the aggressive version."""

    sharing: int
    margin: float


@step.register(ROMMARule)
def _(rule, margin, energy):
    return 1.0


@share.register(ROMMARule)
def _(rule, n, y, energy, work):
    return share_blame(rule.sharing, rule.margin, n, y, work)


@blend.register(ROMMARule)
def _(rule, state, reach, energy, tally):
    goal, b = state[GOAL], state[NORM2]
    if reach >= goal:
        return 1.0, 0.0
    if b == 0.0 or goal * reach / b >= energy:
        state[NORM2] = goal * goal / energy
        tally[HELD] += 1.0
        return 1.0 if b == 0.0 else 0.0, goal / energy
    along = reach / sqrt(b)
    free = energy - along * along
    if free <= PARALLEL * energy:
        # With m > 0 this is m = 1 but for rounding.
        state[SKIPPED] += 1.0 if reach <= 0.0 else 0.0
        return 1.0, 0.0
    c, d = (energy - goal * reach / b) / free, (goal - reach) / free
    if not (c < inf and d < inf):
        state[SKIPPED] += 1.0
        return 1.0, 0.0
    state[NORM2] = c * b + d * goal
    # The factor by which cancellation in ``free`` magnifies rounding.
    tally[HELD] += energy / free
    return c, d
