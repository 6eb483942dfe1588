"""What the ellipsoids promise: coverage, volumes, definiteness, invariances."""

from math import log, sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ellipsoid import CELLIP, IELLIP


def unit(rng, d):
    x = rng.normal(size=d)
    return x / np.linalg.norm(x)


@pytest.mark.parametrize("trigger", ["mistake", "margin", "always"])
@pytest.mark.parametrize("cut", ["paper", "minvol"])
@settings(max_examples=25)
@given(seed=st.integers(0, 2**32 - 1), d=st.integers(2, 6), a=st.floats(0.2, 1.0))
def test_new_ellipsoid_covers_what_the_half_space_leaves(dense, cut, trigger, seed, d, a):
    rng = np.random.default_rng(seed)
    margin = 0.2
    model = CELLIP(margin=margin, a=a, cut=cut, trigger=trigger, fit_intercept=False)
    U = unit(rng, d)
    model.partial_fit([unit(rng, d)], [1], classes=[-1, 1])
    for _ in range(8):
        old, before, volume = model.version_space_, model.updates_, model.log_volume_
        x = unit(rng, d)
        y = 1 if U @ x > 0.0 else -1
        n, width = y * float(model.coef_[0] @ x), float(old.width([x])[0])
        model.partial_fit([x], [y])
        if model.updates_ == before:
            # It may have changed its form, and then makes room for the rounding of that: of P, beside its least axis.
            room = 1e-9 + 20.0 * np.finfo(float).eps / np.linalg.eigvalsh(old.shape_matrix()).min()
            assert volume <= model.log_volume_ <= volume + room
            continue
        if model.exhausted_:
            break
        points = old.sample(400, seed)
        kept = points[y * (points @ x) >= a * margin]
        assert model.version_space_.contains(kept, tol=1e-7).all()
        alpha = (a * margin - n) / width
        if cut == "paper":
            ratio = (1.0 - alpha**2) ** ((d - 1) / 2) * (1.0 - alpha)
        else:
            mu = sqrt(d**2 * (1.0 - alpha**2) / (d**2 - 1))
            ratio = mu ** (d - 1) * d * (1.0 - alpha) / (d + 1)
        assert model.version_space_.volume_ratio(old) == pytest.approx(ratio, rel=1e-8)
        # After a shallow cut the logarithm of what is left is no larger than the rounding of alpha here.
        assert 0.5 * (model.log_volume_ - volume) == pytest.approx(log(ratio), rel=1e-8, abs=1e-10)
        assert model.log_volume_ < volume


def test_ratios_of_the_table(dense):
    """Volume left by a first cut at alpha: paper / minvol; their quotient does not depend on alpha."""
    table = {(2, 0.1): (0.8955, 0.6894), (10, 0.1): (0.8602, 0.8182), (100, 0.1): (0.5473, 0.5445)}
    for (d, alpha), expected in table.items():
        for cut, ratio in zip(("paper", "minvol"), expected, strict=True):
            model = CELLIP(margin=alpha, cut=cut, fit_intercept=False)
            model.partial_fit(np.eye(1, d), [1], classes=[-1, 1])
            assert np.exp(0.5 * model.log_volume_) == pytest.approx(ratio, abs=1e-4)
    for d, ratio in ((2, 0.7698), (10, 0.9511), (100, 0.99501)):
        model = CELLIP(margin=0.0, cut="minvol", fit_intercept=False).partial_fit(np.eye(1, d), [1], classes=[-1, 1])
        assert np.exp(0.5 * model.log_volume_) == pytest.approx(ratio, abs=5e-5)


def test_paper_cut_shrinks_every_direction(dense):
    """P_{t+1} <= (1 - alpha^2) P_t in the Loewner order; the cut of least volume grows some."""
    rng = np.random.default_rng(0)
    X, Y, _ = dense.separable(rng, 60, 4, 0.1)
    for cut, holds in (("paper", True), ("minvol", False)):
        model = CELLIP(margin=0.1, cut=cut, fit_intercept=False)
        truth = dense.run(model, X, Y)
        P, fine = np.eye(4), []
        for t in dense.feed(model, X, Y):
            if truth[t].outcome == "cut":
                gap = (1.0 - truth[t].alpha ** 2) * P - dense.shape(model)
                fine.append(np.linalg.eigvalsh(gap).min() >= -1e-12)
                P = dense.shape(model)
        assert all(fine) == holds


# -- a million updates --------------------------------------------------------------------------------------------


def roots(model):
    """Eigenvalues of B, in the scale in which it is kept."""
    table = model._core.table
    J = table.form.arrays["J"][0, 1:, 0, 1:]
    return np.linalg.eigvalsh(J @ J.T)


def test_matrix_stays_definite_for_a_million_updates(dense):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(100_000, 3))
    Y = rng.choice([-1, 1], 100_000)
    model = IELLIP(c=0.1, b=1.0, trigger="margin", fit_intercept=False)
    while not hasattr(model, "classes_") or model.updates_ < 1_000_000:
        before = model.updates_ if hasattr(model, "classes_") else 0
        model.partial_fit(X, Y, classes=[-1, 1])
        assert model.updates_ - before > 50_000
        assert np.isfinite(model.coef_).all()
        values = roots(model)
        assert 0.0 < values.min() <= values.max() < np.inf
        assert model.log_volume_ == pytest.approx(-2.0 * model.updates_ * log(0.9), rel=1e-9)
        w = model.coef_[0]
        assert 0.0 < np.linalg.norm(w) < 1e3
    x = X[np.flatnonzero(Y * (X @ w) < 0.5)[0]]
    y = Y[np.flatnonzero(Y * (X @ w) < 0.5)[0]]
    model.learn_one(x, y)
    assert y * float(model.coef_[0] @ x) == pytest.approx(1.0, rel=1e-9)
    assert all(c.observed <= c.bound for c in model.certificates())


def test_constant_shrinking_is_a_sliding_window(dense):
    """With b = 1 the state depends on the recent past alone: two runs with different pasts meet again."""
    rng = np.random.default_rng(6)
    X, Y = rng.normal(size=(6000, 3)), rng.choice([-1, 1], 6000)
    late, whole = (IELLIP(c=0.3, b=1.0, trigger="margin", fit_intercept=False) for _ in range(2))
    late.partial_fit(X[5000:], Y[5000:], classes=[-1, 1])
    whole.partial_fit(X, Y, classes=[-1, 1])
    assert whole.updates_ > 4000
    np.testing.assert_allclose(late.coef_, whole.coef_, rtol=1e-6)


@pytest.mark.long
def test_constant_shrinking_in_one_dimension(dense):
    model = IELLIP(c=0.5, b=1.0, fit_intercept=False)
    model.partial_fit(np.ones((5000, 1)), [1, -1] * 2500, classes=[-1, 1])
    assert model.updates_ == 5000
    np.testing.assert_allclose(model.coef_, [[-1.0]], rtol=1e-9)


@pytest.mark.long
def test_constant_shrinking_with_directions_never_met(dense):
    """Classes are compared by differences and one feature is silent: those directions must not drown the others."""
    rng = np.random.default_rng(7)
    X, y = rng.normal(size=(4000, 4)), rng.integers(0, 3, 4000)
    X[:, 2] = 0.0
    model = IELLIP(c=0.3, b=1.0, trigger="margin", fit_intercept=False).partial_fit(X, y, classes=[0, 1, 2])
    assert model.updates_ > 3000
    assert np.abs(model.coef_).max() < 1e3
    scores = model.decision_function(X)
    t = int(np.flatnonzero(scores.argmax(axis=1) != y)[0])
    model.learn_one(X[t], y[t])
    after = model.decision_function(X[t : t + 1])[0]
    rival = np.delete(scores[t], y[t]).argmax()
    rival += rival >= y[t]
    assert after[y[t]] - after[rival] == pytest.approx(1.0, rel=1e-6)


# -- IELLIP's structure -------------------------------------------------------------------------------------------


def noisy(seed, n=300, d=6):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = np.where((X @ rng.normal(size=d) > 0.0) ^ (rng.random(n) < 0.2), 1, -1)
    return X, y


@pytest.mark.parametrize("trigger", ["mistake", "margin"])
def test_margin_only_scales_the_weights(trigger):
    X, y = noisy(0)
    one, half, tenth = (
        IELLIP(margin=m, c=0.4, b=0.6, trigger=trigger, fit_intercept=False).partial_fit(X, y) for m in (1.0, 0.5, 0.1)
    )
    assert (half.coef_ == 0.5 * one.coef_).all()
    np.testing.assert_allclose(tenth.coef_, 0.1 * one.coef_, rtol=1e-12)
    assert one.mistakes_ == half.mistakes_ == tenth.mistakes_
    assert one.updates_ == half.updates_ == tenth.updates_
    assert one.log_volume_ == half.log_volume_


def test_scale_of_the_start_changes_no_step(dense):
    """The reference takes any P_1; the learner has no such parameter because it would do nothing."""
    X, y = noisy(1, 80)
    model = IELLIP(c=0.4, b=0.6, fit_intercept=False)
    model.partial_fit(X, y, classes=[-1, 1])
    for p in (1.0, 0.125, 40.0):
        last = dense.run(model, X, y, start=(np.zeros(6), p * np.eye(6)))[-1]
        np.testing.assert_allclose(model.coef_[0], last.w, rtol=0, atol=1e-12 * np.abs(last.w).max())
        np.testing.assert_allclose(p * dense.shape(model), last.P, rtol=0, atol=1e-12 * np.abs(last.P).max())


def test_prepended_successes_change_nothing_by_update_and_something_by_round():
    X, y = noisy(2)
    for decay, same in (("update", True), ("round", False)):
        first, later = (IELLIP(c=0.4, b=0.6, decay=decay, fit_intercept=False) for _ in range(2))
        first.partial_fit(X[:1], y[:1], classes=[-1, 1])
        later.partial_fit(X[:1], y[:1], classes=[-1, 1])
        later.partial_fit(np.repeat(X[:1], 5, axis=0), np.repeat(y[:1], 5))
        assert later.updates_ == 1
        first.partial_fit(X[1:], y[1:])
        later.partial_fit(X[1:], y[1:])
        assert (first.coef_.tobytes() == later.coef_.tobytes()) == same
        assert (first.log_volume_ == later.log_volume_) == same


@pytest.mark.parametrize("trigger", ["mistake", "margin"])
def test_step_restores_the_margin(trigger):
    X, y = noisy(3)
    model = IELLIP(margin=0.7, c=0.4, b=0.6, trigger=trigger, fit_intercept=False)
    model.partial_fit(X[:1], y[:1], classes=[-1, 1])
    updates = 1
    for x, label in zip(X[1:], y[1:], strict=True):
        model.learn_one(x, label)
        if model.updates_ > updates:
            updates += 1
            assert label * float(model.coef_[0] @ x) == pytest.approx(0.7, rel=1e-11)
    assert updates > 50


@pytest.mark.parametrize("seed", range(5))
def test_exact_recursion_for_any_comparator(dense, seed):
    """q_{t+1} = (1-c) q_t + [(goal - m)^2 - (1-c)(m - n)^2] / v, and its unrolled form, from the learner's P."""
    X, y = noisy(10 + seed, 60, 5)
    rng = np.random.default_rng(seed)
    goal, c, b = 0.8, 0.5, 0.7
    model = IELLIP(margin=goal, c=c, b=b, fit_intercept=False)
    U = rng.normal(size=(4, 5)) * rng.choice([0.1, 1.0, 10.0], size=(4, 1))
    w, P, updates = np.zeros(5), np.eye(5), 0
    start, total, D = (U**2).sum(axis=1), np.zeros(4), 1.0
    for t in dense.feed(model, X, y):
        if model.updates_ == updates:
            continue
        z, now = y[t] * X[t], c * b**updates
        v, m, n = z @ P @ z, U @ z, w @ z
        old = np.einsum("ui,ij,uj->u", U - w, np.linalg.inv(P), U - w)
        D *= 1.0 - now
        total += ((goal - m) ** 2 - (1.0 - now) * (m - n) ** 2) / (v * D)
        w, P, updates = model.coef_[0], dense.shape(model), model.updates_
        new = np.einsum("ui,ij,uj->u", U - w, np.linalg.inv(P), U - w)
        expected = (1.0 - now) * old + ((goal - m) ** 2 - (1.0 - now) * (m - n) ** 2) / v
        np.testing.assert_allclose(new, expected, rtol=1e-8)
        np.testing.assert_allclose(new / D, start + total, rtol=1e-7)
        # Repaired Lemma 2.
        assert (
            new <= (1.0 - now) * old
            + (goal**2 - 2 * goal * m + now * np.maximum(m, 0) ** 2 + np.maximum(-m, 0) ** 2) / v + 1e-7
        ).all()  # fmt: skip
    assert updates > 15


@pytest.mark.interpreted
@pytest.mark.parametrize(
    "model", [CELLIP(margin=0.1), CELLIP(margin=0.1, cut="paper", trigger="margin"), IELLIP(c=0.5, b=0.6)]
)
def test_two_labels_as_a_pair_of_rows_are_the_binary_run(dense, model):
    """z = (e_b - e_a) (x) x is sqrt 2 times as long: with the radius to match, w = w_1 - w_0."""
    rng = np.random.default_rng(12)
    X, Y, _ = dense.separable(rng, 80, 4, 0.05)
    model = type(model)(**{**model.get_params(), "fit_intercept": False})
    pair = type(model)(**model.get_params())
    if isinstance(model, CELLIP):
        pair.set_params(radius=1.0 / np.sqrt(2.0))
    model.partial_fit(X, Y, classes=[-1, 1])
    y = (np.array(Y) > 0).astype(int)
    pair.partial_fit(X, np.eye(2, dtype=int)[y])
    assert pair.coef_.shape == (2, 4)
    np.testing.assert_allclose(
        pair.coef_[1] - pair.coef_[0], model.coef_[0], rtol=0, atol=1e-12 * np.abs(model.coef_).max()
    )
    np.testing.assert_allclose(pair.coef_[0], -pair.coef_[1], rtol=1e-12)
    assert pair.mistakes_ == model.mistakes_ > 3
    assert pair.updates_ == model.updates_
