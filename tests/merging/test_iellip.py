"""Mixtures of IELLIP models: sums over the updates of all shards, whatever metrics these had."""

from copy import deepcopy
from math import inf
from pickle import dumps, loads

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_digits

from ellipsoid import IELLIP, load, merge
from ellipsoid.ellipsoids import state as slots
from ellipsoid.engine import tally as tallies
from ellipsoid.estimators.files import container, saving

from .shards import in_rounds, learned, parts, stream

pytestmark = pytest.mark.interpreted

SEEDS = st.integers(0, 2**32 - 1)
KINDS = st.sampled_from(["noisy", "separable", "sorted"])
SHAPES = [
    IELLIP(), IELLIP(b=0.5, c=0.9), IELLIP(shape="column", average=True), IELLIP(shape="gram"),
    IELLIP(shape="product", b=0.9, c=0.9), IELLIP(shape="dense", average=True), IELLIP(decay="round", b=0.9, c=0.3),
    IELLIP(b=1.0, c=0.3), IELLIP(c=0.0),
]  # fmt: skip


class Stream:
    """A binary IELLIP of two lines, in exact sums of what it has learned: h and A by their definitions."""

    def __init__(self, b, c, width):
        self.b, self.c, self.w, self.B, self.k = b, c, np.zeros(width), np.eye(width), 0
        self.h, self.A, self.mistakes, self.rows = np.zeros(width), 0.0, 0.0, []

    def learn(self, X, y):
        for z in X * np.where(y == 1, 1.0, -1.0)[:, np.newaxis]:
            n = self.w @ z
            if n <= 0.0:
                Bz, shrinkage = self.B @ z, self.c * self.b**self.k
                v = z @ Bz
                weight = (1.0 - (1.0 - shrinkage) * n) / (v * (1.0 - shrinkage))
                self.h, self.A = self.h + weight * z, self.A + weight
                self.w = self.w + (1.0 - n) / v * Bz
                self.B = self.B - shrinkage / v * np.outer(Bz, Bz)
                self.k, self.mistakes = self.k + 1, self.mistakes + 1.0
                self.rows.append(z)
        return self

    def mix(self, others, shares):
        """Go on from here with what others have become."""
        for name in ("w", "h", "A", "mistakes"):
            mixed = sum(share * getattr(other, name) for share, other in zip(shares, others, strict=True))
            setattr(self, name, mixed)
        began = len(self.rows)
        self.k += sum(other.k - self.k for other in others)
        self.rows = [*self.rows, *(row for other in others for row in other.rows[began:])]


@settings(max_examples=16)
@given(
    SEEDS,
    st.integers(2, 8),
    st.integers(1, 3),
    KINDS,
    st.sampled_from([(0.3, 0.1), (0.5, 0.9), (0.9, 0.5), (0.0, 0.0)]),
    st.sampled_from(["uniform", "mistakes"]),
    st.sampled_from([0, 12]),
)
def test_the_certificates_speak_of_the_updates_of_all_shards(seed, shards, rounds, kind, shape, weights, before):
    """Also where the shards begin with what was learned of some rows ``before``, and with the shape of then."""
    X, y, truth = stream(seed, rows=150, width=5, kind=kind)
    learner = IELLIP(b=shape[0], c=shape[1], fit_intercept=False)
    start = learner.partial_fit(X[:before], y[:before], classes=range(2)) if before else None
    pieces = parts(X[before:], y[before:], shards, kind)
    model = in_rounds(learner, pieces, 2, rounds, weights, start=start)
    whole = Stream(*shape, 5).learn(X[:before], y[:before])
    for _ in range(rounds):
        went = [deepcopy(whole).learn(*piece) for piece in pieces]
        made = np.array([len(each.rows) - len(whole.rows) for each in went], dtype=float)
        shares = made / made.sum() if weights == "mistakes" and made.any() else np.full(shards, 1.0 / shards)
        whole.mix(went, shares)
    # Elsewhere a margin of nearly zero fell on the other side.
    assume(model.mistakes_ == len(whole.rows))
    table, size = model._core.table, 1.0 + np.linalg.norm(whole.h)
    np.testing.assert_allclose(table.pull()[0, 1:], whole.h, atol=1e-9 * size)
    np.testing.assert_allclose(table.numbers[slots.MARGIN_WEIGHT], whole.A, rtol=1e-9)
    np.testing.assert_allclose(model.coef_[0], whole.w, atol=1e-9 * size)
    rng = np.random.default_rng(seed)
    for u in (truth[1] - truth[0], whole.w, whole.h, rng.normal(size=5), rng.normal(size=5)):
        told = {each.name.split(",")[0]: each for each in model.certificates(u)}
        margin, mistakes = told["average margin of the unit comparator on the updates"], told["mistakes"]
        if whole.A and u.any():
            exact = u @ whole.h / (np.linalg.norm(u) * whole.A)
            assert margin.observed <= exact + 1e-12
            assert exact <= margin.bound
            assert margin.bound == pytest.approx(np.linalg.norm(whole.h) / whole.A, abs=1e-9)
            assert min(z @ u for z in whole.rows) / np.linalg.norm(u) <= margin.bound
            # The bound on mistakes is one on A, whatever the comparator: each mistake has added 1 / R^2 to it.
            assert mistakes.bound >= (1.0 - 1e-9) * max(z @ z for z in whole.rows) * whole.A
        assert mistakes.observed <= mistakes.bound
        assert mistakes.observed == pytest.approx(whole.mistakes)


@pytest.mark.parametrize("learner", SHAPES, ids=repr)
@settings(max_examples=3)
@given(SEEDS, st.sampled_from([2, 4]), st.integers(2, 5), KINDS)
def test_the_potential_of_a_mixture_is_within_its_weight(learner, seed, classes, shards, kind):
    """w'Mw <= goal A, which all bounds on mistakes rest on: after mixing, and after learning on."""
    X, y, truth = stream(seed, classes, rows=50, kind=kind)
    pieces = parts(X, y, shards, kind)
    U = truth[1] - truth[0] if classes == 2 else truth

    def check(model):
        core = model._core
        w, weight = core.table.weights(core.scores, 0), core.table.numbers[slots.MARGIN_WEIGHT]
        assert float((w * core.table.preimage()).sum()) <= weight * (1.0 + 1e-9)
        # Of a unit vector the margins on updates are on average at most |h| / A, and so the least one is.
        bound = next(each.bound for each in model.certificates(U) if each.name.startswith("average margin"))
        unit = np.insert(np.atleast_2d(U), 0, 0.0, axis=1) / np.linalg.norm(U)
        assert float((unit * core.table.pull()).sum()) <= weight * bound
        assert all(each.observed <= each.bound for each in model.certificates(U))

    model = in_rounds(learner, pieces, classes, 2, watch=lambda start, models, mixed: check(mixed))
    check(model.partial_fit(X, y))
    check(merge([model, *learned(learner, pieces, classes)], weights="updates"))


def test_shards_that_part_with_a_shape_that_stays_keep_the_bound_of_one_stream():
    X, y, truth = stream(1, classes=3, rows=900, width=8, kind="noisy")
    start = IELLIP().partial_fit(X[:300], y[:300], classes=range(3))
    assert start.updates_ > 30
    pieces = parts(X[300:], y[300:], 4)
    mixed = merge([deepcopy(start).partial_fit(*piece) for piece in pieces], start=start)
    assert mixed._core.table.offset is None
    assert mixed.log_volume_ == start.log_volume_
    told = {each.name.split(",")[0]: each for each in mixed.certificates(truth)}
    margin = told["average margin of the unit comparator on the updates"].observed
    radius2 = 2.0 * mixed._core.tally[tallies.RADIUS2]
    kept = np.exp(-mixed._core.table.numbers[slots.LOG_SCALE])
    assert told["mistakes"].bound == pytest.approx(radius2 / margin**2 / kept, rel=1e-6)
    assert told["mistakes"].observed <= told["mistakes"].bound
    # Own metrics cost something, and not everything.
    apart = merge(learned(IELLIP(), pieces, 3))
    assert apart._core.table.offset is not None
    assert apart.certificates(truth)[0].bound < inf


def test_metrics_of_their_own_have_a_part_in_the_bound_on_mistakes():
    """A step of 1 along one row, with c = 0.9: h = 10 x and A = 10, but w = x: |h| exceeds sqrt(A)."""
    models = [IELLIP(c=0.9, fit_intercept=False).partial_fit([[1.0, 0.0]], [1], classes=[0, 1]) for _ in range(2)]
    mixed = merge(models)
    np.testing.assert_allclose(mixed.coef_, [[1.0, 0.0]])
    np.testing.assert_allclose(mixed._core.table.offset, [[0.0, 9.0, 0.0]])
    told = {each.name.split(",")[0]: each for each in mixed.certificates()}
    assert told["average margin of the unit comparator on the updates"].bound == pytest.approx(1.0)
    # What it bounds, over R^2, is A.
    assert told["mistakes"].bound == pytest.approx((0.5 + np.sqrt(0.25 + 9.0)) ** 2)
    assert told["mistakes"].bound >= 10.0


@pytest.mark.parametrize("rows", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize("learner", SHAPES, ids=repr)
def test_a_mixture_learns_on_as_its_file_and_in_any_chunks(learner, rows, tmp_path):
    X, y, _ = stream(6, classes=3, rows=60, width=6)
    model = in_rounds(learner, [(rows(part), labels) for part, labels in parts(X, y, 3)], 3, 2)
    assert (model._core.table.offset is None) is (learner.c == 0.0)
    model.save(tmp_path / "mixed.model")
    twins = [model, load(tmp_path / "mixed.model"), deepcopy(model), loads(dumps(model))]
    assert twins[1].certificates() == model.certificates()
    for each, size in zip(twins, (len(y), 1, 7, 25), strict=True):
        for begin in range(0, len(y), size):
            each.partial_fit(rows(X[begin : begin + size]), y[begin : begin + size])
    for each in twins[1:]:
        assert np.array_equal(each.decision_function(rows(X)), model.decision_function(rows(X)))
        assert each.certificates() == model.certificates()
    again = merge(twins[:2])
    np.testing.assert_allclose(again.coef_, model.coef_)
    assert again.shards_ == 6


def test_long_rows_whose_weights_owe_something_are_mixed(compiled):
    """From 512 columns on a binary shape puts off part of its updates."""
    X, y, _ = stream(9, rows=300, width=600)
    models = learned(IELLIP(average=True), parts(X, y, 2), 2)
    assert any(model._core.table.numbers[slots.DEFERRED] for model in models)
    mixed = merge(models)
    np.testing.assert_allclose(mixed._core.table.weights(1, 0), sum(m._core.table.weights(1, 0) for m in models) / 2)
    start = deepcopy(models[0])
    again = merge([deepcopy(start).partial_fit(*piece) for piece in parts(X, y, 2)], start=start)
    assert not again._core.table.numbers[slots.DEFERRED]
    assert again._core.table.offset is None
    assert all(each.observed <= each.bound for each in again.partial_fit(X, y).certificates())


def test_a_third_class_and_a_new_feature_leave_the_sums_what_they_are():
    X, y, _ = stream(2, rows=120)
    mixed = in_rounds(IELLIP(), parts(X, y, 3), 2, 1)
    mixed._core.closed = False
    pull, weight = mixed._core.table.pull(), mixed._core.table.numbers[slots.MARGIN_WEIGHT]
    mixed._core.add_label(7)
    table = mixed._core.table
    np.testing.assert_allclose(table.pull(), np.concatenate([-pull / 2, pull / 2, 0 * pull]), atol=1e-12)
    assert table.numbers[slots.MARGIN_WEIGHT] == weight / 2
    mixed.partial_fit(X[:40], np.where(X[:40, 0] > 0, 7, y[:40]))
    assert all(each.observed <= each.bound for each in mixed.certificates())
    wide = in_rounds(IELLIP(grow_features=True), parts(X, y, 3), 2, 1)
    before = wide._core.table.pull()
    wide._core.open(6, by_class=True)
    np.testing.assert_array_equal(wide._core.table.pull(), np.hstack([before, np.zeros((1, 2))]))
    wide.partial_fit(np.hstack([X, X[:, :2]]), y)
    assert all(each.observed <= each.bound for each in wide.certificates())


def test_averages_of_a_mixture_are_those_of_all_hypotheses():
    X, y, _ = stream(3, classes=3, rows=90)
    pieces = [(X[:20], y[:20]), (X[20:50], y[20:50]), (X[50:], y[50:])]
    models = learned(IELLIP(average=True), pieces, 3)
    mean = sum(len(part[1]) * model._core.weights() for part, model in zip(pieces, models, strict=True)) / len(y)
    np.testing.assert_allclose(merge(models)._core.weights(), mean, atol=1e-12)


def test_a_file_with_an_offset_of_another_size_is_refused(tmp_path):
    X, y, _ = stream(6, classes=3, rows=90)
    header, arrays = saving.describe(in_rounds(IELLIP(), parts(X, y, 3), 3, 1))
    container.write(tmp_path / "forged.model", {**header, "stream": None}, {**arrays, "offset": np.zeros((3, 2))})
    with pytest.raises(ValueError, match="'offset' has the wrong shape"):
        load(tmp_path / "forged.model")


def test_a_shape_that_has_shrunk_beyond_all_numbers_is_refused():
    X, y, _ = stream(0, rows=900)
    models = learned(IELLIP(b=1.0, c=1.0 - 2.0**-50), parts(X, y, 2), 2)
    with pytest.raises(ValueError, match="smaller b or c"):
        merge(models)


def test_a_mixture_is_better_than_its_shards(compiled):
    X, y = load_digits(return_X_y=True)
    X = X / np.linalg.norm(X, axis=1, keepdims=True)
    order = np.random.default_rng(0).permutation(len(y))
    X, y = X[order], y[order]
    models = learned(IELLIP(), parts(X[:1400], y[:1400], 4), 10)
    mean = np.mean([model.score(X[1400:], y[1400:]) for model in models])
    assert merge(models).score(X[1400:], y[1400:]) > mean + 0.05
