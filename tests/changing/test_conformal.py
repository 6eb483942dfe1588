"""``Conformal``: misses come to their share on every stream, and sets are kept as any other thing that is learned."""

import copy
import pickle
from collections import deque
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.utils.estimator_checks import check_estimator

from ellipsoid import (
    AROW,
    MIRA,
    Calibrated,
    Committee,
    Conformal,
    DamagedModel,
    PassiveAggressive,
    PassiveAggressiveRegressor,
    Perceptron,
    Scaled,
    Winnow,
    load,
    prequential,
)
from ellipsoid.estimators.files import container
from ellipsoid.estimators.wrappers.conformity import LEVEL, MISSES, Conformity, nonconformities

from .conftest import drifting

MODELS = {
    "PA": PassiveAggressive(C=0.1),
    "average": PassiveAggressive(C=0.1, average=True),
    "scaled": Scaled(PassiveAggressive(C=0.1)),
    "committee": Committee([PassiveAggressive(C=0.1), PassiveAggressive()]),
}


def known(model):
    return [array.tobytes() for array in model.conformity_.state().values()], model.t_


@pytest.mark.interpreted
def test_the_golden_run():
    conformity = Conformity(0.25, 0.1, 4)
    levels, thresholds = [], []
    for odd in (0.3, 0.1, 0.9, 0.4, 0.2, 1.5, 0.6, 0.05):
        thresholds += conformity.learn(np.array([odd])).tolist()
        levels.append(conformity.numbers[LEVEL])
    assert thresholds == [np.inf] * 3 + [0.9, 0.9, 0.9, 1.5, 1.5]
    assert conformity.numbers[MISSES] == 1
    assert levels == pytest.approx([0.275, 0.3, 0.325, 0.35, 0.375, 0.3, 0.325, 0.35])


@pytest.mark.interpreted
@given(
    # Scores are cut to 1e300 either way before they come here: nothing comes that is no larger than -inf.
    st.lists(st.floats(-1e300, 1e300) | st.sampled_from([np.inf, 0.0]), min_size=1, max_size=60),
    st.sampled_from([0.01, 0.1, 0.5, 0.9]), st.sampled_from([0.001, 0.02, 0.5, 1.7e308]), st.sampled_from([1, 2, 7]),
    st.integers(0, 60),
)  # fmt: skip
def test_the_share_of_misses_is_as_near_as_the_theorem_says_whatever_comes(odd, miscoverage, rate, window, cut):
    whole, parts = Conformity(miscoverage, rate, window), Conformity(miscoverage, rate, window)
    rows = np.array(odd)
    thresholds = whole.learn(rows)
    assert np.concatenate([parts.learn(rows[:cut]), parts.learn(rows[cut:])]).tobytes() == thresholds.tobytes()
    assert int((rows > thresholds).sum()) == whole.numbers[MISSES]
    observed, bound = whole.bound()
    assert observed <= bound
    held = min(len(rows), window)
    assert whole.ordered[:held].tolist() == sorted(rows[-held:].tolist())


@pytest.mark.interpreted
def test_an_adversary_who_knows_the_threshold_cannot_exceed_the_bound():
    conformity = Conformity(0.1, 0.02, 50)
    for _ in range(2000):
        threshold = conformity.threshold
        conformity.learn(np.array([threshold + 1.0 if abs(threshold) < np.inf else 0.0]))
    observed, bound = conformity.bound()
    assert observed <= bound < 0.03


def test_the_sets_of_a_learner_miss_as_often_as_is_asked_for(hostile):
    X, y = hostile
    model = Conformal(PassiveAggressive(C=0.1), miscoverage=0.2, rate=0.1, window=20).partial_fit(
        X, y, classes=np.unique(y)
    )
    distance = model.certificates()[0]
    assert distance.observed <= distance.bound
    assert model.judged_ == len(y)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("name", MODELS)
def test_no_cut_changes_a_bit_and_sets_are_those_of_before(name, classes):
    X, y = drifting(80, 4, classes)
    whole, cut, single = (Conformal(MODELS[name], window=20) for _ in range(3))
    told, sizes, held = whole.learn_predict_set(X, y)
    foretold = cut.learn_predict(X[:30], y[:30])
    cut.partial_fit(X[30:], y[30:])
    for i, (x, label) in enumerate(zip(X, y.tolist(), strict=True)):
        if single.__sklearn_is_fitted__():
            found = single.predict_set_one(x)
            assert len(found) == sizes[i]
            assert held[i] == (label in found) or label not in single.classes_
            assert single.predict_one(x) == told[i]
        single.learn_one(x, label)
    assert foretold.tolist() == told[:30].tolist()
    assert known(whole) == known(cut) == known(single)
    assert (whole.predict_set(X).sum(axis=1) == [len(whole.predict_set_one(x)) for x in X]).all()


def test_a_set_holds_the_predicted_label_unless_it_is_empty():
    X, y = drifting(120, 4, 3)
    model = Conformal(MIRA(), miscoverage=0.3, window=30).partial_fit(X, y)
    sets, codes = model.predict_set(X), np.searchsorted(np.sort(model.classes_), model.predict(X))
    order = np.argsort(model.classes_)
    assert (sets[:, order][np.arange(len(X)), codes] | ~sets.any(axis=1)).all()
    assert nonconformities(np.array([[1.0, 1.0, 0.0]]), 3).tolist() == [[0.0, 0.0, 1.0]]


@pytest.mark.parametrize("scaled", [False, True])
def test_intervals_of_a_regressor(scaled):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    y = X @ [1.0, -2.0, 0.5] + rng.standard_t(2, 400)
    learner = PassiveAggressiveRegressor(C=0.01)
    model, single = (Conformal(Scaled(learner) if scaled else learner, window=50) for _ in range(2))
    _told, low, high = model.learn_predict_interval(X, y)
    for i in range(150):
        if i:
            assert single.predict_interval_one(X[i]) == (low[i], high[i])
        single.learn_one(X[i], y[i])
    assert model.misses_ == int(((y < low) | (y > high)).sum())
    distance = model.certificates()[0]
    assert distance.observed <= distance.bound
    assert (model.predict_interval(X).mean(axis=1) == pytest.approx(model.predict(X))) or np.isinf(model.threshold_)
    run = prequential(Conformal(Scaled(learner) if scaled else learner, window=50), (X, y))
    assert run.coverage == pytest.approx(1.0 - model.misses_ / 400)
    assert run.half_width > 0.0
    with pytest.raises(AttributeError, match="intervals instead of sets"):
        model.predict_set(X)


@pytest.mark.interpreted
@pytest.mark.parametrize("size", [1.0, 1e9])
def test_a_number_counts_as_covered_if_it_lies_in_the_returned_interval(size):
    """Numbers whose distance from the prediction, added to it again, is rounded to less than they are."""
    rng = np.random.default_rng(0)
    regressor = PassiveAggressiveRegressor(tube=size, C=1e6, fit_intercept=False)
    model = Conformal(regressor, miscoverage=0.1, rate=0.1, window=50).partial_fit([[1.0]], [-1.7123 * size])
    told = model.predict_one([1.0])
    number = next(b for b in 0.28 * size * rng.random(1000) if told + abs(b - told) < b)
    y = np.full(300, number)
    _, low, high = model.learn_predict_interval(np.ones((300, 1)), y)
    missed = ~((low <= y) & (y <= high))
    assert model.misses_ == missed.sum()
    assert abs((missed.sum() / model.judged_) - 0.1) <= model.certificates()[0].bound
    assert missed.mean() == pytest.approx(0.1, abs=0.05)
    assert np.isfinite(high).mean() > 0.7  # and not by intervals without an end


def test_prequential_counts_rows_that_were_answered():
    X, y = drifting(300)
    run = prequential(Conformal(PassiveAggressive(C=0.1), miscoverage=0.2, window=50), (X, y), chunk_size=64)
    told, sizes, held = Conformal(PassiveAggressive(C=0.1), miscoverage=0.2, window=50).learn_predict_set(X, y)
    assert run.errors == int((told != y).sum())
    single = sizes == 1
    assert run.answered == pytest.approx(single.mean())
    assert run.answered_error == pytest.approx((told != y)[single].mean())
    assert run.coverage == pytest.approx(held.mean())
    plain = prequential(PassiveAggressive(C=0.1), (X, y))
    assert np.isnan(plain.answered)


@pytest.mark.interpreted
@pytest.mark.parametrize("delay", [0, 4])
@pytest.mark.parametrize("named", [False, True], ids=["arrays", "dicts"])
@pytest.mark.parametrize("learner", [PassiveAggressive(C=0.1), PassiveAggressiveRegressor()], ids=["sets", "intervals"])
def test_prequential_counts_sets_of_dicts_and_of_rows_whose_labels_come_late(learner, named, delay):
    X, y = drifting(40)
    rows = [{"a": a, "b": b} if t < 20 else {"a": a, "b": b, "c": c} for t, (a, b, c, _) in enumerate(X.tolist())]
    rows = rows if named else X
    make = partial(Conformal, learner, miscoverage=0.3, window=10, rate=0.1)
    model, held, single = make(), [], []
    for t in range(40):
        if t > delay:
            model.learn_one(rows[t - delay - 1], y[t - delay - 1])
        if t <= delay:  # nothing was learned, and nothing is told
            continue
        if isinstance(learner, PassiveAggressive):
            told = model.predict_set_one(rows[t])
            held.append(y[t] in told)
            single.append(len(told) == 1)
        else:
            low, high = model.predict_interval_one(rows[t])
            held.append(low <= y[t] <= high)
    stream = list(zip(rows, y.tolist(), strict=True)) if named else (X, y)
    for size in (3, 40):
        run = prequential(make(), stream, delay=delay, chunk_size=size)
        if single:
            assert (run.covered_rows, run.answered_rows) == (sum(held), sum(single))
            assert run.answered_errors <= run.errors
        elif named or delay:
            assert run.coverage == pytest.approx(np.mean(held))


@pytest.mark.parametrize("name", [*MODELS, "regressor"])
def test_files_and_copies_go_on_where_it_stopped(name, tmp_path):
    X, y = drifting(60)
    learner = MODELS.get(name, Scaled(PassiveAggressiveRegressor()))
    whole = Conformal(learner, window=15, rate=0.1).partial_fit(X, y)
    half = Conformal(learner, window=15, rate=0.1).partial_fit(X[:40], y[:40])
    half.save(tmp_path / "half")
    for again in (load(tmp_path / "half"), copy.deepcopy(half), pickle.loads(pickle.dumps(half))):
        assert (again.window, again.rate) == (15, 0.1)
        again.partial_fit(X[40:], y[40:])
        assert known(again) == known(whole)
        assert again.threshold_ == whole.threshold_


def test_forged_files_are_refused(tmp_path):
    X, y = drifting(40)
    Conformal(PassiveAggressive(), window=15).partial_fit(X, y).save(tmp_path / "model")
    content = container.read(tmp_path / "model")
    for name, change in (
        ("conformal_recent", lambda a: a[:3]), ("conformal_counts", lambda a: a - 10.0), ("conformal_counts",
        lambda a: a[:2]),
    ):  # fmt: skip
        container.write(tmp_path / "forged", content.header, {**content.arrays, name: change(content.arrays[name])})
        with pytest.raises(DamagedModel):
            load(tmp_path / "forged")
    described = {**content.header["conformal"], "started": [0.1, 0.02, 10**9]}
    container.write(tmp_path / "forged", {**content.header, "conformal": described}, content.arrays)
    with pytest.raises(DamagedModel):
        load(tmp_path / "forged")


@pytest.mark.interpreted
def test_an_error_about_probabilities_names_a_model_that_has_them():
    X, y = drifting(20)
    for learner, advice in ((MIRA(), r"Calibrated\(MIRA\("), (Scaled(MIRA()), r"Calibrated\(Scaled\(")):
        with pytest.raises(AttributeError, match=advice):
            Conformal(learner).partial_fit(X, y).predict_proba(X)
        assert Calibrated(learner).partial_fit(X, y).predict_proba(X).shape == (20, 2)
    with pytest.raises(AttributeError, match="has no predict_proba") as caught:
        Conformal(PassiveAggressiveRegressor()).predict_proba(X)
    assert "Calibrated" not in str(caught.value)


def test_what_it_cannot_wrap_is_refused_with_a_sentence():
    X, y = drifting(20)
    for model, sentence in (
        (Conformal(Calibrated(MIRA())), "takes an online learner"), (Conformal(MIRA(), miscoverage=1.0),
        "between 0 and 1"),
        (Conformal(MIRA(), miscoverage=0.0), "miscoverage must be positive"), (Conformal(MIRA(), rate=-1.0),
        "rate must be"),
        (Conformal(MIRA(), window=0), "window must be at least 1"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=sentence):
            model.partial_fit(X, y)
    with pytest.raises(AttributeError, match="sets instead of intervals"):
        Conformal(MIRA()).partial_fit(X, y).predict_interval(X)


def test_a_new_fit_may_be_of_another_kind_of_learner():
    X, y = drifting(40)
    model = Conformal(MIRA()).fit(X, y)
    model.set_params(learner=PassiveAggressiveRegressor()).fit(X, X.sum(axis=1))
    assert model.predict_interval(X).shape == (40, 2)
    model.set_params(learner=MIRA()).fit(X, y)
    assert set(model.predict(X)) <= set(y)


def test_a_call_that_breaks_off_leaves_learner_and_threshold_at_the_same_row():
    X, y = drifting(60)
    calls = []

    def kernel(A, B):
        calls.append(len(A))
        if len(calls) > 25:
            raise RuntimeError("enough")
        return A @ B.T

    for kind in (PassiveAggressive, PassiveAggressiveRegressor):
        calls.clear()
        model = Conformal(kind(kernel=kernel), window=10)
        parts = (slice(start, start + 5) for start in range(0, 60, 5))
        with pytest.raises(RuntimeError, match="enough"):
            deque((model.partial_fit(X[part], y[part]) for part in parts), maxlen=0)
        whole = Conformal(kind(kernel=lambda A, B: A @ B.T), window=10)
        for start in range(0, model.t_, 5):
            whole.partial_fit(X[start : start + 5], y[start : start + 5])
        assert known(model) == known(whole)


@pytest.mark.interpreted
@pytest.mark.parametrize("learner", [Perceptron(n_epochs=2), PassiveAggressiveRegressor(n_epochs=2)], ids=repr)
def test_scikit_learn_finds_nothing(learner, monkeypatch):
    from ..estimators.expected_failures import SHUFFLED

    monkeypatch.setenv("SCIPY_ARRAY_API", "1")
    results = check_estimator(Conformal(clone(learner)), expected_failed_checks=SHUFFLED, on_fail=None, on_skip=None)
    assert {r["check_name"]: r["exception"] for r in results if r["status"] not in ("passed", "xfail")} == {}


def test_sets_follow_a_learner_that_forgets():
    X, y = drifting(200)
    model = Conformal(AROW(drift=0.01), window=40).partial_fit(X, y)
    assert model.certificates()[1].name == "least cost of a moving classifier"


def test_a_seeded_learner_makes_the_same_sets_after_fit():
    X, y = drifting(60)
    one, other = (Conformal(MIRA(random_state=3), window=7).fit(X, y) for _ in range(2))
    assert one.conformity_.numbers.tolist() == other.conformity_.numbers.tolist()
    assert one.conformity_.recent.tolist() == other.conformity_.recent.tolist()


def test_rows_that_were_learned_are_judged_once_though_the_delivery_of_scores_was_broken_off(monkeypatch):
    """An interrupt just behind the loop: the sets have seen what the learner has learned."""
    from ellipsoid.estimators.state.predict_then_learn import PendingScores

    X, y = drifting(60)
    model, whole = (Conformal(MIRA(), window=7).partial_fit(X[:30], y[:30]) for _ in range(2))
    deliver, calls = PendingScores.deliver, []

    def interrupted(self):
        calls.append(None)
        if len(calls) == 1:
            raise KeyboardInterrupt
        deliver(self)

    monkeypatch.setattr(PendingScores, "deliver", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.partial_fit(X[30:], y[30:])
    whole.partial_fit(X[30:], y[30:])
    assert len(calls) > 2
    assert model.t_ == 60
    assert model.conformity_.numbers.tolist() == whole.conformity_.numbers.tolist()


@pytest.mark.interpreted
@pytest.mark.parametrize("learner", [Winnow(), Winnow(average=True)], ids=["plain", "average"])
def test_sets_of_a_learner_with_a_row_for_each_of_two_labels_hold_what_they_held_before_the_row(learner):
    X, y = drifting(60)
    singly, model = Conformal(learner, miscoverage=0.3), Conformal(learner, miscoverage=0.3)
    held = []
    for x, label in zip(X, y, strict=True):
        judged = hasattr(singly, "learner_") and len(singly.classes_) == 2
        held.append(label in singly.predict_set_one(x) if judged else None)
        singly.learn_one(x, label)
    assert model.learn_predict_set(X, y)[2].tolist()[5:] == held[5:]
    assert None not in held[5:]
    assert (
        (model.misses_, model.judged_) == (singly.misses_, singly.judged_) == (held.count(False), 60 - held.count(None))
    )


@pytest.mark.interpreted
def test_label_sets_are_refused_by_name():
    for way in ("fit", "partial_fit", "learn_predict", "learn_predict_set"):
        with pytest.raises(ValueError, match="Conformal takes one label or number per row"):
            getattr(Conformal(PassiveAggressive()), way)(np.eye(3), np.eye(3, dtype=int))
