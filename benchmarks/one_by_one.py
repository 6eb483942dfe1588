"""Kernel learning one example at a time, as one would write it first: every kernel value by a loop over the features.

For each example, one after another on one thread: for each support pattern a loop over the features, the kernel by
``math.exp`` or repeated products, and a loop over the classes' coefficients. It is compiled, and runs in the same loop
with the same rules as everything here. ``Direct`` is compiled as it stands: the sum over the features keeps its order,
and so is not vectorised. ``Regrouped`` is the same source with leave to regroup that sum (numba's ``fastmath`` for
sums), which a user must ask for; it is shown beside.
"""

from math import exp
from typing import Any, NamedTuple

import numpy as np

from ellipsoid.engine import NO_WEIGHTS, Dense, Multiclass, entry, learn
from ellipsoid.engine.generic import SUM, generic
from ellipsoid.engine.protocol import TAU, WHO, WORK_ROWS, absorb, norm2, score
from ellipsoid.engine.tally import SIZE
from ellipsoid.representation.kernel.functions import RBF, Poly


class Direct(NamedTuple):
    """``sum_i coef[i, r] K(SV[i], x)`` over the first ``used[0]`` patterns."""

    kernel: Any
    SV: np.ndarray
    coef: np.ndarray
    used: np.ndarray


class Regrouped(NamedTuple):
    """The same; sums over features may be regrouped."""

    kernel: Any
    SV: np.ndarray
    coef: np.ndarray
    used: np.ndarray


@generic(2)
def between(rep, kernel, a, b):
    """K(a, b)."""


@between.register(Regrouped, Poly, fast=SUM)
@between.register(Direct, Poly)
def _(rep, kernel, a, b):
    total = 0.0
    for j in range(a.shape[0]):
        total += a[j] * b[j]
    base = kernel.gamma * total + kernel.coef0
    value = base
    for _ in range(int(kernel.degree) - 1):
        value *= base
    return value


@between.register(Regrouped, RBF, fast=SUM)
@between.register(Direct, RBF)
def _(rep, kernel, a, b):
    total = 0.0
    for j in range(a.shape[0]):
        total += (a[j] - b[j]) * (a[j] - b[j])
    return exp(-kernel.gamma * total)


@score.register(Regrouped | Direct, Dense)
def _(rep, rows, t, n, scores):
    for r in range(n):
        scores[r] = 0.0
    for i in range(rep.used[0]):
        value = between(rep, rep.kernel, rep.SV[i], rows.X[t])
        for r in range(n):
            scores[r] += rep.coef[i, r] * value


@norm2.register(Regrouped | Direct, Dense)
def _(rep, rows, t):
    return between(rep, rep.kernel, rows.X[t], rows.X[t])


@absorb.register(Regrouped | Direct)
def _(rep, rule, rows, t, moves, work, tally):
    i = rep.used[0]
    for j in range(rows.X.shape[1]):
        rep.SV[i, j] = rows.X[t, j]
    for m in range(moves):
        rep.coef[i, int(work[WHO, m])] = work[TAU, m]
    rep.used[0] = i + 1
    return True


def prepared(rule: Any, kernel: Any, X: Any, y: Any, state: tuple[Any, Any, int], kind: Any = Direct) -> Any:
    """A call that learns rows X from a state (patterns, coefficients, how many) and returns the number of updates."""
    SV, coef, used = state
    patterns, rows = np.zeros((used + len(X), X.shape[1])), np.zeros((used + len(X), coef.shape[1]))
    patterns[:used], rows[:used] = SV[:used], coef[:used]
    rep = kind(kernel, patterns, rows, np.array([used]))
    task = Multiclass(y[None].astype(np.int64), 0, coef.shape[1])
    work = np.zeros((WORK_ROWS, 8 * (coef.shape[1] // 8 + 2)))
    args = (rule, task, rep, Dense(np.ascontiguousarray(X), 0.0), np.zeros(SIZE), work, 0, len(X), NO_WEIGHTS)
    call = entry(learn, *args)

    def run() -> int:
        call(*args)
        return int(rep.used[0]) - used

    return run
