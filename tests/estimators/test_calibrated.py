"""``Calibrated``: probabilities from scores, learned row by row before the row is known."""

import copy
import pickle
from collections import deque

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.utils.estimator_checks import check_estimator

from ellipsoid import (
    MIRA,
    Calibrated,
    DamagedModel,
    EllipsoidalSVC,
    EllipsoidClassifier,
    PassiveAggressive,
    PassiveAggressiveRegressor,
    Perceptron,
    Scaled,
    Winnow,
    load,
)
from ellipsoid.estimators import LEARNERS
from ellipsoid.estimators.files import container
from ellipsoid.estimators.wrappers.calibration import Calibration, log_probabilities

from .expected_failures import GEOMETRY, SHUFFLED

HALF = 0.5
MODELS = {
    "PA": PassiveAggressive(),
    "average": PassiveAggressive(average=True),
    "scaled": Scaled(PassiveAggressive()),
    "ellipsoid": EllipsoidClassifier(),
}


def known(model):
    """All that a calibration has learned, to the last bit."""
    return model.calibration_.table.tobytes(), model.calibration_.spread.tobytes(), model.classes_.tolist(), model.t_


def made_scores(n, slope, biases, seed=0):
    """Scores of as many labels as there are biases, and labels drawn with the probabilities that they stand for."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(n, len(biases)))
    chances = np.exp(log_probabilities(slope * scores + biases))
    return scores, (chances.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1).astype(np.int64)


def log_loss(logits, codes):
    return -log_probabilities(logits)[np.arange(len(codes)), codes].mean()


# -- the mathematics ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("biases", [[0.5, -0.5], [1.0, 0.0, -1.0], [0.0] * 6])
def test_the_log_loss_of_a_stream_comes_close_to_the_best_in_hindsight(biases):
    scores, codes = made_scores(4000, 2.0, biases)
    calibration = Calibration(1.0)
    calibration.reserve(len(biases))
    reached = log_loss(calibration.learn(scores, codes, HALF), codes)
    best = minimize(lambda v: log_loss(v[0] * scores + v[1:], codes), np.r_[1.0, biases]).fun
    # Each of d parameters costs about log(n) / 2n, and some more as the first rows count little.
    assert best < reached < best + 2.0 * (1 + len(biases)) * np.log(4000) / 4000


@given(st.integers(-900, 900), st.integers(0, 9))
def test_the_scale_of_scores_does_not_matter(power, seed):
    scores, codes = made_scores(30, 1.0, [0.0, 0.3, 0.1], seed)
    one, other = Calibration(1.0), Calibration(1.0)
    for each in (one, other):
        each.reserve(3)
    assert np.array_equal(one.learn(scores, codes, HALF), other.learn(np.ldexp(scores, power), codes, HALF))


def test_one_score_is_two_opposite_ones():
    scores, codes = made_scores(200, 1.0, [0.2, -0.2])
    one, two = Calibration(0.99), Calibration(0.99)
    for each in (one, two):
        each.reserve(2)
    single = scores[:, 1:] - scores[:, :1]
    both = two.learn(np.hstack([-HALF * single, HALF * single]), codes, HALF)
    assert np.array_equal(one.learn(single, codes, HALF), both)


def test_what_is_forgotten_follows_a_stream_that_turns():
    parts = [made_scores(1500, 1.0, biases) for biases in ([2.0, -2.0], [-2.0, 2.0])]
    scores, codes = (np.concatenate(both) for both in zip(*parts, strict=True))
    kept, fleeting = Calibration(1.0), Calibration(0.99)
    for each in (kept, fleeting):
        each.reserve(2)
    late = slice(1700, None)
    losses = [log_loss(one.learn(scores, codes, HALF)[late], codes[late]) for one in (kept, fleeting)]
    assert losses[1] < losses[0]


@given(
    st.lists(st.tuples(st.sampled_from([0.0, 1.0, -1e300, 1e300, 1e-300, -5e-324, np.inf, -np.inf, np.nan]),
                       st.floats(-1e308, 1e308), st.floats(-1.0, 1.0), st.integers(0, 2)), min_size=1, max_size=12),
    st.sampled_from([1.0, 0.5, 1e-9]),
)  # fmt: skip
@example([(0.0, 0.0, 2.225073858507e-311, 0)], 1.0)
@example([(0.0, 1.0, 0.0, 0), (0.0, 0.0, 5e-324, 1)], 1e-9)
def test_probabilities_are_probabilities_whatever_the_scores(rows, forget):
    scores, codes = np.array([row[:3] for row in rows]), np.array([row[3] for row in rows])
    calibration = Calibration(forget)
    calibration.reserve(3)
    for logits in (calibration.learn(scores, codes, HALF), calibration.logits(scores, HALF)):
        told = log_probabilities(logits)
        assert np.isfinite(told).all()
        assert np.abs(np.exp(told).sum(axis=1) - 1.0).max() < 1e-12
    assert np.isfinite(calibration.table).all()
    assert calibration.table[0, 0] > 0.0


# -- the estimator -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("name", MODELS)
def test_no_cut_changes_a_bit_and_predictions_are_those_of_before(name, classes, blobs):
    X, y = blobs
    y = (y % classes)[:60]
    whole, cut, single = (Calibrated(MODELS[name]) for _ in range(3))
    foretold = whole.learn_predict(X[:60], y)
    slow = []
    for a, b in ((0, 1), (1, 20), (20, 60)):
        cut.partial_fit(X[a:b], y[a:b])
    for x, label in zip(X, y.tolist(), strict=False):
        slow.append(single.predict_one(x) if single.__sklearn_is_fitted__() else None)
        single.learn_one(x, label)
    assert known(whole) == known(cut) == known(single)
    assert foretold.tolist() == slow
    assert whole.mistakes_ == clone(MODELS[name]).partial_fit(X[:60], y).mistakes_


def test_sparse_rows_and_dicts_learn_the_same(blobs):
    X, y = blobs
    dense, sparse, named = (Calibrated(PassiveAggressive(average=True)) for _ in range(3))
    dense.partial_fit(X, y)
    sparse.partial_fit(sp.csr_matrix(X), y)
    for x, label in zip(X, y.tolist(), strict=True):
        named.learn_one({str(j): v for j, v in enumerate(x.tolist())}, label)
    for other in (sparse, named):
        assert np.allclose(other.calibration_.table, dense.calibration_.table)
    told = named.predict_proba_one({str(j): v for j, v in enumerate(X[0].tolist())})
    assert list(told) == dense.classes_.tolist()
    assert np.allclose(list(told.values()), dense.predict_proba(X[:1])[0])


def test_names_that_come_in_mid_stream_behind_a_scaler():
    model = Calibrated(Scaled(PassiveAggressive()))
    for x, y in [({"rain": 3.0}, "wet"), ({"sun": 2.0}, "dry"), ({"sun": 1.0, "wind": 4.0}, "dry")] * 5:
        model.learn_one(x, y)
    assert model.predict_one({"rain": 2.0}) == "wet"
    assert model.predict_proba_one({"rain": 2.0, "snow": 1.0})["wet"] > 0.5


def test_prediction_decision_and_probability_agree_and_order_is_the_learners(blobs):
    X, y = blobs
    three, two = Calibrated(MIRA()).partial_fit(X, y), Calibrated(MIRA()).partial_fit(X, y % 2)
    for model in (three, two):
        assert np.array_equal(model.predict(X), model.classes_[model.predict_proba(X).argmax(axis=1)])
        assert np.allclose(np.log(model.predict_proba(X)), model.predict_log_proba(X))
    assert np.array_equal(two.decision_function(X) > 0.0, two.predict(X) == two.classes_[1])
    own = np.argsort(two.learner_.decision_function(X), kind="stable")
    assert (np.diff(two.decision_function(X)[own]) >= 0.0).all()


@pytest.mark.interpreted
@pytest.mark.parametrize(
    "learner", [Winnow(), Winnow(average=True), Scaled(Winnow())], ids=["plain", "average", "scaled"]
)
def test_a_learner_with_a_row_for_each_of_two_labels_says_the_same_at_every_door(learner):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 4))
    y = (X[:, 0] + 1.5 * rng.standard_normal(60) > 1.2).astype(int)
    singly, model = Calibrated(learner), Calibrated(learner)
    told = []
    for x, label in zip(X, y, strict=True):
        told.append(singly.predict_one(x) if hasattr(singly, "learner_") else None)
        singly.learn_one(x, label)
    assert model.learn_predict(X, y).tolist() == told
    assert known(model) == known(singly)
    chances = model.predict_proba(X)
    assert [model.predict_one(x) for x in X] == model.predict(X).tolist()
    assert model.predict(X).tolist() == model.classes_[chances.argmax(axis=1)].tolist()
    assert [list(model.predict_proba_one(x).values()) for x in X] == chances.tolist()
    # What the slope was learned for is what it is used with: scores at twice their size would have another log loss.
    scores = np.outer(model.learner_.decision_function(X), [-HALF, HALF])
    logits = np.log(chances)
    steep = model.slope_ / model.scale_
    np.testing.assert_allclose(logits[:, 1] - logits[:, 0], np.diff(steep * scores + model.biases_)[:, 0], atol=1e-9)


def test_one_known_label_is_certain_and_a_new_one_is_possible(blobs):
    X, _ = blobs
    model = Calibrated(PassiveAggressive()).partial_fit(X[:3], ["a"] * 3)
    assert model.predict_proba(X[:2]).tolist() == [[1.0], [1.0]]
    model.learn_one(X[3], "b")
    assert model.predict_proba(X[:2]).shape == (2, 2)
    model.partial_fit(X[4:9], list("abcab"))
    assert (model.predict_proba(X) > 0.0).all()
    assert model.predict_proba(X).shape == (120, 3)


def test_fit_judges_by_scores_of_rows_that_were_not_learned_yet():
    # Labels without any rhyme, more features than rows: what was learned by heart says nothing of another row.
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(80, 100)), rng.integers(0, 2, 80)
    model = Calibrated(PassiveAggressive(variant="hard", n_epochs=20), random_state=0).fit(X, y)
    assert model.learner_.score(X, y) == 1.0
    assert model.predict_proba(rng.normal(size=(500, 100))).max(axis=1).mean() < 0.75


@pytest.mark.parametrize(
    ("model", "expected"),
    [(Calibrated(Perceptron(n_epochs=2)), SHUFFLED), (Calibrated(Scaled(MIRA())), SHUFFLED | GEOMETRY)],
    ids=["Perceptron", "MIRA, scaled"],
)
def test_scikit_learn_finds_nothing(model, expected, monkeypatch):
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")
    results = check_estimator(model, expected_failed_checks=expected, on_fail=None, on_skip=None)
    assert {r["check_name"]: r["exception"] for r in results if r["status"] not in ("passed", "xfail")} == {}
    assert {r["check_name"] for r in results if r["status"] == "xfail"} <= set(expected)
    assert len(results) > 40


@pytest.mark.parametrize("scaled", [False, True])
def test_weights_are_the_learners(scaled, blobs):
    X, y = blobs
    weight = np.random.default_rng(1).choice([0.0, 0.5, 1.0, 3.0], len(y))
    learner = Scaled(PassiveAggressive(C=0.1)) if scaled else PassiveAggressive(C=0.1)
    alone = clone(learner).partial_fit(X, y, classes=range(3), sample_weight=weight)
    whole = Calibrated(learner).partial_fit(X, y, classes=range(3), sample_weight=weight)
    assert (whole.learner_.coef_ == alone.coef_).all()
    there = np.flatnonzero(weight)
    without = Calibrated(learner).partial_fit(X[there], y[there], classes=range(3), sample_weight=weight[there])
    piecemeal, single = Calibrated(learner), Calibrated(learner).partial_fit(X[:1], y[:1], range(3), weight[:1])
    for start in range(0, len(y), 7):
        part = slice(start, start + 7)
        piecemeal.partial_fit(X[part], y[part], classes=range(3) if start == 0 else None, sample_weight=weight[part])
    if weight[0] == 0.0:
        single = Calibrated(learner).partial_fit(X[there[:1]], y[there[:1]], range(3), weight[there[:1]])
    for row, label, one in zip(X[there[1:]], y[there[1:]], weight[there[1:]], strict=True):
        single.learn_one(row, label, weight=one)
    for other in (without, piecemeal, single):
        assert (other.predict_proba(X) == whole.predict_proba(X)).all()


@pytest.mark.parametrize("name", ["PA", "scaled"])
def test_files_and_copies_go_on_where_it_stopped(name, blobs, tmp_path):
    X, y = blobs
    whole = Calibrated(MODELS[name], forget=0.99).partial_fit(X, y)
    half = Calibrated(MODELS[name], forget=0.99).partial_fit(X[:60], y[:60])
    half.save(tmp_path / "half")
    for again in (load(tmp_path / "half"), copy.deepcopy(half), pickle.loads(pickle.dumps(half))):
        assert again.forget == 0.99
        for x, label in zip(X[60:], y[60:].tolist(), strict=True):
            again.learn_one(x, label)
        assert known(again) == known(whole)


def test_a_forged_calibration_is_refused(blobs, tmp_path):
    X, y = blobs
    Calibrated(PassiveAggressive()).partial_fit(X, y).save(tmp_path / "model")
    content = container.read(tmp_path / "model")
    for name, row, value in (("calibration_table", (0, 0), -1.0), ("calibration_table", (1, 1), -1.0),
                             ("calibration_spread", 0, -1.0)):  # fmt: skip
        arrays = {key: array.copy() for key, array in content.arrays.items()}
        arrays[name][row] = value
        container.write(tmp_path / "forged", content.header, arrays)
        with pytest.raises(DamagedModel, match="calibration"):
            load(tmp_path / "forged")
    header = {**content.header, "calibration": {"params": {"forget": 2.0}, "forget": 1.0}}
    container.write(tmp_path / "forged", header, content.arrays)
    with pytest.raises(DamagedModel, match="impossible rate"):
        load(tmp_path / "forged")


@pytest.mark.parametrize("model", [*(learner() for learner in LEARNERS.values()), Scaled(MIRA())], ids=repr)
def test_an_error_about_probabilities_names_the_wrapper_that_has_them(model):
    for name in ("predict_proba", "predict_log_proba", "predict_proba_one"):
        assert not hasattr(model, name)
        with pytest.raises(AttributeError, match=rf"Calibrated\({type(model).__name__}\(\.\.\.\)\)"):
            getattr(model, name)


def test_what_it_cannot_wrap_or_learn_is_refused_with_a_sentence(blobs):
    X, y = blobs
    for model, sentence in (
        (Calibrated(EllipsoidalSVC()), "takes an online learner"),
        (Calibrated(MIRA(), forget=0.0), "forget must be above 0 and at most 1, got 0.0"),
        (Calibrated(MIRA(), forget=1.5), "forget must be"),
        (Scaled(Calibrated(MIRA())), r"Calibrated\(Scaled\(learner\)\)"),
        (Calibrated(PassiveAggressiveRegressor()), "gives probabilities of labels"),
    ):
        for call in (model.fit, model.partial_fit, model.learn_predict):
            with pytest.raises(ValueError, match=sentence):
                call(X, y)
        assert "learner_" not in vars(model)
    with pytest.raises(ValueError, match="requires y"):
        Calibrated(MIRA()).learn_predict(X, None, sample_weight=[0.0] + [1.0] * (len(X) - 1))
    with pytest.raises(ValueError, match="y must be 1-D"):
        Calibrated(LEARNERS["AROW"]()).partial_fit(X, np.eye(3)[y])


def test_a_call_that_breaks_off_leaves_learner_and_calibration_at_the_same_row(blobs):
    X, y = blobs
    calls = []

    def kernel(A, B):
        calls.append(len(A))
        if len(calls) > 40:
            raise RuntimeError("enough")
        return A @ B.T

    model = Calibrated(PassiveAggressive(kernel=kernel))
    with pytest.raises(RuntimeError, match="enough"):
        deque((model.partial_fit(X[i : i + 5], y[i : i + 5]) for i in range(0, 120, 5)), maxlen=0)
    whole = Calibrated(PassiveAggressive(kernel=lambda A, B: A @ B.T))
    for i in range(0, model.t_, 5):
        whole.partial_fit(X[i : i + 5], y[i : i + 5])
    assert known(model) == known(whole)


def test_river_gets_its_probabilities():
    pytest.importorskip("river")
    from ellipsoid.river import adapt

    model = adapt(Calibrated(PassiveAggressive()))
    assert model.predict_proba_one({"rain": 1.0}) == {}
    for x, y in [({"rain": 3.0}, "wet"), ({"rain": 0.0}, "dry"), ({"rain": 2.0}, "wet")]:
        model.learn_one(x, y)
    assert sum(model.predict_proba_one({"rain": 3.0}).values()) == pytest.approx(1.0)
    with pytest.raises(NotImplementedError, match="Calibrated"):
        adapt(PassiveAggressive()).predict_proba_one({"rain": 3.0})
