"""What a round can come to, for every alpha, and the rows that no learner likes."""

import numpy as np
import pytest
from scipy.optimize import linprog

from ellipsoid import CELLIP, IELLIP, EmptyVersionSpace

E1 = np.array([[1.0, 0.0, 0.0]])


def started(**params):
    """A CELLIP that has seen e_1 as positive."""
    return CELLIP(**{"margin": 0.6, "fit_intercept": False, **params}).partial_fit(E1, [1], classes=[-1, 1])


def test_proper_cut():
    model = started()
    # A little less deep and a little larger, for what rounding may do.
    np.testing.assert_allclose(model.coef_, [[0.6, 0.0, 0.0]], rtol=1e-14)
    np.testing.assert_allclose(model.version_space_.shape_matrix(), np.diag([0.16, 0.64, 0.64]), rtol=1e-13)
    assert (model.mistakes_, model.updates_, model.infeasible_, model.exhausted_) == (1, 1, 0, False)
    assert model.update_rounds_.tolist() == [1]


@pytest.mark.parametrize("cut", ["paper", "minvol"])
def test_no_smaller_ellipsoid_no_update(cut, dense):
    """alpha <= 0 for the paper's cut, alpha <= -1/dim for the least volume: the round counts and nothing moves."""
    model = started(cut=cut, trigger="always")
    before = model.coef_.copy(), model.log_volume_
    model.partial_fit(2.0 * E1, [1])
    assert (model.updates_, model.t_, model.mistakes_) == (1, 2, 1)
    assert (model.coef_ == before[0]).all()
    assert model.log_volume_ == before[1]


def test_always_cuts_deeper_than_margin_does(dense):
    """Between -1/dim and 0 the least volume still shrinks; only trigger 'always' goes there."""
    rng = np.random.default_rng(0)
    X, Y, _ = dense.separable(rng, 40, 3, 0.2)
    counts = {}
    for trigger in ("mistake", "margin", "always"):
        model = CELLIP(margin=0.2, a=0.5, cut="minvol", trigger=trigger, fit_intercept=False)
        truth = dense.run(model, X, Y)
        counts[trigger] = model.partial_fit(X, Y, classes=[-1, 1]).updates_
        assert counts[trigger] == truth[-1].updates
        negative = [r.alpha for r in truth if r.outcome == "cut" and r.alpha < 0.0]
        assert bool(negative) == (trigger == "always")
        assert min(negative, default=0.0) > -1.0 / 3.0
    assert counts["mistake"] <= counts["margin"] < counts["always"]


def test_orthonormal_rows_exhaust_the_version_space():
    """alpha_d = 1: all that is left is the separator, and around it what rounding may have moved it by."""
    d = 100
    model = CELLIP(margin=d**-0.5, fit_intercept=False).partial_fit(np.eye(d), np.ones(d), classes=[-1, 1])
    assert model.exhausted_
    assert model.infeasible_ == 0
    assert (model.mistakes_, model.updates_) == (d, d)
    np.testing.assert_allclose(model.coef_, np.full((1, d), d**-0.5), rtol=1e-11)
    assert model.log_volume_ < -20.0 * d
    assert model.version_space_.contains(model.coef_).all()
    assert (model.version_space_.width(np.eye(d)) < 1e-4).all()
    assert model.certain(np.eye(d)).all()


@pytest.mark.parametrize("trigger", ["margin", "always"])
def test_rounding_does_not_refute_the_point_that_is_left(trigger):
    """The rows once more: the point has the margin on them, to the last digit or one less."""
    d = 100
    model = CELLIP(margin=d**-0.5, fit_intercept=False, trigger=trigger)
    for _ in range(2):
        model.partial_fit(np.eye(d), np.ones(d), classes=[-1, 1])
    assert model.exhausted_
    assert model.infeasible_ == 0


def test_point_that_is_left_can_be_refuted():
    d = 100
    model = CELLIP(margin=d**-0.5, fit_intercept=False).partial_fit(np.eye(d), np.ones(d), classes=[-1, 1])
    model.partial_fit(np.eye(d)[:1], [-1])
    assert model.infeasible_ == 1
    assert model.mistakes_ == d + 1
    assert model.updates_ == d


def test_empty_intersection_is_skipped():
    model = started()
    before = model.coef_.copy(), model.log_volume_
    model.partial_fit(E1, [-1])
    assert (model.infeasible_, model.mistakes_, model.updates_) == (1, 2, 1)
    assert (model.coef_ == before[0]).all()
    assert model.log_volume_ == before[1]
    model.partial_fit(np.eye(3)[1:2], [1])
    assert model.updates_ == 2
    assert model.infeasible_round_ == 2


def test_freeze_cuts_no_more():
    model = started(on_infeasible="freeze").partial_fit(E1, [-1])
    before = model.coef_.copy()
    model.partial_fit(np.eye(3)[1:], [1, 1])
    assert (model.updates_, model.mistakes_, model.t_) == (1, 4, 4)
    assert (model.coef_ == before).all()


def test_restart_begins_again(dense):
    model = started(on_infeasible="restart").partial_fit(E1, [-1])
    assert (model.coef_ == 0.0).all()
    assert model.log_volume_ == 0.0
    np.testing.assert_array_equal(model.version_space_.shape_matrix(), np.eye(3))
    assert (model.infeasible_, model.mistakes_, model.t_, len(model.update_rounds_)) == (1, 2, 2, 0)
    model.partial_fit(np.eye(3)[1:2], [1])
    fresh = CELLIP(margin=0.6, fit_intercept=False).partial_fit(np.eye(3)[1:2], [1], classes=[-1, 1])
    assert (model.coef_ == fresh.coef_).all()
    assert model.log_volume_ == fresh.log_volume_
    assert model.update_rounds_.tolist() == [3]


def test_raise_names_the_round_and_keeps_what_was_learned():
    model = started(on_infeasible="raise")
    before = model.coef_.copy()
    with pytest.raises(EmptyVersionSpace, match="round 2"):
        model.partial_fit(np.vstack([E1, np.eye(3)[1:2]]), [-1, 1])
    assert (model.coef_ == before).all()
    assert model.t_ == 2
    model.partial_fit(np.eye(3)[1:2], [1])
    assert model.updates_ == 2


@pytest.mark.parametrize("policy", ["skip", "freeze", "restart"])
def test_policies_do_not_depend_on_chunks(policy, state):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(120, 4))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    y = np.where((X[:, 0] > 0.0) ^ (rng.random(120) < 0.3), 1, -1)
    states = []
    for size in (1, 7, 120):
        model = CELLIP(margin=0.3, on_infeasible=policy, fit_intercept=False)
        for i in range(0, 120, size):
            model.partial_fit(X[i : i + size], y[i : i + size], classes=[-1, 1])
        states.append(state(model))
    one = CELLIP(margin=0.3, on_infeasible=policy, fit_intercept=False).partial_fit(X[:1], y[:1], classes=[-1, 1])
    for x, label in zip(X[1:], y[1:], strict=True):
        one.learn_one(x, label)
    assert states[0] == states[1] == states[2] == state(one)
    assert one.infeasible_ > 0


# -- zero rows ----------------------------------------------------------------------------------------------------


def test_zero_row_is_a_mistake_and_an_empty_cut():
    model = started()
    before = model.coef_.copy()
    model.partial_fit(0.0 * E1, [1])
    assert (model.mistakes_, model.updates_, model.infeasible_, model.t_) == (2, 1, 1, 2)
    assert (model.coef_ == before).all()
    assert model.infeasible_round_ == 2


def test_zero_row_under_every_policy():
    """A zero row has margin 0 with every classifier: an empty cut like any other."""
    with pytest.raises(EmptyVersionSpace, match="round 2"):
        started(on_infeasible="raise").partial_fit(0.0 * E1, [1])
    frozen = started(on_infeasible="freeze").partial_fit(0.0 * E1, [1]).partial_fit(np.eye(3)[1:2], [1])
    assert frozen.updates_ == 1
    again = started(on_infeasible="restart").partial_fit(0.0 * E1, [1])
    assert (again.coef_ == 0.0).all()


def test_zero_row_refutes_no_zero_margin():
    """Every classifier has margin 0 on a zero row: with margin=0 nothing is empty."""
    model = CELLIP(margin=0.0, cut="minvol", fit_intercept=False).partial_fit(E1, [1], classes=[-1, 1])
    model.partial_fit(0.0 * E1, [1])
    assert model.infeasible_ == 0
    assert model.mistakes_ == 2
    best = next(c for c in model.certificates() if c.name == "best unit margin")
    assert best.bound > 0.0


@pytest.mark.parametrize("decay", ["update", "round"])
def test_zero_row_does_not_move_iellip_but_counts_as_a_round(decay, dense):
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(30, 3)), rng.choice([-1, 1], 30)
    X[[0, 4, 5, 11]] = 0.0
    model = IELLIP(c=0.5, b=0.5, decay=decay, fit_intercept=False).partial_fit(X, y, classes=[-1, 1])
    last = dense.run(model, X, y)[-1]
    np.testing.assert_allclose(model.coef_[0], last.w, rtol=1e-12)
    np.testing.assert_allclose(dense.shape(model), last.P, rtol=1e-12)
    only = IELLIP(c=0.5, b=0.5, fit_intercept=False).partial_fit(0.0 * E1, [1], classes=[-1, 1])
    assert (only.mistakes_, only.updates_, only.t_) == (1, 0, 1)


def test_contradictory_labels():
    X, y = np.repeat(E1, 40, axis=0), [1, -1] * 20
    classical = CELLIP(margin=0.3, fit_intercept=False).partial_fit(X, y, classes=[-1, 1])
    assert classical.infeasible_ > 0
    assert np.isfinite(classical.coef_).all()
    improved = IELLIP(fit_intercept=False).partial_fit(X, y, classes=[-1, 1])
    assert improved.mistakes_ == improved.updates_ == 40
    np.testing.assert_allclose(improved.coef_, [[-1.0, 0.0, 0.0]], rtol=1e-12)


# -- parameters ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("params", [{"a": 0.0}, {"margin": 0.0}, {"a": 0, "margin": 0}])
def test_paper_cut_needs_a_margin_and_the_least_volume_does_not(params):
    X = np.random.default_rng(3).normal(size=(150, 5))
    y = np.where(X[:, 0] > 0.0, 1, -1)
    with pytest.raises(ValueError, match="a \\* margin must be positive"):
        CELLIP(**params).partial_fit(X, y)
    model = CELLIP(**params, cut="minvol", fit_intercept=False).partial_fit(X, y, classes=[-1, 1])
    assert model.updates_ == model.mistakes_ < 40


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (IELLIP(c=1.0), "c must lie in"), (IELLIP(c=-0.1), "c must be non-negative"), (IELLIP(b=1.1), "b must lie in"),
        (IELLIP(margin=0.0), "margin must be positive"), (IELLIP(decay="row"), "decay must be one of"),
        (IELLIP(trigger="always"), "trigger must be one of"), (CELLIP(a=1.5), "a must lie in"),
        (CELLIP(radius=0.0), "radius must be positive"), (CELLIP(cut="deep"), "cut must be one of"),
        (CELLIP(on_infeasible="stop"), "on_infeasible must be one of"), (CELLIP(shape="full"), "shape must be one of"),
        (IELLIP(selective=True, smoothing=0.0), "smoothing must be positive"),
    ],
)  # fmt: skip
def test_bad_parameter(model, message):
    with pytest.raises(ValueError, match=message):
        model.partial_fit(E1, [1], classes=[-1, 1])
    assert not hasattr(model, "classes_")


def test_only_the_quotient_of_threshold_and_radius_matters(dense):
    X, Y, _ = dense.separable(np.random.default_rng(4), 100, 4, 0.1)
    one = CELLIP(margin=0.1, radius=1.0, fit_intercept=False).partial_fit(X, Y)
    four = CELLIP(margin=0.4, radius=4.0, fit_intercept=False).partial_fit(X, Y)
    np.testing.assert_allclose(four.coef_, 4.0 * one.coef_, rtol=1e-12)
    assert four.mistakes_ == one.mistakes_
    assert four.log_volume_ == pytest.approx(one.log_volume_ + 4 * np.log(16.0), rel=1e-12)


# -- IELLIP's extremes --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("c", "b"), [(0.0, 0.3), (0.5, 0.0), (0.0, 1.0), (0.3, 1.0)])
@pytest.mark.parametrize("trigger", ["mistake", "margin"])
def test_extreme_shrinkages(dense, c, b, trigger):
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(50, 3)), rng.choice([-1, 1], 50)
    model = IELLIP(c=c, b=b, trigger=trigger, fit_intercept=False).partial_fit(X, y, classes=[-1, 1])
    last = dense.run(model, X, y)[-1]
    np.testing.assert_allclose(model.coef_[0], last.w, rtol=0, atol=1e-11 * np.abs(last.w).max())
    np.testing.assert_allclose(dense.shape(model), last.P, rtol=0, atol=1e-11 * np.abs(last.P).max())
    if c == 0.0:
        np.testing.assert_array_equal(dense.shape(model), np.eye(3))


@pytest.mark.parametrize("cut", ["paper", "minvol"])
@pytest.mark.parametrize("trigger", ["mistake", "margin", "always"])
def test_one_dimension(dense, cut, trigger):
    X = np.array([[0.5], [1.0], [-0.3], [0.8], [2.0], [-1.0]])
    Y = [1, 1, -1, 1, 1, -1]
    model = CELLIP(margin=0.1, a=0.5, cut=cut, trigger=trigger, fit_intercept=False)
    truth = dense.run(model, X, Y)
    for t in dense.feed(model, X, Y):
        np.testing.assert_allclose(model.coef_[0], truth[t].w, rtol=1e-13)
        np.testing.assert_allclose(dense.shape(model), truth[t].P, rtol=1e-12)
        assert model.updates_ == truth[t].updates


def test_tiny_rows_make_long_steps_and_no_clipping():
    model = IELLIP(fit_intercept=False).partial_fit(1e-100 * E1, [1], classes=[-1, 1])
    np.testing.assert_allclose(model.coef_, [[1e100, 0.0, 0.0]], rtol=1e-12)
    nothing = IELLIP(fit_intercept=False).partial_fit(1e-160 * E1, [1], classes=[-1, 1])
    assert (nothing.updates_, nothing.mistakes_) == (0, 1)


# -- infeasibility is a proof -------------------------------------------------------------------------------------


def feasible(Z, threshold, radius):
    """Does some |q| <= radius have <z, q> >= threshold on all rows of Z? The shortest q, by projection onto a cone."""
    from scipy.optimize import nnls

    # max over unit q of min <z, q> is the distance of 0 from the convex hull of the rows.
    Z = np.asarray(Z)
    big = 1e3
    weights, _ = nnls(np.vstack([Z.T, big * np.ones(len(Z))]), np.append(np.zeros(Z.shape[1]), big))
    hull = Z.T @ (weights / weights.sum())
    return np.linalg.norm(hull) * radius >= threshold


@pytest.mark.parametrize("cut", ["paper", "minvol"])
@pytest.mark.parametrize("classes", [1, 3])
def test_infeasible_means_that_no_classifier_has_the_margin(dense, cut, classes):
    found = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        X, Y, _ = dense.separable(rng, 40, 3, 0.05, classes=classes)
        margin = float(rng.choice([0.02, 0.1, 0.3]))
        if seed % 2:
            Y[20] = -Y[20] if classes == 1 else {(min(Y[20]) + 1) % 3}
        model = CELLIP(margin=margin, cut=cut, trigger="margin", fit_intercept=False)
        truth = dense.run(model, X, Y, classes)
        model.partial_fit(X, dense.labels(Y, classes), classes=[-1, 1] if classes == 1 else range(3))
        used = [r.z for r in truth if r.outcome in ("cut", "exhausted", "infeasible")]
        if model.infeasible_:
            found += 1
            first = next(t for t, r in enumerate(truth) if r.outcome == "infeasible")
            assert model.infeasible_round_ == first + 1
            witnesses = [truth[t - 1].z for t in model.update_rounds_ if t <= first] + [truth[first].z]
            assert not feasible(np.array(witnesses) * (1.0 + 1e-9), margin, 1.0)
            assert next(c for c in model.certificates() if c.name == "best unit margin").bound <= margin
        if feasible(np.array([r.z for r in truth]) * (1.0 - 1e-9), margin, 1.0):
            assert not model.infeasible_
        assert used
    assert found >= 15


def test_hull_distance_is_the_best_margin():
    """The checker itself, against a linear program over directions in the plane."""
    rng = np.random.default_rng(9)
    for _ in range(20):
        Z = rng.normal(size=(6, 2)) + np.array([2.0, 0.0])
        angles = np.linspace(-np.pi, np.pi, 20001)
        best = (np.column_stack([np.cos(angles), np.sin(angles)]) @ Z.T).min(axis=1).max()
        separable = linprog([0, 0], A_ub=-Z, b_ub=-np.ones(6), bounds=[(None, None)] * 2).status == 0
        assert separable == (best > 0.0)
        if separable:
            assert feasible(Z, best * 0.999, 1.0)
            assert not feasible(Z, best * 1.01, 1.0)
