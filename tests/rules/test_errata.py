"""Counterexamples to what the paper on ultraconservative algorithms states (docs/errata.md), and its edge cases."""

import numpy as np
import pytest

from ellipsoid import ALMA, MIRA, ROMMA, PassiveAggressive, Perceptron
from ellipsoid.rules import blame, mira, perceptron


def repeated(one_round, rule, W, x, y, rounds):
    """The weights, the sum of tau_y and the mistakes after so many visits of one example."""
    W, push, mistakes = np.array(W, dtype=float), 0.0, 0
    for _ in range(rounds):
        after = one_round(rule, W, x, y)
        W, push, mistakes = after.W.copy(), push + after.push, mistakes + after.mistake
    return W, push, mistakes


def test_theorem_7_fails_for_a_start_that_is_not_zero(one_round):
    """k = 2, n = 1, x = 1, label 1 for ever, start (-5, 5): the coefficients sum to 10 where the theorem says 2."""
    W, push, _ = repeated(one_round, mira.MIRARule(0.0), [[-5.0], [5.0]], [1.0], 0, 20)
    assert 2.0 * push == pytest.approx(10.0)
    assert W.tolist() == [[0.0], [0.0]]
    # What holds: sum tau_y <= 2 P / gamma with the start's norm P, here with the unit comparator (1, -1) / sqrt 2; and
    # no more than 4 R^2 P / (b gamma) rounds with a margin of -b or less, 0 < b <= 2 R^2.
    norm, gamma = np.sqrt(50.0), np.sqrt(2.0)
    assert push == pytest.approx(norm / gamma)
    assert push <= 2.0 * norm / gamma
    _, _, deep = repeated(one_round, mira.MIRARule(0.0), [[-5.0], [5.0]], [1.0], 0, 5)
    assert deep == 5 <= 4.0 * norm / (2.0 * gamma)


def test_plain_mira_never_leaves_zero_and_never_grows(one_round):
    after = one_round(mira.MIRARule(0.0), np.zeros((4, 3)), [1.0, 2.0, 3.0], 1)
    assert (after.mistake, after.updated, after.W.any()) == (True, False, False)
    rng = np.random.default_rng(0)
    W = rng.normal(size=(4, 3))
    for _ in range(100):
        grown = one_round(mira.MIRARule(0.0), W, rng.normal(size=3), int(rng.integers(4))).W.copy()
        assert np.linalg.norm(grown) <= np.linalg.norm(W) * (1.0 + 1e-12)
        W = grown


def test_theorem_7_fails_for_a_positive_margin():
    """beta = 2, rows of length one at 60 degrees, one label: 3 > 8/3 = 4 / gamma^2."""
    X = np.array([[1.0, 0.0], [0.5, np.sqrt(0.75)]])
    model = MIRA(margin=2.0, fit_intercept=False).partial_fit(X, [1, 1], classes=[0, 1])
    observed = {c.name: c.observed for c in model.certificates()}
    middle = X.sum(axis=0) / np.linalg.norm(X.sum(axis=0))
    gamma2 = 2.0 * (X @ middle).min() ** 2
    assert 2.0 * observed["sum of tau"] == pytest.approx(3.0)
    assert 3.0 > 4.0 / gamma2 == pytest.approx(8.0 / 3.0)
    # The mistake bound survives, sharper than printed: 2 R^2 / gamma^2 for 0 < beta <= 2 R^2.
    assert model.mistakes_ <= 2.0 / gamma2 <= 4.0 / (2.0 * gamma2)


def test_the_blame_goes_to_the_highest_of_the_error_set(one_round):
    """With a margin the right label may be the highest of all, and must not be blamed for itself."""
    after = one_round(perceptron.PerceptronRule(blame.MAX, 2.0, 1.0), [[1.0], [0.5], [-3.0]], [1.0], 0)
    assert after.W.ravel().tolist() == [2.0, -0.5, -3.0]
    tied = one_round(perceptron.PerceptronRule(blame.MAX, 0.0, 1.0), [[1.0], [1.0], [1.0]], [1.0], 0)
    assert tied.W.ravel().tolist() == [2.0, 0.0, 1.0]


def test_proportions_of_nothing_are_equal_shares(one_round):
    after = one_round(perceptron.PerceptronRule(blame.PROPORTIONAL, 0.0, 1.0), [[1.0], [1.0], [0.0], [1.0]], [1.0], 0)
    assert after.W.ravel().tolist() == [2.0, 0.5, 0.0, 0.5]


def test_proportions_are_those_of_the_shifted_excess(one_round):
    """Excesses 1 and 3 with the margin, -1 and 1 without."""
    after = one_round(perceptron.PerceptronRule(blame.PROPORTIONAL, 2.0, 1.0), [[0.0], [-1.0], [1.0]], [1.0], 0)
    assert after.W.ravel().tolist() == [1.0, -1.25, 0.25]


def test_ties_are_learned_from_whichever_label_is_right():
    for label in (0, 1):
        model = Perceptron(fit_intercept=False).partial_fit([[1.0]], [label], classes=[0, 1])
        assert (model.mistakes_, model.updates_) == (1, 1)


def test_romma_multiplies_the_rows_outside_the_error_set_too():
    """Theorem 15 holds up to a common factor: no label outside E gains on another one."""
    X = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [-0.5, 0.1, 1.0]])
    model = ROMMA(multiclass="max", fit_intercept=False).partial_fit(X[:2], [2, 3], classes=range(5))
    before = model.coef_
    model.partial_fit(X[2:], [1])
    assert model.updates_ == 3
    c = model.coef_[3] @ before[3] / (before[3] @ before[3])
    assert c != pytest.approx(1.0)
    np.testing.assert_allclose(model.coef_[3], c * before[3], atol=1e-12)


@pytest.mark.parametrize("margin", [1e3, 1e6])
def test_margins_beyond_twice_the_squared_radius_are_allowed(margin):
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(80, 3)), rng.integers(0, 3, 80)
    model = MIRA(margin=margin).partial_fit(X, y)
    assert model.updates_ == 79  # all but the first, which knows one label only
    assert all(c.observed <= c.bound for c in model.certificates())


EVERY = [Perceptron(), PassiveAggressive(variant="hard"), MIRA(), ROMMA(), ROMMA(aggressive=True), ALMA(), ALMA(p=4)]


@pytest.mark.parametrize("model", EVERY, ids=repr)
@pytest.mark.parametrize("classes", [2, 3])
def test_contradictory_labels_do_no_harm(model, classes):
    model = type(model)(**{**model.get_params(), "fit_intercept": False})
    model.partial_fit([[1.0, 2.0]] * 40, [0, 1] * 20, classes=range(classes))
    assert np.isfinite(model.coef_).all()
    assert model.t_ == 40
    model.partial_fit([[2.0, -1.0]], [1])
    assert np.isfinite(model.decision_function([[2.0, -1.0]])).all()


@pytest.mark.parametrize("model", EVERY, ids=repr)
@pytest.mark.parametrize("classes", [2, 3])
def test_a_zero_row_is_a_mistake_that_nothing_is_learned_from(model, classes):
    model = type(model)(**{**model.get_params(), "fit_intercept": False})
    model.partial_fit(np.zeros((2, 2)), [0, 1], classes=range(classes))
    assert (model.mistakes_, model.updates_, model.t_) == (2, 0, 2)
    model.partial_fit([[1.0, 2.0]], [1])
    before = model.coef_
    assert before.any()
    model.partial_fit(np.zeros((1, 2)), [1])
    assert (model.mistakes_, model.updates_) == (4, 1)
    assert (model.coef_ == before).all()


@pytest.mark.parametrize("model", EVERY, ids=repr)
def test_one_label_alone_teaches_nothing(model):
    model = type(model)(**model.get_params()).partial_fit(np.eye(3), [5, 5, 5], classes=[5])
    assert (model.mistakes_, model.updates_, model.coef_.any()) == (0, 0, False)


def test_labels_that_come_later_make_another_run_than_labels_known_before():
    X, y = np.array([[1.0, 1.0], [1.0, 0.0], [2.0, 1.0], [0.0, 3.0]]), [0, 1, 0, 2]
    known, unknown = Perceptron(multiclass="uniform"), Perceptron(multiclass="uniform")
    known.partial_fit(X, y, classes=range(3))
    unknown.partial_fit(X, y)
    assert known.updates_ != unknown.updates_ or (known.coef_ != unknown.coef_).any()
