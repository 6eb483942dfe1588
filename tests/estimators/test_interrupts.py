"""A call that is broken off anywhere leaves the model of its first ``t_`` rows, to the last bit, and it goes on."""

import copy
import signal
import subprocess
import sys
import textwrap
from contextlib import suppress

import numpy as np
import pandas as pd
import pytest

from ellipsoid import (
    ALMA,
    AROW,
    CELLIP,
    IELLIP,
    MIRA,
    ROMMA,
    Calibrated,
    EllipsoidClassifier,
    OnlineEllipsoidalSVC,
    OnlineSVM,
    PassiveAggressive,
    Perceptron,
    QuasiAdditive,
    Scaled,
    Winnow,
    load,
)
from ellipsoid.estimators.files import container, saving
from ellipsoid.estimators.state import expansion as blocks
from ellipsoid.estimators.state import interruption as broken
from ellipsoid.estimators.state.interruption import LearnerMark
from ellipsoid.estimators.state.one_thread import learning
from ellipsoid.representation.kernel import prefetch as forerun
from ellipsoid.representation.kernel import threads

from .interrupts import LATE, TWO, Failing, Interrupted, Trial, X, campaign, differences, saved

RBF = {"kernel": "rbf", "gamma": 0.4}
ALL = ("a", "b", "c", "d")

# Few, of what other tests compile as well.
SOME = {
    "MIRA": Trial(MIRA(), how="learn_predict"),
    "MIRA from the start": Trial(MIRA(), begin=0),
    "learned ellipsoid": Trial(EllipsoidClassifier(), how="learn_predict"),
    "names": Trial(PassiveAggressive(), how="dicts", begin=20, rows=24, wide=True),
    "new names": Trial(AROW(shape="diagonal"), how="words", begin=20, rows=26, labels="two"),
    "CELLIP": Trial(CELLIP(), begin=6, labels="two"),
    "kernel": Trial(MIRA(margin=0.3, **RBF)),
    "kernel in a budget": Trial(PassiveAggressive(budget=5, **RBF)),
    "online SVM with a kernel": Trial(OnlineSVM(window=7, average=True, **RBF)),
    "ellipsoidal SVM": Trial(OnlineEllipsoidalSVC()),
    "scaled": Trial(Scaled(MIRA(margin=0.3, **RBF)), how="learn_predict"),
    "scaled from the start": Trial(Scaled(MIRA()), begin=0),
    "calibrated": Trial(Calibrated(MIRA())),
}
SHAPES = ("auto", "column", "product", "gram", "dense")
GROWING = {"grow_features": True}
MANY = {
    **SOME,
    "averages": Trial(Perceptron(average=True)),
    "one against the rest": Trial(Perceptron(multiclass="ovr")),
    "features": Trial(PassiveAggressive(**GROWING), wide=True),
    "learned ellipsoid and features": Trial(EllipsoidClassifier(**GROWING), wide=True),
    "learned ellipsoid from the start": Trial(EllipsoidClassifier(shape="diagonal"), begin=0),
    "sparse features": Trial(MIRA(**GROWING), wide=True, sparse=True),
    "ROMMA": Trial(ROMMA(average=True)),
    "ALMA, p = 5": Trial(ALMA(p=5, **GROWING), wide=True),
    "quasi-additive": Trial(QuasiAdditive(link="p-norm", average=True, **GROWING), wide=True),
    "Winnow": Trial(Winnow(**GROWING), classes=ALL, wide=True),
    "Winnow from the start": Trial(Winnow(), classes=ALL, begin=0),
    **{f"CELLIP, {shape}": Trial(CELLIP(shape=shape, **GROWING), begin=6, labels="two", wide=True) for shape in SHAPES},
    **{f"IELLIP, {shape}": Trial(IELLIP(shape=shape, random_state=0, **GROWING), wide=True) for shape in SHAPES},
    **{
        f"AROW, {shape}": Trial(AROW(shape=shape, size=2, **GROWING), wide=True)
        for shape in ("dense", "diagonal", "sketch", "gram")
    },
    "AROW with a kernel": Trial(AROW(**RBF)),
    "CELLIP, four labels": Trial(CELLIP(average=True), begin=6, classes=ALL),
    "CELLIP, sparse": Trial(CELLIP(**GROWING), begin=6, classes=ALL, sparse=True, wide=True),
    "CELLIP that starts again": Trial(CELLIP(margin=3.0, on_infeasible="restart"), begin=6, labels="two"),
    "IELLIP with a kernel": Trial(IELLIP(random_state=0, average=True, **RBF)),
    "label sets": Trial(IELLIP(random_state=0), labels="sets"),
    "online SVM": Trial(OnlineSVM(window=5, **GROWING), wide=True),
    "online SVM of all, sparse": Trial(OnlineSVM(window=None, **GROWING), sparse=True, wide=True),
    "online SVM of all, with a kernel": Trial(OnlineSVM(window=None, **RBF)),
    "kernel from the start": Trial(MIRA(margin=0.3, **RBF), begin=0, how="learn_predict"),
    "kernel and features": Trial(MIRA(margin=0.3, average=True, **RBF, **GROWING), wide=True),
    "votes": Trial(Perceptron(average="vote", **RBF)),
    "votes, sparse": Trial(Perceptron(kernel="poly", gamma=0.3, average="vote", **GROWING), sparse=True, wide=True),
    "sparse in a budget": Trial(Perceptron(budget=4, **RBF), sparse=True),
    "averages in a budget, one by one": Trial(Perceptron(budget=4, average=True, **RBF), how="arrays"),
    "ROMMA with a kernel": Trial(ROMMA(average=True, **RBF)),
    "ALMA with a kernel and votes": Trial(ALMA(kernel="poly", gamma=3.0, average="vote")),
    "one by one": Trial(CELLIP(), how="arrays", begin=6, rows=16, labels="two"),
    "online SVM with a kernel, one by one": Trial(OnlineSVM(window=3, **RBF), how="arrays", rows=30),
    "test then train": Trial(PassiveAggressive(), how="prequential"),
    "trace": Trial(OnlineEllipsoidalSVC(formulation="trace", **GROWING), wide=True),
    "scaled, sparse": Trial(Scaled(PassiveAggressive(**GROWING)), sparse=True, wide=True),
    "scaled names": Trial(Scaled(PassiveAggressive()), how="dicts", rows=24, wide=True),
    "calibrated, one by one": Trial(Calibrated(MIRA()), how="arrays", rows=30),
    "calibrated names": Trial(Calibrated(PassiveAggressive()), how="dicts", rows=24, wide=True),
    "calibrated and scaled, from the start": Trial(Calibrated(Scaled(MIRA(**RBF))), how="learn_predict", begin=0),
}


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch, request):
    """Short streams cross many blocks; another process, which a model is compared with, has its usual ones."""
    if "real_process" not in request.keywords:
        monkeypatch.setattr(blocks, "SCORED_AHEAD", 8)
        monkeypatch.setattr(blocks, "SCORED_AHEAD_WITHIN_BUDGET", 6)


@pytest.mark.parametrize("name", SOME)
def test_an_interrupt_leaves_the_model_of_the_first_rows(name):
    tried, wrong = campaign(SOME[name], points=12)
    assert tried == 12
    assert not wrong
    assert not learning, "other threads would wait for ever"


@pytest.mark.slow
@pytest.mark.parametrize("kind", [Interrupted, Failing])
@pytest.mark.parametrize("name", MANY)
def test_nothing_that_breaks_a_call_off_does_harm(name, kind):
    tried, wrong = campaign(MANY[name], 120, kind, seed=1)
    assert tried == 120
    assert not wrong


@pytest.mark.slow
def test_nor_where_other_threads_score_ahead(monkeypatch):
    for module in (threads, forerun):
        monkeypatch.setattr(module, "threads_for", lambda count, effort: 3)
    tried, wrong = campaign(MANY["kernel from the start"]._replace(classes=ALL), 300)
    assert tried == 300
    assert not wrong


def test_a_full_memory_in_a_middle_block_leaves_the_blocks_before_it():
    tried, wrong = campaign(SOME["kernel"], 12, Failing, seed=2)
    assert tried == 12
    assert not wrong


def test_a_second_interrupt_waits_until_the_first_has_been_dealt_with(monkeypatch):
    trial, bring_back = SOME["kernel"], LearnerMark._bring_back
    base, twin, again = trial.started(), trial.started(), []

    def struck(mark, learner):
        signal.raise_signal(signal.SIGINT)
        again.append(mark)
        bring_back(mark, learner)

    monkeypatch.setattr(LearnerMark, "_bring_back", struck)
    monkeypatch.setattr(type(base._core.table), "commit", lambda *_: signal.raise_signal(signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):
        trial.learn(base, 20, 22)
    assert again
    assert not differences(saved(base), saved(twin))
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_where_no_signal_arrives_none_is_held_back():
    done = []
    broken.without_interrupts(lambda: done.append(signal.getsignal(signal.SIGINT)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(signal, "signal", lambda *_: pytest.fail("the handler is not Python's to change"))
        patch.setattr(signal, "getsignal", lambda _: signal.SIG_IGN)
        broken.without_interrupts(lambda: done.append(None))
    assert done[0] is not signal.default_int_handler
    assert done[1] is None


def gaussian(A, B):
    return np.exp(-0.4 * ((A[:, None] - B) ** 2).sum(axis=2))


@pytest.mark.parametrize("fault", ["raises", "NaN"])
def test_a_kernel_function_that_fails_late_says_how_many_rows_were_learned(fault):
    """What it is tried on beforehand are neighbours: it may be fine there, and fail against the patterns."""
    fails = False

    def kernel(A, B):
        if fails and len(A) != len(B):
            if fault == "raises":
                raise OSError("the table of kernel values is gone")
            return np.full((len(A), len(B)), np.nan)
        return gaussian(A, B)

    model, twin = (MIRA(kernel=kernel).partial_fit(X[:5], TWO[:5], classes=["a", "b"]) for _ in range(2))
    whole = MIRA(kernel=kernel).partial_fit(X, TWO, classes=["a", "b"])
    run_block, ends = type(model._core).run_block, []

    def noted(learner, *args):
        nonlocal fails
        run_block(learner, *args)
        ends.append(learner.rounds)
        fails = ends == [8, 16]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(model._core), "run_block", noted)
        with pytest.raises(OSError if fault == "raises" else ValueError) as caught:
            model.partial_fit(X[5:], TWO[5:])
    fails = False
    told = "11 of the 35 rows of this call were learned: the model has learned 16 rows and can go on"
    assert told in (caught.value.__notes__[0] if fault == "raises" else str(caught.value))
    assert model.t_ == 16
    assert not differences(saved(model), saved(twin.partial_fit(X[5:16], TWO[5:16])))
    assert not differences(saved(model.partial_fit(X[16:], TWO[16:])), saved(whole))


def test_rows_without_a_column_are_refused_before_anything_changes():
    """Also where a new label would have parted them."""
    K = X[:4] @ X[:3].T
    model = MIRA(kernel="precomputed").partial_fit(K[:2], ["a", "b"])
    before = saved(model)
    with pytest.raises(ValueError, match="4 rows of a precomputed kernel and 3 columns"):
        model.partial_fit(K, ["a", "b", "c", "a"])
    assert not differences(saved(model), before)
    # A forecast needs no column of its own.
    assert model.predict(K).shape == (4,)


def test_a_fit_that_is_broken_off_leaves_the_old_model():
    old, other = pd.DataFrame(X, columns=list("abcdefg")), pd.DataFrame(X[:, :4], columns=list("wxyz"))
    for model in (MIRA(shuffle=False), Scaled(MIRA(shuffle=False)), OnlineEllipsoidalSVC(tol=100.0, shuffle=False)):
        copy.deepcopy(model).fit(other, LATE)  # compiles
        model.fit(old, TWO)
        before, attributes, fitted = saved(model), set(vars(model)), copy.deepcopy(model)
        with Interrupted() as spy:
            fitted.fit(other, LATE)
        # At the very end the new model is there already, as a whole.
        for place in np.linspace(1, 0.98 * spy.seen, 10).astype(int):
            with pytest.raises(KeyboardInterrupt), Interrupted(place):
                model.fit(other, LATE)
            assert not differences(saved(model), before)
            assert set(vars(model)) == attributes
            assert list(model.feature_names_in_) == list("abcdefg")


def test_a_forecast_that_is_interrupted_changes_no_later_one():
    trial = SOME["kernel"]
    model, twin = trial.started(), trial.started()
    asked, struck = copy.deepcopy(model), []
    copy.deepcopy(model).decision_function(X)  # compiles
    with Interrupted() as spy:
        asked.decision_function(X)
    for place in np.linspace(1, spy.seen, 25).astype(int):
        # What one of them has prepared, the next need not: some places are never reached.
        with suppress(KeyboardInterrupt), Interrupted(place) as breaking:
            model.decision_function(X)
        struck.append(breaking.where)
    assert sum(where is not None for where in struck) > 10
    assert model.decision_function(X).tobytes() == twin.decision_function(X).tobytes()
    trial.learn(model, 20, 40)
    trial.learn(twin, 20, 40)
    assert not differences(saved(model), saved(twin))


def test_an_interrupt_says_how_many_rows_were_learned():
    trial = SOME["kernel"]
    model = trial.started()
    whole = copy.deepcopy(model)
    trial.learn(copy.deepcopy(model), 20, 40)  # compiles
    with Interrupted() as spy:
        trial.learn(whole, 20, 40)
    with pytest.raises(KeyboardInterrupt) as caught, Interrupted(spy.seen * 3 // 4):
        trial.learn(model, 20, 40)
    assert 20 < model.t_ < 40
    assert f"{model.t_ - 20} of the 20 rows of this call were learned" in caught.value.__notes__[0]


def interrupted(code, *arguments):
    """Run Python code, send it Ctrl-C when it has said that it is ready, and return what it printed."""
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGINT)
    return process.communicate(timeout=100)[0]


@pytest.mark.slow
@pytest.mark.real_process
@pytest.mark.parametrize("model", ["MIRA(margin=0.3, kernel='rbf', gamma=0.4)", "Scaled(MIRA())"])
def test_ctrl_c_of_a_real_process(model, tmp_path):
    code = """
        import sys, threading
        import numpy as np
        from ellipsoid import *
        X = np.random.default_rng(0).normal(size=(50_000, 5))
        y = (X[:, 0] * X[:, 1] > 0).astype(int)
        model = eval(sys.argv[1]).partial_fit(X[:600], y[:600])
        threading.Timer(0.2, lambda: print("ready", flush=True)).start()
        try:
            while True:
                model.partial_fit(X, y)
        except KeyboardInterrupt:
            print("interrupted")
        model.save(sys.argv[2])
    """
    assert interrupted(code, model, tmp_path / "m") == "interrupted\n"
    found = load(tmp_path / "m")
    X = np.random.default_rng(0).normal(size=(50_000, 5))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    twin = eval(model).partial_fit(X[:600], y[:600])
    while twin.t_ < found.t_:
        rest = found.t_ - twin.t_
        twin.partial_fit(X[:rest], y[:rest])
    assert not differences(saved(found), saved(twin))


@pytest.mark.slow
@pytest.mark.real_process
def test_what_a_command_has_written_is_a_model_of_the_rows_it_says(tmp_path):
    X = np.random.default_rng(0).normal(size=(300_000, 5)).round(3)
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    np.savetxt(tmp_path / "rows.csv", np.column_stack([X, y]), fmt=["%.3f"] * 5 + ["%d"], delimiter=",")
    code = """
        import sys, threading, time
        from pathlib import Path
        from ellipsoid.cli import main
        def watch():
            while not Path(sys.argv[-3]).exists():
                time.sleep(0.01)
            time.sleep(0.3)
            print("ready", flush=True)
        threading.Thread(target=watch, daemon=True).start()
        main(sys.argv[1:])
    """
    target, model = tmp_path / "m", MIRA(margin=0.3, **RBF)
    interrupted(
        code, "learn", tmp_path / "rows.csv", "--model", "MIRA", "--param", "margin=0.3", "--param", "kernel=rbf",
        "--param", "gamma=0.4", "--save", target, "--save-every", "1000",
    )  # fmt: skip
    written = container.read(target)
    rows = written.header["stream"]["rows"]
    assert 1000 <= rows < 300_000
    twin = model.partial_fit(X[:rows], y[:rows])
    header, arrays = saving.describe(twin)
    assert written.header["state"] == header["state"]
    assert all(written.arrays[name].tobytes() == array.tobytes() for name, array in arrays.items())


def test_an_observer_of_a_call_is_not_copied_with_the_learner():
    """An observer that an interrupt has left behind knows the learner, and a copy of it would have no end."""
    model = Perceptron().partial_fit(X, TWO)
    model._core.observer = lambda *_: model
    assert copy.deepcopy(model)._core.observer is None
