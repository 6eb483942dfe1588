"""``Committee``: it loses little more than its best members, on any stream, and is a learner like any other."""

import copy
import pickle
import threading
import time

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.utils.estimator_checks import check_estimator
from threadpoolctl import threadpool_limits

from ellipsoid import (
    AROW,
    MIRA,
    Calibrated,
    Committee,
    DamagedModel,
    EllipsoidalSVC,
    PassiveAggressive,
    Perceptron,
    Scaled,
    StandardStream,
    Winnow,
    datasets,
    load,
    prequential,
)
from ellipsoid.estimators.files import container

from .conftest import drifting, known

SMALL = [PassiveAggressive(C=0.01), PassiveAggressive(C=1.0), MIRA()]


# -- what is promised --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("share", [1e-3, "decreasing", 0.0])
@pytest.mark.parametrize("mix", ["votes", "margins"])
def test_every_bound_holds_on_hostile_streams(hostile, share, mix):
    X, y = hostile
    for rate in [0.25, "adaptive"] if share == 0.0 else [0.25]:
        model = Committee(SMALL, share=share, rate=rate, mix=mix)
        wrong = int((model.learn_predict(X, y) != y).sum())
        assert model.mistakes_ >= wrong - 1  # the first row of all is foretold by nobody, and a tie is a mistake
        for k in (None, *range(61)):
            mistakes, loss = model.certificates(k)
            assert mistakes.observed <= loss.observed + 1e-9
            assert loss.observed <= loss.bound
        assert model.loss_ <= model.mean_loss_ + 1e-9


def test_one_learner_alone_is_itself():
    X, y = drifting()
    alone, committee = PassiveAggressive(C=0.1), Committee([PassiveAggressive(C=0.1)])
    assert committee.learn_predict(X, y).tolist() == alone.learn_predict(X, y).tolist()
    assert (committee.learners_[0].coef_ == alone.coef_).all()
    assert (committee.predict(X) == alone.predict(X)).all()


@pytest.mark.interpreted
@pytest.mark.parametrize("mix", ["votes", "margins"])
def test_a_member_with_a_row_for_each_of_two_labels_is_itself(mix):
    X, y = drifting(60)
    alone, committee = Winnow(), Committee([Winnow()], mix=mix)
    assert committee.learn_predict(X, y).tolist() == alone.learn_predict(X, y).tolist()
    assert committee.mistakes_ == alone.mistakes_


def test_the_best_member_is_found_and_then_another():
    X, y = drifting(150)
    right, wrong = PassiveAggressive(C=1.0), Perceptron(margin=1e9)
    model = Committee([wrong, right]).partial_fit(X, y)
    assert model.best_ == int(model.losses_.argmin())
    assert model.weights_.argmax() == model.best_
    assert model.switching_losses_[0] == model.losses_.min()


def above_the_best(X, y):
    """The share of errors of the default family behind a scaler, and by how much the best member has less."""
    model = Scaled(Committee())
    error = float((model.learn_predict(X, y) != y).mean())
    return error, error - float(model.losses_.min()) / 2.0 / len(y)


@pytest.mark.parametrize("name", ["sea", "rotating", "abrupt", "abrupt-noise"])
@pytest.mark.parametrize("seed", [0, 1])
def test_the_committee_is_nearly_as_good_as_its_best_member(name, seed):
    assert above_the_best(*datasets.stream(name, seed=seed))[1] < 0.003


@pytest.mark.long
@pytest.mark.data
def test_electricity_without_a_setting(dataset):
    data = dataset("elec2")
    error, above = above_the_best(np.ascontiguousarray(data.X, dtype=float), data.y)
    assert error <= 0.066
    assert above < 0.003


# -- a learner like any other ------------------------------------------------------------------------------------


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("mix", ["votes", "margins"])
def test_no_cut_changes_a_bit_and_predictions_are_those_of_before(classes, mix):
    X, y = drifting(90, 4, classes)
    whole, cut, single = (Committee(SMALL, mix=mix) for _ in range(3))
    foretold, slow = whole.learn_predict(X, y), []
    for a, b in ((0, 1), (1, 20), (20, 90)):
        cut.partial_fit(X[a:b], y[a:b])
    for x, label in zip(X, y.tolist(), strict=True):
        slow.append(single.predict_one(x) if single.__sklearn_is_fitted__() else None)
        single.learn_one(x, label)
    assert known(whole) == known(cut) == known(single)
    assert foretold.tolist() == slow
    assert [whole.predict_one(x) for x in X] == whole.predict(X).tolist()
    scores = whole.decision_function(X)
    assert (
        whole.classes_[(scores > 0).astype(int) if classes == 2 else scores.argmax(axis=1)] == whole.predict(X)
    ).all()


@pytest.mark.parametrize("weight", [False, True])
def test_blocks_do_not_matter(monkeypatch, weight):
    X, y = drifting(300)
    given = {"sample_weight": np.random.default_rng(0).choice([0.0, 0.5, 1.0, 2.0], 300)} if weight else {}
    learners = [PassiveAggressive(C=0.01), PassiveAggressive(C=1.0)]
    whole = Committee(learners).partial_fit(X, y, **given)
    monkeypatch.setattr("ellipsoid.estimators.wrappers.council.BLOCK_ROWS", 7)
    cut = Committee(learners).partial_fit(X, y, **given)
    assert known(whole) == known(cut)


@pytest.mark.long
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("scaled", [False, True])
def test_threads_do_not_matter(monkeypatch, classes, scaled):
    X, y = drifting(400, 4, classes)
    monkeypatch.setattr("ellipsoid.estimators.wrappers.council.BLOCK_ROWS", 150)
    learners, found, ran = [*SMALL, AROW(drift=1e-3), Perceptron() if scaled else Scaled(MIRA())], [], set()
    whole = PassiveAggressive._pass

    def seen(self, *args, **options):
        ran.add(threading.get_ident())
        time.sleep(0.002)  # another thread has time to begin
        return whole(self, *args, **options)

    monkeypatch.setattr(PassiveAggressive, "_pass", seen)
    for threads in (1, 3):
        ran.clear()
        monkeypatch.setattr("ellipsoid.estimators.wrappers.council.ROW_EFFORT", 1e9)
        model = Scaled(Committee(learners)) if scaled else Committee(learners)
        with threadpool_limits(threads, user_api="blas"):
            told = model.learn_predict(X, y)
        found.append((told.tolist(), known(model.learner_ if scaled else model)))
        assert (len(ran) > 1) == (threads > 1)
    assert found[0] == found[1]


def test_dense_sparse_and_named_rows_learn_the_same():
    X, y = drifting(60)
    dense, sparse = Committee(SMALL).partial_fit(X, y), Committee(SMALL).partial_fit(sp.csr_matrix(X), y)
    named, listed = Committee(SMALL), Committee(SMALL)
    examples = [{str(j): v for j, v in enumerate(x.tolist())} for x in X]
    for example, label in zip(examples, y.tolist(), strict=True):
        named.learn_one(example, label)
    listed.partial_fit(examples, y)
    for other in (sparse, named, listed):
        assert other.losses_.tolist() == dense.losses_.tolist()
        assert other.weights_ == pytest.approx(dense.weights_)
    assert named.predict_one(examples[0]) == dense.predict(X[:1])[0]


def test_scaled_in_front_scales_for_all_members():
    X, y = drifting(80)
    raw = X * [1.0, 100.0, 0.01, 3.0] + [0.0, 50.0, 1.0, -2.0]
    one, each = Scaled(Committee(SMALL)), Committee([Scaled(clone(member)) for member in SMALL])
    assert one.learn_predict(raw, y).tolist() == each.learn_predict(raw, y).tolist()
    assert one.weights_.tolist() == each.weights_.tolist()
    assert (one.predict(raw) == each.predict(raw)).all()
    with pytest.raises(ValueError, match="not in Scaled"):
        Scaled(Committee([Scaled(MIRA())])).partial_fit(raw, y)


@pytest.mark.interpreted
@pytest.mark.parametrize("mix", ["votes", "margins"])
def test_members_behind_a_scaler_are_judged_by_what_they_said_at_every_door(mix):
    """A row was foretold as the rows before it scale it; nobody is judged by what he would have said otherwise."""
    X, y = drifting(30, seed=1)
    X = X * [1.0, 10.0, 0.1, 3.0] + [0.0, 5.0, 0.0, -1.0]
    members = [PassiveAggressive(C=0.01), PassiveAggressive()]
    told, passed, single = (Scaled(Committee(members, mix=mix)) for _ in range(3))
    told.learn_predict(X, y)
    passed.partial_fit(X[:1], y[:1]).partial_fit(X[1:], y[1:])
    for x, label in zip(X, y.tolist(), strict=True):
        single.learn_one(x, label)
    assert known(told.learner_) == known(passed.learner_) == known(single.learner_)
    examples = [{str(j): v for j, v in enumerate(x.tolist())} for x in X]
    unscaled = Scaled(Committee(members, mix=mix), scaler=StandardStream(with_mean=False))
    named, listed, watched = clone(unscaled), clone(unscaled), clone(unscaled)
    watched.learn_predict(sp.csr_matrix(X), y)
    listed.partial_fit(examples, y)
    for example, label in zip(examples, y.tolist(), strict=True):
        named.learn_one(example, label)
    assert named.losses_.tolist() == listed.losses_.tolist()
    assert known(named.learner_) == known(listed.learner_)
    assert listed.losses_ == pytest.approx(watched.losses_)


@pytest.mark.interpreted
def test_labels_that_come_late_are_held_against_their_own_rows():
    X, y = drifting(30)
    late, told = Committee([PassiveAggressive(C=0.01), PassiveAggressive()]), []
    run = prequential(late, (X, y), delay=3)
    slow = clone(late)
    for i in range(30):
        told.append(slow.predict(X[i : i + 1])[0] if slow.__sklearn_is_fitted__() else None)
        if i >= 3:
            slow.partial_fit(X[i - 3 : i - 2], y[i - 3 : i - 2])
    slow.partial_fit(X[27:], y[27:])
    assert known(late) == known(slow)
    assert run.errors == sum(a != b for a, b in zip(told, y.tolist(), strict=True))


def test_names_and_labels_that_come_in_mid_stream():
    rows = [
        ({"rain": 3.0}, "wet"),
        ({"sun": 2.0}, "dry"),
        ({"sun": 1.0, "wind": 4.0}, "storm"),
        ({"rain": 2.0}, "wet"),
    ] * 5
    for model in (Committee(SMALL), Scaled(Committee(SMALL)), Committee([Scaled(MIRA()), MIRA()])):
        for x, y in rows:
            model.learn_one(x, y)
        assert model.predict_one({"rain": 2.0, "snow": 1.0}) == "wet"
        assert model.classes_.tolist() == ["wet", "dry", "storm"]
        assert model.t_ == 20


def test_probabilities_of_a_committee():
    X, y = drifting(150)
    whole, single = Calibrated(Committee(SMALL)).partial_fit(X, y), Calibrated(Committee(SMALL))
    for x, label in zip(X, y.tolist(), strict=True):
        single.learn_one(x, label)
    assert (whole.predict_proba(X) == single.predict_proba(X)).all()
    assert (whole.classes_[whole.predict_proba(X).argmax(axis=1)] == whole.predict(X)).all()


@pytest.mark.parametrize("model", [
    Committee(SMALL, share="decreasing"), Committee(SMALL, share=0, rate="adaptive", mix="margins"),
    Scaled(Committee(SMALL)), Calibrated(Scaled(Committee(SMALL))), Committee([Scaled(MIRA()), AROW(drift=0.01)]),
], ids=repr)  # fmt: skip
def test_files_and_copies_go_on_where_it_stopped(model, tmp_path):
    X, y = drifting(80)
    whole = clone(model).partial_fit(X, y)
    half = clone(model).partial_fit(X[:40], y[:40])
    half.save(tmp_path / "half")
    for again in (load(tmp_path / "half"), copy.deepcopy(half), pickle.loads(pickle.dumps(half))):
        assert repr(again) == repr(half) or "Scaled" in repr(half)
        again.partial_fit(X[40:], y[40:])
        assert again.weights_.tolist() == whole.weights_.tolist()
        assert again.switching_losses_.tolist() == whole.switching_losses_.tolist()
        assert (again.predict(X) == whole.predict(X)).all()


@pytest.mark.interpreted
@pytest.mark.parametrize("weight", [1.0, 2.0])
def test_a_file_without_the_total_of_its_weights_goes_on_with_a_bound_that_holds(tmp_path, weight):
    X, y = drifting(40)
    heavy = np.full(40, weight)
    model = Committee([PassiveAggressive(C=0.01), PassiveAggressive()], share=0).partial_fit(X, y, sample_weight=heavy)
    model.save(tmp_path / "model")
    content = container.read(tmp_path / "model")
    arrays = {**content.arrays, "committee_counts": content.arrays["committee_counts"][:6]}
    arrays["committee_weights"] = np.array([0.0, 1.0])
    container.write(tmp_path / "old", content.header, arrays)
    old = load(tmp_path / "old")
    assert old.switching_bounds_.min() >= model.switching_bounds_.min()
    assert old.switching_bounds_.min() == pytest.approx(model.switching_bounds_.min()) or weight != 1.0
    mistakes, loss = old.partial_fit(X, 1 - y, sample_weight=100.0 * heavy).certificates()
    assert np.isfinite(old.weights_).all()
    assert max(mistakes.observed, loss.observed) <= loss.bound < np.inf


def test_forged_files_are_refused(tmp_path):
    X, y = drifting(40)
    Committee(SMALL).partial_fit(X, y).save(tmp_path / "model")
    content = container.read(tmp_path / "model")

    def forged(name, change):
        arrays = {key: array.copy() for key, array in content.arrays.items()}
        arrays[name] = change(arrays[name])
        container.write(tmp_path / "forged", content.header, arrays)
        with pytest.raises(DamagedModel):
            load(tmp_path / "forged")

    forged("committee_weights", lambda p: p * 2.0)
    forged("committee_weights", lambda p: p[:2])
    forged("committee_best", lambda B: -B - 1.0)
    forged("1.W", lambda W: W[:, :2])
    forged("1.tally", lambda tally: tally + np.eye(len(tally))[0])
    for header in ({**content.header, "members": []}, {**content.header, "members": content.header["members"][:2]}):
        container.write(tmp_path / "forged", header, content.arrays)
        with pytest.raises(DamagedModel):
            load(tmp_path / "forged")


def test_an_interrupt_leaves_all_members_at_the_same_row(monkeypatch):
    import os
    import signal

    X, y = drifting(60)
    monkeypatch.setattr("ellipsoid.estimators.wrappers.council.BLOCK_ROWS", 64)
    monkeypatch.setattr("ellipsoid.estimators.wrappers.council.BLOCK_NUMBERS", 1)
    X, y = np.tile(X, (5, 1)), np.tile(y, 5)
    model, calls = Committee(SMALL), []
    whole = MIRA._pass

    def once_interrupted(self, *args, **options):
        calls.append(1)
        if len(calls) == 3:
            os.kill(os.getpid(), signal.SIGINT)
        return whole(self, *args, **options)

    monkeypatch.setattr(MIRA, "_pass", once_interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.partial_fit(X, y)
    assert 0 < model.t_ < len(y)
    assert {member.t_ for member in model.learners_} == {model.t_}
    assert known(model) == known(Committee(SMALL).partial_fit(X[: model.t_], y[: model.t_]))


def test_what_is_refused_changes_nothing():
    X, y = drifting(40)
    model = Committee(SMALL).partial_fit(X, y)
    before = known(model)
    bad = X.copy()
    bad[30, 1] = np.nan
    for rows, labels, sentence in (
        (bad, y, "row 30 of X holds NaN"), (X[:, :2], y, "features"), (X, ["a"] * 40, "another kind"),
        (X, y[:9], "9 labels"), (np.array(None), y, "2-D"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=sentence):
            model.partial_fit(rows, labels)
        assert known(model) == before
    with pytest.raises(ValueError, match="takes only the weights 0 and 1"):
        model.partial_fit(X, y, sample_weight=np.full(40, 2.0))
    assert known(model) == before


@pytest.mark.parametrize(("model", "sentence"), [
    (Committee([]), "learners must be a list"), (Committee([EllipsoidalSVC()]), "takes online classifiers"),
    (Committee([Committee()]), "takes online classifiers"), (Committee(share=2.0), "share must lie between 0 and 1"),
    (Committee(share="growing"), "share must be one of"), (Committee(rate=0.0), "rate must be positive"),
    (Committee(rate="adaptive"), "needs share=0"), (Committee(mix="scores"), "mix must be one of"),
])  # fmt: skip
def test_parameters_out_of_range_are_refused(model, sentence):
    with pytest.raises(ValueError, match=sentence):
        model.partial_fit([[1.0], [2.0]], [0, 1])
    with pytest.raises(ValueError, match="number of switches from 0 to 60"):
        Committee(SMALL).partial_fit(*drifting(20)).certificates(61)


def test_prequential_counts_what_the_committee_says():
    X, y = drifting(200)
    run = prequential(Committee(SMALL), (X, y), chunk_size=64)
    assert run.errors == int((Committee(SMALL).learn_predict(X, y) != y).sum())


def test_scikit_learn_finds_nothing(monkeypatch):
    from ..estimators.expected_failures import GEOMETRY, SHUFFLED

    monkeypatch.setenv("SCIPY_ARRAY_API", "1")
    expected = SHUFFLED | GEOMETRY
    results = check_estimator(
        Committee([Perceptron(), MIRA()]), expected_failed_checks=expected, on_fail=None, on_skip=None
    )
    assert {r["check_name"]: r["exception"] for r in results if r["status"] not in ("passed", "xfail")} == {}
    assert len(results) > 40


@pytest.mark.interpreted
def test_what_fit_has_learned_can_be_saved_and_is_the_same_for_a_seed(tmp_path):
    X, y = drifting(40)
    models = [Committee([PassiveAggressive(C=0.1, random_state=0), MIRA(random_state=1)]).fit(X, y) for _ in range(2)]
    assert known(models[0]) == known(models[1])
    models[0].save(tmp_path / "model")
    again = load(tmp_path / "model").partial_fit(X, y)
    assert known(again) == known(models[1].partial_fit(X, y))
