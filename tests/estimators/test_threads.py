"""Several threads that learn with one model wait for one another: it is a model of all their rows."""

import os
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import numpy as np
import pytest
from sklearn.base import clone

from ellipsoid import AROW, MIRA, Committee, PassiveAggressive, Perceptron, Scaled, load
from ellipsoid.estimators.state.learner import Learner
from ellipsoid.estimators.state.one_thread import learning

pytestmark = pytest.mark.interpreted

MODELS = [
    PassiveAggressive(),
    PassiveAggressive(kernel="rbf", gamma=0.1),
    MIRA(kernel="rbf", gamma=0.1, grow_features=True),
    Scaled(Perceptron()),
    Committee([PassiveAggressive(), Perceptron()]),
]


@pytest.fixture
def hurried():
    """Threads that take turns far more often than usual."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def at_once(calls):
    with ThreadPoolExecutor(len(calls)) as pool:
        for done in [pool.submit(call) for call in calls]:
            done.result()


@pytest.mark.usefixtures("hurried")
@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_blocks_of_several_threads_are_all_learned(model, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = (X[:, 0] > 0.0).astype(int)

    def learn():
        for start in range(0, 60, 10):
            model.partial_fit(X[start : start + 10], y[start : start + 10], classes=[0, 1])

    at_once([learn] * 4)
    assert model.t_ == 4 * 60
    assert not learning
    model.save(tmp_path / "model")
    assert (load(tmp_path / "model").predict(X) == model.predict(X)).all()
    assert (model.predict(X) == y).mean() > 0.8


@pytest.mark.usefixtures("hurried")
@pytest.mark.parametrize(
    "model", [PassiveAggressive(), Scaled(Perceptron()), Committee([PassiveAggressive()])], ids=repr
)
def test_no_two_names_get_one_column(model):
    def learn(own):
        for i in range(12):
            rows = [{f"{own}{i}": 1.0, f"{own}{i + 1}": -1.0, "all": 0.5}]
            model.partial_fit(rows, ["yes"], classes=["no", "yes"])
            model.partial_fit([{f"{own}{i}": -1.0, "all": 1.0}] * 2, ["no", "yes"])
            model.learn_one({f"{own} alone {i}": 2.0, f"{own}{i}": 1.0}, "yes")

    at_once([lambda own=own: learn(own) for own in "abcd"])
    assert model.t_ == 4 * 48
    inner = getattr(model, "learner_", model)
    for each in inner.learners_ if isinstance(inner, Committee) else [inner]:
        assert sorted(each._core.features.values()) == list(range(4 * 25 + 1))


@pytest.mark.usefixtures("hurried")
@pytest.mark.parametrize("model", [PassiveAggressive(), Scaled(Perceptron()), AROW(shape="diagonal")], ids=repr)
def test_new_names_of_single_examples_come_from_several_threads(model):
    """Some of them at once in several, and some in examples that are refused: what matters is that nothing crashes."""
    model = clone(model).learn_one({"all": 1.0}, 0).learn_one({"all": -1.0}, 1)

    def learn(own):
        rng = np.random.default_rng(own)
        for i in range(150):
            x = {f"n{j}": 1.0 for j in rng.integers(3 * i, 3 * i + 12, size=3)} | {"all": 0.5}
            with suppress(ValueError, IndexError, RuntimeError):
                model.learn_one(x | {f"{own}, {i}": 1e200} if rng.random() < 0.2 else x, int(rng.integers(2)))

    at_once([lambda own=own: learn(own) for own in range(4)])
    features = getattr(model, "learner_", model)._core.features
    assert sorted(features.values()) == list(range(len(features)))
    assert not learning


def test_a_call_that_another_thread_prepared_for_old_arrays_is_not_widened(state):
    model, twin = (PassiveAggressive().learn_one({"a": 1.0}, 0).learn_one({"a": -1.0}, 1) for _ in range(2))
    late = model._core.named_row()
    for each in (model, twin):
        for i in range(5):
            each.learn_one({f"n{i}": 1.0}, 0)
    assert late.learn_args[2] is not model._core.table.rep
    model._core.named = late
    for each in (model, twin):
        each.learn_one({"a": 1.0, "new": 1.0}, 1)
    assert model._core.named.learn_args[2] is model._core.table.rep
    assert state(model) == state(twin)


def test_a_scaler_has_room_for_names_before_others_can_find_them(monkeypatch):
    model = Scaled(PassiveAggressive()).learn_one({"a": 1.0}, 0).learn_one({"a": -1.0}, 1)
    name, room = Learner.name, []
    monkeypatch.setattr(
        Learner, "name", lambda core, fresh: (room.append(model.scaler_._moments.shape[1]), name(core, fresh))
    )
    for i in range(20):
        model.learn_one({"a": 1.0, f"n{i}": 2.0}, 0)
    assert all(width >= 2 + i for i, width in enumerate(room))
    assert len(room) == 20
    row = np.ones(1), np.array([500], dtype=np.int32), np.array([0, 1], dtype=np.int32)
    for learn in (True, False):
        with pytest.raises(RuntimeError, match="another thread"):
            model.scaler_.scale_in_place(*row, learn=learn)


def test_a_call_within_a_call_and_an_error_leave_the_model_free():
    model = PassiveAggressive().partial_fit([[1.0], [2.0]], [0, 1])
    with pytest.raises(ValueError, match="NaN"):
        model.partial_fit([[np.nan], [1.0]], [0, 1])
    assert not learning
    model._learn_observed(np.ones((2, 1)), [0, 1], None, lambda *_: model.partial_fit([[3.0], [1.0]], [1, 0]))
    assert model.t_ >= 4
    assert not learning


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked here")
def test_a_forked_process_does_not_wait_for_threads_of_its_parent():
    model = PassiveAggressive().partial_fit([[1.0], [2.0]], [0, 1])
    learning[id(model)] = -1  # some thread that will not be there
    try:
        pid = os.fork()
        if pid == 0:
            model.partial_fit([[1.0], [2.0]], [0, 1])
            os._exit(0 if model.t_ == 4 else 1)
        assert os.waitpid(pid, 0)[1] == 0
    finally:
        learning.clear()


@pytest.mark.usefixtures("hurried")
@pytest.mark.parametrize("model", [MODELS[1], AROW(kernel="rbf", gamma=0.1)], ids=repr)
def test_single_rows_of_kernel_learners_wait_too(model, tmp_path):
    """Each row that makes an update is one more that is kept: threads in the same arrays would write beyond them."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(12, 3)), rng.integers(0, 2, size=12)
    model = clone(model).partial_fit(X, y)

    def learn(blocks):
        for i in range(0, 12, 4):
            if blocks:
                model.partial_fit(X[i : i + 4], y[i : i + 4])
            else:
                for row, label in zip(X[i : i + 4], y[i : i + 4].tolist(), strict=True):
                    model.learn_one(row, label)

    at_once([lambda: learn(False)] * 3 + [lambda: learn(True)])
    assert model.t_ == 12 + 4 * 12
    assert not learning
    model.save(tmp_path / "model")
    assert load(tmp_path / "model").predict(X).tolist() == model.predict(X).tolist()
