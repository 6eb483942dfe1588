"""``IntervalRegressor``: the golden run, every number inside its interval, the least ellipsoid, and proofs."""

import copy
import pickle
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn.utils.estimator_checks import check_estimator

from ellipsoid import CELLIP, Conformal, DamagedModel, EmptyVersionSpace, IntervalRegressor, datasets, load, prequential
from ellipsoid.estimators.files import container

X = np.array([(1, 0), (0, 1), (1, 1), (1, -1), (2, 1), (-1, 2)]) / 2.0
Y = np.array([0.35, -0.25, 0.25, 0.40, 0.53, -0.60])
GOLDEN = [
    (-0.6, 0.6), (-0.618869245, 0.618869245), (-0.2314695383, 0.4068676164), (0.2445548343, 0.9234111767),
    (0.2420516519, 0.7990453364), (-0.8650135509, -0.2816617686),
]  # fmt: skip


def known(model):
    core = model._core
    return core.tally.tobytes(), {name: array.tobytes() for name, array in core.table.state(1).items()}


@pytest.mark.interpreted
def test_the_golden_run():
    model = IntervalRegressor(noise=0.1, fit_intercept=False)
    told, low, high = model.learn_predict_interval(X, Y)
    assert np.column_stack([low, high]) == pytest.approx(np.array(GOLDEN), abs=1e-9)
    assert told == pytest.approx((low + high) / 2.0)
    assert model.coef_ == pytest.approx([0.65639914, -0.26186063], abs=1e-8)
    assert model.log_volume_ == pytest.approx(-7.9137777385, abs=1e-9)
    moving = IntervalRegressor(noise=0.1, drift=0.05, fit_intercept=False).partial_fit(X, Y)
    assert moving.coef_ == pytest.approx([0.66176378, -0.26517986], abs=1e-8)
    assert moving.log_volume_ == pytest.approx(-6.8922120494, abs=1e-9)
    one = IntervalRegressor(noise=0.1, fit_intercept=False).partial_fit([[1.0], [1.0]], [0.5, 0.9])
    assert (one.infeasible_, one.infeasible_round_) == (1, 2)


def distance(model, u):
    """(u - w)' P^{-1} (u - w) in exact arithmetic, for at most two coordinates."""
    table = model._core.table
    P = [[Fraction(float(q)) for q in row[1:]] for row in table.B[1:]]
    off = [q - Fraction(float(w)) for q, w in zip(u, table.weights(1, 0)[0, 1:], strict=True)]
    if len(u) == 1:
        return off[0] ** 2 / P[0][0]
    (a, b), (_, c) = P
    return (c * off[0] ** 2 - 2 * b * off[0] * off[1] + a * off[1] ** 2) / (a * c - b * b)


@pytest.mark.interpreted
@pytest.mark.parametrize("place", [(Fraction(1, 2),), (Fraction(1, 2), Fraction(0)), (Fraction(3, 10), Fraction(2, 5))])
@pytest.mark.parametrize("bits", [4, 10, 20, 30, 40, 50])
def test_a_truth_on_the_edge_of_all_that_is_left_is_inside_in_exact_arithmetic(bits, place):
    """The longest function allowed, the most noise, a row along it: no rounding may cost it its place."""
    x, noise = [float(5 * q / 4) if len(place) > 1 and place[1] else float(2 * q) for q in place], 2.0**-bits
    number = float(sum(q * Fraction(value) for q, value in zip(place, x, strict=True)))
    for sign in (-1.0, 0.0, 1.0):
        model = IntervalRegressor(noise=noise, radius=0.5, fit_intercept=False)
        for _ in range(2):
            model.partial_fit([x], [number + sign * noise])
            assert distance(model, place) <= 1
    labels = CELLIP(
        margin=number - noise / 2.0, radius=0.5, drift=1e-20, cut="minvol", trigger="always", fit_intercept=False
    )
    assert distance(labels.partial_fit([x], [1], classes=[0, 1]), place) <= 1


def hostile(kind, truth, rng, n):
    """Rows of some kind, and the worst noise that is allowed."""
    d = len(truth)
    rows = {
        "random": rng.normal(size=(n, d)),
        "one direction": np.tile(rng.normal(size=d), (n, 1)),
        "sizes": rng.normal(size=(n, d)) * 10.0 ** rng.integers(-8, 8, (n, 1)),
        "axes": np.eye(d)[rng.integers(0, d, n)],
        "nearly parallel": np.ones((n, d)) + 1e-9 * rng.normal(size=(n, d)),
    }[kind]
    return rows, 0.1 * rng.choice([-1.0, 1.0, 0.0, 0.5], n)


KINDS = ["random", "one direction", "sizes", "axes", "nearly parallel"]


@pytest.mark.interpreted
@settings(max_examples=40)
@given(st.integers(0, 10_000), st.sampled_from(KINDS), st.integers(1, 4), st.sampled_from([0.0, 1e-3, 0.05]))
def test_every_number_is_inside_and_the_truth_is_never_cut_off(seed, kind, d, drift):
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=d)
    truth *= rng.random() / np.linalg.norm(truth)
    rows, noise = hostile(kind, truth, rng, 25)
    model = IntervalRegressor(noise=0.1, drift=drift, fit_intercept=False)
    for x, off in zip(rows, noise.tolist(), strict=True):
        y = float(x @ truth + off)
        if model.__sklearn_is_fitted__():
            low, high = model.predict_interval_one(x)
            assert low <= y + 1e-9 * abs(y)
            assert y <= high + 1e-9 * abs(y)
            inner = model.function_interval(x[None])[0]
            assert (inner[0] - low, high - inner[1]) == pytest.approx((0.1, 0.1), rel=1e-6, abs=1e-9 * (1 + abs(high)))
        model.learn_one(x, y)
        # The truth that this row had is inside; then it moves by as much as it may.
        assert model.version_space_.contains(truth[None], tol=1e-6).all()
        step = rng.normal(size=d)
        truth = truth + drift * step / np.linalg.norm(step)
        truth = truth / max(1.0, np.linalg.norm(truth)) if drift else truth
    assert model.infeasible_ == 0
    (found,) = model.certificates()
    assert found.observed <= found.bound


@pytest.mark.interpreted
@settings(max_examples=15)
@given(st.integers(0, 10_000), st.integers(2, 3))
def test_a_cut_is_the_least_ellipsoid_around_what_is_left(seed, d):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=d)
    x /= np.linalg.norm(x)
    low = rng.uniform(-0.9, 0.8)
    high = rng.uniform(low + 0.05, 0.95)
    model = IntervalRegressor(noise=(high - low) / 2.0, fit_intercept=False).partial_fit([x], [(low + high) / 2.0])
    # Of an ellipsoid of revolution around x: centre c along it, half axis a along it and b across. It holds the two
    # circles in which the planes meet the ball, and with them (as its section is convex) what lies between.

    def volume(v):
        _c, a, b = v[0], *np.exp(v[1:])
        return np.log(a) + (d - 1) * np.log(b)

    def room(v):
        c, a, b = v[0], *np.exp(v[1:])
        ends = np.linspace(low, high, 41)
        return 1.0 - ((ends - c) / a) ** 2 - (1.0 - ends**2) / b**2

    best = min(
        minimize(
            volume,
            start,
            bounds=[(-1, 1), (-6, 1), (-6, 1)],
            constraints={"type": "ineq", "fun": room},
            method="SLSQP",
            options={"ftol": 1e-13},
        ).fun
        for start in ([0.0, 0.05, 0.05], [(low + high) / 2.0, 0.05, 0.05])
    )
    assert model.log_volume_ / 2.0 <= best + 1e-5
    points = rng.normal(size=(4000, d))
    points /= np.maximum(1.0, np.linalg.norm(points, axis=1, keepdims=True) * rng.random((4000, 1)) ** -0.3)
    inside = points[(points @ x >= low) & (points @ x <= high)]
    assert model.version_space_.contains(inside, tol=1e-9).all()


@pytest.mark.interpreted
def test_the_volume_never_grows_without_a_drift():
    rng = np.random.default_rng(0)
    truth, before = np.array([0.5, -0.3, 0.1]), np.inf
    model = IntervalRegressor(noise=0.1)
    for x in rng.normal(size=(150, 3)):
        model.learn_one(x, float(x @ truth + rng.uniform(-0.1, 0.1)))
        assert model.log_volume_ <= before + 1e-9
        before = model.log_volume_


@pytest.mark.interpreted
@settings(max_examples=12)
@given(st.integers(0, 10_000))
def test_no_proof_comes_before_the_change_and_one_comes_after(seed):
    model = IntervalRegressor(noise=0.1, on_infeasible="restart", fit_intercept=False)
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(200, 2))
    first = np.array([0.6, 0.0])
    y = np.where(np.arange(200) < 100, rows @ first, rows @ -first) + rng.uniform(-0.1, 0.1, 200)
    model.partial_fit(rows, y)
    assert len(model.changes_) >= 1
    assert 100 < model.changes_[0] < 120


def widths(rows, rng, drift=0.0, moved=0.0):
    """Half widths over the noise, of numbers whose function moves by up to ``moved`` a row; every one is inside."""
    n, d = rows.shape
    steps = rng.normal(size=(n, d))
    steps *= (moved * rng.random(n) / np.linalg.norm(steps, axis=1))[:, None]
    places = 0.5 * np.eye(d)[0] + np.cumsum(steps, axis=0)
    places *= np.minimum(1.0, 0.9 / np.linalg.norm(places, axis=1))[:, None]  # nearer to each other, if anything
    y = np.einsum("ij,ij->i", rows, places) + rng.uniform(-0.1, 0.1, n)
    _, low, high = IntervalRegressor(noise=0.1, drift=drift, fit_intercept=False).learn_predict_interval(rows, y)
    assert ((low <= y) & (y <= high)).all()
    return (high - low) / 0.2


@pytest.mark.parametrize(("d", "published"), [(2, 1.01), (5, 1.15), (10, 1.81), (20, 3.0)])
def test_no_number_is_missed_and_widths_are_those_published(d, published):
    """Rows of length one, 5000 of them; the first thousand are not counted."""
    found = []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        rows = rng.normal(size=(5000, d))
        found.append(widths(rows / np.linalg.norm(rows, axis=1, keepdims=True), rng)[1000:].mean())
    assert np.mean(found) == pytest.approx(published, rel=0.01)


@pytest.mark.parametrize(("d", "drift", "published"), [(3, 0.005, 0.27), (6, 0.0005, 0.29)])
def test_nor_where_the_function_moves(d, drift, published):
    """Rows in a cube, 2000 of them, of which the last 1500 are counted."""
    found = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        found.append(widths(rng.uniform(-1.0, 1.0, (2000, d)), rng, drift, drift)[500:].mean())
    assert 0.1 * np.mean(found) == pytest.approx(published, abs=0.0075)


@pytest.mark.parametrize("seed", range(4))
def test_no_number_of_the_streams_that_are_made_is_missed(seed):
    before = datasets.stream("jump", rows=2000, seed=seed)
    assert prequential(IntervalRegressor(noise=0.1, fit_intercept=False), before).coverage == 1.0
    walk = datasets.stream("walk", seed=seed)
    assert prequential(IntervalRegressor(noise=0.1, drift=0.005, fit_intercept=False), walk).coverage == 1.0


def test_streams_that_jump_and_walk():
    jump = datasets.stream("jump", seed=2)
    model = IntervalRegressor(noise=0.1, on_infeasible="restart", fit_intercept=False).partial_fit(*jump)
    assert len(model.changes_) == 1
    assert 2000 < model.changes_[0] < 2060
    walk = datasets.stream("walk", seed=2)
    still = prequential(IntervalRegressor(noise=0.1, fit_intercept=False), walk)
    moving = prequential(IntervalRegressor(noise=0.1, drift=0.005, fit_intercept=False), walk)
    assert moving.coverage == 1.0
    assert 0.2 < moving.half_width < 0.35
    assert still.coverage < 1.0


@pytest.mark.parametrize("policy", ["skip", "restart", "freeze"])
def test_no_cut_or_file_changes_a_bit(policy, tmp_path):
    X, y = datasets.stream("jump", rows=3000, seed=4)
    X, y = X[1900:2100], y[1900:2100]

    def new():
        return IntervalRegressor(noise=0.1, on_infeasible=policy)

    whole, cut, single = new(), new(), new()
    told, low, high = whole.learn_predict_interval(X, y)
    for start in range(0, 200, 37):
        cut.partial_fit(X[start : start + 37], y[start : start + 37])
        cut.save(tmp_path / "cut")
        cut = load(tmp_path / "cut")
    for i, (x, target) in enumerate(zip(X, y.tolist(), strict=True)):
        if single.__sklearn_is_fitted__():
            assert single.predict_one(x) == told[i]
            assert single.predict_interval_one(x) == pytest.approx((low[i], high[i]), abs=1e-9)
        single.learn_one(x, target)
    assert known(whole) == known(cut) == known(single)
    for again in (copy.deepcopy(whole), pickle.loads(pickle.dumps(whole))):
        assert known(again) == known(whole)
    assert whole.infeasible_ > 0
    assert whole.certificates()[0].bound == np.inf


@pytest.mark.interpreted
def test_sparse_rows_dicts_and_new_features():
    X, y = datasets.stream("walk", rows=60)
    dense = IntervalRegressor(noise=0.3).partial_fit(X, y)
    sparse = IntervalRegressor(noise=0.3).partial_fit(sp.csr_matrix(X), y)
    named = IntervalRegressor(noise=0.3)
    for x, target in zip(X, y.tolist(), strict=True):
        named.learn_one({str(j): v for j, v in enumerate(x.tolist())}, target)
    for other in (sparse, named):
        assert other.predict_interval(sp.csr_matrix(X) if other is sparse else X) == pytest.approx(
            dense.predict_interval(X)
        )
    grown = IntervalRegressor(noise=0.3, grow_features=True).partial_fit(X[:, :2], y * 0.0)
    grown.partial_fit(X, y)
    assert grown.version_space_.dim == 4


@pytest.mark.interpreted
def test_what_is_assumed_wrongly_is_raised_or_refused(tmp_path):
    model = IntervalRegressor(noise=0.1, on_infeasible="raise", fit_intercept=False)
    with pytest.raises(EmptyVersionSpace, match="round 2 left none"):
        model.partial_fit([[1.0], [1.0], [1.0]], [0.5, 0.9, 0.5])
    assert model.t_ == 2
    for options in ({"noise": -1.0}, {"radius": 0.0}, {"drift": -1.0}, {"on_infeasible": "cry"}, {"average": True}):
        with pytest.raises(ValueError, match=f"{next(iter(options))} must be"):
            IntervalRegressor(**options).partial_fit(X, Y)
    fine = IntervalRegressor().partial_fit(X, Y)
    with pytest.raises(
        ValueError, match=r"takes only the weights 0 and 1.* Use PassiveAggressiveRegressor\(variant=\"I\"\)$"
    ):
        fine.partial_fit(X, Y, sample_weight=np.full(6, 2.0))
    fine.save(tmp_path / "model")
    content = container.read(tmp_path / "model")
    for name, change in (("B", lambda a: -a), ("B", lambda a: a[:1]), ("numbers", lambda a: a[:3])):
        container.write(tmp_path / "forged", content.header, {**content.arrays, name: change(content.arrays[name])})
        with pytest.raises(DamagedModel):
            load(tmp_path / "forged")


@pytest.mark.interpreted
def test_conformal_intervals_around_it():
    X, y = datasets.stream("walk", rows=200)
    model = Conformal(IntervalRegressor(noise=0.1), window=30).partial_fit(X, y)
    assert model.certificates()[0].observed <= model.certificates()[0].bound


@pytest.mark.interpreted
def test_scikit_learn_finds_nothing(monkeypatch):
    from ..estimators.expected_failures import GEOMETRY, SHUFFLED

    monkeypatch.setenv("SCIPY_ARRAY_API", "1")
    poor = {"check_regressors_train": "it assumes a noise of 0.1, which the check's numbers do not have"}
    model = IntervalRegressor(radius=1e3, noise=1.0, n_epochs=1)
    results = check_estimator(model, expected_failed_checks=SHUFFLED | GEOMETRY | poor, on_fail=None, on_skip=None)
    assert {r["check_name"]: r["exception"] for r in results if r["status"] not in ("passed", "xfail")} == {}


@pytest.mark.slow
@pytest.mark.parametrize("drift", [0.0, 1e-4])
def test_a_million_rows_leave_an_ellipsoid(drift):
    rng = np.random.default_rng(0)
    truth = 0.1 * np.ones(6)
    model = IntervalRegressor(noise=0.1, drift=drift)
    for _ in range(200):
        rows = rng.normal(size=(5000, 6)) * 10.0 ** rng.integers(-3, 2)
        model.partial_fit(rows, rows @ truth + rng.uniform(-0.1, 0.1, 5000))
    P = model.version_space_.shape_matrix()
    assert np.linalg.eigvalsh(P).min() > 0.0
    assert model.version_space_.contains(np.r_[0.0, truth][None]).all()
    assert model.infeasible_ == 0
    assert model._core.table.numbers[7] == 0.0


@pytest.mark.interpreted
@pytest.mark.parametrize("seed", range(20))
def test_a_number_outside_its_interval_is_a_proof(seed):
    """Also where the truth moves: the ellipsoid after a move is larger than what intervals are made of."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(12, 2))
    y = rows @ rng.normal(size=2) + rng.normal(size=12)
    model = IntervalRegressor(noise=0.5, drift=0.4, radius=3.0, fit_intercept=False)
    outside = 0
    for row, number in zip(rows, y, strict=True):
        _, low, high = model.learn_predict_interval(row[np.newaxis], [number])
        outside += int(not low[0] <= number <= high[0])
        certificate = model.certificates()[0]
        assert outside <= model.infeasible_
        assert certificate.observed <= certificate.bound


@pytest.mark.interpreted
@pytest.mark.parametrize("size", [1e-140, 1e-150, 1e-160, 1e-200, 1e-300])
def test_rows_whose_squares_vanish_prove_nothing_and_are_held(size):
    """No function of norm 1 gives more than the length of a row, and every one less is still possible."""
    rng = np.random.default_rng(0)
    rows = size * rng.normal(size=(20, 3))
    u = np.array([0.5, -0.5, 0.5])
    model = IntervalRegressor(noise=0.0, fit_intercept=False)
    _, low, high = model.learn_predict_interval(rows, rows @ u)
    assert ((low <= rows @ u) & (rows @ u <= high)).all()
    assert model.infeasible_ == 0
    assert model.version_space_.contains([u]).all()
    outside = model.partial_fit([[size, 0.0, 0.0]], [10.0 * size])
    assert outside.infeasible_ == 1


@pytest.mark.interpreted
@pytest.mark.parametrize(
    "model", [IntervalRegressor(grow_features=True), CELLIP(drift=0.1, cut="minvol", trigger="always")], ids=repr
)
def test_rows_too_wide_for_an_ellipsoid_are_refused_and_change_nothing(model):
    wide = sp.csr_matrix(([1.0, 1.0], [0, 9_999_999], [0, 1, 2]), shape=(2, 10_000_000))
    with pytest.raises(ValueError, match=r"X is too wide: the ellipsoid of 10000000 features would take .* GiB"):
        model.partial_fit(wide, [0, 1])
    assert not hasattr(model, "t_")
    if isinstance(model, IntervalRegressor):
        before = known(model.partial_fit(X, Y))
        with pytest.raises(ValueError, match="X is too wide"):
            model.partial_fit(wide, [0, 1])
        assert known(model) == before
