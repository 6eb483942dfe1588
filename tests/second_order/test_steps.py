"""What a single step promises: the optimum of its problem, and its digits at the edges. Rules alone, without a loop."""

from decimal import Decimal, getcontext
from math import inf, log, sqrt

import numpy as np
import pytest
from scipy.special import ndtr

from ellipsoid.ellipsoids.protocol import NO_ERRORS, cut, remaining_share
from ellipsoid.ellipsoids.state import (
    CUTS,
    LOG_KEPT,
    LOG_SCALE,
    MARGIN_WEIGHT,
    NEGATIVE_WEIGHT,
    SQUARED_LOSS,
    STATE_SIZE,
)
from ellipsoid.rules.confidence import SQUARED, STDEV, UNREACHED, VARIANCE
from ellipsoid.rules.gaussian import ADAPTIVE, HERDING, GaussianRule

PHI = 0.8
RULES = {
    "AROW": GaussianRule(1.0, ADAPTIVE, 0.7, 0.0, 0.0),
    "NHERD": GaussianRule(1.0, HERDING, 0.7, 0.0, 0.0),
    "CW variance": GaussianRule(UNREACHED, VARIANCE, inf, PHI, 0.0),
    "CW stdev": GaussianRule(UNREACHED, STDEV, inf, PHI, 0.0),
    "SCW-I": GaussianRule(UNREACHED, STDEV, 0.4, PHI, 0.0),
    "SCW-II": GaussianRule(UNREACHED, SQUARED, 0.4, PHI, 0.0),
}


def step(rule, margin, variance, scale=1.0):
    """alpha, kappa and 1 - kappa at a margin and a variance, and the sums they leave."""
    state = np.zeros(STATE_SIZE)
    state[LOG_SCALE] = log(scale)
    along, kappa = cut(rule, margin, variance / scale, variance / scale, state, 0.0, NO_ERRORS)
    return along / scale, kappa, remaining_share(rule, kappa, state) if along else 1.0, state


def divergence(w, S, w0, S0):
    """KL(N(w, S) || N(w0, S0)), up to a constant."""
    inverse = np.linalg.inv(S0)
    return 0.5 * (np.trace(inverse @ S) + (w - w0) @ inverse @ (w - w0) - np.linalg.slogdet(S)[1])


OBJECTIVES = {
    "AROW": lambda m, u: (max(0.0, 1.0 - m) ** 2 + u) / (2.0 * 0.7),
    "CW variance": lambda m, u: inf if m < PHI * u * (1.0 - 1e-12) else 0.0,
    "CW stdev": lambda m, u: inf if m < PHI * sqrt(u) * (1.0 - 1e-12) else 0.0,
    "SCW-I": lambda m, u: 0.4 * max(0.0, PHI * sqrt(u) - m),
    "SCW-II": lambda m, u: 0.4 * max(0.0, PHI * sqrt(u) - m) ** 2,
}


@pytest.mark.parametrize("name", OBJECTIVES)
def test_no_neighbour_is_better(name):
    rng, met = np.random.default_rng(1), 0
    for _ in range(40):
        root, w0, z = rng.normal(size=(3, 3)), rng.normal(size=3), rng.normal(size=3)
        S0 = root @ root.T
        v = z @ S0 @ z
        alpha, kappa, _, _ = step(RULES[name], w0 @ z, v)
        if alpha == 0.0:
            continue
        w, S = w0 + alpha * S0 @ z, S0 - kappa * np.outer(S0 @ z, S0 @ z) / v
        best = divergence(w, S, w0, S0) + OBJECTIVES[name](w @ z, z @ S @ z)
        assert best < inf
        L = np.linalg.cholesky(S)
        for size in (1.0, 1e-1, 1e-2, 1e-3):
            E = L @ (np.eye(3) + size * rng.normal(size=(3, 3)))
            other, near = w + size * rng.normal(size=3), E @ E.T
            assert divergence(other, near, w0, S0) + OBJECTIVES[name](other @ z, z @ near @ z) >= best - 1e-9
        met += 1
    assert met > 10


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("margin", [-30.0, -1.0, 0.0, 0.1, 0.9])
@pytest.mark.parametrize("variance", [1e-3, 0.04, 1.0, 25.0])
def test_every_step_meets_its_conditions(name, margin, variance):
    alpha, kappa, left, state = step(RULES[name], margin, variance)
    if alpha == 0.0:
        assert margin >= min(1.0, PHI * min(variance, sqrt(variance)))
        assert not state.any()
        return
    assert 0.0 < kappa < 1.0
    assert kappa + left == pytest.approx(1.0)
    assert state[LOG_KEPT] == pytest.approx(log(left))
    after, u = margin + alpha * variance, left * variance
    assert after > margin
    if name in ("AROW", "NHERD"):
        assert after < 1.0
    if name == "AROW":
        # The loss shrinks as the variance does.
        assert 1.0 - after == pytest.approx((1.0 - margin) * left)
    if name == "CW stdev":
        assert ndtr(after / sqrt(u)) == pytest.approx(ndtr(PHI), rel=1e-9)
    if name == "CW variance":
        assert after == pytest.approx(PHI * u, rel=1e-12)
    if name == "SCW-I":
        assert alpha == pytest.approx(0.4) or after == pytest.approx(PHI * sqrt(u))
        assert alpha <= 0.4 * (1.0 + 1e-15)
        assert PHI * sqrt(u) - after >= -1e-12
    if name == "SCW-II":
        assert PHI * sqrt(u) - after == pytest.approx(alpha / 0.8)
    if name != "AROW":
        # S^{-1} w gains weight z.
        omega = kappa / left
        weight = alpha + omega / variance * after
        assert state[NEGATIVE_WEIGHT] == float(weight <= 0.0)
        if weight > 0.0:
            assert state[MARGIN_WEIGHT] == pytest.approx(weight, rel=1e-9)


def test_nherd_shrinks_twice_as_much_as_arow():
    for variance in (1e-6, 1.0, 1e6):
        one, other = step(RULES["AROW"], 0.2, variance), step(RULES["NHERD"], 0.2, variance)
        assert other[0] == one[0]
        assert other[3][LOG_KEPT] == pytest.approx(2.0 * one[3][LOG_KEPT])


def test_a_mistake_takes_its_share_of_the_determinant():
    for margin in (0.0, -1e-9, -1.0, -1e6):
        _, _, _, state = step(RULES["CW stdev"], margin, 0.3)
        assert -state[LOG_KEPT] >= log(1.0 + PHI**2) * (1.0 - 1e-15)
    assert -step(RULES["CW stdev"], 0.0, 0.3)[3][LOG_KEPT] == pytest.approx(log(1.0 + PHI**2))


def exact(form, m, v, C):
    """alpha from the defining equation of a confidence-weighted step, with many digits."""
    getcontext().prec = 900
    m, v, phi = Decimal(m), Decimal(v), Decimal(PHI)
    if form == VARIANCE:
        b = 1 + 2 * phi * m
        return ((b * b - 8 * phi * (m - phi * v)).sqrt() - b) / (4 * phi * v)
    n = v + (0 if inf == C else 1 / (2 * Decimal(C)))
    root = phi * (phi**2 * m**2 * v**2 + 4 * n * v * (n + v * phi**2)).sqrt()
    return (root - (2 * m * n + phi**2 * m * v)) / (2 * (n * n + n * v * phi**2))


@pytest.mark.parametrize("variance", [1e-200, 1e-8, 1.0, 1e8, 1e200])
@pytest.mark.parametrize("share", [1.0 - 1e-9, 0.5, 1e-12, 0.0, -1e-12, -1.0, -1e9])
@pytest.mark.parametrize(("form", "C"), [(VARIANCE, inf), (STDEV, inf), (SQUARED, 3.0), (SQUARED, inf)])
def test_steps_keep_their_digits(form, C, share, variance):
    margin = share * PHI * (variance if form == VARIANCE else sqrt(variance))
    alpha = step(GaussianRule(UNREACHED, form, C, PHI, 0.0), margin, variance)[0]
    wanted = exact(form, margin, variance, C)
    # The margin itself is rounded, which the step feels near its trigger.
    felt = 2e-15 + 4e-16 / (1.0 - share) if share < 1.0 else 0.0
    assert abs(Decimal(alpha) / wanted - 1) < felt


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("variance", [0.0, 1e-310, 1e-300, 1e-200, 1e290])
@pytest.mark.parametrize("margin", [-1e300, -1e150, 0.0, 0.5, 1e300])
@pytest.mark.parametrize("parameter", [1e-300, 1.0, 1e300])
def test_no_step_overflows(name, variance, margin, parameter):
    rule = RULES[name]
    if not name.startswith("CW"):
        rule = rule._replace(price=parameter)
    alpha, kappa, left, state = step(rule, margin, variance)
    assert 0.0 <= alpha < inf
    assert 0.0 <= kappa <= 1.0
    assert 0.0 <= left <= 1.0
    assert np.isfinite(state).all()
    assert state[CUTS] == 0.0
    assert state[SQUARED_LOSS] >= 0.0
    if alpha == 0.0:
        assert not state.any()


def test_a_scale_enters_the_variance_and_the_step():
    for rule in RULES.values():
        one, other = step(rule, 0.1, 0.6), step(rule, 0.1, 0.6, scale=0.5)
        np.testing.assert_allclose(one[:3], other[:3], rtol=1e-14)
        assert other[3][MARGIN_WEIGHT] == pytest.approx(0.5 * one[3][MARGIN_WEIGHT])


def test_small_phi_is_a_step_to_the_margin_zero():
    rule = GaussianRule(UNREACHED, STDEV, inf, 1e-9, 0.0)
    alpha, kappa, _, _ = step(rule, -2.0, 4.0)
    assert alpha == pytest.approx(0.5, rel=1e-8)
    assert kappa == pytest.approx(0.0, abs=1e-8)
