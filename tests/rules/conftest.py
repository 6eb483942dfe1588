"""Reference learners from the definitions, in plain numpy: another route to every number than the compiled rules take.

Scores are sums rounded once (``math.fsum``), so that equal rows of weights score equally here too.
"""

from math import fsum, inf
from types import SimpleNamespace

import numpy as np
import pytest

from ellipsoid.engine import NO_WEIGHTS, Binary, Dense, Multiclass, OneVsRest, learn
from ellipsoid.engine.protocol import SCORES, WORK_ROWS
from ellipsoid.engine.tally import MISTAKES, PUSH, SIZE, UPDATES
from ellipsoid.representation.linear import ClassMajor


def bisect(falling, low, high):
    """The root of a falling function, to the last bit that halving can tell."""
    for _ in range(300):
        middle = 0.5 * (low + high)
        if not low < middle < high:
            break
        low, high = (middle, high) if falling(middle) > 0.0 else (low, middle)
    return 0.5 * (low + high)


def perceptron(sharing, beta):
    """tau from the definition of the error set E and the table of section 2."""

    def tau(B, y, A):
        step = np.zeros(len(B))
        E = [r for r in range(len(B)) if r != y and B[r] >= B[y] - beta]
        if not E or A == 0.0:
            return step
        excess = {r: B[r] - (B[y] - beta) for r in E}
        total = fsum(excess.values())
        step[y] = 1.0
        if sharing == "max":
            step[max(E, key=lambda r: (B[r], -r))] = -1.0
        else:
            for r in E:
                step[r] = -excess[r] / total if sharing == "proportional" and total > 0.0 else -1.0 / len(E)
        return step

    return tau


def passive_aggressive(C=inf, squared=False, margin=1.0):
    """Step length t where the slope of 1/2 |step|^2 + slack(loss - t |step direction|^2) changes sign."""

    def tau(B, y, A):
        step = np.zeros(len(B))
        if A == 0.0 or len(B) < 2:
            return step
        rival = max((r for r in range(len(B)) if r != y), key=lambda r: (B[r], -r))
        loss = margin - (B[y] - B[rival])
        if loss <= 0.0:
            return step
        energy = 2.0 * A

        def fall(t):
            left = loss - t * energy
            if left <= 0.0:
                return -1.0
            return 2.0 * C * left - t if squared else min(C, 1e300) - t

        t = bisect(fall, 0.0, loss / energy * 2.0)
        step[y], step[rival] = t, -t
        return step

    return tau


def mira(beta):
    """phi by bisection: sum of max(0, e_r - phi) falls from sum e to 0 and meets min(phi, A) once."""

    def tau(B, y, A):
        e = np.array([B[r] - (B[y] - beta) if r != y else -inf for r in range(len(B))])
        if A == 0.0 or e.max(initial=-inf) <= 0.0:
            return np.zeros(len(B))
        phi = bisect(lambda phi: fsum(np.maximum(0.0, e - phi)) - min(phi, A), 0.0, e.max())
        step = -np.maximum(0.0, e - phi) / A
        step[y] = -fsum(step)
        return step

    return tau


def one_vs_rest(beta):
    """Each class its own Perceptron: update when s(w.x) <= beta."""

    def tau(B, y, A):
        s = np.where(np.arange(len(B)) == y, 1.0, -1.0)
        return s * (s * B <= beta) * (A > 0.0)

    return tau


def trajectory(tau, X, y, classes):
    """Weights after every round, mistakes and updates; ties are mistakes."""
    W = np.zeros((classes, X.shape[1]))
    weights, mistakes, updates = [], 0, 0
    for x, label in zip(X, y, strict=True):
        B = np.array([fsum(w * x) for w in W])
        mistakes += bool(B[label] <= np.delete(B, label).max(initial=-inf))
        step = tau(B, label, fsum(x * x))
        updates += bool(step.any())
        W = W + np.outer(step, x)
        weights.append(W)
    return SimpleNamespace(weights=np.array(weights), mistakes=mistakes, updates=updates)


@pytest.fixture(scope="session")
def reference():
    return SimpleNamespace(
        perceptron=perceptron,
        passive_aggressive=passive_aggressive,
        mira=mira,
        one_vs_rest=one_vs_rest,
        trajectory=trajectory,
        bisect=bisect,
    )


@pytest.fixture(scope="session")
def one_round():
    """Run the compiled loop over one row from any weights; what it did, and the weights after it."""

    def run(rule, W, x, y, *, one_vs_rest=False):
        W = np.atleast_2d(np.array(W, dtype=float))
        table = np.ascontiguousarray(np.column_stack([np.zeros(len(W)), W]))
        ledger = np.array([[y]])
        task = Binary(ledger, 0) if len(W) == 1 else (OneVsRest if one_vs_rest else Multiclass)(ledger, 0, len(W))
        work, tally = np.full((WORK_ROWS, len(W) + 1), np.nan), np.zeros(SIZE)
        rows = Dense(np.ascontiguousarray([x], dtype=float), 0.0)
        reached = learn(rule, task, ClassMajor(table, np.zeros((0, 0))), rows, tally, work, 0, 1, NO_WEIGHTS)
        return SimpleNamespace(
            reached=reached,
            W=table[:, 1:],
            scores=work[SCORES, : len(W)],
            step=table[:, 1:] - W,
            push=tally[PUSH],
            mistake=bool(tally[MISTAKES]),
            updated=bool(tally[UPDATES]),
        )

    return run
