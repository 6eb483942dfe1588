"""``AROW(drift=)``: the golden run, the least cost of a moving classifier, and numbers that stay a covariance."""

import copy

import numpy as np
import pytest
import scipy.sparse as sp

from ellipsoid import AROW, DamagedModel, load
from ellipsoid.estimators.files import container

from .conftest import drifting

X = np.array([(1, 2), (2, -1), (-1, 1), (1, 1), (-2, 1), (1, -2)]) / 2.0
Y = np.array([1, 1, 0, 0, 1, 1])
GOLDEN = {
    0.0: ([0.0, 0.0, 2 / 9, -4 / 9, -0.6363636364, 0.0454545455], [0.2, -0.2], 0.5333333333, 5.6),
    0.1: ([0.0, 0.0, 0.2362573099, -0.4418795060, -0.6508978587, 0.0034138943], [-0.02663998, -0.42984864],
          1.1513020296,
          4.9394977996),
}  # fmt: skip


def covariance(model):
    """S as it is now."""
    ellipsoid = model.ellipsoid_
    return ellipsoid.shape.apply(np.eye(ellipsoid.centre.size))


@pytest.mark.interpreted
@pytest.mark.parametrize("rows", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize("drift", GOLDEN)
def test_the_golden_run(drift, rows):
    margins, weights, trace, cost = GOLDEN[drift]
    model = AROW(drift=drift, fit_intercept=False, shape="dense").partial_fit(rows(X[:1]), Y[:1], classes=[0, 1])
    seen = [0.0]
    for i in range(1, len(Y)):
        seen.append(float(model.decision_function(rows(X[i : i + 1]))[0]) * (2 * Y[i] - 1))
        model.partial_fit(rows(X[i : i + 1]), Y[i : i + 1])
    assert seen == pytest.approx(margins, abs=1e-9)
    assert model.coef_[0] == pytest.approx(weights, abs=1e-8)
    assert np.trace(covariance(model)) == pytest.approx(trace, abs=1e-9)
    assert (model.mistakes_, model.updates_) == (4, 6)
    if drift:
        (found,) = model.certificates()
        assert found.observed == pytest.approx(cost, abs=1e-9)
        assert found.observed <= found.bound


def least_cost(model, rows, labels, drift, r):
    """The least cost of any sequence of classifiers, by one linear system for all of them."""
    copied, updated = copy.deepcopy(model), []
    signed = rows * (2.0 * labels - 1.0)[:, None]
    for x, label in zip(rows, labels.tolist(), strict=True):
        before = copied.updates_ if copied.__sklearn_is_fitted__() else 0
        copied.partial_fit([x], [label], classes=[0, 1])
        updated.append(copied.updates_ > before)
    n, d = signed.shape
    A, b = np.zeros((n * d, n * d)), np.zeros(n * d)
    A[:d, :d] += r * np.eye(d)
    for t in range(n):
        here = slice(t * d, t * d + d)
        if updated[t]:
            A[here, here] += np.outer(signed[t], signed[t])
            b[here] += signed[t]
        if t + 1 < n:
            there = slice(t * d + d, t * d + 2 * d)
            for one, other, sign in ((here, here, 1), (there, there, 1), (here, there, -1), (there, here, -1)):
                A[one, other] += sign * r / drift * np.eye(d)
    return sum(updated) - b @ np.linalg.solve(A, b), copied


@pytest.mark.interpreted
@pytest.mark.parametrize(("drift", "r"), [(0.1, 1.0), (1e-3, 1.0), (0.02, 0.25)])
@pytest.mark.parametrize("trigger", ["margin", "mistake"])
def test_what_it_lost_is_the_least_cost_of_a_moving_classifier(drift, r, trigger):
    rows, labels = drifting(60, 3)
    model = AROW(drift=drift, r=r, trigger=trigger, fit_intercept=False, ceiling=1e6)
    cost, learned = least_cost(model, rows, labels, drift, r)
    (found,) = learned.certificates()
    assert found.observed == pytest.approx(cost, rel=1e-7)
    assert found.observed <= found.bound < 1.01 * cost


@pytest.mark.interpreted
def test_where_the_theorem_does_not_reach_the_bound_is_infinite():
    rows, labels = drifting(60, 3)
    capped = AROW(drift=0.5, ceiling=1.0).partial_fit(rows, labels)
    weighed = AROW(drift=0.01, ceiling=1e6).partial_fit(rows, labels, sample_weight=np.full(60, 2.0))
    many = AROW(drift=0.01, ceiling=1e6).partial_fit(*drifting(60, 3, 3))
    for model in (capped, weighed, many):
        (found,) = model.certificates()
        assert found.bound == np.inf
    assert AROW(drift=0.01, shape="diagonal").partial_fit(rows, labels).certificates() == []


@pytest.mark.interpreted
def test_variances_grow_by_the_drift_up_to_the_ceiling_and_shrink_with_what_is_learned():
    for shape in ("dense", "diagonal"):
        model = AROW(drift=0.25, ceiling=3.0, fit_intercept=False, shape=shape)
        model.partial_fit([[1.0, 0.0]], [1], classes=[0, 1])
        assert covariance(model)[1, 1] == pytest.approx(1.25)
        assert covariance(model)[0, 0] == pytest.approx(0.75)
        for _ in range(20):
            model.partial_fit([[1.0, 0.0]], [1])
        assert covariance(model)[1, 1] == pytest.approx(3.0)
        assert covariance(model)[0, 0] < 3.0


@pytest.mark.interpreted
def test_weight_k_is_k_copies_in_a_row():
    rows, labels = drifting(30, 3)
    weights = np.random.default_rng(0).integers(1, 4, 30)
    # Between copies nothing moves: the walk waits for the next row.
    one = AROW(drift=0.01, ceiling=1e6).partial_fit(rows[:1], labels[:1], classes=[0, 1], sample_weight=weights[:1])
    many = AROW(ceiling=1e6).partial_fit(
        np.repeat(rows[:1], weights[0], axis=0), np.repeat(labels[:1], weights[0]), classes=[0, 1]
    )
    assert one.coef_ == pytest.approx(many.coef_)


@pytest.mark.interpreted("diagonal")
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("shape", ["dense", "diagonal"])
def test_no_cut_file_or_question_changes_a_bit(shape, classes, tmp_path):
    rows, labels = drifting(90, 4, classes)
    options = {"drift": 0.01, "shape": shape, "average": True}
    whole, cut, single = (AROW(**options) for _ in range(3))
    foretold, slow = whole.learn_predict(rows, labels), []
    for start in range(0, 90, 7):
        cut.partial_fit(rows[start : start + 7], labels[start : start + 7])
        assert cut.ellipsoid_.log_volume == pytest.approx(cut.log_volume_)
        cut.confidence(rows[:5])
        cut.save(tmp_path / "cut")
        cut = load(tmp_path / "cut")
    for x, label in zip(rows, labels.tolist(), strict=True):
        slow.append(single.predict_one(x) if single.__sklearn_is_fitted__() else None)
        single.learn_one(x, label)
    assert foretold.tolist() == slow
    for other in (cut, single):
        assert other.coef_.tobytes() == whole.coef_.tobytes()
        assert covariance(other).tobytes() == covariance(whole).tobytes()


@pytest.mark.interpreted
@pytest.mark.parametrize("shape", ["dense", "diagonal"])
def test_features_and_labels_that_come_in_mid_stream(shape):
    rows, labels = drifting(60, 4, 3)
    model = AROW(drift=0.01, shape=shape, grow_features=True)
    model.partial_fit(sp.csr_matrix(rows[:20, :2]), labels[:20] % 2)
    assert covariance(model).shape == (3, 3)
    model.partial_fit(sp.csr_matrix(rows[20:]), labels[20:])
    S = covariance(model)
    assert S.shape == (15, 15)
    assert np.linalg.eigvalsh(S).min() > 0.0
    dense, sparse = (
        AROW(drift=0.01, shape=shape).partial_fit(kind(rows), labels) for kind in (np.asarray, sp.csr_matrix)
    )
    assert dense.coef_ == pytest.approx(sparse.coef_)


@pytest.mark.interpreted
def test_a_feature_that_comes_late_has_walked_as_far_as_one_that_was_always_there():
    rows, labels = drifting(40, 3)
    rows[:25, 1:] = 0.0
    for ceiling in (2.0, 1e6):
        late = AROW(drift=0.125, ceiling=ceiling, shape="dense", grow_features=True)
        wide = AROW(drift=0.125, ceiling=ceiling, shape="dense").partial_fit(rows, labels, classes=[0, 1])
        late.partial_fit(rows[:25, :1], labels[:25], classes=[0, 1]).partial_fit(rows[25:], labels[25:])
        assert covariance(late) == pytest.approx(covariance(wide), rel=1e-12)
        assert late.coef_ == pytest.approx(wide.coef_, rel=1e-12)
        for found, expected in zip(late.certificates(), wide.certificates(), strict=True):
            assert found.observed == pytest.approx(expected.observed, rel=1e-12)
            assert found.bound == pytest.approx(expected.bound, rel=1e-12)


@pytest.mark.interpreted
def test_what_outgrows_a_matrix_goes_on_with_its_diagonal(monkeypatch):
    monkeypatch.setattr("ellipsoid.estimators.second_order.LARGEST_WHOLE", 4)
    rows, labels = drifting(40, 6)
    model = AROW(drift=0.01, grow_features=True).partial_fit(sp.csr_matrix(rows[:20, :3]), labels[:20])
    before = np.diag(covariance(model))
    model.partial_fit(sp.csr_matrix(rows[20:21]), labels[20:21])
    assert covariance(model).shape == (7, 7)
    assert (np.diag(covariance(model))[:4] <= before + 0.0101).all()


def test_a_third_label_finds_the_two_before_as_sure_as_they_were():
    rows, labels = drifting(40, 3)
    model = AROW(drift=0.01, fit_intercept=False, shape="dense").partial_fit(rows, labels)
    sure = model.confidence(rows)
    model._core.add_label(7)
    _lead, _variance = model._leads(rows)
    scores = np.sort(model.decision_function(rows), axis=1)
    two = np.abs(scores[:, 2] - scores[:, 0]) > 0
    assert two.any()
    table = model._core.table.at(model.t_)
    z = np.hstack([-rows, rows, np.zeros_like(rows)])
    v = np.einsum("ni,ij,nj->n", z, table.covariance() * np.exp(table.numbers[0]), z)
    from scipy.special import ndtr

    assert ndtr(np.abs(z @ model.coef_.ravel()) / np.sqrt(v)) == pytest.approx(sure)


@pytest.mark.slow
@pytest.mark.parametrize("drift", [1e-6, 1e-3, 0.1])
def test_a_million_rows_leave_a_covariance(drift):
    rng = np.random.default_rng(0)
    base = rng.normal(size=(1000, 9)) @ rng.normal(size=(9, 10))  # of rank 9: one direction is never met
    model = AROW(drift=drift, fit_intercept=False, shape="dense")
    for i in range(1000):
        rows = base * 10.0 ** rng.integers(-2, 2)
        model.partial_fit(
            rows, (rows @ np.sin(np.arange(10) + i / 50.0) > 0).astype(int) ^ (rng.random(1000) < 0.1), classes=[0, 1]
        )
    S = covariance(model)
    assert (S == S.T).all()
    assert np.linalg.eigvalsh(S).min() > 0.0
    assert np.diag(S).max() <= 10.0
    assert model.t_ == 1_000_000


@pytest.mark.parametrize("scale", [1e8, 1e77, 1e140])
def test_long_rows_leave_no_variance_below_zero(scale, tmp_path):
    """All that they leave along themselves is rounding, which a file of a Gaussian must not hold with a minus."""
    rng = np.random.default_rng(5)
    for _ in range(20):
        X, y = scale * rng.normal(size=(6, 1)), rng.integers(0, 2, 6)
        model = AROW(drift=0.001, fit_intercept=False).partial_fit(X, y, classes=[0, 1])
        assert model._core.table.B.diagonal().min() >= 0.0
        model.save(tmp_path / "model")
        other = load(tmp_path / "model")
        assert np.isfinite(model.decision_function(X)).all()
        assert model.confidence(X).tobytes() == other.confidence(X).tobytes()


@pytest.mark.parametrize(("options", "sentence"), [
    ({"drift": -1.0}, "drift must be non-negative"), ({"drift": 1e-20}, "drift must be 0, or"),
    ({"drift": 0.1, "ceiling": 0.0}, "ceiling must be positive"), ({"drift": 0.1, "kernel": "rbf"}, "linear learners"),
    ({"drift": 0.1, "shape": "sketch"}, "shape must be one of"), ({"drift": 0.1, "selective": True}, "contradict"),
])  # fmt: skip
def test_parameters_out_of_range_are_refused(options, sentence):
    with pytest.raises(ValueError, match=sentence):
        AROW(**options).partial_fit(X, Y)


@pytest.mark.interpreted
def test_forged_files_are_refused(tmp_path):
    for shape, name in (("dense", "B"), ("diagonal", "touched"), ("diagonal", "B")):
        AROW(drift=0.1, shape=shape).partial_fit(X, Y).save(tmp_path / "model")
        content = container.read(tmp_path / "model")
        for change in (lambda a: a[:, :1], lambda a: np.triu(a) - 7.0):
            arrays = {**content.arrays, name: change(content.arrays[name])}
            if name == "touched" and arrays[name].shape == content.arrays[name].shape:
                continue
            container.write(tmp_path / "forged", content.header, arrays)
            with pytest.raises(DamagedModel):
                load(tmp_path / "forged")
