"""Passive-aggressive: the smallest move that restores the margin.

    min_u  1/2 |u - w|^2 + slack   s.t.  y <u, x> >= margin - xi,  xi >= 0

with no slack (hard), slack C xi (PA-I) or C xi^2 (PA-II). Multiclass: the margin over the highest rival s, and the
step moves both rows, tau_y = -tau_s, where the energy is 2 |x|^2. The slack of an example of weight k costs k times as
much: C k in place of C, which for PA-I is what k copies in a row do.

Crammer, Dekel, Keshet, Shalev-Shwartz, Singer (JMLR 2006), sections 3 and 8.
"""

from typing import NamedTuple

from ellipsoid.engine.protocol import step, weighted


class PassiveAggressiveRule(NamedTuple):
    """``cap`` = C caps one move (PA-I), ``ridge`` = 1 / (2 C) softens it (PA-II); the hard rule has inf and 0."""

    margin: float
    cap: float
    ridge: float


@step.register(PassiveAggressiveRule)
def _(rule, margin, energy):
    return min(rule.cap, max(0.0, rule.margin - margin) / (energy + rule.ridge))


@weighted.register(PassiveAggressiveRule)
def _(rule, weight):
    return PassiveAggressiveRule(rule.margin, rule.cap * weight, rule.ridge / weight)
