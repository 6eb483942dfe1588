"""ROMMA: where a step ends, the cases without one, whole runs in extended precision, and data that nothing fits."""

from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from ellipsoid import ROMMA
from ellipsoid.engine import NO_WEIGHTS, Binary, Dense, Multiclass, learn
from ellipsoid.engine.protocol import SCORES, TAU, WHO, WORK_ROWS
from ellipsoid.engine.tally import MISTAKES, SIZE, UPDATES
from ellipsoid.representation.kernel import lookahead
from ellipsoid.representation.linear import ClassMajor
from ellipsoid.representation.scaled import weights as scaled
from ellipsoid.rules.blame import MAX, PROPORTIONAL, UNIFORM
from ellipsoid.rules.romma import ROMMARule

FEATURES = 4
numbers = st.one_of(st.integers(-3, 3).map(float), st.floats(-100.0, 100.0).map(lambda v: round(v, 6)))
rules = st.builds(ROMMARule, st.sampled_from([UNIFORM, MAX, PROPORTIONAL]), st.sampled_from([0.0, 1.0]))


def one_round(rule, M, x, y, *, scale=1.0, goal=1.0):
    """One round of the loop from any M (one row: binary), kept as ``scale`` times a table; X as the rule chose it."""
    M = np.atleast_2d(np.array(M, dtype=float))
    table = np.ascontiguousarray(np.column_stack([np.zeros(len(M)), M / scale]))
    state = np.zeros(lookahead.EXPANSION_NUMBERS)
    state[[lookahead.SCALE, scaled.GOAL, scaled.FUNCTIONS_USED]] = scale, goal, len(M)
    state[[lookahead.NORM2, scaled.NORM2_SUMMED]] = (M**2).sum()
    ledger = np.array([[y]])
    task = Binary(ledger, 0) if len(M) == 1 else Multiclass(ledger, 0, len(M))
    work, tally = np.full((WORK_ROWS, len(M) + 1), np.nan), np.zeros(SIZE)
    rep = scaled.ScaledWeights(ClassMajor(table, np.zeros((0, 0))), state)
    rows = Dense(np.ascontiguousarray([x], dtype=float), 0.0)
    learn(rule, task, rep, rows, tally, work, 0, 1, NO_WEIGHTS)
    W = state[lookahead.SCALE] * table[:, 1:]
    X = np.zeros_like(M)
    if tally[UPDATES]:
        moves = np.flatnonzero(~np.isnan(work[WHO]))[: 2 if rule.sharing == MAX else None]
        tau = work[TAU, moves]
        for r, share in zip(work[WHO, moves].astype(int), tau / abs(tau[0]), strict=True):
            X[r] += share * np.asarray(x)
    return SimpleNamespace(
        W=W, X=X, scores=work[SCORES, : len(M)], norm2=state[lookahead.NORM2], skipped=int(state[scaled.SKIPPED]),
        updated=bool(tally[UPDATES]), mistake=bool(tally[MISTAKES]),
    )  # fmt: skip


@st.composite
def situations(draw):
    """Weights, one row of them or several with sum zero, an example of sensible length and its label."""
    classes = draw(st.sampled_from([1, 3, 5]))
    M = draw(arrays(np.float64, (classes, FEATURES), elements=numbers)) / draw(st.sampled_from([1.0, 100.0]))
    M -= M.mean(axis=0) if classes > 1 else 0.0
    x = draw(arrays(np.float64, FEATURES, elements=numbers)) / draw(st.sampled_from([1.0, 100.0]))
    assume(x @ x > 1e-6)
    return M, x, draw(st.integers(0, max(1, classes - 1)))


@given(situations(), rules)
def test_a_step_is_the_shortest_on_the_right_side_of_both_constraints(situation, rule):
    """Feasible, a combination with coefficients >= 0 of the two constraints' normals, and these are met exactly."""
    M, x, y = situation
    after = one_round(rule, M, x, y)
    if not after.updated:
        assert (after.W == M).all()
        return
    W, X, b = after.W, after.X, (M**2).sum()
    m, a = (M * X).sum(), (X**2).sum()
    share = 1.0 - m * m / (a * b) if b else 1.0
    assume(share > 1e-6)
    room = 1e-10 * (1.0 + b + np.sqrt(a * b)) / share
    assert m < 1.0
    assert (W * X).sum() == pytest.approx(1.0, abs=room)
    assert (W * M).sum() >= b - room
    (c, d), *_ = np.linalg.lstsq(np.column_stack([M.ravel(), X.ravel()]), W.ravel(), rcond=None)
    np.testing.assert_allclose(c * M + d * X, W, atol=room)
    assert d > 0.0
    assert c >= -room
    if b > 0.0 and (W * M).sum() > b + room:
        assert c == pytest.approx(0.0, abs=room)
        assert rule.margin == 1.0
    elif b > 0.0:
        assert (W**2).sum() == pytest.approx(b + ((W - M) ** 2).sum(), rel=1e-9, abs=room)
    assert after.norm2 == pytest.approx((W**2).sum(), rel=1e-9, abs=room)
    if after.mistake:
        # m <= 0, but where the blame for a mistake is shared with labels that trail by less than one.
        shared = rule.margin == 1.0 and len(M) > 1
        parts = {MAX: 2, PROPORTIONAL: len(M), UNIFORM: len(M) * (len(M) - 1)}[rule.sharing] if shared else 2
        assert (W**2).sum() - b >= (1.0 - 1e-9) / ((parts if len(M) > 1 else 1) * (x @ x)) - room


def test_shared_blame_may_call_a_mistake_half_right():
    """Aggressive, uniform: scores 0, -1, 0, the first is right. m = 1/2 > 0, |M|^2 grows by 0.2 and not by 1/2."""
    after = one_round(ROMMARule(UNIFORM, 1.0), [[0.0], [-1.0], [0.0]], [1.0], 0)
    assert after.mistake
    assert (after.W**2).sum() == pytest.approx(1.2)
    highest = one_round(ROMMARule(MAX, 1.0), [[0.0], [-1.0], [0.0]], [1.0], 0)
    assert (highest.W**2).sum() == pytest.approx(1.5)


@given(situations(), rules)
def test_it_learns_from_mistakes_or_from_all_below_one(situation, rule):
    M, x, y = situation
    after = one_round(rule, M, x, y)
    assume(not after.skipped)
    B = after.scores
    lead = (B[0] if y else -B[0]) if len(M) == 1 else B[y] - np.delete(B, y).max()
    assert after.mistake == (lead <= 0.0)
    if rule.margin == 0.0:
        assert after.updated == after.mistake
    elif abs(lead - 1.0) > 1e-9:
        assert after.updated == (lead < 1.0)


def test_the_example_alone_suffices_where_it_is_far_longer_to_satisfy():
    """m >= a b: M = (1, 0), x = (1/2, 0) and 0 < m < 1; W = X / a forgets M."""
    after = one_round(ROMMARule(MAX, 1.0), [[1.0, 0.0]], [0.5, 0.01], 1, scale=4.0)
    np.testing.assert_allclose(after.W[0], np.array([0.5, 0.01]) / 0.2501, rtol=1e-12)
    assert after.W[0] @ [1.0, 0.0] >= 1.0


@pytest.mark.parametrize("factor", [1e-3, 1.0, 1e3])
def test_opposite_directions_are_skipped_and_counted(factor):
    x = np.array([0.3, -0.7, 0.2])
    for rule in (ROMMARule(MAX, 0.0), ROMMARule(MAX, 1.0)):
        binary = one_round(rule, [-factor * x], x, 1)
        assert (binary.updated, binary.skipped, binary.mistake) == (False, 1, True)
        several = one_round(rule, np.outer([-factor, factor, 0.0], x), x, 0)
        assert (several.updated, several.skipped, several.mistake) == (False, 1, True)


@pytest.mark.parametrize("classes", [2, 3])
def test_the_same_example_with_another_label_is_skipped(classes):
    model = ROMMA(fit_intercept=False).partial_fit([[1.0, 2.0]] * 3, [0, 1, 1], classes=range(classes))
    assert (model.mistakes_, model.updates_, model.skipped_) == (3, 1, 2)
    assert np.isfinite(model.coef_).all()
    assert model.certificates()[0].bound == np.inf
    model.partial_fit([[2.0, -1.0]], [1])
    assert model.updates_ == 2


@given(st.integers(0, 2**32), st.sampled_from([0.0, 1.0]), st.sampled_from([UNIFORM, MAX, PROPORTIONAL]))
def test_two_rows_are_the_binary_form_with_half_of_w_each(seed, margin, sharing):
    rng = np.random.default_rng(seed)
    w, x = rng.normal(size=3), rng.normal(size=3)
    single = one_round(ROMMARule(MAX, margin), w, x, 1)
    pair = one_round(ROMMARule(sharing, margin), [-w / 2, w / 2], x, 1)
    assert pair.updated == single.updated
    np.testing.assert_allclose(pair.W[1] - pair.W[0], single.W[0], rtol=1e-10, atol=1e-12)


@given(situations(), rules, st.integers(-140, 140))
def test_units_and_scales_do_not_matter(situation, rule, exponent):
    """In units of a power of two a step is the same to the last bit; how the table is scaled, to rounding."""
    M, x, y = situation
    unit = 2.0**exponent
    plain = one_round(rule._replace(margin=0.0), M, x, y)
    other = one_round(rule._replace(margin=0.0), unit * M, x, y, goal=unit)
    np.testing.assert_array_equal(other.W, unit * plain.W)
    stretched = one_round(rule._replace(margin=0.0), M, x, y, scale=8.0)
    np.testing.assert_array_equal(stretched.W, plain.W)


# -- whole runs ----------------------------------------------------------------------------------------------------


def run(X, y, classes, sharing, aggressive):
    """Section 6 of the paper's multiclass form, in extended precision: M after each round and the number of updates."""
    real = np.longdouble
    X, M, history, updates = X.astype(real), np.zeros((classes, X.shape[1]), dtype=real), [], 0
    for x, label in zip(X, y, strict=True):
        B = (M * x).sum(axis=1)
        E = [r for r in range(classes) if r != label and B[r] >= B[label] - real(aggressive)]
        tau = np.zeros(classes, dtype=real)
        if E and x.any():
            tau[label] = 1
            excess = np.array([B[r] - (B[label] - real(aggressive)) for r in E])
            if sharing == "max":
                tau[E[int(np.argmax([B[r] for r in E]))]] = -1
            else:
                tau[E] = -excess / excess.sum() if sharing == "proportional" and excess.sum() > 0 else -real(1) / len(E)
            Z = np.outer(tau, x)
            a, b, m = (Z**2).sum(), (M**2).sum(), (Z * M).sum()
            if m < 1:
                det = a * b - m * m
                M = Z / a if b == 0 or m >= a * b else (a * b - m) / det * M + b * (1 - m) / det * Z
                updates += 1
        history.append(M)
    return np.array(history), updates


def separable(classes, n=150, dim=6):
    """Examples with a margin, of lengths that differ, and two zero rows."""
    rng = np.random.default_rng(classes)
    X = rng.normal(size=(6 * n, dim)) * rng.uniform(0.2, 2.0, size=(6 * n, 1))
    scores = np.sort(X @ (U := rng.normal(size=(dim, classes))), axis=1)
    keep = np.argsort(scores[:, -2] - scores[:, -1])[:n]
    X = X[rng.permutation(keep)]
    y = np.argmax(X @ U, axis=1)
    X[[0, 40]] = 0.0
    return X, y


@pytest.mark.interpreted
@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "csr"])
@pytest.mark.parametrize("aggressive", [False, True], ids=["plain", "aggressive"])
@pytest.mark.parametrize("classes", [2, 3, 26])
@pytest.mark.parametrize("multiclass", ["uniform", "max", "proportional"])
def test_whole_run_follows_the_definition(multiclass, classes, aggressive, sparse):
    X, y = separable(classes)
    truth, updates = run(X, y, classes, multiclass, aggressive)
    model = ROMMA(multiclass=multiclass, aggressive=aggressive, fit_intercept=False, average=True)
    rows = sp.csr_matrix(X) if sparse else X
    for start in range(0, len(y), 50):
        model.partial_fit(
            rows[start : start + 50], y[start : start + 50], classes=range(classes) if not start else None
        )
        now, mean = truth[start + 49], truth[: start + 50].mean(axis=0)
        weights = model._core.table.weights(model._core.scores, 0)[:, 1:]
        if classes == 2:
            now, mean = now[1:] - now[:1], mean[1:] - mean[:1]
        np.testing.assert_allclose(weights, now.astype(float), rtol=0.0, atol=1e-10 * float(np.abs(now).max()))
        np.testing.assert_allclose(model.coef_, mean.astype(float), rtol=0.0, atol=1e-10 * float(np.abs(now).max()))
    assert model.updates_ == updates
    assert model.skipped_ == 0


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("aggressive", [False, True], ids=["plain", "aggressive"])
def test_rows_that_become_shorter_and_shorter(aggressive, classes):
    """Every one of them makes the aggressive version forget all others; averages must not feel how that is done."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(40, 3))
    X[:, 0] += 3.0
    X *= np.geomspace(1.0, 1e-8, 40)[:, None]
    y = np.where(X[:, 0] > 0.0, 1, 0)
    truth, updates = run(X, y, classes, "max", aggressive)
    model = ROMMA(aggressive=aggressive, fit_intercept=False, average=True).partial_fit(X, y, classes=range(classes))
    mean = truth.mean(axis=0).astype(float)
    mean = mean[1:] - mean[:1] if classes == 2 else mean
    assert model.updates_ == updates
    np.testing.assert_allclose(model.coef_, mean, rtol=0.0, atol=1e-10 * np.abs(mean).max())


@settings(max_examples=20)
@given(st.integers(0, 2**32), st.booleans(), st.sampled_from([2, 4]))
def test_data_that_nothing_fits_are_survived(seed, aggressive, classes):
    """Weights double every few rounds: beyond 1e100 in no time, in units that keep all numbers finite."""
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(4000, 2)), rng.integers(0, classes, 4000)
    model = ROMMA(aggressive=aggressive, average=True).partial_fit(X, y, classes=range(classes))
    table = model._core.table
    W = table.weights(model._core.scores, 0)
    assert np.isfinite(W).all()
    assert np.isfinite(model.coef_).all()
    assert table.goal < 1e-39 if classes == 2 else table.numbers[lookahead.NORM2] > 1e30
    assert (W**2).sum() == pytest.approx(table.numbers[lookahead.NORM2], rel=1e-9)
    assert model.mistakes_ <= model.updates_ + model.skipped_
    assert np.abs(W.sum(axis=0)).max() < 1e-9 * np.abs(W).max() or classes == 2
    assert all(c.observed <= c.bound for c in model.certificates())
