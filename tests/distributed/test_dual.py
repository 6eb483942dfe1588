"""One dual solution over all rows: it never falls, and its gap closes on the optimum."""

import os

import numpy as np
import pytest

from ellipsoid import OnlineSVM, QuasiAdditive, Scaled, distributed, load
from ellipsoid.distributed.progress import RunProgress

from .conftest import digest, write_table

pytestmark = pytest.mark.interpreted


def noisy(rows=150, width=5, seed=1):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, width)) / np.sqrt(width)
    y = (X @ rng.normal(size=width) + 0.3 * rng.normal(size=rows) > 0).astype(int)
    return X, y


@pytest.fixture
def file(tmp_path):
    return write_table(tmp_path / "noisy.csv", *noisy())


def primal(model, X, y, C):
    margins = np.where(y == 1, 1.0, -1.0) * (X @ model.coef_[0] + model.intercept_[0])
    return 0.5 * ((model.coef_**2).sum() + model.intercept_[0] ** 2) + C * np.maximum(0.0, 1.0 - margins).sum()


cut = {"client": "here", "block_bytes": 2000, "merge": "dual"}


@pytest.mark.parametrize("learner", [OnlineSVM(C=0.2), QuasiAdditive(C=0.2)], ids=repr)
@pytest.mark.parametrize("shards", [1, 4])
def test_the_dual_never_falls_and_never_passes_the_primal(learner, shards, file):
    X, y = noisy()
    values = []
    for rounds in (1, 2, 5):
        model = distributed.fit(learner, file, shards=shards, rounds=rounds, **cut)
        values.append(model.dual_objective_)
        assert model.duality_gap_ >= 0.0
        assert model.duality_gap_ == pytest.approx(primal(model, X, y, 0.2) - model.dual_objective_, abs=1e-9)
        assert all(each.observed <= each.bound for each in model.certificates())
        assert 0.0 <= model._core.tally[9] <= 0.2
    assert values == sorted(values)


@pytest.mark.parametrize("rows", [120, pytest.param(300, marks=pytest.mark.slow)])
def test_it_comes_to_the_optimum_of_one_machine(rows, tmp_path):
    X, y = noisy(rows)
    model = distributed.fit(OnlineSVM(C=0.2), write_table(tmp_path / "rows.csv", X, y), shards=2, rounds=40, **cut)
    optimum = OnlineSVM(window=None, C=0.2).partial_fit(X, y, classes=[0, 1])
    assert model.dual_objective_ == pytest.approx(optimum.dual_objective_, rel=1e-3)
    assert model.duality_gap_ < 1e-2 * model.dual_objective_
    # Weights are no farther from the best ones than the gap allows, the objective being strongly convex.
    apart = np.append(model.coef_[0] - optimum.coef_[0], model.intercept_ - optimum.intercept_)
    assert apart @ apart <= 2.0 * model.duality_gap_ + 1e-9


def test_a_run_that_stopped_goes_on_with_its_multipliers(file, tmp_path, monkeypatch):
    whole = distributed.fit(OnlineSVM(C=0.2), file, shards=3, rounds=4, **cut)
    kept = tmp_path / "dual.ckpt"

    class Stop(Exception):
        pass

    def stop(self, counts):
        if self.round == 2:
            raise Stop

    with monkeypatch.context() as patch:
        patch.setattr(RunProgress, "shard", stop)
        with pytest.raises(Stop):
            distributed.fit(OnlineSVM(C=0.2), file, shards=3, rounds=4, checkpoint=kept, **cut)
    resumed = distributed.fit(OnlineSVM(C=0.2), file, shards=3, rounds=4, checkpoint=kept, resume=True, **cut)
    assert digest(resumed) == digest(whole) == digest(load(kept))
    (tmp_path / "dual.ckpt.alphas.npz").unlink()
    with pytest.raises(ValueError, match="multipliers beside"):
        distributed.fit(OnlineSVM(C=0.2), file, shards=3, rounds=5, checkpoint=kept, resume=True, **cut)


def test_a_run_that_stopped_twice_in_one_round_goes_on_with_its_multipliers(file, tmp_path, monkeypatch):
    """Each time between the multipliers of a round and its checkpoint, or among the files themselves."""
    told = {"shards": 3, "rounds": 3, "checkpoint": tmp_path / "dual.ckpt", **cut}
    whole = distributed.fit(OnlineSVM(C=0.2), file, **{**told, "checkpoint": None})
    left, replace = [], os.replace

    def stop(*names):
        left.append(names)
        if len(left) == stops:
            raise KeyboardInterrupt
        replace(*names)

    monkeypatch.setattr(os, "replace", stop)
    for stops in (5, 3, 2, 1, 3):
        left.clear()
        with pytest.raises(KeyboardInterrupt):
            distributed.fit(OnlineSVM(C=0.2), file, resume=stops != 5, **told)
    stops = 0
    assert digest(distributed.fit(OnlineSVM(C=0.2), file, resume=True, **told)) == digest(whole)
    (tmp_path / "dual.ckpt.alphas.npz").write_bytes(b"PK")
    with pytest.raises(ValueError, match=r"multipliers beside .* damaged"):
        distributed.fit(OnlineSVM(C=0.2), file, resume=True, **{**told, "rounds": 4})


def test_a_solution_is_saved_and_learns_on(file, tmp_path):
    X, y = noisy()
    model = distributed.fit(OnlineSVM(C=0.2), file, shards=3, rounds=3, **cut)
    model.save(tmp_path / "dual.model")
    read = load(tmp_path / "dual.model")
    assert read.duality_gap_ == model.duality_gap_
    read.partial_fit(X, y)
    assert read.duality_gap_ == np.inf
    assert all(each.observed <= each.bound for each in read.certificates())


def test_what_has_no_such_dual_is_refused(file, tmp_path):
    X, y = noisy()
    three = write_table(tmp_path / "three.csv", X, np.arange(len(y)) % 3)
    for learner, data, sentence in (
        (OnlineSVM(), three, "two classes"),
        (OnlineSVM(C=np.inf), file, "finite C"),
        (OnlineSVM(class_weight="balanced"), file, "does not support class_weight"),
        (QuasiAdditive(link="balanced"), file, "euclidean"),
    ):
        with pytest.raises(ValueError, match=sentence):
            distributed.fit(learner, data, **cut)


def test_rows_are_scaled_before(file):
    model = distributed.fit(Scaled(OnlineSVM(C=0.2)), file, shards=3, rounds=3, **cut)
    assert model.score(*noisy()) > 0.8
