"""What the paper says of IELLIP and of several classes, and what is right; see test_errata.py for CELLIP."""

from math import inf, sqrt

import numpy as np
import pytest

from ellipsoid import CELLIP, IELLIP


def mistakes(model, X, y):
    return model.set_params(fit_intercept=False).partial_fit(X, y, classes=[-1, 1]).mistakes_


def kept(c, b, updates=10_000):
    """D after so many updates."""
    return float(np.prod(1.0 - c * b ** np.arange(updates)))


def test_c_below_one():
    with pytest.raises(ValueError, match="c must lie in"):
        IELLIP(c=1.0).partial_fit([[1.0]], [1], classes=[-1, 1])
    mistakes(IELLIP(c=0.999), np.eye(3), [1, 1, 1])


def test_lemma_2_is_false_for_negative_margins(dense):
    g, u = 0.5, -1.0
    model = IELLIP(margin=g, c=0.1, b=0.3, fit_intercept=False)
    q, w, P = 1.0, 0.0, 1.0
    for k, y in enumerate((-1, 1)):
        c, z = 0.1 * 0.3**k, float(y)
        m, v = u * z, P
        lemma = (1.0 - c) * q + (g**2 - 2 * g * m + c * m**2) / v
        repaired = (1.0 - c) * q + (g**2 - 2 * g * m + c * max(m, 0.0) ** 2 + max(-m, 0.0) ** 2) / v
        model.partial_fit([[1.0]], [y], classes=[-1, 1])
        w, P = float(model.coef_[0, 0]), float(dense.shape(model)[0, 0])
        q = (u - w) ** 2 / P
        assert q <= repaired + 1e-12
    assert q == pytest.approx(2.25)
    assert lemma == pytest.approx(1.5225)


def theorem_4(g, L, c, b):
    """Eq. (18): 1/g^2 + (1-b)/(1-b-c) 2L/g."""
    return 1.0 / g**2 + (1.0 - b) / (1.0 - b - c) * 2.0 * L / g


def adversary(c, b, g, first, d=420):
    """Unit rows of margin >= g with u = e_1, each a mistake of IELLIP; the first has a large margin."""
    w, P, rows = np.zeros(d), np.eye(d), []
    x = np.zeros(d)
    x[0], x[1] = first, sqrt(1.0 - first**2)
    while True:
        rows.append(x)
        Pz = P @ x
        v, now = x @ Pz, c * b ** (len(rows) - 1)
        w = w + (g - w @ x) / v * Pz
        P = (P - now / v * np.outer(Pz, Pz)) / (1.0 - now)
        side = w.copy()
        side[0] = 0.0
        lean = g * w[0] / np.linalg.norm(side) * (1.0 + 1e-9)
        if lean >= sqrt(1.0 - g * g):
            return np.array(rows)
        x = -lean * side / np.linalg.norm(side)
        x[0] = g
        x[1 + len(rows)] += sqrt(1.0 - x @ x)


@pytest.mark.parametrize(("c", "b", "M", "corrected"), [(0.5, 0.3, 153, 251), (0.8, 0.1, 366, 548)])
def test_theorem_4_is_false_on_separable_data(c, b, M, corrected):
    """It assumes |u'x| <= g without saying so."""
    g = 0.1
    X = adversary(c, b, g, 0.9539)
    assert X[:, 0].min() >= g - 1e-12
    np.testing.assert_allclose(np.linalg.norm(X, axis=1), 1.0, rtol=1e-9)
    model = IELLIP(margin=g, c=c, b=b, fit_intercept=False).partial_fit(X, np.ones(len(X)), classes=[-1, 1])
    assert model.mistakes_ == M > theorem_4(g, 0.0, c, b) > 99.9
    assert round(1.0 / g**2 / kept(c, b)) == corrected > M
    bound = model.certificates(np.eye(1, X.shape[1]))[0].bound
    assert M <= bound <= corrected


def contradictions(d, cycles=10):
    """e_1 .. e_d, then ten times (u, -1) and e_1 .. e_d again; u = (1, .., 1) / sqrt d."""
    u = np.full((1, d), d**-0.5)
    X = np.vstack([np.eye(d)] + [u, np.eye(d)] * cycles)
    y = np.concatenate([np.ones(d)] + [[-1.0], np.ones(d)] * cycles)
    return X, y, u


@pytest.mark.parametrize(
    ("d", "c", "M", "claim"), [(16, 0.0, 186, 116.0), (16, 0.1, 186, 132.7), (64, 0.1, 714, 274.0)]
)
def test_theorem_4_is_false_for_negative_margins(d, c, M, claim):
    """Loss beyond the margin enters squared."""
    g, b = d**-0.5, 0.3
    X, y, u = contradictions(d)
    losses = np.maximum(0.0, g - y * (X @ u[0]))
    assert theorem_4(g, losses.sum(), c, b) == pytest.approx(claim, abs=0.05)
    model = IELLIP(margin=g, c=c, b=b, fit_intercept=False).partial_fit(X, y, classes=[-1, 1])
    assert model.mistakes_ == model.updates_ == M > claim
    h = np.where(losses <= g, 2.0 * g * losses, g**2 + losses**2)
    assert (1.0 + h.sum()) / (g**2 * kept(c, b, M)) >= M


def test_loss_of_theorem_4_needs_the_label():
    """max(0, g - u'x) sees no loss in (u, -1): the bound would be 1/g^2."""
    X, y, u = contradictions(16)
    unsigned = np.maximum(0.0, 0.25 - X @ u[0])
    assert theorem_4(0.25, unsigned.sum(), 0.1, 0.3) == pytest.approx(16.0)
    assert mistakes(IELLIP(margin=0.25), X, y) == 186


def test_after_theorem_4_both_readings_are_false():
    """c = 0: neither 1/g^2 + L/g nor 1/g^2 + 2L/g."""
    X, y, u = contradictions(16)
    L = np.maximum(0.0, 0.25 - y * (X @ u[0])).sum()
    M = mistakes(IELLIP(margin=0.25, c=0.0), X, y)
    assert 16.0 + L / 0.25 < 16.0 + 2.0 * L / 0.25 < M


def test_theorem_4_needs_unit_rows():
    """d = 3, y u'x >= 0 everywhere, one row of norm 0.02: 203 mistakes, and the claim is 18.0."""
    g = 0.25
    rows, w = [np.array([0.0, 0.02, 0.0])], np.array([0.0, g / 0.02, 0.0])
    while True:
        side = np.array([0.0, w[1], w[2]])
        lean = (g * w[0] + 1e-9) / np.linalg.norm(side)
        if lean > sqrt(1.0 - g * g):
            break
        across = np.array([0.0, -w[2], w[1]]) / np.linalg.norm(side)
        x = np.array([g, 0.0, 0.0]) - lean * side / np.linalg.norm(side) + sqrt(1.0 - g * g - lean**2) * across
        rows.append(x)
        w = w + (g - w @ x) * x
    X = np.array(rows)
    assert (X[:, 0] >= 0.0).all()
    losses = np.maximum(0.0, g - X[:, 0])
    assert theorem_4(g, losses.sum(), 0.0, 0.3) == pytest.approx(18.0)
    model = IELLIP(margin=g, c=0.0, fit_intercept=False).partial_fit(X, np.ones(len(X)), classes=[-1, 1])
    assert model.mistakes_ == 203
    h = 2.0 * g * losses / (X**2).sum(axis=1)
    assert (1.0 + h.sum()) / g**2 >= 203


def test_theorem_4_does_not_need_b_plus_c_below_one(dense):
    g, c, b = 0.2, 0.9, 0.8
    X, Y, U = dense.separable(np.random.default_rng(6), 1500, 20, g)
    model = IELLIP(margin=g, c=c, b=b, fit_intercept=False).partial_fit(X, Y, classes=[-1, 1])
    assert b + c > 1.0
    assert model.mistakes_ <= model.certificates(U)[0].bound <= 1.0 / g**2 / kept(c, b) < inf


def test_oldest_updates_weigh_most(dense):
    """Weight of update i in P^{-1}: c_i prod_{j>i} (1 - c_j), falling in i: no forgetting factor."""
    c, b, N = 0.3, 0.5, 10
    model = IELLIP(c=c, b=b, fit_intercept=False).partial_fit(np.eye(N), np.ones(N), classes=[-1, 1])
    D = kept(c, b, N)
    v = np.array([1.0 / kept(c, b, i) for i in range(N)])
    weights = (np.diag(np.linalg.inv(dense.shape(model))) - D) * v
    expected = [c * b**i * kept(c, b, N) / kept(c, b, i + 1) for i in range(N)]
    np.testing.assert_allclose(weights, expected, rtol=1e-9)
    np.testing.assert_allclose(weights[:3], [0.22, 0.13, 0.07], atol=6e-3)
    assert weights[9] == pytest.approx(6e-4, rel=0.05)
    assert (np.diff(weights) < 0.0).all()


def test_scale_of_the_start_is_irrelevant_and_c_is_not(dense):
    rng = np.random.default_rng(7)
    X, y = rng.normal(size=(200, 8)), rng.choice([-1, 1], 200)
    model = IELLIP(c=0.5, b=0.9, fit_intercept=False)
    one, eighth = (dense.run(model, X, y, start=(np.zeros(8), p * np.eye(8)))[-1].w for p in (1.0, 0.125))
    assert one.tobytes() == eighth.tobytes()
    other = dense.run(IELLIP(c=0.0625, b=0.9, fit_intercept=False), X, y)[-1].w
    assert np.abs(one - other).max() > 0.01


def test_margin_has_no_effect_on_mistakes():
    rng = np.random.default_rng(8)
    X, y = rng.normal(size=(500, 10)), rng.choice([-1, 1], 500)
    assert mistakes(IELLIP(margin=0.1), X, y) == mistakes(IELLIP(margin=1.0), X, y)


# -- multiclass ---------------------------------------------------------------------------------------------------


def test_the_highest_wrong_label_and_the_lowest_right_one_move():
    """argmax and argmin, not max and min: label numbers, ties to the smallest."""
    Y = np.array([[1, 1, 0, 0], [0, 1, 1, 0]])
    model = IELLIP(fit_intercept=False).partial_fit([[1.0, 0.0]], Y[:1])
    np.testing.assert_allclose(model.coef_[:, 0], [0.5, 0.0, -0.5, 0.0])
    model.partial_fit([[1.0, 0.0]], Y[1:])
    before, after = np.array([0.5, 0.0, -0.5, 0.0]), model.coef_[:, 0]
    assert set(np.flatnonzero(before != after)) == {0, 2}
    assert after[2] - after[0] == pytest.approx(1.0)


@pytest.mark.interpreted
def test_bounds_of_multiclass_have_a_factor_two(dense):
    """K = 2, d = 16, x_i = e_i: 16 mistakes, while 1/g^2 is 8; R^2 = 2 |x|^2."""
    Y = np.tile([0, 1], (16, 1))
    U = np.vstack([-np.ones(16), np.ones(16)]) / sqrt(32.0)
    g = 2.0 / sqrt(32.0)
    for model in (IELLIP(margin=g, c=0.0), CELLIP(margin=g)):
        model.set_params(fit_intercept=False).partial_fit(np.eye(16), Y)
        assert model.mistakes_ == 16 > 1.0 / g**2 == pytest.approx(8.0)
        bound = model.certificates(U)[0].bound
        assert 16.0 <= bound <= 16.0 * (1.0 + 1e-6)
