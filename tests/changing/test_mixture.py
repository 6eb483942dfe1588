"""Weights of learners: the golden run, the theorems on any losses, and that no cut changes a bit."""

from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ellipsoid import Committee, PassiveAggressive, Perceptron
from ellipsoid.engine import NO_WEIGHTS
from ellipsoid.engine.tally import EXCESS, MISTAKES, SIZE
from ellipsoid.estimators.wrappers.council import votes_of
from ellipsoid.estimators.wrappers.mixture import DECREASING, GAP, HEDGED, MEAN_LOSS, OWN_LOSS, SWITCHES, Mixture

SCORES = np.array([
    [[0.2, 0.0], [0.0, 0.6], [0.1, 0.3]], [[0.5, 0.0], [0.9, 0.0], [0.0, 0.2]],
    [[0.0, 0.4], [2.0, 0.0], [0.3, 0.0]], [[0.0, 3.0], [0.2, 0.0], [0.0, 0.7]],
])  # fmt: skip
SAID = np.maximum(0.0, 1.0 + SCORES - SCORES.max(axis=2, keepdims=True)).transpose(1, 0, 2).copy()
Y = np.array([1, 0, 1, 0])
pytestmark = pytest.mark.interpreted


def run(mixture, said, y, known=2, weights=NO_WEIGHTS, cuts=()):
    """Learn rows in pieces; returns what was foretold and the tally."""
    tally, told, ends = np.zeros(SIZE), [], [0, *cuts, len(y)]
    for start, stop in pairwise(ends):
        own = weights[start:stop] if len(weights) else weights
        told += mixture.learn(np.ascontiguousarray(said[:, start:stop]), y[start:stop], known, own, tally)[0].tolist()
    return told, tally


def test_the_golden_run_of_fixed_share():
    mixture = Mixture(3, 0.05, 0.5)
    assert run(mixture, SAID, Y)[0] == [1, 0, 0, 1]
    assert mixture.numbers[OWN_LOSS] == pytest.approx(4.3212222925, abs=1e-10)
    assert mixture.numbers[GAP] == pytest.approx(0.2426862167, abs=1e-10)
    assert mixture.switching_losses()[:3] == pytest.approx([3.3, 3.1, 1.9])
    assert mixture.weights == pytest.approx([0.30398868, 0.47155730, 0.22445401], abs=1e-8)


def test_the_golden_run_of_adahedge():
    mixture = Mixture(3, HEDGED, 1.0)
    run(mixture, SAID[:, :3], Y[:3])
    assert mixture.weights == pytest.approx([0.4879807, 0.37725616, 0.13476314], abs=1e-8)
    run(mixture, SAID[:, 3:], Y[3:])
    assert mixture.numbers[OWN_LOSS] == pytest.approx(4.53800322, abs=1e-8)
    assert mixture.numbers[GAP] == pytest.approx(1.0580619842, abs=1e-10)


def drawn(rows, members, labels, kind, seed):
    """Opinions and labels of some stream: votes or margins, at random, or against whoever leads."""
    rng = np.random.default_rng(seed)
    said = np.maximum(0.0, 1.0 - rng.exponential(size=(members, rows, labels)) * rng.integers(0, 2))
    best = rng.integers(0, labels, (members, rows))
    if kind == "votes":
        said[:] = 0.0
    np.put_along_axis(said, best[:, :, None], 1.0, axis=2)
    return said, rng.integers(0, labels, rows)


def losses_of(said, y):
    rows = np.arange(len(y))
    rivals = said.copy()
    own = said[:, rows, y]
    rivals[:, rows, y] = -1.0
    return 1.0 - (own - rivals.max(axis=2))


@given(
    st.integers(1, 12), st.integers(1, 4), st.integers(2, 3), st.sampled_from(["votes", "margins"]),
    st.integers(0, 999), st.sampled_from([0.0, 1e-3, 0.3, 1.0, DECREASING, HEDGED]), st.sampled_from([0.01,
    0.25, 5.0]),
)  # fmt: skip
def test_every_bound_holds_against_sequences_of_learners_found_by_trying_all(
    rows, members, labels, kind, seed, share, rate
):
    said, y = drawn(rows, members, labels, kind, seed)
    mixture = Mixture(members, share, rate)
    _, tally = run(mixture, said, y, labels)
    losses = losses_of(said, y)
    assert mixture.sums == pytest.approx(losses.sum(axis=1))
    bounds, best = mixture.switching_bounds(), mixture.switching_losses()
    for k in range(min(4, rows)):
        least = min(
            sum(losses[:, a:b].sum(axis=1).min() for a, b in zip([0, *cuts], [*cuts, rows], strict=True))
            for few in range(k + 1)
            for cuts in combinations(range(1, rows), few)
        )
        assert best[k] == pytest.approx(least)
        assert mixture.numbers[MEAN_LOSS] <= bounds[k]
    assert tally[MISTAKES] <= mixture.numbers[OWN_LOSS] + 1e-9 <= mixture.numbers[MEAN_LOSS] + 2e-9
    assert (np.diff(best) <= 0.0).all()
    assert mixture.weights.sum() == pytest.approx(1.0)


@settings(max_examples=40)
@given(st.integers(0, 999), st.sampled_from([1e-3, DECREASING, HEDGED]), st.lists(st.integers(1, 19), max_size=4))
def test_no_cut_changes_a_bit(seed, share, cuts):
    said, y = drawn(20, 3, 2, "votes", seed)
    weights = np.random.default_rng(seed).choice([0.5, 1.0, 3.0], 20)
    one, other = Mixture(3, share, 0.25), Mixture(3, share, 0.25)
    assert run(one, said, y, weights=weights)[0] == run(other, said, y, weights=weights, cuts=sorted(set(cuts)))[0]
    for name, array in one.state().items():
        assert array.tobytes() == other.state()[name].tobytes(), name


@pytest.mark.parametrize("share", [0.0, 1e-3, DECREASING, HEDGED])
def test_equal_learners_never_change_their_weights(share):
    said = np.repeat(drawn(50, 1, 2, "votes", 3)[0], 4, axis=0)
    mixture = Mixture(4, share, 0.25)
    run(mixture, said, drawn(50, 1, 2, "votes", 3)[1])
    assert mixture.weights == pytest.approx([0.25] * 4)
    assert mixture.numbers[GAP] == pytest.approx(0.0, abs=1e-12)


def test_a_learner_that_is_always_right_gets_all_that_is_not_shared():
    y = np.random.default_rng(0).integers(0, 2, 400)
    said = np.stack([np.eye(2)[y], np.eye(2)[1 - y], np.eye(2)[1 - y]])
    mixture = Mixture(3, 0.01, 20.0)
    run(mixture, said, y)
    assert mixture.weights[0] == pytest.approx(1.0 - 0.01 * 2 / 3, abs=1e-12)


def test_a_row_with_the_only_known_label_costs_no_member_anything():
    mixture, tally = Mixture(2, 1e-3, 0.25), np.zeros(SIZE)
    told, _ = mixture.learn(np.ones((2, 3, 1)), np.zeros(3, dtype=np.int64), 1, NO_WEIGHTS, tally)
    assert told.tolist() == [0, 0, 0]
    assert mixture.switching_bounds().tolist() == [0.0] * (1 + SWITCHES)
    # One that brings a second label is wrong for all.
    mixture.learn(np.ones((2, 1, 1)), np.array([1]), 1, NO_WEIGHTS, tally)
    assert mixture.sums.tolist() == [2.0, 2.0]
    assert tally[MISTAKES] == 1.0


def test_weights_of_any_size_keep_the_bounds():
    said, y = drawn(30, 3, 2, "votes", 5)
    for weight in (1e-300, 1e15):
        mixture = Mixture(3, 1e-3, 0.25)
        run(mixture, said, y, weights=np.full(30, weight))
        assert np.isfinite(mixture.weights).all()
        assert mixture.numbers[MEAN_LOSS] <= mixture.switching_bounds().min()


def told(right):
    """Votes of learners that are right, or wrong, of label 0."""
    right = np.asarray(right, dtype=float)
    return np.stack([right, 1.0 - right], axis=2), np.zeros(right.shape[1], dtype=np.int64)


@pytest.mark.parametrize(("share", "rate"), [(0.0, 0.25), (0.0, 10.0), (1e-320, 1.0), (HEDGED, 1.0)])
@pytest.mark.parametrize("plan", [
    [(0, 1.0), (0, 2000.0), (1, 1e6)],
    [(0, 1.0)] * 20 + [(0, 10.0)] * 10 + [(0, 1e3)] * 10 + [(1, 1e6)] * 3,
    [(0, 1.0)] * 60 + [(1, 1.0)] * 140,
])  # fmt: skip
def test_a_learner_that_fell_behind_for_good_may_turn_out_the_best(share, rate, plan):
    """Its weight is smaller than any float64 then; the bound is about what it loses all the same."""
    said, y = told([[who == i for who, _ in plan] for i in (0, 1)])
    mixture, weights = Mixture(2, share, rate), np.array([weight for _, weight in plan])
    _, tally = run(mixture, said, y, weights=weights)
    mistakes = tally[MISTAKES] + tally[EXCESS]
    assert max(mistakes, mixture.numbers[OWN_LOSS], mixture.numbers[MEAN_LOSS]) <= mixture.switching_bounds().min()
    assert mixture.weights.sum() == pytest.approx(1.0)
    again = Mixture(2, share, rate)
    again.restore({name: array.copy() for name, array in mixture.state().items()})
    assert all((array == mixture.state()[name]).all() for name, array in again.state().items())


def test_small_rows_after_huge_ones_are_in_the_bound_too():
    """A sum of 2**53 is not moved by 1; counts of mistakes are."""
    said, y, weights = np.ones((1, 12002, 2)), np.zeros(12002, dtype=np.int64), np.ones(12002)
    weights[:2] = 2.0**52
    mixture = Mixture(1, 1e-3, 0.25)
    _, tally = run(mixture, said, y, weights=weights)
    assert tally[MISTAKES] + tally[EXCESS] == 2**53 + 12000
    assert mixture.switching_bounds().min() >= 2**53 + 12000


@pytest.mark.parametrize("members", [6, 13])
def test_weights_that_do_not_quite_sum_to_one_break_no_bound_on_heavy_rows(members):
    said, y = told(np.ones((members, 300)))
    mixture = Mixture(members, 1e-3, 0.25)
    run(mixture, said, y, weights=np.full(300, 2.0**52))
    assert mixture.numbers[OWN_LOSS] <= mixture.switching_bounds().min()


def test_a_pickle_with_fewer_numbers_is_refused():
    state = dict(vars(Mixture(2, 0.1, 1.0)), numbers=np.zeros(6))
    with pytest.raises(ValueError, match="another version"):
        Mixture.__new__(Mixture).__setstate__(state)


@pytest.mark.parametrize("classes", [2, 3])
def test_scores_that_overflow_have_votes(classes):
    """They are far beyond what is promised, but a bound is never NaN."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 3)), rng.integers(0, classes, 40)
    members = [PassiveAggressive(C=1e200, margin=1e308, variant="II"), Perceptron()]
    model = Committee(members, mix="margins", share=0.0)
    with np.errstate(all="ignore"):
        assert None not in model.learn_predict(X, y, classes=range(classes)).tolist()
    assert not np.isfinite(model.learners_[0].decision_function(X)).all()
    assert all(each.observed <= each.bound for each in model.certificates(0))
    assert np.isfinite(model.decision_function(X)).all()


def test_finite_scores_have_the_votes_of_the_formula():
    scores = np.random.default_rng(1).normal(size=(50, 3)) * 10.0 ** np.arange(-20, 30)[:, None]
    expected = np.maximum(0.0, 1.0 + (scores - scores.max(axis=1, keepdims=True)))
    assert votes_of(scores, 3, whole=False).tobytes() == expected.tobytes()
    infinite = np.array([[np.inf, np.inf, 1.0], [np.nan, 0.5, 0.0], [-np.inf, -np.inf, -np.inf]])
    assert votes_of(infinite, 3, whole=False).tolist() == [[1.0, 1.0, 0.0], [0.0, 0.0, 0.0], [1.0, 1.0, 1.0]]
