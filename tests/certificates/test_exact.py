"""Bounds against rational arithmetic: what is reported is no smaller than the exact bound, nor larger by much.

The streams are dyadic, so that rationals hold them exactly, whatever power of two they are scaled by.
"""

from fractions import Fraction
from math import inf

import numpy as np
import pytest

from ellipsoid import MIRA, OnlineSVM, PassiveAggressive, Perceptron, QuasiAdditive

SCALES = [0, -30, 30, -400, 400]


def fractions(table):
    return [[Fraction(float(value)) for value in row] for row in np.atleast_2d(table)]


def inner(u, v):
    return sum((a * b for p, q in zip(u, v, strict=True) for a, b in zip(p, q, strict=True)), Fraction(0))


def dyadic(seed, classes, power, n=14, dim=3):
    """Rows of small integers times a power of two, labels of a matrix with some noise, and a comparator."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-8, 9, size=(n, dim)).astype(float)
    X[:, 0] += 0.5
    U = rng.integers(-4, 5, size=(1 if classes == 2 else classes, dim)) + 0.25
    scores = X @ U.T
    y = (scores[:, 0] > 0).astype(int) if classes == 2 else scores.argmax(axis=1)
    y[rng.random(n) < 0.1] = 0
    return np.ldexp(X, power), y, np.ldexp(U, -power)


class Exact:
    """A run of ``W += tau X`` in rational arithmetic; ``size`` is the rule's step at a margin and an energy |X|^2."""

    def __init__(self, X, y, classes, passive, size):
        rows = 1 if classes == 2 else classes
        self.W = [[Fraction(0)] * X.shape[1] for _ in range(rows)]
        self.taus, self.losses2, self.mistakes, self.radius2 = [], Fraction(0), 0, Fraction(0)
        self.gains = Fraction(0)
        for x, label in zip(fractions(X), y, strict=True):
            scores = [inner([w], [x]) for w in self.W]
            if rows == 1:
                who, margin = {0: 1 if label == 1 else -1}, scores[0] if label == 1 else -scores[0]
            else:
                rival = max((r for r in range(rows) if r != label), key=lambda r: (scores[r], -r))
                who, margin = {label: 1, rival: -1}, scores[label] - scores[rival]
            self.mistakes += margin <= 0
            norm2 = inner([x], [x])
            tau = size(margin, len(who) * norm2) if margin <= passive else Fraction(0)
            if tau == 0:
                continue
            for r, sign in who.items():
                self.W[r] = [w + sign * tau * a for w, a in zip(self.W[r], x, strict=True)]
            self.taus.append(tau)
            self.losses2 += (passive - margin) ** 2
            self.radius2 = max(self.radius2, norm2)
            if margin <= 0:
                self.gains += tau * (passive - margin) - tau * tau * len(who) * norm2 / 2
        self.push, self.blocks = sum(self.taus, Fraction(0)), len(who)


def check(model, comparator, exact):
    """Every exact pair (observed, bound), by name, lies within what is reported, and hardly within."""
    reported = {c.name: c for c in model.certificates(comparator)}
    for name, (observed, bound) in exact.items():
        told = reported[name]
        assert observed <= bound, name
        assert Fraction(float(told.observed)) <= observed, name
        assert abs(Fraction(float(told.observed)) - observed) <= Fraction(1, 10**9) * max(abs(observed), abs(bound)), (
            name
        )
        assert told.bound < inf, name
        assert bound <= Fraction(told.bound) <= bound + Fraction(1, 10**9) * (abs(bound) + abs(observed)), name


@pytest.mark.parametrize("power", SCALES)
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("seed", range(3))
def test_perceptron(seed, classes, power):
    X, y, U = dyadic(seed, classes, power)
    model = Perceptron(margin=0.5, fit_intercept=False).partial_fit(X, y, classes=range(classes))
    run = Exact(X, y, classes, Fraction(1, 2), lambda margin, energy: Fraction(1))
    N, growth, u = len(run.taus), run.blocks * run.radius2 + 1, fractions(U)
    assert model.updates_ == N
    along = inner(u, run.W)
    assert along > 0
    bound = inner(u, u) * growth * N**2 / along**2
    exact = {"updates": (N, bound), "mistakes": (run.mistakes, bound)}
    exact["squared norm"] = (inner(run.W, run.W), N * growth)
    check(model, U, exact)


@pytest.mark.parametrize("power", SCALES)
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("variant", ["hard", "I", "II"])
def test_passive_aggressive(variant, classes, power):
    X, y, U = dyadic(5, classes, power)
    C = 2.0 ** (-3 - 2 * power)
    model = PassiveAggressive(variant=variant, C=C, fit_intercept=False).partial_fit(X, y, classes=range(classes))
    cap, ridge = (Fraction(C) if variant == "I" else None), (1 / (2 * Fraction(C)) if variant == "II" else 0)

    def size(margin, energy):
        tau = (1 - margin) / (energy + ridge)
        return tau if cap is None else min(tau, cap)

    run, u = Exact(X, y, classes, Fraction(1), size), fractions(U)
    assert (model.updates_, model.mistakes_) == (len(run.taus), run.mistakes)
    ground = inner(u, u) + 2 * (run.push - inner(u, run.W))
    assert ground > 0
    energy = run.blocks * run.radius2 + ridge
    exact = {"mistakes": (run.mistakes, max(energy, 1 / cap if cap else 0) * ground)}
    if cap is None:
        exact["sum of squared losses"] = (run.losses2, energy * ground)
    check(model, U, exact)


@pytest.mark.parametrize("power", SCALES)
@pytest.mark.parametrize("margin", [0.25, 2.0, 4096.0])
def test_mira(margin, power):
    X, y, U = dyadic(7, 2, power)
    beta = margin * 4.0**power
    model = MIRA(margin=beta, fit_intercept=False).partial_fit(X, y, classes=[0, 1])
    half, b = Fraction(beta) / 2, Fraction(beta)
    # Two rows, -w and w: passive beyond half the margin.
    run = Exact(X, y, 2, half, lambda m, energy: min(Fraction(1), (half - m) / energy))
    u = [[value * Fraction(4.0**power) for value in row] for row in fractions(U)]
    comparator = np.ldexp(U, 2 * power)
    assert (model.updates_, model.mistakes_) == (len(run.taus), run.mistakes)
    along = inner(u, run.W)
    ground = 2 * inner(u, u) + 2 * (b * run.push - 2 * along)
    assert along > 0 < ground
    price = 2 * run.radius2 / b**2 if b <= 2 * run.radius2 else 1 / (2 * (b - run.radius2))
    exact = {"mistakes": (run.mistakes, price * ground)}
    exact["sum of tau"] = (run.push, b * inner(u, u) * run.push**2 / along**2)
    check(model, comparator, exact)


def of_a_dual(margin, alphas, theta, u):
    """Exact certificates of the dual solution ``alphas``, theta their sum of alpha z, against u."""
    A, largest = sum(alphas, Fraction(0)), max(alphas)
    D = margin * A - inner(theta, theta) / 2
    loss = margin * A - inner(u, theta)
    return {
        "dual objective": (D, inner(u, u) / 2 + loss),
        # |u| |theta| is irrational: the floor is checked from above only.
        "loss": (max(Fraction(0), loss) / largest),
    }


@pytest.mark.parametrize("power", SCALES)
@pytest.mark.parametrize("classes", [2, 3])
def test_quasi_additive(classes, power):
    X, y, U = dyadic(9, classes, power)
    C = 2.0 ** (-3 - 2 * power)
    model = QuasiAdditive(C=C, fit_intercept=False).partial_fit(X, y, classes=range(classes))
    run = Exact(X, y, classes, Fraction(1), lambda m, energy: min(Fraction(C), (1 - m) / energy))
    u = fractions(U)
    assert model.mistakes_ == run.mistakes > 0
    exact = of_a_dual(Fraction(1), run.taus, run.W, u)
    floor = exact.pop("loss")
    check(model, U, exact)
    gained = {c.name: c for c in model.certificates(U)}["dual increase on mistakes"]
    assert gained.observed == pytest.approx(float(run.gains), rel=1e-10)
    D = exact["dual objective"][0]
    assert run.gains <= D <= Fraction(gained.bound) <= D * (1 + Fraction(1, 10**9))
    told = {c.name: c for c in model.certificates(U)}["loss that nothing of the comparator's norm avoids"]
    assert Fraction(float(told.observed)) <= floor <= Fraction(told.bound)


@pytest.mark.parametrize("power", SCALES)
@pytest.mark.parametrize(("classes", "window", "cap"), [(2, 16, 0.125), (3, 16, 0.125), (2, 16, 64.0), (2, 16, inf)])
def test_online_svm(classes, window, cap, power):
    """The alphas of a window that holds all examples are at hand: what they prove is computed from them exactly."""
    X, y, U = dyadic(9, classes, power)
    C = cap * 4.0**-power
    model = OnlineSVM(window=window, C=C, fit_intercept=False).partial_fit(X, y, classes=range(classes))
    slots = model._core.table.slots
    alphas = [Fraction(float(alpha)) for alpha in slots.alphas()]
    assert len(alphas) == len(X)
    theta = [[Fraction(0)] * X.shape[1] for _ in range(len(U))]
    for alpha, x, pair in zip(alphas, fractions(X), slots.arrays["pairs"][slots.order], strict=True):
        for r, sign in ((int(pair[0]), pair[1]), (int(pair[2]), pair[3])):
            if sign:
                theta[r] = [w + alpha * int(sign) * a for w, a in zip(theta[r], x, strict=True)]
    exact = of_a_dual(Fraction(1), alphas, theta, fractions(U))
    floor = exact.pop("loss")
    check(model, U, exact)
    told = {c.name: c for c in model.certificates(U)}
    least = told["loss that nothing of the comparator's norm avoids"]
    assert Fraction(float(least.observed)) <= floor <= Fraction(least.bound)
    gained = told["dual increase on mistakes"]
    assert gained.observed <= gained.bound
    assert exact["dual objective"][0] <= Fraction(gained.bound)
