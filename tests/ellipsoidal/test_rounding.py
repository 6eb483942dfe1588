"""A version space is held in floats and promised in real numbers: no proof may rest on rounding.

The streams are `dyadic`: some classifier has the margin on every row in exact arithmetic, so that nothing is empty, the
ellipsoid holds it, and what is certain is what it says.
"""

from fractions import Fraction

import numpy as np
import pytest

from ellipsoid import CELLIP, Ellipsoid

from .dyadic import KINDS, failures, faults, learned, stream

BINARY = [kind for kind in KINDS if kind[0] == "binary"]


@pytest.mark.parametrize("shape", ["auto", "column", "product", "gram", "dense"])
@pytest.mark.parametrize("cut", ["paper", "minvol"])
def test_the_corner_of_two_half_spaces_is_no_contradiction(cut, shape, plain):
    """u = (0, 1) has margin 0.25 exactly, on the boundary of the ball: nothing else is left, but it is."""
    model = CELLIP(margin=0.25, trigger="margin", cut=cut, shape=shape)
    model.partial_fit([[0.25], [-0.25]] * 20, [1, 0] * 20, classes=[0, 1])
    assert model.infeasible_ == 0
    assert model.version_space_.contains([[0.0, 1.0]]).all()
    assert model.version_space_.log_volume < -15.0


@pytest.mark.parametrize("part", range(4))
def test_truth_is_held_in_exact_arithmetic(part, plain):
    """288 streams, every form, task and kind of rows."""
    assert failures(range(72 * part, 72 * part + 72), longest=30) == []


def test_the_checks_can_fail(plain):
    """The checks can fail: a classifier without the margin is lost, an ellipsoid that is too small is noticed."""
    world = stream(18, ("binary", "dense", False))
    wrong = stream(18, ("binary", "dense", False))
    wrong.W = [[-q for q in w] for w in wrong.W]
    assert min(abs(sum(p * q for p, q in zip(world.W[0], x, strict=True))) for x, _ in world.rows) > 0
    model = learned(world)
    assert faults(world, model) == []
    assert faults(wrong, model) != []
    model._core.table.numbers[0] -= 60.0
    assert faults(world, model) != []


@pytest.mark.slow
@pytest.mark.parametrize("part", range(20))
def test_truth_is_held_in_twenty_thousand_streams(part):
    """Compiled, in every form with both cuts and all triggers, up to 300 rows each."""
    first = 1_000_000 + 1500 * part
    found = failures(range(first, first + 1500))
    assert found == []


def contradiction(seed):
    """A separable stream, then a row of it with the other label."""
    rng = np.random.default_rng(seed)
    d = int(rng.integers(2, 6))
    u = rng.normal(size=d)
    u /= np.linalg.norm(u)
    X = rng.normal(size=(400, d))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    X = X[np.abs(X @ u) >= 0.1][:30]
    y = (X @ u > 0.0).astype(int)
    again = int(rng.integers(30))
    return np.vstack([X, X[again], X[again]]), np.append(y, [1 - y[again], y[again]])


def test_clear_contradictions_are_proven_as_soon_as_without_rounding_outwards(dense, plain):
    """Against the plain formulas in floats, which round as it comes."""
    proven = 0
    for seed in range(40):
        X, y = contradiction(seed)
        model = CELLIP(
            margin=0.1, cut=("paper", "minvol")[seed % 2], trigger="margin", shape=("auto", "dense")[seed // 2 % 2],
            fit_intercept=False,
        )  # fmt: skip
        outcomes = [now.outcome for now in dense.run(model, X, 2 * y - 1)]
        model.partial_fit(X, y, classes=[0, 1])
        expected = outcomes.index("infeasible") + 1 if "infeasible" in outcomes else None
        assert model.infeasible_round_ == expected
        assert model.infeasible_ == outcomes.count("infeasible")
        proven += expected is not None
    assert proven >= 15


def test_short_rows_refute_nothing(plain):
    """Squares that vanish are no zeros: u = 1 has margin 1e-170 on a row of 1e-170."""
    model = CELLIP(margin=1e-170, fit_intercept=False, cut="minvol", trigger="margin")
    model.partial_fit([[1e-170]] * 3, [1, 1, 1], classes=[0, 1])
    assert model.infeasible_ == 0
    assert model.version_space_.contains([[1.0]]).all()


def test_the_asked_margin_and_the_radius_are_rounded_outwards():
    for margin, a in ((0.1, 0.3), (0.7, 0.1), (0.3, 0.9), (1e-3, 1.0 / 3.0)):
        _, _, radius, threshold = CELLIP(margin=margin, a=a)._geometry()
        assert Fraction(threshold) <= Fraction(a) * Fraction(margin)
        assert Fraction(radius) >= 1 + (1 - Fraction(a)) * Fraction(margin)


def test_width_is_not_below_the_exact_one():
    """Against rational arithmetic: <x, Px> <= width^2."""
    rng = np.random.default_rng(0)
    for _ in range(200):
        d = int(rng.integers(1, 5))
        J, x = rng.normal(size=(d, d)) * 10.0 ** rng.uniform(-3, 3, size=d), rng.normal(size=d)
        image = [sum(Fraction(p) * Fraction(q) for p, q in zip(column, x, strict=True)) for column in J.T]
        width = float(Ellipsoid.from_factor(np.zeros(d), J).width([x])[0])
        assert Fraction(width) ** 2 >= sum(f * f for f in image)
        assert width <= (1.0 + 1e-9) * np.linalg.norm(x @ J) + 1e-9
