"""Members of a committee that fail: the others are taken back with them, or nobody goes on."""

import copy
import pickle
import time

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from ellipsoid import CELLIP, MIRA, Committee, EmptyVersionSpace, PassiveAggressive, Perceptron

from .conftest import drifting, known


def test_of_several_failing_members_the_first_is_reported(monkeypatch):
    X, y = drifting(300)
    model = Committee([PassiveAggressive(C=C) for C in (0.1, 0.2, 0.3, 0.4)])
    monkeypatch.setattr("ellipsoid.estimators.wrappers.council.ROW_EFFORT", 1e9)
    whole = PassiveAggressive._pass

    def fails(self, *args, **options):
        if self.C == 0.2:
            time.sleep(0.05)
        if self.C in (0.2, 0.3):
            raise MemoryError(f"C = {self.C}")
        return whole(self, *args, **options)

    monkeypatch.setattr(PassiveAggressive, "_pass", fails)
    with threadpool_limits(2, user_api="blas"), pytest.raises(MemoryError, match=r"C = 0\.2"):
        model.partial_fit(X, y)
    assert not model.__sklearn_is_fitted__()


def test_a_member_that_fails_in_the_middle_takes_nobody_with_it():
    X, y = np.array([[1.0, 0.0]] * 8), np.array([0, 1, 0, 1, 0, 1, 0, 1])
    model = Committee([MIRA(), CELLIP(margin=0.1, on_infeasible="raise", trigger="always", cut="minvol")])
    model.partial_fit(X[:1], y[:1], classes=[0, 1])
    before = known(model)
    with pytest.raises(EmptyVersionSpace):
        model.partial_fit(X[1:], y[1:])
    assert known(model) == before
    assert model.t_ == 1


@pytest.mark.parametrize("copied", [True, False])
def test_a_full_memory_takes_all_members_back_or_stops_the_committee(monkeypatch, copied, tmp_path):
    X, y = drifting(300)
    model = Committee([MIRA(), PassiveAggressive(), Perceptron()]).partial_fit(X[:100], y[:100])
    twin, before = copy.deepcopy(model), known(model)
    monkeypatch.setattr("ellipsoid.estimators.wrappers.council.WRITING_SHARE", 1e9 if copied else 0.0)
    with monkeypatch.context() as patch:
        patch.setattr("ellipsoid.estimators.state.learner.Learner.run", full_memory_of(model.learners_[1]))
        with pytest.raises(MemoryError) as caught:
            model.partial_fit(X[100:], y[100:])
    if copied:
        assert ["as it was before" in note for note in caught.value.__notes__] == [True]
        assert known(model) == before
        model.partial_fit(X[100:], y[100:])
        assert known(model) == known(twin.partial_fit(X[100:], y[100:]))
    else:
        refuses_to_go_on(model, caught.value, X, y, tmp_path)


def test_a_full_memory_at_a_single_row_stops_the_committee(monkeypatch, tmp_path):
    X, y = drifting(300)
    model = Committee([MIRA(), PassiveAggressive(), Perceptron()]).partial_fit(X, y)
    with monkeypatch.context() as patch:
        patch.setattr(PassiveAggressive, "learn_one", full_memory)
        with pytest.raises(MemoryError) as caught:
            model.learn_one(X[0], y[0])
    refuses_to_go_on(model, caught.value, X, y, tmp_path)


def full_memory(self, *args, **options):
    raise MemoryError("full")


def full_memory_of(member):
    """Let this one fail within its own pass, and the others learn."""
    whole = type(member._core).run
    return lambda core, *args, **options: (full_memory if core is member._core else whole)(core, *args, **options)


def refuses_to_go_on(model, error, X, y, tmp_path):
    assert ["no longer know the same rows" in note for note in error.__notes__] == [True]
    for call in (
        lambda: model.partial_fit(X, y), lambda: model.learn_one(X[0], y[0]), lambda: model.predict(X),
        lambda: model.predict_one(X[0]), lambda: model.save(tmp_path / "model"), lambda: model.learners_,
        lambda: pickle.loads(pickle.dumps(model)).predict(X),
    ):  # fmt: skip
        with pytest.raises(RuntimeError, match="no longer know the same rows"):
            call()
    assert model.fit(X, y).predict(X).shape == y.shape
