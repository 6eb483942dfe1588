"""What one step promises: margins after it, rows it may touch, how far norms may grow."""

from math import inf

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import ellipsoid
from ellipsoid.rules.blame import MAX, PROPORTIONAL, UNIFORM
from ellipsoid.rules.mira import MIRARule
from ellipsoid.rules.passive_aggressive import PassiveAggressiveRule
from ellipsoid.rules.perceptron import PerceptronRule

FEATURES = 4
numbers = st.one_of(st.integers(-3, 3).map(float), st.floats(-100.0, 100.0).map(lambda v: round(v, 6)))
examples = arrays(np.float64, FEATURES, elements=numbers)
margins = st.sampled_from([0.0, 0.01, 1.0, 50.0])
sharings = st.sampled_from([UNIFORM, MAX, PROPORTIONAL])


@st.composite
def situations(draw, least=3, most=7):
    """Weights, an example of sensible length and its label."""
    classes = draw(st.integers(least, most))
    W = draw(arrays(np.float64, (classes, FEATURES), elements=numbers))
    x = draw(examples)
    assume(x @ x > 1e-6)
    return W, x, draw(st.integers(0, classes - 1))


def lead(W, x, y):
    """By how much each rival trails the right label."""
    return np.delete(W[y] @ x - W @ x, y)


def scale_of(W, x):
    """Rounding in scores is relative to this."""
    return 1.0 + np.abs(W).max() * np.abs(x).max() * FEATURES


@given(situations())
def test_uncapped_passive_aggressive_lands_exactly_on_the_margin(one_round, situation):
    W, x, y = situation
    after = one_round(PassiveAggressiveRule(1.0, inf, 0.0), W, x, y)
    rival = np.delete(W @ x, y).max()
    before = (W @ x)[y] - rival
    blamed = [r for r in range(len(W)) if r != y and (after.W[r] != W[r]).any()]
    if before < 1.0 - 1e-9 * scale_of(W, x):
        assert len(blamed) == 1
        assert (after.W[y] - after.W[blamed[0]]) @ x == pytest.approx(1.0, abs=1e-9 * scale_of(W, x))
    else:
        assert lead(after.W, x, y).min() >= 1.0 - 1e-9 * scale_of(W, x)


@given(arrays(np.float64, FEATURES, elements=numbers), examples, st.integers(0, 1), st.sampled_from([0.1, 1.0, 7.0]))
def test_uncapped_binary_move_lands_exactly_on_the_margin(one_round, w, x, y, margin):
    assume(x @ x > 1e-6)
    sign = 1.0 if y else -1.0
    after = one_round(PassiveAggressiveRule(margin, inf, 0.0), w, x, y)
    assert sign * (after.W[0] @ x) == pytest.approx(max(margin, sign * (w @ x)), abs=1e-9 * scale_of(w, x))


@given(situations(least=1), st.sampled_from([1e-3, 0.1, 2.0]))
def test_capped_move_is_no_longer_than_the_cap(one_round, situation, cap):
    W, x, y = situation
    assume(len(W) != 2)
    y = min(y, 1) if len(W) == 1 else y
    free, held = (one_round(PassiveAggressiveRule(1.0, c, 0.0), W, x, y) for c in (inf, cap))
    assert held.push == pytest.approx(min(cap, free.push), rel=1e-12)
    np.testing.assert_allclose(held.step @ x, np.sign(free.step @ x) * held.push * (x @ x), atol=1e-9 * scale_of(W, x))


@given(situations(), st.sampled_from([1e-3, 0.1, 2.0]))
def test_softened_move_trades_slack_for_length(one_round, situation, C):
    """PA-II is optimal where the step is 2 C times the slack left."""
    W, x, y = situation
    after = one_round(PassiveAggressiveRule(1.0, inf, 0.5 / C), W, x, y)
    if after.updated:
        rival = int(np.argmin(after.step @ x))
        slack = 1.0 - (after.W[y] - after.W[rival]) @ x
        assert after.push == pytest.approx(2.0 * C * slack, rel=1e-9, abs=1e-9 * C * scale_of(W, x))


@given(situations(), sharings, margins)
def test_additive_rules_are_ultraconservative(one_round, situation, sharing, beta):
    W, x, y = situation
    after = one_round(PerceptronRule(sharing, beta, 1.0), W, x, y)
    check_untouched(W, after, y, beta)
    if after.updated:
        assert after.push == 1.0
        np.testing.assert_allclose(after.step.sum(axis=0), 0.0, atol=1e-9 * (1.0 + np.abs(W).max()))
        tau2 = ((after.step @ x) ** 2).sum() / (x @ x) ** 2
        assert tau2 <= 2.0 + 1e-6
        assert (after.W**2).sum() - (W**2).sum() <= (tau2 * (x @ x) + 2.0 * beta) + 1e-9 * scale_of(W, x) ** 2


def check_untouched(W, after, y, beta):
    """Rows outside the error set and the right label keep every bit; nothing moves when it is empty."""
    scores = after.scores
    error_set = [r for r in range(len(W)) if r != y and scores[r] >= scores[y] - beta]
    for r in set(range(len(W))) - {y, *error_set}:
        assert after.W[r].tobytes() == W[r].tobytes()
    if not error_set:
        assert after.W.tobytes() == W.tobytes()
        assert not after.updated
    assert after.mistake == (scores[y] <= np.delete(scores, y).max())


@given(situations(), st.sampled_from([0.01, 1.0, 50.0]))
def test_mira_restores_the_margin_over_every_label_it_moves(one_round, situation, beta):
    W, x, y = situation
    after = one_round(MIRARule(beta), W, x, y)
    check_untouched(W, after, y, beta)
    slack = 1e-9 * scale_of(W, x) + 1e-9 * beta
    excess = after.scores - (after.scores[y] - beta)
    moved = [r for r in range(len(W)) if r != y and (after.W[r] != W[r]).any()]
    assert all(excess[r] > 0.0 for r in moved)
    A = x @ x
    assert 0.0 <= after.push <= 1.0 + 1e-12
    assert after.push >= min(1.0, np.delete(excess, y).max() / (2.0 * A)) - 1e-9 * (1.0 + scale_of(W, x) / A)
    if after.updated and after.push < 1.0 - 1e-9:
        leads = (after.W[y] - after.W[moved]) @ x
        np.testing.assert_allclose(leads, beta, atol=slack)
        assert lead(after.W, x, y).min() >= beta - slack
    tau2 = ((after.step @ x) ** 2).sum() / A**2
    room = 1e-9 * scale_of(W, x) ** 2
    assert tau2 * A <= 2.0 * after.push**2 * A + room
    assert (after.W**2).sum() - (W**2).sum() <= 2.0 * beta * after.push - A * tau2 + room
    np.testing.assert_allclose(after.step.sum(axis=0), 0.0, atol=1e-9 * (1.0 + np.abs(W).max()))


@given(situations(), st.sampled_from([0.01, 1.0, 50.0]))
def test_mira_is_the_projection_on_the_simplex(one_round, situation, beta):
    """tau = e_y - projection of B~/A + e_y on the probability simplex, found by dropping negative entries."""
    W, x, y = situation
    after = one_round(MIRARule(beta), W, x, y)
    A = x @ x
    D = after.scores / A
    D[y] += 1.0 - beta / A
    active = np.ones(len(D), dtype=bool)
    while True:
        theta = (D[active].sum() - 1.0) / active.sum()
        if (D[active] > theta).all():
            break
        active &= theta < D
    tau = -np.maximum(0.0, D - theta)
    tau[y] += 1.0
    np.testing.assert_allclose(after.step @ x / A, tau, atol=1e-9 * (1.0 + scale_of(W, x) / A))


@given(situations(), margins)
def test_one_vs_rest_moves_each_class_alone(one_round, situation, beta):
    W, x, y = situation
    after = one_round(PerceptronRule(MAX, beta, 1.0), W, x, y, one_vs_rest=True)
    for r in range(len(W)):
        alone = one_round(PerceptronRule(MAX, beta, 1.0), W[r], x, int(r == y))
        np.testing.assert_allclose(after.W[r], alone.W[0], atol=1e-12 * scale_of(W, x))


@pytest.mark.parametrize("classes", [3, 10, 26])
@pytest.mark.parametrize("energy", [1e-4, 0.01, 4.0, 1e18])
def test_first_round_of_mira_is_known_in_closed_form(one_round, classes, energy):
    beta = 0.01
    x = np.array([np.sqrt(energy), 0.0])
    after = one_round(MIRARule(beta), np.zeros((classes, 2)), x, 1)
    tau = after.step[:, 0] / x[0]
    assert tau[1] == pytest.approx(min(1.0, (classes - 1) * beta / (classes * energy)), rel=1e-12)
    np.testing.assert_allclose(np.delete(tau, 1), -tau[1] / (classes - 1), rtol=1e-12)


def test_mira_does_not_lose_a_small_margin_beside_a_large_norm(one_round):
    """|x|^2 = 1e18, margin 0.01: a form that adds 1 to B / |x|^2 returns no step at all."""
    after = one_round(MIRARule(0.01), np.zeros((10, 1)), [1e9], 0)
    assert after.push == pytest.approx(0.009e-18, rel=1e-12)


def test_mira_leaves_labels_that_tie_with_the_floor_alone(one_round):
    """Scores 0.5, 0.5, 1, 0 with the right label first and margin 0.5: excesses 0.5, 1, 0."""
    W = np.array([[0.5], [0.5], [1.0], [0.0]])
    after = one_round(MIRARule(0.5), W, [1.0], 0)
    assert after.W[3, 0] == 0.0
    # (j + 1) e_(j) > S_j holds for 1 (2 > 1) and fails for 0.5 (1.5 > 1.5): phi = 1/2, one rival moves.
    np.testing.assert_allclose(after.W[:, 0], [1.0, 0.5, 0.5, 0.0], rtol=1e-15)


def test_mira_at_its_cap_moves_the_right_row_by_the_whole_example(one_round):
    """Excesses 5, 4, 1 beside |x|^2 = 1: phi = (5 + 4 - 1) / 2 = 4 <= 4, so one label takes all: phi = 4."""
    W = np.array([[0.0], [4.0], [3.0], [0.0]])
    after = one_round(MIRARule(1.0), W, [1.0], 0)
    assert after.push == pytest.approx(1.0, rel=1e-15)
    np.testing.assert_allclose(after.W[:, 0], [1.0, 3.0, 3.0, 0.0], rtol=1e-15)


@given(st.floats(1e-3, 1e3), st.integers(0, 2**32))
def test_unclipped_mira_scales_with_its_margin(factor, seed):
    from ellipsoid import MIRA

    rng = np.random.default_rng(seed)
    X, y = 100.0 * rng.normal(size=(30, 3)), rng.integers(0, 3, 30)
    runs = [MIRA(margin=m, fit_intercept=False).partial_fit(X, y, classes=range(3)) for m in (1e-3, 1e-3 * factor)]
    assume(all(run._core.rule.margin < 1e-3 * (X**2).sum(axis=1).min() for run in runs))
    np.testing.assert_allclose(
        runs[1].coef_ / factor, runs[0].coef_, rtol=1e-9, atol=1e-9 * np.abs(runs[0].coef_).max()
    )


@given(st.integers(0, 2**32), st.sampled_from([UNIFORM, MAX, PROPORTIONAL]))
def test_max_and_the_rest_coincide_for_two_rows(one_round, seed, sharing):
    rng = np.random.default_rng(seed)
    w, x = rng.integers(-3, 4, 3).astype(float), rng.integers(-3, 4, 3).astype(float)
    pair = one_round(PerceptronRule(sharing, 1.0, 1.0), [-w, w], x, 1)
    single = one_round(PerceptronRule(sharing, 0.5, 1.0), w, x, 1)
    assert (pair.W[0] == -single.W[0]).all()
    assert (pair.W[1] == single.W[0]).all()


@pytest.mark.parametrize("power", [-8, -20, -60])
def test_mira_moves_small_rows_by_the_whole_cap(power):
    """Far below the margin every row asks for the cap, however small it is beside the margin's own rounding."""
    x = 10.0**power * np.array([[1.4, -0.3, 0.9]])
    model = ellipsoid.MIRA(fit_intercept=False).partial_fit(x, [1], classes=[0, 1, 2])
    np.testing.assert_allclose(model.coef_[1], x[0], rtol=1e-12)
    np.testing.assert_allclose(model.coef_.sum(axis=0), 0.0, atol=1e-12 * abs(x).max())
    certificates = {certificate.name: certificate for certificate in model.certificates()}
    assert 1 <= certificates["mistakes"].bound < inf
